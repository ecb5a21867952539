"""The status of a live test: a pure function of the stored state.

The test is decided by the same intervals that the status shows. Nothing here reads the log, so the
answer takes as long after a million units as after ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bascule.core.design import Design
from bascule.core.diagnostics import Diagnostic
from bascule.core.ending import end_reason, ending, is_futile, winner_promise
from bascule.core.evidence.spread import units_for_spread
from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.coverage import coverages
from bascule.core.metrics.effects import (
    Contrast,
    Effect,
    advantages,
    contrasts,
    effects_of,
    lifts,
    signed,
)
from bascule.core.metrics.guardrails import may_hold
from bascule.core.metrics.metric import Goal
from bascule.core.presenter import Reported, presenter
from bascule.core.procedures.base import AnyStatistics, EndReason, Signals, SignalUse
from bascule.core.progress import intervals
from bascule.core.statistics import Statistics
from bascule.live.control import places_left
from bascule.live.reports.forecast import lead, shown_means
from bascule.live.reports.metric_status import (
    CovariateStatus,
    MetricStatus,
    RolloutStatus,
    covariates_of,
    metric_statuses,
    rollout_of,
    waiting_words,
)
from bascule.live.reports.time_left import TimeLeft, time_left_of
from bascule.live.reports.waiting import (
    FinalFigures,
    Waiting,
    Withheld,
    announced_advantages,
    ended_by,
    final_of,
    reversal_of,
    waiting_of,
    was_withheld,
    withheld_of,
)
from bascule.live.steps.serving import everyones_arm
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import OPEN, ExperimentState, Phase, Verdict
from bascule.theory.unbiased import unbiased_difference


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """Status of an arm: its units, how many of them have counted, and their mean and interval.

    `low` and `high` are the interval that the rule compares; tests in blocks compare pairs of arms
    and have none. `part` is "active", "beaten" (dropped by the rule), "harmful" (by a guardrail) or
    "dropped" (by hand). `clipped` is the number of units whose outcome lay beyond the limits and
    counts as the nearest one. `coverage` is the share of the compared units that have a value of
    the primary metric; None if no value can be missing. `needed` is the number of counted units
    from which on the arm's unknown spread is estimated; it is None if the spread is known or
    estimated already, and while all outcomes are equal.
    """

    name: str
    units: int
    matured: int
    mean: float | None
    low: float | None
    high: float | None
    part: str
    clipped: int = 0
    coverage: float | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class Status(Reported):
    """The status of a live test: its results, its cost, and its decision.

    The forecast `time_left` is not guaranteed.
    """

    name: str
    """Name of the experiment."""
    state: Phase
    """Phase of the experiment, such as "running" or "decided"."""
    rule: str
    """Label of the rule."""
    units: int
    """Number of units that were assigned."""
    matured: int
    """Number of units that have counted."""
    stage: int | None
    """Number of stages that are over, for recurring outcomes."""
    arms: tuple[ArmStatus, ...]
    """Each arm with its units, mean and interval."""
    effects: tuple[Effect, ...]
    """Differences of pairs of arms: treatment minus control, or the later treatment minus the
    earlier one. With more than 20 arms only pairs with the control or the leader are listed."""
    contrasts: tuple[Contrast, ...]
    """Differences of each treatment minus the control, in outcome units and relative to the
    control's mean."""
    evidence: float
    """Progress towards a decision: at 1 the intervals of the leader's differences exclude 0."""
    leader: str | None
    """The arm that is ahead; None while none is."""
    decision: Verdict | None
    """The decision; None while there is none."""
    promise: str
    """A sentence that says what the error of the test bounds."""
    cost: float | None
    """Loss of the units so far, compared with giving each the arm that looks best now. After the
    decision, it includes all units that were enrolled before the decision. None before every arm
    has a mean, and if guardrails decide."""
    even_cost: float | None
    """Loss that an even split of as many units would have had."""
    deadline: str | None
    """Time at which the test ends undecided; None if there is none."""
    time_left: TimeLeft | None = None
    """The expected time left with its range. None while it is too early or a guardrail of the
    leader is undecided, in a rollout, and after a decision or an end."""
    waiting: Waiting | None = None
    """The units that have not counted yet."""
    everyone: str | None = None
    """The arm that is served to everyone, after a release or a stop with an arm."""
    moved: tuple[tuple[str, str], ...] = ()
    """Each dropped arm with the arm that is served to its users."""
    metrics: tuple[MetricStatus, ...] = ()
    """Guardrails and secondary metrics."""
    guarded: str | None = None
    """A sentence on the arm that has won on the primary metric and waits for its guardrails."""
    rollout: RolloutStatus | None = None
    """The progress of a guarded rollout, in which the primary metric does not decide."""
    ended_by: EndReason | None = None
    """Reason why the test ended without a winner, if its rule or its guardrails ended it; None at
    `max_units` and at the deadline."""
    futile: bool = False
    """Whether the test is unlikely to find its effect by the horizon."""
    covariates: CovariateStatus | None = None
    """The adjustment of outcomes by covariates."""
    withheld: Withheld | None = None
    """A decision that the calendar of the design does not allow to be announced yet."""
    reversal: str | None = None
    """A sentence if outcomes that counted while the decision was withheld speak against it."""
    final: FinalFigures | None = None
    """Figures that include the units that counted after the decision."""
    links: int = 0
    """Number of names that were linked to another name."""
    relinked: int = 0
    """Number of names whose arm changed when they were linked."""
    places_left: int = 0
    """Number of units that the open block still takes, even in a paused test."""
    events: int = 0
    """Number of outcomes within the windows of units that have counted."""
    late: int = 0
    """Number of outcomes that came after the window of their unit, or after it had counted."""
    unassigned: int = 0
    """Number of outcomes that came before their unit was assigned, or whose unit never was."""
    unlisted: int = 0
    """Number of excluded outcomes that are missing from the list, because it is full."""
    early_signals: SignalUse | None = None
    """How events of open windows affect the next block: "on", "gentle" while it is unknown whether
    the arms have equal delays, or "off"."""
    diagnostics: tuple[Diagnostic, ...] | None = None
    """The diagnostics, if requested; otherwise checks of drift if the guarantee needs them."""
    goal: Goal = "increase"
    """Whether the best arm has the highest mean ("increase") or the lowest ("decrease")."""
    binary: bool = False
    """Whether outcomes are 0 or 1, so that means are shares."""
    cost_unit: str = "outcome units"
    """The unit of the costs."""
    max_units: int | None = None
    """Maximum number of units, at which the test ends undecided; None without a limit."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with None for unknown values."""
        data: dict[str, Any] = finite_data(self)
        if self.diagnostics is not None:
            data["diagnostics"] = [
                finite_data(diagnostic.to_dict()) for diagnostic in self.diagnostics
            ]
        return data

    @property
    def is_open(self) -> bool:
        """Whether the test may still reach a decision."""
        return self.state in OPEN

    @property
    def filling(self) -> str:
        """How many more units a paused test admits, as the end of a sentence."""
        if not self.places_left:
            return ""
        places = "unit" if self.places_left == 1 else f"{self.places_left} units"
        return f" after the next {places}, which the open block still needs"

    @property
    def undecided_guardrails(self) -> tuple[str, ...]:
        """The guardrails that have not shown the leader to be within their margin."""
        return tuple(
            metric.name
            for metric in self.metrics
            for contrast, standing in zip(metric.contrasts, metric.standings, strict=True)
            if metric.role == "guardrail"
            and contrast.treatment == self.leader
            and standing != "within margin"
        )

    @property
    def headline(self) -> str:
        """One line that says what to do."""
        return str(presenter("status").headline(self))

    def report(self) -> Any:
        """Return the status as a report: headline, tables and notes."""
        return presenter("status").report(self)


