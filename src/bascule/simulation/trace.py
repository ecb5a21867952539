"""One run of the simulator, played uncompiled: to look at it, and to check the compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bascule.core.cohorts import ArmCohorts, CohortStatistics
from bascule.core.course import fits
from bascule.core.design import Design
from bascule.core.ending import without_harmful
from bascule.core.errors import InputError
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.gaps import checked_means
from bascule.core.position import position_of
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.procedures.recurrent import RecurrentProcedure
from bascule.core.progress import (
    close_stage,
    decision_of,
    fold_block,
    next_arm,
    next_block,
    record,
    recurrent_procedure,
)
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.simulation.feasible import check_feasible, units_cap
from bascule.simulation.kernels.block_draws import deal_slots
from bascule.simulation.kernels.covariates import (
    draw_covariates,
    drawn_covariates,
    spreads_of,
)
from bascule.simulation.kernels.guards import seed_of
from bascule.simulation.kernels.intervals import BURST
from bascule.simulation.kernels.worlds.unit import outcome_of, source_of
from bascule.simulation.random import (
    NORMAL,
    WORDS,
    Draws,
    WordArray,
    checked_seed,
    draws_of,
    seed_stream,
    ziggurat_table,
)
from bascule.simulation.worlds.world import World

Values = Callable[[Sequence[int]], list[float]]
"""(arms of the next units) -> the outcomes of these units."""


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of a run: the arm that it joined, its outcome, and the test's state after it."""

    arm: int
    value: float
    statistics: Statistics
    decision: Decision | None
    is_last: bool = False
    """Whether the test ends with this unit, with or without a decision."""


def trace(design: Design, means: Sequence[float], seed: int = 0, run: int = 0) -> Iterator[Step]:
    """Yield each unit of run number `run` of `simulate` with this seed, until the run ends.

    A design with `metrics` is refused. For `Recurrent` outcomes there is
    `bascule.simulation.trace_stages`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> *_, last = trace(design, [0.0, 1.0], seed=1)
    >>> last.decision.name
    'b'
    """
    checked = checked_means(means, len(design.arms), design.outcome)
    means = tuple(design.oriented(mean) for mean in checked)
    seed, run = checked_seed(seed), checked_seed(run, "run")
    if design.metrics:
        raise InputError("metrics", "trace shows the primary metric alone: leave metrics out")
    if not design.procedure.supports("trace"):
        remedy = (
            "use simulate, or look at the means of a stage"
            if design.procedure.assigns == "hash"
            else "use trace_stages with Recurrent outcomes"
        )
        raise InputError(
            "rule",
            f"{design.rule.label} counts by stages, and trace shows units one by one: {remedy}",
        )
    upward = design.increasing
    check_feasible(upward, World(means))
    for step in steps_of(upward, means, seed, run):
        yield step if design is upward else _turned(design, step)


def _turned(design: Design, step: Step) -> Step:
    """Return a step, played with reflected outcomes, converted to the user's own numbers."""
    centre = design.oriented(0.0)
    arms = tuple(arm.reflected(centre) for arm in step.statistics.arms)
    value = design.oriented(step.value)
    return replace(step, value=value, statistics=replace(step.statistics, arms=arms))


def steps_of(
    design: Design,
    means: tuple[float, ...],
    seed: int,
    run: int,
    other_means: Sequence[Sequence[float]] = (),
) -> Iterator[Step]:
    """Yield each unit of one run, played by the procedure's own functions without compilation.

    `other_means` are the means of the arms on every other metric of the design.
    """
    beside = [
        outcome_source(measured, tuple(of_metric), _stream(seed_of(seed, number), run), BURST)
        for number, (measured, of_metric) in enumerate(
            zip(design.metric_designs, other_means, strict=True), 1
        )
    ]
    steps = _block_steps if design.procedure.counts == "blocks" else _unit_steps
    return steps(design, means, _stream(np.uint64(seed), run), beside)


def _stream(seed: np.uint64, run: int) -> WordArray:
    streams = np.empty(WORDS, np.uint64)
    # The generator's arithmetic is modulo 2^64, which NumPy's scalars warn about.
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, seed, np.uint64(run))
    return streams


def _concluded(design: Design, arm: int, value: float, statistics: Statistics) -> Step:
    """Judge a test after a unit, first for harm, then for its decision or end; return the step."""
    statistics = without_harmful(design, statistics)
    judged = position_of(design, statistics).judge()
    reached = decision_of(design, statistics, judged)
    return Step(arm, value, statistics, reached, reached is not None or judged.ended != GOES_ON)


