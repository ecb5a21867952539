"""Runs of designs with guardrails or secondary metrics.

Every unit gives one outcome of each metric, drawn independently of the others. Harmful arms are
removed as a live test removes them. A compiled loop plays designs in blocks; any other, and every
design with `engine="plain"`, is played by calling the core step by step, with the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bascule.core.design import Design
from bascule.core.ending import end_reason, remove_arm
from bascule.core.errors import InputError
from bascule.core.evidence.families.rows import Family
from bascule.core.gaps import checked_means
from bascule.core.metrics.guardrails import harmed
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.steps import Scope
from bascule.core.progress import (
    block_procedure,
    decision,
    fold_block,
    next_arm,
    next_block,
    record,
)
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY, IntArray
from bascule.simulation.guardrails import GuardedRuns
from bascule.simulation.kernels import guarded as kernel
from bascule.simulation.kernels.blocks import block_settings, compiled_params, room_for
from bascule.simulation.kernels.compiled import FINISHED, STEPS, STOP, compile_loop
from bascule.simulation.kernels.intervals import BURST
from bascule.simulation.kernels.worlds.unit import NOISE, NORMAL, outcome_of, world_numbers
from bascule.simulation.random import WORDS, seed_stream
from bascule.simulation.recurrent.runs import EngineName
from bascule.simulation.runs import Runs
from bascule.simulation.trace import Values, outcome_source
from bascule.simulation.worlds.world import World

APART = 0x9E3779B97F4A7C15
"""What lies between the seeds of two metrics: the golden ratio in 64 bits."""

COMPILED_KINDS = frozenset({"blocks"})
"""The kinds of procedures that the compiled loop plays, of the primary metric and the others."""


def metric_means(
    design: Design, given: Mapping[str, Sequence[float]] | None
) -> dict[str, tuple[float, ...]]:
    """Return the means of the arms on every metric: as given, or all at the metric's baseline.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), margin=5, baseline=120)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> metric_means(design, None)
    {'latency': (120.0, 120.0)}
    """
    named = dict(given or {})
    arms, by_metric = len(design.arms), {}
    for metric in design.metrics:
        means = named.pop(metric.name, None)
        if means is None:
            if metric.baseline is None:
                raise InputError(
                    "metrics",
                    f"metrics: the means of {metric.name} are missing: give one number per arm, as "
                    f"in metrics={{{metric.name!r}: [...]}}, or the metric a baseline",
                )
            means = (metric.baseline,) * arms
        by_metric[metric.name] = checked_means(means, arms, metric.outcome)
    if named:
        there = ", ".join(metric.name for metric in design.metrics) or "it has none"
        raise InputError("metrics", f"metrics: {next(iter(named))} is not in the design: {there}")
    return by_metric


def guarded_play(
    design: Design,
    world: World,
    means: Mapping[str, tuple[float, ...]],
    seed: int,
    runs: int,
    engine: EngineName | None = None,
) -> GuardedPlay:
    """Return the runs of a design with metrics: compiled where there is a loop for it."""
    if engine == "fast":
        raise InputError(
            "engine",
            "the fast engine draws sums of blocks for one metric: leave engine out with metrics, "
            'or use engine="plain" to play them step by step',
        )
    compiled = engine is None and can_compile(design)
    kind = CompiledPlay if compiled else GuardedPlay
    return kind(design, world, means, seed, runs)


def can_compile(design: Design) -> bool:
    """Return whether the compiled loop plays a design with metrics.

    It plays designs in blocks, but for four or more arms of which several may be removed.
    """
    every = (design, *(one.increasing for one in design.metric_designs))
    if not design.guardrails or any(one.procedure.kind not in COMPILED_KINDS for one in every):
        return False
    searching = any(metric.harm_line is not None for metric in design.metrics)
    arms = len(design.arms)
    return arms <= 3 or not searching


class GuardedPlay(Runs):
    """Runs that play every metric of a design, step by step."""

    def __init__(
        self,
        design: Design,
        world: World,
        means: Mapping[str, tuple[float, ...]],
        seed: int,
        runs: int,
    ) -> None:
        super().__init__(design, world, seed, runs)
        if design.procedure.counts == "stages" or not world.plain_for(design.outcome):
            raise InputError(
                "world",
                f"designs with metrics are simulated in a steady world, not with {world.words}: "
                "give means alone",
            )
        if world.units_per_day is not None and (design.withholds or design.matures(0.0)):
            raise InputError(
                "units_per_day",
                "windows, min_days and whole_weeks are not simulated together with metrics: leave "
                "units_per_day out of the world, or the metrics out of the design",
            )
        self.design, self.metric_means = design, means
        self.removed_at = np.full(runs * self.arms, -1)
        self.by_harm = np.zeros(runs, np.int64)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs."""
        for run in range(first_run, first_run + runs):
            if control[STOP]:
                return
            statistics, reached, removed_at = self._play_one(run)
            units = [arm.units for arm in statistics.arms]
            self.winners[run] = NOBODY
            if reached is not None:
                self.winners[run] = NO_DIFFERENCE if reached.arm is None else reached.arm
                self.by_harm[run] = bool(reached.harm)
            for arm, at in removed_at.items():
                self.removed_at[run * self.arms + arm] = at
            self.times[run] = sum(units)
            self.units[run] = units
            control[FINISHED] += 1
            control[STEPS] += sum(units)

    def guarded(self) -> GuardedRuns:
        """Return what the guardrails did."""
        removed_at = self.removed_at.reshape(-1, self.arms)
        return GuardedRuns(self.design, dict(self.metric_means), removed_at, self.by_harm > 0)

    def _play_one(self, run: int) -> tuple[Statistics, Decision | None, dict[int, int]]:
        design = self.design
        sources = [self._source(design, tuple(self.means.tolist()), run, 0)]
        for which, (one, metric) in enumerate(
            zip(design.metric_designs, design.metrics, strict=True), 1
        ):
            sources.append(self._source(one, self.metric_means[metric.name], run, which))
        step = _block_step if design.procedure.counts == "blocks" else _unit_step
        statistics, removed_at = Statistics.empty(self.arms), dict[int, int]()
        while True:
            after = step(design, statistics, sources, self.cap)
            if after is None:
                return statistics, None, removed_at
            statistics = after
            for arm in harmed(statistics):
                removed_at.setdefault(arm, statistics.units)
                if self.arms - len(statistics.removed) > 2:
                    statistics = remove_arm(design, statistics, design.arms[arm])
            reached = decision(design, statistics)
            if reached is not None or end_reason(design, statistics) is not None:
                return statistics, reached, removed_at

    def seed_of(self, which: int) -> np.uint64:
        """Return the seed of a metric: 0 is the primary one."""
        return np.uint64((int(self.seed) + which * APART) % 2**64)

    def _source(self, design: Design, means: tuple[float, ...], run: int, which: int) -> Values:
        streams = np.empty(WORDS, np.uint64)
        with np.errstate(over="ignore"):
            seed_stream(streams, 0, self.seed_of(which), np.uint64(run))
        return outcome_source(design, means, streams, BURST)


