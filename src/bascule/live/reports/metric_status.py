"""What guardrails, secondary metrics and covariates of a live test have shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.approximate import about
from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.metrics.contrasts import Contrast, contrasts
from bascule.core.metrics.guardrails import MetricView, Standing, metric_views, waiting_arm
from bascule.core.metrics.measure import SECONDS
from bascule.core.metrics.metric import Goal, Role
from bascule.core.statistics import Statistics
from bascule.live.control import for_next_block, running_time
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import ExperimentState

HELD = "once a unit that came since the last step has counted"


@dataclass(frozen=True, slots=True)
class MetricStatus:
    """A metric beside the primary one: the mean of each arm, and each treatment minus the control.

    `standings` has, for each contrast, what a guardrail says of its treatment: "within margin",
    "harmed" or "open". Intervals have the metric's own error, shared by its treatments and not
    corrected for the number of metrics. Means of `binary` outcomes, 0 or 1, are shares. `clipped`
    counts, for each arm, units whose outcome lay beyond the limits and counts as the nearest one.
    """

    name: str
    role: Role
    goal: Goal
    margin: float | None
    error: float
    guarantee: Guarantee
    means: tuple[float | None, ...]
    contrasts: tuple[Contrast, ...]
    standings: tuple[Standing, ...]
    binary: bool = False
    clipped: tuple[int, ...] = ()


def metric_statuses(
    design: Design, statistics: Statistics, clipped: Sequence[tuple[int, ...]] = ()
) -> tuple[MetricStatus, ...]:
    """Return what every metric beside the primary one has shown; `clipped` has a row for each.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> metric_statuses(design, bs.progress.Statistics.empty(2))[0].standings
    ('open',)
    """
    views = metric_views(design, statistics)
    counts = clipped or ((0,) * len(design.arms),) * len(views)
    return tuple(map(_status, design.metric_designs, views, counts))


def _status(design: Design, view: MetricView, clipped: tuple[int, ...]) -> MetricStatus:
    control = design.arms.index(design.control_arm)
    arms, metric = view.statistics.arms, view.metric
    means = tuple(arm.mean if arm.units else None for arm in arms)
    found = contrasts(design, view.effects, arms[control], means[control])
    standings = tuple(view.standings[design.arms.index(one.treatment)] for one in found)
    return MetricStatus(
        *(metric.name, metric.role, metric.goal, metric.margin, metric.error),
        *(design.calibration.guarantee, means, found, standings),
        binary=design.outcome.binary,
        clipped=clipped,
    )


def waiting_words(design: Design, statistics: Statistics) -> str | None:
    """Say which arm has won on the primary metric and waits for which guardrails; None if none.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> waiting_words(design, bs.progress.Statistics.empty(2)) is None
    True
    """
    arm = waiting_arm(design, statistics)
    if arm is None:
        return None
    return (
        f"{design.arms[arm]} has won on the primary metric and is not shown yet to stay within "
        f"the margin of {' and '.join(open_guardrails(design, statistics, arm))}"
    )


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """How far a guarded rollout is.

    `traffic` is the share of all traffic that is in the test now, which is split evenly.
    `next_traffic` is the next step of the ramp, in `next_days` days; both are None after the last.
    `open` are the guardrails that have not found a new version within their margins yet.
    """

    version: str
    traffic: float
    next_traffic: float | None
    next_days: float | None
    open: tuple[str, ...]

    @property
    def words(self) -> str:
        """The rollout in a line."""
        found = f"{100 * self.traffic:g} % of the traffic is in the rollout of {self.version}"
        if self.next_traffic is not None and self.next_days is not None:
            when = f"in {about(self.next_days)}" if self.next_days > 0 else HELD
            found += f"; {100 * self.next_traffic:g} % {when}"
        return f"{found}; not shown yet to stay within the margin of {' and '.join(self.open)}"


def rollout_of(test: Loaded, now: float) -> RolloutStatus:
    """Return how far a guarded rollout is."""
    design, audience, state = test.design, test.delivery.audience, test.state
    control = for_next_block(audience, True, state, now)
    ramp = () if audience is None else audience.ramp
    at, share = ramp[control.step + 1] if control.step + 1 < len(ramp) else (None, None)
    passed = running_time(control, now)
    new = [i for i in range(len(design.arms)) if i != design.control_index]
    new = [i for i in new if i not in state.once.out] or new
    unknown = {name: None for arm in new for name in open_guardrails(design, state.once, arm)}
    return RolloutStatus(
        " or ".join(design.arms[arm] for arm in new),
        control.share,
        share,
        None if at is None else (float(at) - passed) / SECONDS["d"],
        tuple(unknown),
    )


def open_guardrails(design: Design, statistics: Statistics, arm: int) -> tuple[str, ...]:
    """Return the guardrails that have not found an arm within their margin; none of the control."""
    return tuple(
        view.metric.name
        for view in metric_views(design, statistics)
        if view.metric.is_guardrail and view.standings[arm] != "within margin"
    )


@dataclass(frozen=True, slots=True)
class CovariateStatus:
    """What outcomes are adjusted by: the coefficient of each covariate for the next block.

    Means and differences are those of adjusted outcomes. `lacking` counts the units that came
    without one of the covariates, and `beyond` those with one beyond its limits.
    """

    coefficients: dict[str, float]
    lacking: int
    beyond: int

    @property
    def words(self) -> str:
        """The adjustment in a line: "adjusted for spend_before; 12 units came without it"."""
        parts = [f"adjusted for {', '.join(self.coefficients)}"]
        if self.lacking:
            parts.append(f"{self.lacking:,} units came without it and count with its missing value")
        if self.beyond:
            parts.append(f"{self.beyond:,} lay beyond its limits and count as the nearer one")
        return "; ".join(parts)


def covariates_of(design: Design, state: ExperimentState) -> CovariateStatus | None:
    """Return by what outcomes are adjusted, or None."""
    if design.adjustment is None:
        return None
    found = design.adjustment.coefficients(state.once.covariates)
    return CovariateStatus(found, state.lacking, state.beyond)