def _unit_steps(
    design: Design, means: tuple[float, ...], streams: WordArray, beside: Sequence[Values]
) -> Iterator[Step]:
    sources = outcome_source(design, means, streams, BURST), *beside
    statistics = Statistics.empty(len(means))
    for _ in range(units_cap(design)):
        arm = next_arm(design, statistics)
        value, *other_values = (source([arm])[0] for source in sources)
        statistics = record(design, statistics, arm, value, other_values)
        step = _concluded(design, arm, value, statistics)
        yield step
        if step.is_last:
            return
        statistics = step.statistics


def _block_steps(
    design: Design, means: tuple[float, ...], streams: WordArray, beside: Sequence[Values]
) -> Iterator[Step]:
    """Yield every unit of one run; only the last unit of a batch can bring a decision."""
    arms, cap = len(means), units_cap(design)
    units, adjustment = _unit_source(design, means, streams), design.adjustment
    statistics = Statistics.empty(arms)
    while True:
        following = next_block(design, statistics)
        size = sum(following.units)
        if not fits(statistics.units, following.size, cap):
            return
        begun, slots = np.zeros((arms, BLOCK_UNITS + 1)), np.empty(size, np.int64)
        begun[:, BLOCK_UNITS] = following.units
        for left in reversed(range(following.repeat)):
            with np.errstate(over="ignore"):
                deal_slots(begun, arms, slots, following.leader, streams)
            block = [ArmStatistics()] * arms
            known: tuple[float, ...] = ()
            dealt = slots.tolist()
            for i, (arm, (value, xs)) in enumerate(zip(dealt, units(dealt), strict=True)):
                counted = value
                if adjustment is not None:
                    known = adjustment.added(known, value, xs)
                    counted = adjustment.adjust(statistics.covariates, value, xs)
                block[arm] += design.procedure.unit_sums(counted)
                if left > 0 or i < size - 1:
                    yield Step(
                        arm, value, replace(statistics, arms=_sums(statistics.arms, block)), None
                    )
            other_blocks = [
                _block_of(measured, dealt, source(dealt))
                for measured, source in zip(design.metric_designs, beside, strict=True)
            ]
            statistics = fold_block(design, statistics, block, left == 0, other_blocks, known)
        step = _concluded(design, arm, value, statistics)
        yield step
        if step.is_last:
            return
        statistics = step.statistics


def _block_of(design: Design, dealt: Sequence[int], values: Sequence[float]) -> list[ArmStatistics]:
    """Return the sums of each arm's outcomes in a block, for a metric that is not primary."""
    block = [ArmStatistics()] * len(design.arms)
    for arm, value in zip(dealt, values, strict=True):
        block[arm] += design.procedure.unit_sums(value)
    return block


def _sums(arms: Sequence[ArmStatistics], block: list[ArmStatistics]) -> tuple[ArmStatistics, ...]:
    return tuple(before + new for before, new in zip(arms, block, strict=True))


def outcome_source(
    design: Design, means: tuple[float, ...], streams: WordArray, burst: int
) -> Values:
    """Return the function that draws outcomes as the loops do.

    The quick loops draw noise in bursts of `burst` numbers; 0 draws as many as are asked for.
    """
    noise_of_arms = design.outcome.noise(means)
    draws, sigma = draws_of(noise_of_arms), noise_of_arms.spread(means[0])
    if draws is None:
        return _general_outcomes(design, means, streams)
    waiting: list[float] = []

    def values(arms: Sequence[int]) -> list[float]:
        while len(waiting) < len(arms):
            waiting.extend(_noise(draws, streams, burst or len(arms)))
        noise = [waiting.pop(0) for _ in arms]
        return [
            float(draws.outcome(means[arm], sigma, n)) for arm, n in zip(arms, noise, strict=True)
        ]

    return values


def _general_outcomes(design: Design, means: tuple[float, ...], streams: WordArray) -> Values:
    world = World(means).for_outcome(design.outcome, len(means))
    source = source_of(world, streams)

    def values(arms: Sequence[int]) -> list[float]:
        with np.errstate(over="ignore"):
            return [outcome_of(source, arm, means[arm]) for arm in arms]

    return values