def status_of(test: Loaded, now: float, oldest: float | None = None) -> Status:
    """Return the status of an experiment; `oldest` is when the oldest waiting unit came.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> start = ExperimentState.empty(design)
    >>> print(status_of(Loaded(1, "button", 0.0, design, "running", start, 0), 0.0).headline)
    Waiting for the first unit
    """
    design, phase, state, created = test.design, test.phase, test.state, test.created
    # This program's clock may be behind that of the program which enrolled the last unit.
    now = max(now, created, state.enrolment.latest)
    statistics = state.statistics if state.ending.held is None else state.latest_statistics
    better = advantages(design, statistics)
    late = was_withheld(state)
    shown = announced_advantages(design, statistics) if late else better
    effects = signed(design, effects_of(design, shown))
    leader, share = lead(design, statistics, better)
    means = arm_means(design, statistics)
    known, apart = [mean for mean in means if mean is not None], None
    if leader is not None and len(known) == len(means):
        apart = shown_means(design, known, leader, better)
    rollout = None
    if design.decides == "guardrails" and phase in OPEN:
        rollout = rollout_of(test, now)
        leader, share = None, 0.0
    ahead = None
    if phase in OPEN and rollout is None and state.ending.held is None:
        ahead = time_left_of(design, state, created, now)
    arms = _arms(design, state, statistics)
    units = [arm.units for arm in arms]
    control = design.arms.index(design.control_arm)
    counted, everyone = units, everyones_arm(state)
    counted_units = state.folding.folded
    if state.ending.verdict is not None and design.procedure.supports("maturing"):
        # Units that come after the decision are no longer part of the test. Those that came before
        # are, whether they have matured or not.
        counted = [*state.ending.enrolled]
        counted_units = state.ending.verdict.units
    return Status(
        name=test.name,
        state=phase,
        rule=design.rule.label,
        units=sum(units),
        matured=counted_units,
        stage=statistics.stage,
        arms=arms,
        effects=effects,
        contrasts=_contrasts(
            design, statistics, effects, means[control], "running" if late else phase
        ),
        evidence=share,
        leader=leader,
        decision=state.ending.verdict,
        promise=_promise(design, statistics, phase),
        cost=_cost(design, apart, counted),
        even_cost=_cost(design, apart, [sum(counted) / len(counted)] * len(counted)),
        deadline=None if design.deadline is None else design.deadline.isoformat(),
        time_left=ahead,
        metrics=metric_statuses(design, state) if design.metrics else (),
        guarded=waiting_words(design, state.once) if may_hold(design) and phase in OPEN else None,
        rollout=rollout,
        ended_by=ended_by(test) if phase == "over" else None,
        futile=phase in OPEN and state.ending.verdict is None and is_futile(design, statistics),
        waiting=waiting_of(test, now, oldest),
        everyone=None if everyone is None else design.arms[everyone],
        links=state.names.links,
        relinked=state.names.relinked,
        places_left=places_left(phase, state),
        events=state.counts.events,
        late=state.counts.late,
        unassigned=state.counts.unassigned,
        unlisted=state.counts.unlisted,
        early_signals=_signal_use(design, state) if phase in OPEN else None,
        moved=tuple((design.arms[arm], design.arms[to]) for arm, to in state.control.moved),
        covariates=covariates_of(design, state),
        withheld=withheld_of(design, phase, state),
        reversal=reversal_of(state, shown) if late else None,
        final=final_of(design, state),
        goal=design.goal,
        binary=design.outcome.binary,
        cost_unit=design.cost_unit,
        max_units=design.max_units,
    )


