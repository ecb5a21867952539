"""Designs in blocks, played by the simulator's loop and by a store with the same outcomes.

They are drawn at random; `random_units` draws those whose units count one by one or by stages.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import numpy as np

import bascule as bs
from bascule.core import course
from bascule.core.course_rows import GONE, REMOVED, Course
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.progress import block_procedure
from bascule.core.types import NO_DIFFERENCE, NOBODY
from bascule.simulation.guardrails import GuardedRuns
from bascule.simulation.kernels import covariates
from bascule.simulation.kernels.compiled import new_control
from bascule.simulation.kernels.guards import guarded_metrics
from bascule.simulation.kernels.worlds import blocks, ring, signals, unit
from bascule.simulation.worlds.world import Delay, World

DAY = 86_400.0
START = datetime(2026, 1, 5, tzinfo=UTC)

HEARD_BEFORE = 0.375
"""How much earlier than a tick an event becomes known; no multiple of a window's hundredth part."""

WINDOWS = 8_640.0, 17_280.0, 34_560.0
"""Windows in seconds that last a whole number of ticks."""


@dataclass
class Case:
    """A design, and the means of its arms on the primary metric and on every guardrail.

    `deadline` is the tick of the deadline, if there is one. At the ticks in `operators` the test is
    paused until its block is full, or its share of the traffic changes. `drops` has arms that are
    removed by hand, by the look after which they are, and `events` the mean time from a unit to its
    event, in ticks, of a rule that uses early signals.
    """

    design: bs.Design
    means: list[float]
    others: dict[str, list[float]]
    daily: int
    deadline: int | None = None
    operators: dict[int, float] = field(default_factory=dict)
    drops: dict[int, int] = field(default_factory=dict)
    events: float | None = None

    def ticks(self, design: bs.Design) -> float:
        """How many units come until a unit's windows have closed."""
        return (design.matures(0.0) or 0.0) * self.daily / DAY


@dataclass
class Played:
    """A run: when each unit came, its arm and outcomes, and how the run ended.

    `heard` has the units whose event becomes known before their window closes, by the tick, and
    `dropped` the arms that are removed by hand.
    """

    clocks: list[int] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    known: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    heard: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    dropped: dict[int, int] = field(default_factory=dict)
    looks: int = 0
    end: int = 0
    winner: int = NOBODY
    removed: frozenset[int] = frozenset()


def draw_case(rng: random.Random, arms: tuple[int, ...] = (2, 2, 3, 4)) -> Case:
    """Draw a design with any of guardrails, window, calendar, horizon, futility, cap and batch."""
    while True:
        try:
            return _draw(rng, arms)
        except bs.InputError:
            continue


def draw_wider(rng: random.Random) -> Case:
    """Draw a design of up to six arms, also with covariates, a deadline, and an operator."""
    while True:
        case = draw_case(rng, (2, 3, 5, 6))
        changes: dict[str, Any] = {}
        if rng.random() < 0.4 and case.design.measure is not None:
            changes["measure_on"] = True
        if rng.random() < 0.6 and not case.design.metrics:
            changes["covariates"] = [bs.Covariate("x", -4, 4)]
        if rng.random() < 0.3:
            case.deadline = rng.randrange(60, 400)
            changes["deadline"] = START + timedelta(seconds=case.deadline * DAY / case.daily)
        if rng.random() < 0.5:
            ticks = rng.sample(range(300), 12)
            case.operators = {tick: rng.choice([0.0, 0.0, 0.5, 1.0]) for tick in ticks}
        try:
            case.design = replace(case.design, **changes)
        except bs.InputError:
            continue
        return case


def draw_further(rng: random.Random) -> Case:
    """Draw a design with early signals, shorter windows, coverage, or arms removed by hand."""
    while True:
        case = draw_case(rng, (2, 3, 3, 4))
        design, shorter = case.design, rng.random() < 0.7
        if design.measure is None or not (design.metrics or design.outcome.binary):
            continue
        changes: dict[str, Any] = {"min_days": None, "whole_weeks": False} if shorter else {}
        metrics = []
        for metric in design.metrics:
            window = rng.choice(WINDOWS) if shorter and rng.random() < 0.7 else None
            metrics.append(replace(metric, measure=_covered(rng, metric.measure, window)))
        changes["metrics"] = metrics
        if not design.outcome.binary:
            changes["measure"] = _covered(rng, design.measure, None)
        elif rng.random() < 0.7:
            mode: Any = rng.choice(["auto", "always"])
            assert isinstance(design.rule, bs.Tilt)
            changes["rule"] = replace(design.rule, early_signals=mode)
            case.events = rng.choice([0.1, 0.3, 1.0]) * case.ticks(design)
        if metrics and len(design.arms) > 2 and rng.random() < 0.6:
            treatments = set(range(len(design.arms))) - {design.control_index}
            case.drops = {rng.randrange(1, 40): rng.choice(sorted(treatments))}
        try:
            case.design = replace(design, **changes)
        except bs.InputError:
            continue
        return case


