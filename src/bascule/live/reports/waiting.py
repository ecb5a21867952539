"""Units of a live test that have not counted yet, and decisions that wait for the calendar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bascule.core.approximate import about
from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.ending import end_reason
from bascule.core.metrics.effects import (
    Contrast,
    Effect,
    advantages,
    contrasts,
    effects_of,
    lifts,
)
from bascule.core.metrics.metric import PRIMARY
from bascule.core.procedures.base import AnyStatistics, EndReason
from bascule.live.clock import moment
from bascule.live.steps.assignment import is_complete
from bascule.live.steps.folding import due_announcement
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import OPEN, ExperimentState, Phase

HELD_UNITS, HELD_SHARE = 100, 0.1
"""A test without a window is held up if at least `HELD_UNITS` units have not counted and
the oldest has waited for at least the share `HELD_SHARE` of the test's time so far."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Units that have not counted yet, and the oldest of them, which must count before the others.

    The oldest unit was assigned at `since`, `days` days ago. `until` is when its conversion window
    ends, and `last` when that of the newest unit ends; both are None if units count when they
    report. If `is_enough`, no unit is enrolled before these units have counted. `is_held` says that
    the oldest unit holds up the test: it has had a large part of the test's time to report.
    `metrics` are the metrics that it has to report, if several. Times are in ISO 8601.
    """

    units: int
    since: str
    days: float
    until: str | None
    is_held: bool
    metrics: tuple[str, ...] = ()
    last: str | None = None
    is_enough: bool = False

    @property
    def complete_words(self) -> str:
        """A sentence that enrolment is complete, and until when units are measured."""
        until = "" if self.last is None else f" until {datetime.fromisoformat(self.last):%-d %b}"
        units = "1 unit" if self.units == 1 else f"{self.units:,} units"
        return f"Enrolment is complete: waiting for {units}{until}"

    @property
    def words(self) -> str:
        """One line that says how many units wait, and for what."""
        if self.until is not None:
            first = f"{self.until[:10]} {self.until[11:16]} UTC"
            if self.units == 1:
                return f"1 unit is in its conversion window, until {first}"
            return f"{self.units:,} units are in their conversion window, the oldest until {first}"
        waited = about(self.days)
        listed = f" all of {', '.join(self.metrics)}" if self.metrics else ""
        oldest = f"the oldest has not reported{listed} for {waited}"
        if self.units == 1:
            return f"1 unit has not counted, and has not reported{listed} for {waited}"
        return f"{self.units:,} units have not counted; {oldest}"


def waiting_of(test: Loaded, now: float, oldest: float | None) -> Waiting | None:
    """Return the units that have not counted, or None; `oldest` is when the oldest of them came.

    >>> import bascule as bs
    >>> from bascule.live.storage.state import ExperimentState
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), reports="always")
    >>> state = ExperimentState.empty(design)
    >>> state = state._replace(enrolment=state.enrolment._replace(assigned=(200, 100)))
    >>> waiting_of(Loaded(1, "button", 0.0, design, "running", state, 0), 90000.0, 3600.0).words
    '300 units have not counted; the oldest has not reported for 1 day'
    """
    design, units = test.design, test.state.pending
    if test.phase not in OPEN or units <= 0 or oldest is None:
        return None
    waited = now - oldest
    until = last = None
    if design.measure is not None:
        until = moment(design.matures(oldest) or oldest).isoformat()
        last = moment(design.matures(test.state.enrolment.latest) or oldest).isoformat()
    is_held = until is None and units >= HELD_UNITS and waited >= HELD_SHARE * (now - test.created)
    metrics = (PRIMARY, *(metric.name for metric in design.metrics)) if design.metrics else ()
    return Waiting(
        units,
        moment(oldest).isoformat(),
        waited / DAY,
        until,
        is_held,
        metrics,
        last,
        is_enough=test.phase == "running" and is_complete(design, test.state),
    )


def ended_by(test: Loaded) -> EndReason | None:
    """Return why a test ended without a decision; None if it reached a deadline or cap."""
    return end_reason(test.design, test.state.statistics)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A decision that is withheld.

    `name` is the arm that has won, or "no difference that matters". The decision was reached at
    `reached`, after `units` units had counted, and is announced at `until`.
    """

    name: str
    units: int
    reached: str
    until: str

    @property
    def day(self) -> str:
        """The day of the announcement, such as "Monday 5 Jan"."""
        return f"{datetime.fromisoformat(self.until):%A %-d %b}"


