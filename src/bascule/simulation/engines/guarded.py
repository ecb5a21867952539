"""Runs of designs with guardrails or secondary metrics, played by calling the core, uncompiled.

Every unit gives one outcome of each metric, drawn independently of the others. Harmful arms are
removed as a live test removes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bascule.core.design import Design
from bascule.core.ends import end_reason, remove_arm
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.core.metrics.guardrails import harmed
from bascule.core.procedures.base import Decision
from bascule.core.procedures.intervals.state import NO_DIFFERENCE, NOBODY
from bascule.core.progress import decision, fold_block, next_arm, next_block, record
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.simulation.engines.runs import Runs
from bascule.simulation.guardrails import GuardedRuns
from bascule.simulation.kernels.control import FINISHED, STEPS, STOP, IntArray
from bascule.simulation.kernels.intervals import BURST
from bascule.simulation.random.streams import WORDS, seed_stream
from bascule.simulation.trace import Values, outcome_source
from bascule.simulation.worlds.world import World

APART = 0x9E3779B97F4A7C15
"""What lies between the seeds of two metrics: the golden ratio in 64 bits."""


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
    arms, found = len(design.arms), {}
    for metric in design.metrics:
        means = named.pop(metric.name, None)
        if means is None:
            if metric.baseline is None:
                raise InputError(
                    "metrics",
                    f"metrics: the means of {metric.name} are missing: give one number an arm, as "
                    f"in metrics={{{metric.name!r}: [...]}}, or the metric a baseline",
                )
            means = (metric.baseline,) * arms
        found[metric.name] = checked_means(means, arms, metric.outcome)
    if named:
        there = ", ".join(metric.name for metric in design.metrics) or "it has none"
        raise InputError("metrics", f"metrics: {next(iter(named))} is not in the design: {there}")
    return found


class GuardedPlay(Runs):
    """Runs that play every metric of a design."""

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
        self.design, self.metric_means = design, means
        self.removed = np.zeros((runs, self.arms), np.bool_)
        self.by_harm = np.zeros(runs, np.bool_)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs."""
        for run in range(first_run, first_run + runs):
            if control[STOP]:
                return
            seen, reached = self._play_one(run)
            units = [arm.units for arm in seen.arms]
            self.winners[run] = NOBODY
            if reached is not None:
                self.winners[run] = NO_DIFFERENCE if reached.arm is None else reached.arm
                self.by_harm[run] = bool(reached.harm)
            self.removed[run, [*seen.removed, *harmed(seen)]] = True
            self.times[run] = sum(units)
            self.units[run] = units
            control[FINISHED] += 1
            control[STEPS] += sum(units)

    def guarded(self) -> GuardedRuns:
        """Return what the guardrails did."""
        return GuardedRuns(self.design, dict(self.metric_means), self.removed, self.by_harm)

    def _play_one(self, run: int) -> tuple[Statistics, Decision | None]:
        design = self.design
        sources = [self._source(design, tuple(self.means.tolist()), run, 0)]
        for which, (one, metric) in enumerate(
            zip(design.metric_designs, design.metrics, strict=True), 1
        ):
            sources.append(self._source(one, self.metric_means[metric.name], run, which))
        step = _block_step if design.procedure.counts == "blocks" else _unit_step
        seen = Statistics.empty(self.arms)
        while True:
            after = step(design, seen, sources, self.cap)
            if after is None:
                return seen, None
            seen = after
            for arm in harmed(seen):
                if self.arms - len(seen.removed) > 2:
                    seen = remove_arm(design, seen, design.arms[arm])
            reached = decision(design, seen)
            if reached is not None or end_reason(design, seen) is not None:
                return seen, reached

    def _source(self, design: Design, means: tuple[float, ...], run: int, which: int) -> Values:
        streams = np.empty(WORDS, np.uint64)
        seed = (int(self.seed) + which * APART) % 2**64
        with np.errstate(over="ignore"):
            seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
        return outcome_source(design, means, streams, BURST)


def _unit_step(
    design: Design, seen: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    if seen.units + 1 > cap:
        return None
    arm = next_arm(design, seen)
    value, *others = (source([arm])[0] for source in sources)
    return record(design, seen, arm, value, others)


def _block_step(
    design: Design, seen: Statistics, sources: Sequence[Values], cap: int
) -> Statistics | None:
    block = next_block(design, seen)
    if seen.units + block.size > cap:
        return None
    # Outcomes of a steady world do not depend on the order within a block.
    slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
    for left in reversed(range(block.repeat)):
        first, *others = [
            _sums(one, slots, source(slots))
            for one, source in zip((design, *design.metric_designs), sources, strict=True)
        ]
        seen = fold_block(design, seen, first, left == 0, others)
    return seen


def _sums(design: Design, slots: Sequence[int], values: Sequence[float]) -> list[ArmStatistics]:
    sums, unit_sums = [ArmStatistics()] * len(design.arms), design.procedure.unit_sums
    for arm, value in zip(slots, values, strict=True):
        sums[arm] += unit_sums(value)
    return sums