def _covered(rng: random.Random, measure: bs.Measure | None, window: float | None) -> bs.Measure:
    """Return the measure with another window and another treatment of missing values."""
    assert measure is not None
    changes: dict[str, Any] = {} if window is None else {"window": window}
    if measure.may_lack and rng.random() < 0.5:
        changes["coverage"] = rng.choice([0.0, 0.5, 1.0])
    return replace(measure, **changes)


def _measure(window: str, binary: bool) -> bs.Measure:
    return bs.Measure(window, "any") if binary else bs.Measure(window, "mean", missing="zero")


def _draw(rng: random.Random, arms: tuple[int, ...]) -> Case:
    count, coin = rng.choice(arms), rng.random() < 0.5
    outcome: Any = bs.Bernoulli() if coin else bs.Gaussian(1)
    size = 0.3 if coin else 0.8
    rule: dict[str, Any] = {"batch": rng.choice([1, 1, 3])}
    if rng.random() < 0.4:
        rule |= {"effect": rng.choice([0.5, 1.0]) * size, "power": 0.8}
        rule |= {"futility": 0.3} if rng.random() < 0.5 else {}
        rule |= {"baseline": 0.3} if coin else {}
    window = rng.choice([None, None, "12h", "2d"])
    options: dict[str, Any] = {"error": rng.choice([0.2, 0.3, 0.4])}
    options["max_units"] = rng.randrange(60, 400)
    options |= {"min_days": rng.randrange(1, 6)} if rng.random() < 0.4 else {}
    options |= {"whole_weeks": True} if rng.random() < 0.15 else {}
    options |= {"min_effect": size} if rng.random() < 0.15 else {}
    options |= {"control": "arm 1"} if rng.random() < 0.2 else {}
    if window is None:
        options["reports"] = "always"
    else:
        options["measure"] = _measure(window, coin)
    metrics, others = [], {}
    for name in ("x", "y")[: rng.choice([0, 1, 1, 2])]:
        binary = rng.random() < 0.5
        spread = 0.3 if binary else 1.0
        own = None if window is None else _measure(window, binary)
        metrics.append(
            bs.Metric(
                name,
                bs.Bernoulli() if binary else bs.Gaussian(1),
                margin=rng.choice([0.5, 1.0, 2.0]) * spread,
                error=rng.choice([0.2, 0.4]),
                goal=rng.choice(["increase", "decrease"]),
                harm=rng.choice(["margin", "any", "any", "never"]),
                measure=own,
            )
        )
        middle = 0.5 if binary else 0.0
        others[name] = [middle + rng.choice([0, 0, -1, 1]) * 1.4 * spread for _ in range(count)]
    if metrics:
        options |= {"metrics": metrics, "harm_error": rng.choice([0.1, 0.4])}
        options |= {"decides": "guardrails"} if rng.random() < 0.15 else {}
    design = bs.Design(
        [f"arm {i}" for i in range(count)],
        outcome,
        bs.Tilt(rng.choice([1, 3, 8]), **rule),
        **options,
    )
    base = 0.3 if coin else 0.0
    means = [base + rng.choice([0.0, 0.0, 1.0]) * size for _ in range(count)]
    return Case(design, means, others, rng.choice([20, 50]))


