"""Units whose outcomes keep coming and lie within limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.bernstein import expected
from bascule.core.evidence.looks import look_part
from bascule.core.procedures.recurrent.limited import average_radius
from bascule.simulation import Simulation

OUTCOME = bs.Recurrent(sigma_unit=0.05, least=0.0, most=1.0)


def played(means: list[float], outcome: bs.Recurrent = OUTCOME, **more: Any) -> Simulation:
    rule = bs.UCB(2, radius="bernstein", growth=1.5)
    names = [f"arm {place}" for place in range(len(means))]
    design = bs.Design(
        names, outcome, rule, **{"error": 0.05, "sides": 1, "max_units": 2500, **more}
    )
    return bs.simulate(design, means, runs=60, seed=4)


@pytest.mark.parametrize("means", [[0.1, 0.3], [0.5, 0.5], [0.1, 0.1, 0.4]])
def test_the_error_is_kept_at_gaps_and_ties(means: list[float]) -> None:
    result = played(means)
    tied = sorted(means)[-1] == sorted(means)[-2]
    assert result.design.calibration.guarantee == "proven"
    assert result.error_rate <= (0.1 if tied else 0.05)
    assert (result.undecided == 0) == (not tied)


def test_limits_shift_and_scale_the_same_test() -> None:
    usual, scaled = played([0.1, 0.3]), played([15.0, 25.0], bs.Recurrent(2.5, least=10, most=60))
    assert np.array_equal(usual.decision_time, scaled.decision_time)
    assert scaled.regret == pytest.approx(50 * usual.regret)


def test_lower_can_be_better() -> None:
    result = played([0.1, 0.3], goal="decrease")
    assert result.error_rate == 0
    assert result.share[0] > 0.5


def test_runs_that_outgrow_their_room_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = played([0.1, 0.3])
    monkeypatch.setattr("bascule.simulation.recurrent.limited.ROOM", 8)
    assert np.array_equal(played([0.1, 0.3]).units, usual.units)


def test_intervals_hold_at_planned_looks_where_arrivals_follow_the_outcomes() -> None:
    """The adversary leaves an arm alone while it looks good, so that its good units count more."""
    rng, looks, level = np.random.default_rng(0), (10, 20, 40, 80, 160), 0.1
    missed = 0
    for _ in range(400):
        arrived: list[int] = []
        chances: list[float] = []
        totals = np.zeros(0)
        wrong = False
        for stage in range(1, looks[-1] + 1):
            ages = stage - np.array(arrived, dtype=int)
            if not arrived or float(np.mean(totals / ages)) <= 0.5:
                arrived.append(stage - 1)
                chances.append(0.5 + 0.3 * rng.choice([-1.0, 1.0]))
                totals = np.append(totals, 0.0)
            totals = totals + (rng.random(len(chances)) < chances)
            if stage in looks:
                averages = totals / (stage - np.array(arrived))
                before = np.concatenate([[0.0], np.cumsum(averages)[:-1]])
                guesses = [expected(n, total, 0.0, 1.0) for n, total in enumerate(before)]
                squares = float(((averages - guesses) ** 2).sum())
                part = look_part(looks.index(stage) + 1)
                wide = average_radius(len(averages), squares, 0.0, 1.0, -math.log(level * part))
                wrong = wrong or float(averages.mean()) - 0.5 > wide
        missed += wrong
    # At most the level, give or take three standard errors.
    assert missed / 400 <= level + 3 * math.sqrt(level * (1 - level) / 400)


REFUSED: list[tuple[Any, str]] = [
    (bs.UCB(2), "within limits"),
    (bs.UCB(2, radius="looks"), "within limits"),
    (bs.UCB(2, radius="mixture"), "within limits"),
    (bs.ETC(), "within limits"),
    (bs.ETCPrime(), "within limits"),
    (bs.Static(100), "within limits"),
    (bs.UCB(math.inf, radius="bernstein"), "alpha must be finite"),
]


@pytest.mark.parametrize(("rule", "words"), REFUSED)
def test_what_is_not_proven_is_refused(rule: bs.design.Rule, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        bs.Design(["a", "b"], OUTCOME, rule)


def test_the_rest_is_refused_with_a_reason() -> None:
    rule = bs.UCB(2, radius="bernstein")
    with pytest.raises(bs.InputError, match="needs outcomes within limits"):
        bs.Design(["a", "b"], bs.Recurrent(1, 1), rule)
    with pytest.raises(bs.InputError, match="growth plans looks"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius="bernstein", growth=2))
    with pytest.raises(bs.InputError, match="delta"):
        bs.Design(["a", "b"], OUTCOME, rule, delta=0.05)
    with pytest.raises(bs.InputError, match="leaves no room"):
        played([0.01, 0.3])
    with pytest.raises(bs.InputError, match="min_effect"):
        played([0.1, 0.3], min_effect=0.1)
    design = bs.Design(["a", "b"], OUTCOME, rule, sides=1)
    with pytest.raises(bs.InputError, match="not run live"):
        design.procedure.check_live()


def test_a_design_survives_its_file() -> None:
    design = bs.Design(["a", "b"], OUTCOME, bs.UCB(2, radius="bernstein", growth=1.3), sides=1)
    assert bs.Design.from_dict(design.to_dict()) == design
    assert [design.to_dict()["outcome"][name] for name in ("least", "most")] == [0.0, 1.0]
    with pytest.raises(bs.InputError, match="both limits"):
        bs.Recurrent(1, 1, least=0)
    assert "least=0.0, most=1.0" in repr(OUTCOME)