@dataclass(frozen=True, slots=True)
class FinalFigures:
    """The figures of all enrolled units, including those that counted after the decision.

    `matured` units have counted, and `pending` units have not. `units` and `means` are those of
    each arm, and `contrasts` compare each treatment with the control.
    """

    matured: int
    pending: int
    units: tuple[int, ...]
    means: tuple[float | None, ...]
    contrasts: tuple[Contrast, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every conversion window has closed."""
        return self.pending == 0


def withheld_of(design: Design, phase: Phase, state: ExperimentState) -> Withheld | None:
    """Return the withheld decision, or None if there is none."""
    held = state.ending.held
    if held is None or phase not in OPEN:
        return None
    until = moment(due_announcement(design, state)).isoformat()
    return Withheld(held.name, held.units, moment(held.time).isoformat(), until)


def was_withheld(state: ExperimentState) -> bool:
    """Return whether units counted after a decision was reached and before its announcement."""
    verdict = state.ending.verdict
    return verdict is not None and not verdict.harm and state.statistics.units > verdict.units


def announced_advantages(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """Return the arms' advantages over each other when a withheld decision was announced.

    They are not cut off at 0 in favour of the winner, and lie within the range that the outcomes
    allow.
    """
    most = design.outcome.high - design.outcome.low
    return tuple(
        replace(effect, low=max(effect.low, -most), high=min(effect.high, most))
        for effect in advantages(design, replace(statistics, dropped=frozenset()))
    )


def reversal_of(state: ExperimentState, advantages: Sequence[Effect]) -> str | None:
    """Return a sentence on arms that are no longer shown to be worse than the winner, or None.

    `advantages` are those at the announcement of the decision.
    """
    verdict = state.ending.verdict
    if verdict is None or verdict.arm is None or verdict.by != "primary":
        return None
    rivals = [e.of(verdict.name) for e in advantages if verdict.name in (e.first, e.second)]
    behind = [rival.second for rival in rivals if rival.difference < 0.0]
    open_again = [rival.second for rival in rivals if rival.low < 0.0 <= rival.difference]
    said = [f"{verdict.name} was behind {' and '.join(behind)}"] if behind else []
    said += [f"the interval of {verdict.name} - {name} includes 0 again" for name in open_again]
    if not said:
        return None
    return (
        f"The decision was reached on {verdict.units:,} units and withheld; when it was announced, "
        f"on {state.statistics.units:,} units, {', and '.join(said)}"
    )


def final_of(design: Design, state: ExperimentState) -> FinalFigures | None:
    """Return the figures of all enrolled units if units count after the decision, else None."""
    statistics = state.ending.final
    if state.ending.verdict is None or statistics is None:
        return None
    # Means include the outcomes of an incomplete block, comparisons do not.
    arms = [arm + rest for arm, rest in zip(statistics.arms, state.block.sums, strict=True)]
    means = [arm.known_mean for arm in arms]
    pending = max(0, sum(state.ending.enrolled) - state.folding.folded) if design.measure_on else 0
    return FinalFigures(
        state.folding.folded,
        pending,
        tuple(arm.units for arm in arms),
        tuple(means),
        _contrasts(design, state, means),
    )


def _contrasts(
    design: Design, state: ExperimentState, means: Sequence[float | None]
) -> tuple[Contrast, ...]:
    assert state.ending.final is not None
    final, control = state.ending.final, design.control_index
    result = effects_of(design, advantages(design, final))
    known = lifts(design, final, result)
    return contrasts(design, result, final.arms[control], means[control], known)
