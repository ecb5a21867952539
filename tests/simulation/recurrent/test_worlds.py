"""Units in worlds: against a few lines of NumPy, and what the paper warns of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.normal import mixture_boundary
from bascule.worlds import Change, Delay, Normal, StudentT, Trend, World

pytestmark = pytest.mark.slow

LEVEL, STAGES = 0.05, 60
WORLDS: dict[str, dict[str, Any]] = {
    "trend": {"trend": Trend("wave", 2.0, 30)},
    "missing": {"missing": 0.6},
    "noisy": {"noise": Normal(4.0)},
    "heavy": {"noise": StudentT(3.0, 3.0)},
    "arrivals": {"arrivals": Trend("fading", -3.0, 20)},
    "all": {
        "trend": Trend("fading", 2.0, 30),
        "missing": 0.3,
        "noise": StudentT(5.0, 2.0),
        "arrivals": Trend("wave", 1.0, 40),
    },
}


def made(**more: Any) -> bs.Design:
    rule = bs.UCB(3, radius="mixture")
    return bs.Design(["a", "b"], bs.Recurrent(1, 1), rule, error=2 * LEVEL, sides=1, **more)


def moved(trend: Trend | None, stage: float) -> float:
    if trend is None:
        return 0.0
    if trend.kind == "wave":
        return trend.size * math.sin(2 * math.pi * stage / trend.span)
    return trend.size * math.exp(-stage / trend.span)


def numpy_run(rng: np.random.Generator, world: World) -> tuple[int, int, int]:
    """Play UCB_3 with the mixture radius: winner, units, units of the first arm."""
    arms, own = np.zeros(0, int), np.zeros(0)
    totals, counts = np.zeros(0), np.zeros(0)
    means, radii = np.zeros(2), np.full(2, np.inf)
    for stage in range(1, STAGES + 1):
        arm = int(np.argmax(means + 3 * radii))
        effect = rng.normal(world.start[arm]) + moved(world.arrivals, stage)
        arms, own = np.append(arms, arm), np.append(own, effect)
        totals, counts = np.append(totals, 0.0), np.append(counts, 0.0)
        if isinstance(world.noise, StudentT):
            scale = world.noise.sigma * math.sqrt((world.noise.df - 2) / world.noise.df)
            noise = scale * rng.standard_t(world.noise.df, stage)
        else:
            noise = rng.normal(0, 1 if world.noise is None else 4.0, stage)
        came = (counts == 0) | (rng.random(stage) >= world.missing)
        totals += came * (own + moved(world.trend, stage) + noise)
        counts += came
        for arm in (0, 1):
            here = arms == arm
            if here.any():
                weights = 1 / (1 + 1 / counts[here])
                means[arm] = np.average(totals[here] / counts[here], weights=weights)
            if here.sum() >= 3:
                clock = weights.sum()
                radii[arm] = mixture_boundary(clock, -math.log(LEVEL)) / clock
        best = int(np.argmax(means))
        if means[best] - radii[best] > means[1 - best] + radii[1 - best]:
            return best, stage, int((arms == 0).sum())
    return -1, STAGES, int((arms == 0).sum())


@pytest.mark.parametrize("name", WORLDS)
def test_units_are_drawn_as_a_few_lines_of_numpy_draw_them(name: str) -> None:
    world = World([0.0, 1.5], **WORLDS[name])
    rng = np.random.default_rng(3)
    plain = np.array([numpy_run(rng, world) for _ in range(300)])
    played = bs.simulate(made(max_units=STAGES), world=world, runs=6000, seed=1)
    columns = (played.winner == 1, played.decision_time, played.units[:, 0])
    expected = (plain[:, 0] == 1, plain[:, 1], plain[:, 2])
    for mine, theirs in zip(columns, expected, strict=True):
        error = math.hypot(np.std(mine) / math.sqrt(6000), np.std(theirs) / math.sqrt(300))
        assert np.mean(mine) == pytest.approx(np.mean(theirs), abs=4 * max(error, 1e-3))
    steady = bs.simulate(made(max_units=STAGES), [0.0, 1.5], runs=6000, seed=1)
    assert steady.decision_time.mean() != pytest.approx(played.decision_time.mean(), rel=1e-3)


def test_arrivals_that_go_with_the_outcome_break_the_promise_of_an_adaptive_rule() -> None:
    world = World([0.0, 0.0], arrivals=Trend("fading", -2.0, 200))
    shares = {}
    for rule in (bs.UCB(1.5), bs.ETC()):
        design = bs.Design(["a", "b"], bs.Recurrent(1, 1), rule, delta=0.05, max_units=2000)
        shares[rule.label] = (bs.simulate(design, world=world, runs=40).winner >= 0).mean()
    assert shares["UCB_1.5"] > 0.5
    assert shares["ETC"] <= 0.1


def test_a_world_of_units_is_plain_data_and_reads_in_words() -> None:
    world = World([0.0, 1.0], arrivals=Trend("fading", -2.0, 200))
    assert World.from_dict(world.to_dict()) == world
    assert world.words == "units that arrive at t keep a trend -2 exp(-t / 200)"
    lowest = made(goal="decrease", max_units=50)
    assert bs.simulate(lowest, world=world, runs=20).winner.max() <= 1


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("change", {"change": Change(1, 1.0, 10)}),
        ("batch", {"batch": 10}),
        ("delay", {"delay": Delay(10)}),
    ],
)
def test_what_units_cannot_have_is_refused(field: str, more: dict[str, Any]) -> None:
    with pytest.raises(bs.InputError, match=f"{field} does not go with Recurrent"):
        bs.simulate(made(), world=World([0.0, 1.0], **more), runs=2)


def test_arrivals_belong_to_units_and_the_fast_engine_to_a_steady_world() -> None:
    world = World([0.0, 1.0], arrivals=Trend("fading", -2.0, 200))
    once = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    with pytest.raises(bs.InputError, match="arrivals belongs to Recurrent outcomes"):
        bs.simulate(once, world=world, runs=2)
    with pytest.raises(bs.InputError, match="engine must be plain"):
        bs.simulate(made(), world=world, runs=2, engine="fast")
    static = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.research.Static(100, 5))
    with pytest.raises(bs.InputError, match="in a steady world"):
        bs.simulate(static, world=world, runs=2)