def _signal_use(design: Design, state: ExperimentState) -> SignalUse | None:
    """Return how the next block uses early signals, or None if the design has none."""
    if not design.procedure.uses_signals:
        return None
    return design.procedure.signal_use(state.latest_once, Signals(*state.signals))


def _arms(
    design: Design, state: ExperimentState, statistics: AnyStatistics
) -> tuple[ArmStatus, ...]:
    bounds: Sequence[tuple[float | None, float | None]] = [(None, None)] * len(design.arms)
    if design.procedure.has_intervals:
        bounds = [(interval.low, interval.high) for interval in intervals(design, statistics)]
    rows = []
    means = arm_means(design, statistics)
    shares: Sequence[float | None] = [None] * len(design.arms)
    needed: Sequence[int | None] = [None] * len(design.arms)
    counted = [arm.units for arm in statistics.arms]
    harmful = frozenset[int]().union(*(metric.dropped for metric in statistics.metrics))
    if isinstance(statistics, Statistics):
        shares = coverages(design, statistics, counted)
        needed = _needed(design, statistics)
        # Means include the outcomes of an incomplete block, comparisons do not.
        is_past = state.ending.verdict is not None and state.ending.final is not None
        whole = statistics if is_past else statistics.with_block(state.block.sums)
        counted, means = [arm.units for arm in whole.arms], whole.known_means
    for i, name in enumerate(design.arms):
        units, matured, mean = state.enrolment.assigned[i], counted[i], means[i]
        part = "active"
        is_winner = state.ending.verdict is not None and state.ending.verdict.arm == i
        if i in statistics.dropped and not is_winner:
            part = "beaten"
        if i in statistics.removed:
            part = "dropped"
        if i in harmful:
            part = "harmful"
        clipped = state.counts.clipped[0][i] if state.counts.clipped else 0
        rows.append(
            ArmStatus(name, units, matured, mean, *bounds[i], part, clipped, shares[i], needed[i])
        )
    return tuple(rows)