class CompiledPlay(GuardedPlay):
    """Runs that play the primary metric and all guardrails in a compiled loop."""

    def __init__(
        self,
        design: Design,
        world: World,
        means: Mapping[str, tuple[float, ...]],
        seed: int,
        runs: int,
    ) -> None:
        super().__init__(design, world, means, seed, runs)
        procedure, strict = block_procedure(design), block_procedure(design.stricter)
        places = [0, *(1 + k for k, one in enumerate(design.metrics) if one.is_guardrail)]
        designs = [(design, *design.metric_designs)[place] for place in places]
        all_means = [tuple(self.means.tolist())]
        all_means += [means[design.metrics[place - 1].name] for place in places[1:]]
        kinds: list[Family] = []
        rows, judged, harmed_by = [], [], []
        for place, one in zip(places[1:], designs[1:], strict=True):
            metric, its = design.metrics[place - 1], block_procedure(one)
            harm = design.harm_designs[place - 1]
            if its.drawn_evidence not in kinds:
                kinds.append(its.drawn_evidence)
            row = np.zeros(kernel.NUMBERS)
            row[kernel.KIND], row[kernel.SCALE] = kinds.index(its.drawn_evidence), one.outcome.scale
            row[kernel.MARGIN], row[kernel.LINE] = metric.margin or 0.0, math.inf
            row[kernel.TURNED], row[kernel.CENTRE] = one.goal == "decrease", one.oriented(0.0)
            strict_params = its.params._replace(threshold=math.inf)
            if harm is not None and metric.harm_line is not None:
                strict_params, row[kernel.LINE] = block_procedure(harm).params, metric.harm_line
            rows.append(row)
            judged.append(its.params[:-1])
            harmed_by.append(strict_params[:-1])
        # Intervals of the primary metric say which arms come back once another is removed.
        searching = any(one.harm_line is not None for one in design.metrics)
        intervals = procedure.margin > 0.0 or (searching and self.arms > 2)
        self.family, self.kinds = procedure.drawn_evidence, kinds
        self.numbers = np.array(rows), np.array(judged), np.array(harmed_by)
        worlds = [
            world_numbers(World(its).for_outcome(one.outcome, self.arms))
            for one, its in zip(designs, all_means, strict=True)
        ]
        normal = all(numbers[NOISE] == NORMAL for numbers in worlds)
        draw = kernel.draw_nothing if normal else outcome_of
        scope = Scope(two_arms=self.arms == 2, intervals=intervals)
        parts = procedure.drawn_evidence, procedure.share, scope, tuple(kinds), draw
        self.loop = compile_loop(kernel.build, *parts)
        self.largest_block = procedure.largest_block
        self.settings = block_settings(self, procedure, compiled_params(procedure))
        self.guarded_settings = kernel.GuardedSettings(
            np.array([self.seed_of(place) for place in places]),
            np.array(worlds),
            np.array(all_means),
            design.arms.index(design.control_arm),
            design.decides == "guardrails",
            compiled_params(strict),
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        guardrails, arms = len(self.numbers[0]), self.arms
        cells, here = guardrails * arms, slice(first_run * arms, (first_run + runs) * arms)
        arm_columns = max(one.arm_columns for one in self.kinds)
        pair_columns = max(one.pair_columns for one in self.kinds)
        self.loop(
            *room_for(self.family, arms),
            kernel.Guards(
                *self.numbers,
                np.empty((guardrails, arms, arm_columns)),
                np.empty((guardrails, arms * (arms - 1) // 2, pair_columns)),
                np.empty(cells, np.int64),
                *(np.empty(cells), np.empty(cells)),
            ),
            np.empty((guardrails + 1, WORDS), np.uint64),
            np.empty(1),
            np.empty(self.largest_block),
            *(np.empty(arms, np.int64), np.empty(arms, np.int64)),
            arms,
            chunk,
            self.settings,
            self.guarded_settings,
            columns,
            self.removed_at[here],
            self.by_harm[first_run : first_run + runs],
        )


def _unit_step(
    design: Design, statistics: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    if statistics.units + 1 > cap:
        return None
    arm = next_arm(design, statistics)
    value, *others = (source([arm])[0] for source in sources)
    return record(design, statistics, arm, value, others)


def _block_step(
    design: Design, statistics: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    block = next_block(design, statistics)
    if statistics.units + block.size > cap:
        return None
    # Outcomes of a steady world do not depend on the order within a block.
    slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
    for left in reversed(range(block.repeat)):
        first, *others = [
            _sums(one, slots, source(slots))
            for one, source in zip((design, *design.metric_designs), sources, strict=True)
        ]
        statistics = fold_block(design, statistics, first, left == 0, others)
    return statistics


def _sums(design: Design, slots: Sequence[int], values: Sequence[float]) -> list[ArmStatistics]:
    sums, unit_sums = [ArmStatistics()] * len(design.arms), design.procedure.unit_sums
    for arm, value in zip(slots, values, strict=True):
        sums[arm] += unit_sums(value)
    return sums
