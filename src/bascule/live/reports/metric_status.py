"""The status of guardrails, secondary metrics and covariates of a live test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.approximate import about
from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.metrics.coverage import coverages
from bascule.core.metrics.effects import Contrast, contrasts
from bascule.core.metrics.guardrails import (
    MetricView,
    Standing,
    held_words,
    metric_views,
)
from bascule.core.metrics.metric import Goal, Role
from bascule.core.position import waiting_arm
from bascule.core.progress import next_block
from bascule.core.statistics import Statistics
from bascule.live.control import for_next_block, running_time
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import ExperimentState

HELD = "once a unit that came since the last step has counted"


@dataclass(frozen=True, slots=True)
class MetricStatus:
    """Status of a metric other than the primary one: means of the arms, and their contrasts.

    A contrast is a treatment minus the control. `standings` has the result of a guardrail for the
    treatment of each contrast: "within margin", "harmed", "beyond margin" or "open". Intervals have
    the metric's own error, shared by its treatments and not corrected for the number of metrics.
    Means of `binary` outcomes, 0 or 1, are shares. `clipped` is, for each arm, the number of units
    whose outcome lay beyond the limits and counts as the nearest one.
    `coverage` is the share of each arm's matured units that have a value; None if no value can be
    missing.
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
    coverage: tuple[float | None, ...] = ()


def metric_statuses(design: Design, state: ExperimentState) -> tuple[MetricStatus, ...]:
    """Return the status of every metric other than the primary one.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> metric_statuses(design, ExperimentState.empty(design))[0].standings
    ('open',)
    """
    views = metric_views(design, state.once)
    counts = state.counts.clipped[1:] or ((0,) * len(design.arms),) * len(views)
    units = [arm.units for arm in state.once.arms]
    return tuple(
        _status(*parts, units) for parts in zip(design.metric_designs, views, counts, strict=True)
    )


def _status(
    design: Design, view: MetricView, clipped: tuple[int, ...], units: Sequence[int]
) -> MetricStatus:
    control = design.arms.index(design.control_arm)
    arms, metric = view.statistics.arms, view.metric
    means = tuple(arm.known_mean for arm in arms)
    contrasts_of_arms = contrasts(design, view.effects, arms[control], means[control])
    standings = tuple(
        view.standings[design.arms.index(contrast.treatment)] for contrast in contrasts_of_arms
    )
    return MetricStatus(
        *(metric.name, metric.role, metric.goal, metric.margin, metric.error),
        *(design.calibration.guarantee, means, contrasts_of_arms, standings),
        binary=design.outcome.binary,
        clipped=clipped,
        coverage=coverages(design, view.statistics, units),
    )


def waiting_words(design: Design, statistics: Statistics) -> str | None:
    """Return a sentence on the arm that has won on the primary metric but has to wait, or None.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> waiting_words(design, bs.progress.Statistics.empty(2)) is None
    True
    """
    arm = waiting_arm(design, statistics)
    if arm is None:
        return None
    waits = held_words(design, statistics, arm)
    if names := open_guardrails(design, statistics, arm):
        waits = (f"not shown yet to stay within the margin of {' and '.join(names)}", *waits)
    return f"{design.arms[arm]} has won on the primary metric and is {_held(waits)}"


def _held(waits: Sequence[str]) -> str:
    """Return the reasons why an arm has to wait, as the end of a sentence."""
    first, *rest = waits
    first = first if first.startswith("not shown") else f"held: {first}"
    return "; ".join((first, *rest))


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """Progress of a guarded rollout.

    `traffic` is the share of all traffic that is in the test now, and `part` is the part of this
    traffic that gets any new version in the next block (None if there are no blocks).
    `next_traffic` is the share of the next step of the ramp, due in `next_days` days (0 while the
    step is held); both are None after the last step. `open` are the guardrails that have not found
    a new version within their margins yet, and `held` says which values are missing.
    """

    version: str
    """Name of the new version; of several, the names joined by "or"."""
    traffic: float
    part: float | None
    next_traffic: float | None
    next_days: float | None
    open: tuple[str, ...]
    held: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The progress of the rollout in one line."""
        words = f"{100 * self.traffic:g} % of the traffic is in the rollout of {self.version}"
        if self.part is not None:
            words += f", {100 * self.traffic * self.part:.3g} % gets {self.version}"
        if self.next_traffic is not None and self.next_days is not None:
            time = f"in {about(self.next_days)}" if self.next_days > 0 else HELD
            words += f"; {100 * self.next_traffic:g} % is in it {time}"
        waits = f"not shown yet to stay within the margin of {' and '.join(self.open)}"
        return "; ".join((words, waits, *self.held))


def rollout_of(test: Loaded, now: float) -> RolloutStatus:
    """Return the progress of a guarded rollout."""
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
        _new_part(design, state),
        share,
        None if at is None else max(0.0, float(at) - passed) / DAY,
        tuple(unknown),
        tuple(
            dict.fromkeys(reason for arm in new for reason in held_words(design, state.once, arm))
        ),
    )


def _new_part(design: Design, state: ExperimentState) -> float | None:
    """Return the share of new versions in the next block, or None if there are no blocks."""
    if design.procedure.assigns != "blocks":
        return None
    units = next_block(design, state.once).units
    return 1.0 - units[design.control_index] / sum(units)


def open_guardrails(design: Design, statistics: Statistics, arm: int) -> tuple[str, ...]:
    """Return the guardrails that have not yet shown an arm to be within their margin."""
    return tuple(
        view.metric.name
        for view in metric_views(design, statistics)
        if view.metric.is_guardrail and view.standings[arm] != "within margin"
    )


@dataclass(frozen=True, slots=True)
class CovariateStatus:
    """The adjustment of outcomes: the coefficient of each covariate for the next block.

    Means and differences are those of adjusted outcomes. `lacking` is the number of units with a
    missing covariate, and `beyond` the number of units with a covariate beyond its limits.
    """

    coefficients: dict[str, float]
    lacking: int
    beyond: int

    @property
    def words(self) -> str:
        """The adjustment in one line: "adjusted for spend_before; 12 units came without ..."."""
        parts = [f"adjusted for {', '.join(self.coefficients)}"]
        if self.lacking:
            parts.append(
                f"{self.lacking:,} units came without a covariate and count with its missing value"
            )
        if self.beyond:
            parts.append(
                f"{self.beyond:,} units had a covariate beyond its limits, which counts as the "
                "nearest"
            )
        return "; ".join(parts)


def covariates_of(design: Design, state: ExperimentState) -> CovariateStatus | None:
    """Return the adjustment of outcomes by covariates, or None if there is none."""
    if design.adjustment is None:
        return None
    coefficients = design.adjustment.coefficients(state.once.covariates)
    return CovariateStatus(coefficients, state.enrolment.lacking, state.enrolment.beyond)
