"""Designs whose units count one by one, or by stages, simulated and played by a store."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import numpy as np
from tests.live.random_designs import Case, Played, difference

import bascule as bs
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.types import NO_DIFFERENCE, NOBODY
from bascule.simulation.kernels.compiled import new_control
from bascule.simulation.kernels.worlds import intervals, unit
from bascule.simulation.worlds.world import World


def draw_units(rng: random.Random) -> Case:
    """Draw a design of UCB or an even split, with any of its ways to stop."""
    while True:
        try:
            return _draw(rng)
        except bs.InputError:
            continue


def _rule(rng: random.Random) -> Any:
    return rng.choice(
        [
            bs.UCB(rng.choice([1.5, 2, 3])),
            bs.UCB(2, stop="mixture"),
            bs.UCB(2, radius="mixture"),
            bs.ETC(),
            bs.ETC(stop="mixture"),
            bs.ETCPrime(),
        ]
    )


def _draw(rng: random.Random) -> Case:
    count, coin = rng.choice([2, 2, 3, 5]), rng.random() < 0.5
    outcome: Any = bs.Bernoulli() if coin else bs.Gaussian(1)
    options: dict[str, Any] = {"error": rng.choice([0.2, 0.4])}
    options["max_units"] = rng.randrange(60, 300)
    options |= {"min_effect": 0.5} if rng.random() < 0.3 else {}
    options |= {"goal": "decrease"} if rng.random() < 0.3 else {}
    options |= {"control": "arm 1"} if rng.random() < 0.2 else {}
    options["reports"] = "always"
    design = bs.Design([f"arm {i}" for i in range(count)], outcome, _rule(rng), **options)
    base, size = (0.2, 0.6) if coin else (0.0, 2.0)
    means = [base + rng.choice([0.0, 0.0, 1.0]) * size for _ in range(count)]
    return Case(design, means, {}, rng.choice([20, 50]))


def simulated_units(case: Case, seed: int) -> Played:
    """Play a run with the simulator's loop for rules that compare intervals, uncompiled."""
    design, played = case.design, Played()

    def units_of(world: World) -> unit.UnitSteps:
        drawn, mean_and_gap, arrival = unit.units_of(world)

        def draw(source: Any, arm: int, mean: float) -> float:
            value = float(drawn(source, arm, mean))
            played.arms.append(int(arm))
            played.values.append(float(design.oriented(value)))
            return value

        def arrives(streams: Any, numbers: Any, clock: int, value: float) -> Any:
            played.clocks.append(int(clock))
            return arrival(streams, numbers, clock, value)

        return unit.UnitSteps(draw, mean_and_gap, arrives)

    def compile_loop(build: Any, *parts: Any) -> Any:
        return build(*parts, "")

    world = World(case.means)
    seeks = design.increasing
    if design.goal == "decrease":
        world = world.reflected(design.outcome)
    assert isinstance(seeks.procedure, IntervalProcedure)
    with (
        mock.patch.object(intervals, "units_of", units_of),
        mock.patch.object(intervals, "compile_loop", compile_loop),
        # In a loop that is not compiled, NumPy warns of arithmetic modulo 2^64.
        np.errstate(over="ignore"),
    ):
        written_out = world.for_outcome(seeks.outcome, len(design.arms))
        runs = intervals.WorldIntervalRuns(seeks, seeks.procedure, written_out, seed, 1)
        runs.play(0, 1, new_control())
    played.end, played.winner = int(runs.times[0]), int(runs.winners[0])
    return played


def difference_of_units(case: Case, seed: int) -> str:
    """Say where a store differs from the simulator's loop for single units."""
    return difference(case, simulated_units(case, seed))


def draw_stages(rng: random.Random) -> Case:
    """Draw a design with recurring outcomes, of which every unit gives one a day."""
    count = rng.choice([2, 2, 3])
    radius: Any = rng.choice(["mixture", "mixture", "looks"])
    stop: Any = rng.choice(["intervals", "mixture"]) if radius == "mixture" else "intervals"
    rule = bs.UCB(rng.choice([2, 3]), radius=radius, stop=stop)
    noise = rng.choice([0.5, 1.0, 2.0])
    options: dict[str, Any] = {}
    options |= {"max_units": rng.randrange(3 * count, 60)} if rng.random() < 0.5 else {}
    options |= {"min_effect": 0.5} if options and rng.random() < 0.3 else {}
    options |= {"goal": "decrease"} if rng.random() < 0.3 else {}
    design = bs.Design(
        [f"arm {i}" for i in range(count)],
        bs.Recurrent(1, noise),
        rule,
        error=rng.choice([0.1, 0.3]),
        measure=bs.Measure(period="1d"),
        **options,
    )
    means = [0.0] * count
    means[rng.randrange(count)] = rng.choice([-1.0, 1.0]) * rng.choice([2.0, 4.0])
    if len(set(means)) < 2 or (count > 2 and min(means) < 0.0) or design.goal == "decrease":
        means = [float(i) * 2.0 for i in range(count)]
        rng.shuffle(means)
    return Case(design, means, {}, 1)


def difference_of_stages(case: Case, seed: int) -> str:
    """Say where a store and the compiled loop differ from the traced run of recurring outcomes."""
    design = case.design
    stages = list(bs.simulation.trace_stages(design, case.means, seed=seed))
    if not stages:
        return ""
    reached = stages[-1].decision
    (winner,) = bs.simulate(design, case.means, 1, seed, 1, engine="plain").winner
    wanted = NOBODY
    if reached is not None:
        wanted = NO_DIFFERENCE if reached.arm is None else reached.arm
    if winner != wanted:
        return f"the compiled run ends with {winner}, the traced one with {wanted}"
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=lambda _: None) as store:
        test, names = store.create("test", design), list[str]()
        for number, stage in enumerate(stages, start=1):
            for arm in stage.joined:
                names.append(f"unit {len(names)}")
                got = test.assign(names[-1])
                if got != design.arms[arm]:
                    return f"stage {number}: {got}, but arm {arm} in the run"
            clock.advance("12h")
            test.record_many(zip(names, stage.values, strict=True))
            clock.advance("12h")
            status = test.status()
            if (status.stage, status.decision is None) != (number, stage.decision is None):
                return f"stage {number}: {status.stage}, {status.decision}, {stage.decision}"
        arm_of = status.decision and status.decision.arm
        if arm_of != (reached and reached.arm):
            return f"decided for {arm_of}, but {reached} in the run"
        if reached is None:
            answer = test.evaluate("another")
            if answer.enrolled:
                return f"{answer.arm} beyond the cap on units"
        verified = test.verify()
        return "" if verified.agrees else f"verify: {verified}"