def _unit_source(
    design: Design, means: tuple[float, ...], streams: WordArray
) -> Callable[[Sequence[int]], list[tuple[float, tuple[float, ...]]]]:
    """Return the function that draws outcomes as the loops do, with covariates if any."""
    world = World(means)
    covariates = drawn_covariates(design, world)
    count = len(covariates.rows)
    if count == 0:
        values = outcome_source(design, means, streams, 0)
        return lambda arms: [(value, ()) for value in values(arms)]
    draw = _general_outcomes(design, means, streams)
    spreads = spreads_of(world.for_outcome(design.outcome, len(means)))
    xs, cell, ziggurat = np.empty(count), np.empty(1), ziggurat_table()

    def units(arms: Sequence[int]) -> list[tuple[float, tuple[float, ...]]]:
        drawn = []
        for arm in arms:
            (value,) = draw([arm])
            deviation = (value - means[arm]) / spreads[arm]
            with np.errstate(over="ignore"):
                draw_covariates(streams, covariates, deviation, xs, 0, cell, ziggurat)
            drawn.append((value, tuple(xs.tolist())))
        return drawn

    return units


def _noise(draws: Draws, streams: WordArray, count: int) -> list[float]:
    values = np.empty(count)
    with np.errstate(over="ignore"):
        draws.fill(streams, 0, values, 0, count, ziggurat_table())
    drawn: list[float] = values.tolist()
    return drawn


def normals(seed: int, run: int) -> Iterator[float]:
    """Yield the standard normals that run `run` of seed `seed` draws, in order.

    >>> from itertools import islice
    >>> [round(x, 3) for x in islice(normals(0, 0), 3)]
    [1.487, -0.864, 0.559]
    """
    return noise_of(NORMAL, seed, run)


def noise_of(draws: Draws, seed: int, run: int) -> Iterator[float]:
    """Yield the numbers from which run `run` of seed `seed` makes its outcomes, in order."""
    streams = _stream(np.uint64(seed), run)
    while True:
        yield from _noise(draws, streams, BURST)


@dataclass(frozen=True, slots=True)
class Stage:
    """A test after a stage: the arms of new units, the outcomes of all units, and the statistics.

    `joined` holds the arms of the units that arrived in this stage. `values` holds one outcome of
    this stage for every unit of the test, in the order in which the units arrived.
    """

    joined: tuple[int, ...]
    values: tuple[float, ...]
    statistics: CohortStatistics
    decision: Decision | None


@dataclass(slots=True)
class _Member:
    """A unit in the test: its arm, its own mean, and the number and sum of its outcomes."""

    arm: int
    mean: float
    outcomes: int = 0
    total: float = 0.0


def trace_stages(
    design: Design, means: Sequence[float], seed: int = 0, run: int = 0
) -> Iterator[Stage]:
    """Yield every stage of one run with `Recurrent` outcomes, up to its decision or the cap.

    It is the run that `simulate(..., engine="plain")` plays.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2, radius="mixture"), error=0.05)
    >>> *_, last = trace_stages(design, [0.0, 2.0], seed=1)
    >>> last.decision.name, last.decision.guarantee
    ('b', 'gaussian')
    """
    procedure = recurrent_procedure(design)
    checked = checked_means(means, len(design.arms), design.outcome)
    means = tuple(design.oriented(mean) for mean in checked)
    noise = normals(checked_seed(seed), checked_seed(run, "run"))
    check_feasible(design, World(means))
    between, within = procedure.spreads
    members: list[_Member] = []
    statistics = CohortStatistics.empty(len(means))
    while True:
        joined = _joining(procedure, statistics)
        if not fits(len(members), len(joined), units_cap(design)):
            return
        members += [_Member(arm, means[arm] + between * next(noise)) for arm in joined]
        values = tuple(unit.mean + within * next(noise) for unit in members)
        for unit, value in zip(members, values, strict=True):
            unit.outcomes += 1
            unit.total += value
        statistics = close_stage(design.increasing, _counted(members, statistics))
        reached = procedure.decision(statistics)
        # Stages show statistics in the user's own numbers, not reflected ones.
        own = design.oriented_statistics(statistics)
        yield Stage(joined, tuple(map(design.oriented, values)), own, reached)
        if reached is not None:
            return


def _joining(procedure: RecurrentProcedure, statistics: CohortStatistics) -> tuple[int, ...]:
    if procedure.shape.together:
        return tuple(arm for arm in range(len(statistics.arms)) if arm not in statistics.out)
    return (procedure.next_arm(statistics),)


def _counted(members: list[_Member], before: CohortStatistics) -> CohortStatistics:
    arms = tuple(
        ArmCohorts.of((unit.outcomes, unit.total) for unit in members if unit.arm == arm)
        for arm in range(len(before.arms))
    )
    return replace(before, arms=arms, stage=before.stage + 1)
