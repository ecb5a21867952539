"""Runs of designs with guardrails whose rule assigns unit by unit, and the means of all metrics.

Every unit gives one outcome of each metric, drawn independently of the others. Harmful arms are
removed as a live test removes them. Designs in blocks have compiled loops; these here are played by
calling the core step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bascule.core.design import Design
from bascule.core.ending import end_reason, remove_arm
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.core.metrics.guardrails import harmed
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.progress import decision, fold_block, next_arm, next_block, record
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY, IntArray
from bascule.simulation.guardrails import GuardedRuns
from bascule.simulation.kernels.compiled import FINISHED, STEPS, STOP
from bascule.simulation.kernels.guards import seed_of
from bascule.simulation.kernels.intervals import BURST
from bascule.simulation.random import WORDS, seed_stream
from bascule.simulation.runs import Runs
from bascule.simulation.trace import Values, outcome_source
from bascule.simulation.worlds.world import World


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
        known = ", ".join(metric.name for metric in design.metrics) or "it has none"
        raise InputError("metrics", f"metrics: {next(iter(named))} is not in the design: {known}")
    return by_metric


def can_compile(design: Design) -> bool:
    """Return whether a compiled loop plays a design with guardrails: all metrics in blocks."""
    designs = (design, *design.metric_designs)
    return bool(design.guardrails) and all(
        own.procedure.kind == BlockProcedure.kind for own in designs
    )


class GuardedPlay(Runs):
    """Runs that play every metric of a design, step by step, and write into `guarded`."""

    def __init__(
        self, design: Design, world: World, guarded: GuardedRuns, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        calendar = design.withholds and world.units_per_day is not None
        if design.procedure.counts == "stages" or calendar or not world.plain_for(design.outcome):
            raise InputError(
                "world",
                f"{design.rule.label} is simulated with guardrails in a steady world, without "
                "windows and calendar: give means alone, or use Tilt(tilt)",
            )
        self.guarded = guarded

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
                self.guarded.by_harm[run] = bool(reached.harm)
            for arm, at in removed_at.items():
                self.guarded.removed_at[run, arm] = at
            self.times[run] = sum(units)
            self.units[run] = units
            control[FINISHED] += 1
            control[STEPS] += sum(units)

    def _play_one(self, run: int) -> tuple[Statistics, Decision | None, dict[int, int]]:
        design = self.design
        sources = [self._source(design, tuple(self.means.tolist()), run, 0)]
        for number, (metric_design, metric) in enumerate(
            zip(design.metric_designs, design.metrics, strict=True), 1
        ):
            sources.append(
                self._source(metric_design, self.guarded.means[metric.name], run, number)
            )
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

    def _source(self, design: Design, means: tuple[float, ...], run: int, number: int) -> Values:
        streams = np.empty(WORDS, np.uint64)
        with np.errstate(over="ignore"):
            seed_stream(streams, 0, seed_of(int(self.seed), number), np.uint64(run))
        return outcome_source(design, means, streams, BURST)


def _unit_step(
    design: Design, statistics: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    if statistics.units + 1 > cap:
        return None
    arm = next_arm(design, statistics)
    value, *values = (source([arm])[0] for source in sources)
    return record(design, statistics, arm, value, values)


def _block_step(
    design: Design, statistics: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    block = next_block(design, statistics)
    if statistics.units + block.size > cap:
        return None
    # Outcomes of a steady world do not depend on the order within a block.
    slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
    for left in reversed(range(block.repeat)):
        first, *sums = [
            _sums(measured, slots, source(slots))
            for measured, source in zip((design, *design.metric_designs), sources, strict=True)
        ]
        statistics = fold_block(design, statistics, first, left == 0, sums)
    return statistics


def _sums(design: Design, slots: Sequence[int], values: Sequence[float]) -> list[ArmStatistics]:
    sums, unit_sums = [ArmStatistics()] * len(design.arms), design.procedure.unit_sums
    for arm, value in zip(slots, values, strict=True):
        sums[arm] += unit_sums(value)
    return sums