def _needed(design: Design, statistics: Statistics) -> list[int | None]:
    """Return the units that each arm needs before its spread is estimated, or None."""
    if not design.outcome.estimated:
        return [None] * len(design.arms)
    arms = [arm.linearised for arm in statistics.arms]
    sums = [(float(arm.units), arm.total, arm.squares, arm.cubes) for arm in arms]
    return [
        math.ceil(units) if arm.units < units < math.inf else None
        for arm, units in zip(arms, units_for_spread(sums), strict=True)
    ]


def arm_means(design: Design, statistics: AnyStatistics) -> list[float | None]:
    """Return the mean of each arm, None before its first outcome."""
    if isinstance(statistics, Statistics):
        return statistics.known_means
    if design.procedure.has_intervals:
        pairs = zip(statistics.arms, intervals(design, statistics), strict=True)
        return [interval.mean if arm.units else None for arm, interval in pairs]
    totals = [(arm.units, sum(cohort.means for cohort in arm.cohorts)) for arm in statistics.arms]
    return [total / units if units else None for units, total in totals]


def _contrasts(
    design: Design,
    statistics: AnyStatistics,
    effects: Sequence[Effect],
    mean: float | None,
    phase: Phase,
) -> tuple[Contrast, ...]:
    """Return each arm minus the control; once the test has ended, with an unbiased estimate.

    If the decision was announced later because of the calendar, the difference itself is not biased
    upwards: pass "running" as `phase` then.
    """
    if not isinstance(statistics, Statistics):
        return contrasts(design, effects, None, mean)
    place = design.arms.index
    control = statistics.arms[place(design.control_arm)]
    listed = contrasts(design, effects, control, mean, lifts(design, statistics, effects))
    if phase in OPEN:
        return listed
    return tuple(
        replace(
            contrast,
            unbiased=unbiased_difference(
                design,
                statistics,
                place(contrast.treatment),
                place(contrast.control),
                is_over=phase == "over" and end_reason(design, statistics) != "guardrails",
            ),
        )
        for contrast in listed
    )


def _cost(design: Design, means: Sequence[float] | None, units: Sequence[float]) -> float | None:
    if means is None or design.decides == "guardrails":
        # If the guardrails decide, no arm counts as better on the primary metric.
        return None
    known = [design.oriented(mean) for mean in means]
    best = max(known)
    return sum(n * (best - mean) for n, mean in zip(units, known, strict=True))


def _promise(design: Design, statistics: AnyStatistics, phase: Phase) -> str:
    is_harmed = any(metric.dropped for metric in statistics.metrics)
    ended = ending(design, statistics) if statistics.units or is_harmed else None
    if ended is not None:
        return ended.promise
    if phase in OPEN:
        return winner_promise(design, statistics)
    return "nothing is decided"