def simulated(case: Case, seed: int) -> Played:
    """Play a run with the simulator's loop, uncompiled; the slots of a block come arm by arm."""
    design, played = case.design, Played()

    def deal(arms: Any, count: int, slots: Any, front: int, streams: Any) -> None:
        dealt = [arm for arm in range(count) for _ in range(int(arms[arm][BLOCK_UNITS]))]
        slots[: len(dealt)] = dealt

    def units_of(world: World) -> unit.UnitSteps:
        drawn, mean_and_gap, arrival = unit.units_of(world)

        def draw(source: Any, arm: int, mean: float) -> float:
            value = float(drawn(source, arm, mean))
            played.arms.append(int(arm))
            played.values.append(value)
            return value

        def arrives(streams: Any, numbers: Any, clock: int, value: float) -> Any:
            played.clocks.append(int(clock))
            return arrival(streams, numbers, clock, value)

        return unit.UnitSteps(draw, mean_and_gap, arrives)

    def draw_covariates(streams: Any, drawn: Any, deviation: float, xs: Any, *room: Any) -> None:
        covariates.draw_covariates(streams, drawn, deviation, xs, *room)
        played.known.append(float(xs[room[0]]))

    def outcome_of(source: Any, arm: int, mean: float) -> float:
        value = float(unit.outcome_of(source, arm, mean))
        played.others.append(value)
        return value

    def event_at(streams: Any, numbers: Any, lag: float, clock: int) -> tuple[int, float]:
        known, _ = unit.event_at(streams, numbers, lag, clock)
        known = min(known, clock + math.ceil(case.ticks(design)) - 1)
        played.heard[known].append(len(played.arms) - 1)
        return known, known - clock - HEARD_BEFORE

    def add_delay(early: Any, number: int, arm: int, window: float) -> None:
        signals.add_delay(early, number, arm, case.ticks(design))

    def course_of(*parts: Any) -> Course:
        return _dropping(course.course_of(*parts), case, played)

    def fronts_of(design: bs.Design, world: World) -> ring.Fronts:
        of = ring.fronts_of(design, world)
        return of._replace(waits=of.waits - 1)

    # The loop counts a unit one tick after its window, a store at the end of it.
    window = max(0.0, (design.matures(0.0) or 0.0) - 1.000001 * DAY / case.daily)
    correlation = 0.6 if design.covariates else 0.0
    world = World(case.means, units_per_day=case.daily, correlation=correlation)
    world = world.with_window(window)
    if case.events is not None:
        assert world.delay is not None
        world = replace(world, delay=Delay(world.delay.mean, events=case.events))
    written_out = world.for_outcome(design.outcome, len(design.arms))
    guarded = GuardedRuns.empty(design, {k: tuple(v) for k, v in case.others.items()}, 1)
    metrics = guarded_metrics(design, seed, guarded) if design.guardrails else None
    with (
        mock.patch.object(blocks, "deal_slots", deal),
        mock.patch.object(blocks, "units_of", units_of),
        mock.patch.object(blocks, "outcome_of", outcome_of),
        mock.patch.object(blocks, "draw_covariates", draw_covariates),
        mock.patch.object(blocks, "event_at", event_at),
        mock.patch.object(blocks, "add_delay", add_delay),
        mock.patch.object(blocks, "course_of", course_of),
        mock.patch.object(blocks, "fronts_of", fronts_of),
    ):
        runs = blocks.WorldBlockRuns(
            design, block_procedure(design), written_out, seed, 1, "plain", metrics
        )
        if case.deadline is not None:
            runs.terms = runs.terms._replace(latest=float(case.deadline))
        runs.play(0, 1, new_control())
    played.end, played.winner = int(runs.times[0]), int(runs.winners[0])
    played.removed = frozenset(np.flatnonzero(guarded.removed[0]).tolist())
    return played


def _dropping(course: Course, case: Case, played: Played) -> Course:
    """Return the course of a test in which somebody removes arms after given looks."""

    def conclude(
        test: Any, marks: Any, arms: Any, pairs: Any, rails: Any,
        count: int, units: int, clock: float, terms: Any,
    ) -> tuple[int, int]:  # fmt: skip
        rows = test, marks, arms, pairs
        found = course.conclude(*rows, rails, count, units, clock, terms)
        played.looks += 1
        arm = case.drops.get(played.looks, NOBODY)
        is_left = arm != NOBODY and marks[REMOVED][arm] == 0 and count - test[GONE] > 2
        # A store whose cap is reached ends when the last unit counts; the loop ends after its look.
        is_left = is_left and units < len(played.arms)
        if is_left and found == (NOBODY, GOES_ON):
            played.dropped[int(clock)] = arm
            course.remove(*rows, count, arm, terms)
            found = course.conclude(*rows, rails, count, units, clock, terms)
        return found

    return course._replace(conclude=conclude)


