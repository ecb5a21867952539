"""The means of all metrics in a simulation, and what guardrails did in its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import invalid
from bascule.core.gaps import checked_means
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.types import IntArray

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


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
                raise invalid(
                    f"metrics: the means of {metric.name} are missing: give one number per arm, as "
                    f"in metrics={{{metric.name!r}: [...]}}, or the metric a baseline",
                )
            means = (metric.baseline,) * arms
        by_metric[metric.name] = checked_means(means, arms, metric.outcome)
    if named:
        known = ", ".join(metric.name for metric in design.metrics) or "it has none"
        raise invalid(f"metrics: {next(iter(named))} is not in the design: {known}")
    return by_metric


def can_compile(design: Design) -> bool:
    """Return whether a compiled loop plays the guardrails of a design.

    It does if the design has guardrails, and if all its metrics are compared in blocks.
    """
    designs = (design, *design.metric_designs)
    return bool(design.guardrails) and all(
        own.procedure.kind == BlockProcedure.kind for own in designs
    )


@dataclass(frozen=True, slots=True, eq=False)
class GuardedRuns:
    """What guardrails did in the runs of a simulation.

    `means` has the true means of the arms on each metric. `removed_at` has a row for each run:
    after how many units of the test each arm was found harmful, or -1 for never. `by_harm` says
    which runs ended because all arms except the control were harmful.
    """

    design: Design
    means: dict[str, tuple[float, ...]]
    removed_at: IntArray
    by_harm: BoolArray

    @classmethod
    def empty(
        cls, design: Design, means: Mapping[str, tuple[float, ...]], runs: int
    ) -> GuardedRuns:
        """Return the result before the first run."""
        arms = len(design.arms)
        return cls(design, dict(means), np.full((runs, arms), -1), np.zeros(runs, np.bool_))

    @property
    def removed(self) -> BoolArray:
        """Whether each arm was removed as harmful, with a row for each run."""
        return self.removed_at >= 0

    def losses(self, name: str) -> tuple[float, ...]:
        """Return by how much each arm is truly worse than the control on a metric."""
        measured, means = self.design.metric_design(name), self.means[name]
        control = measured.oriented(means[self.design.arms.index(self.design.control_arm)])
        return tuple(control - measured.oriented(mean) for mean in means)

    def beyond_margin(self, winner: IntArray, name: str) -> float:
        """Return the share of runs whose winner is worse than the control by the margin or more."""
        margin = next(metric.margin for metric in self.design.metrics if metric.name == name)
        losses = self.losses(name)
        # Rounding must not hide a loss that equals the margin.
        bad = [arm for arm, loss in enumerate(losses) if margin and loss >= margin * (1 - 1e-9)]
        return float(np.mean(np.isin(winner, bad)))

    @property
    def false_removals(self) -> float:
        """The share of runs that removed at least one arm that is not harmful on any guardrail."""
        harmful = np.zeros(len(self.design.arms), np.bool_)
        for metric in self.design.metrics:
            if metric.harm_line is not None:
                line = metric.harm_line * (1 + 1e-9)
                harmful |= np.array(self.losses(metric.name)) > line
        return float(np.mean((self.removed & ~harmful).any(axis=1)))

    def to_dict(self, winner: IntArray) -> dict[str, Any]:
        """Return plain data: shares of the runs, and in `ended_by_harm` a number of runs."""
        return {
            "false_removals": self.false_removals,
            "ended_by_harm": int(self.by_harm.sum()),
            "shipped_beyond_margin": {
                metric.name: self.beyond_margin(winner, metric.name)
                for metric in self.design.guardrails
            },
        }