def difference(case: Case, played: Played) -> str:
    """Say where a store with the outcomes of a run first differs from it; empty if nowhere."""
    design, clock = case.design, bs.ManualClock(START)
    guardrails, step = [metric.name for metric in design.guardrails], DAY / case.daily
    at = {tick: number for number, tick in enumerate(played.clocks)}
    names: dict[int, str] = {}
    is_late = case.deadline is not None and played.end > case.deadline
    end = case.deadline if is_late else played.end
    assert end is not None
    with bs.open(":memory:", clock=clock, shuffle=lambda _: None) as store:
        test = store.create("test", design)

        def record(number: int) -> None:
            its = played.others[number * len(guardrails) : (number + 1) * len(guardrails)]
            every = zip([None, *guardrails], [played.values[number], *its], strict=True)
            for name, value in every:
                outcome = design.metric_design(name).outcome if name else design.outcome
                is_event = value != 0.0 or design.measure is None or not outcome.binary
                if is_event and (name or case.events is None):
                    test.record(names[number], value, metric=name)

        def hear(tick: int) -> None:
            """Record the events that become known a little before a tick."""
            clock.advance((1.0 - HEARD_BEFORE) * step)
            for number in played.heard.get(tick, ()):
                test.record(names[number], 1.0)
            clock.advance(HEARD_BEFORE * step)

        def drop(tick: int) -> None:
            if tick in played.dropped:
                test.settle()
                test.drop_arm(design.arms[played.dropped[tick]])

        def evaluate(number: int) -> Any:
            """Let users come until one is enrolled; a pause ends once the open block is full."""
            known = {"x": played.known[number]} if played.known else None
            for turn in range(40):
                names[number] = f"u{number}-{turn}"
                answer = test.evaluate(names[number], covariates=known)
                if not answer.enrolled and test.state == "paused":
                    test.start()
                    answer = test.evaluate(names[number], covariates=known)
                if answer.enrolled or test.audience is None:
                    break
            return answer

        for tick in range(end):
            if tick in case.operators:
                if case.operators[tick] > 0.0:
                    test.set_share(case.operators[tick])
                elif test.state == "running":
                    test.pause()
            if design.measure is None and tick - 1 in at:
                # The loop counts outcomes that come at once when the next unit arrives.
                record(at[tick - 1])
            drop(tick)
            if tick in at:
                number = at[tick]
                answer = evaluate(number)
                if not answer.enrolled or answer.arm != design.arms[played.arms[number]]:
                    got = answer.arm if answer.enrolled else "nothing"
                    return f"tick {tick}: {got}, but arm {played.arms[number]} in the run"
                if design.measure is not None:
                    record(number)
            else:
                if test.state == "paused":
                    test.start()
                answer = test.evaluate(
                    f"other {tick}", covariates={"x": 0.0} if played.known else None
                )
                if answer.enrolled:
                    return f"tick {tick}: {answer.arm}, but nobody is enrolled in the run"
            hear(tick + 1)
        entries = [entry["action"] for entry in test.audit()]
        if "decide" in entries or "end" in entries:
            return f"{entries[-1]} before the end of the run at {end}"
        if design.measure is None and end - 1 in at:
            record(at[end - 1])
        drop(end)
        status = test.status()
        wanted: tuple[str, str | None] = ("over", None)
        if played.winner != NOBODY and not is_late:
            is_even = played.winner == NO_DIFFERENCE
            wanted = ("decided", None if is_even else design.arms[played.winner])
        reached = status.decision
        found = (status.state, reached.name if reached and reached.arm is not None else None)
        if found != wanted:
            return f"end at {end}: {found}, but {wanted} in the run"
        harmed = {entry["detail"]["arm"] for entry in test.audit() if entry["action"] == "harm"} | {
            contrast.treatment
            for metric in status.metrics
            for contrast, standing in zip(metric.contrasts, metric.standings, strict=True)
            if standing == "harmed"
        }
        if not is_late and harmed != {design.arms[arm] for arm in played.removed}:
            return f"end: {sorted(harmed)} are harmful, but {sorted(played.removed)} in the run"
        verified = test.verify()
        return "" if verified.agrees else f"verify: {verified}"


def compare(first: int, count: int, draw: Callable[[random.Random], Case] = draw_case) -> list[str]:
    """Return the differences of some designs, by the seeds that they are drawn with."""
    found = []
    for seed in range(first, first + count):
        case = draw(random.Random(seed))
        said = difference(case, simulated(case, seed))
        if said:
            found.append(f"{seed}: {said}")
    return found
