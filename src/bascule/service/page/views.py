"""Views: pure functions that turn the status of a test into the values that templates show.

The text about a test comes from the report of its status. This module has the positions of its
intervals in the drawing, its entry in the list of tests, its cost compared with that of an even
split, its diagnostics, and its audit log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.diagnostics import Diagnostic
from bascule.live.api import State, Status, Turn, audit_words, moment
from bascule.live.api.reads import Summary
from bascule.presentation.figures import Intervals
from bascule.presentation.guarantees import difference_words
from bascule.presentation.numbers import (
    Amounts,
    amount,
    as_shown,
    compared,
    count,
    known,
    lost,
    when,
)
from bascule.presentation.report import Table
from bascule.presentation.status import diagnostic_lines, has_evidence, report, whole_percent
from bascule.service.page import words
from bascule.theory import Prediction

ORDER: tuple[State, ...] = ("decided", "running", "paused", "ready", "over", "stopped")

MOST_NAMES = 4
"""Maximum number of arms that the list of tests names; for a test with more, it shows only their
number."""


DRAWING = 300.0
"""Width of the drawing of intervals, in its own units."""


@dataclass(frozen=True, slots=True)
class DrawnInterval:
    """The drawing of a difference's interval: the places of its ends, its estimate and 0."""

    name: str
    words: str
    """Text alternative of the drawing, for screen readers."""
    arm: int
    """The index of the arm whose colour the interval has."""
    middle: float
    low: float
    high: float
    zero: float


def drawn(figures: Sequence[Intervals], arms: Sequence[str]) -> list[DrawnInterval]:
    """Place the intervals of a report on a common axis that includes 0."""
    ends = [end for figure in figures for _, effect in figure.effects for end in effect.interval]
    lowest, highest = min((0.0, *ends)), max((0.0, *ends))
    width = (highest - lowest) or 1.0

    def place(value: float) -> float:
        return round(DRAWING * (value - lowest) / width, 1)

    return [
        DrawnInterval(
            name,
            f"{name}: {difference_words(effect, figure.amounts)}",
            arms.index(effect.first),
            *map(place, (*effect.interval, 0.0)),
        )
        for figure in figures
        for name, effect in figure.effects
    ]


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A test in the list."""

    name: str
    state: str
    tone: str
    headline: str
    detail: str
    units: str
    arms: str
    guarantee: str
    evidence: int | None
    """The progress of the evidence towards a decision, in per cent; None if it is not shown."""


def line(design: Design, status: Status, mismatch: bool = False) -> ListEntry:
    """Return the entry of a test in the list."""
    said, tone = report(status, mismatch), words.tone(status, mismatch)
    return ListEntry(
        status.name,
        words.STATES[status.state],
        tone,
        said.headline,
        said.question,
        count(status.units),
        _arms_words(status),
        words.guarantee_kind(design, status),
        whole_percent(status.evidence) if tone != "ended" and has_evidence(status) else None,
    )


def _arms_words(status: Status) -> str:
    """Name the arms of a test with their units; if there are many, give only their number."""
    if len(status.arms) > MOST_NAMES:
        return f"{len(status.arms)} arms"
    return ", ".join(f"{arm.name} {count(arm.units)}" for arm in status.arms)


def in_order(entries: Iterable[Summary]) -> list[Summary]:
    """Sort tests: those that need action, then running ones, then the rest; each newest first."""
    return sorted(entries, key=lambda entry: (ORDER.index(entry.state), -entry.test.id))


def cost_of(
    design: Design, status: Status, turns: Sequence[Turn] = (), even: Prediction | None = None
) -> tuple[Table, str] | None:
    """Return the cost of a test beside that of an even split, and a comparison in words.

    The first row has the units so far, split as they were and split evenly. The second has whole
    tests: this one with the forecast of its rest, and an even split until its own decision. `turns`
    forecast the rest at values of the knob. The result is None until every arm has outcomes.
    """
    if status.cost is None or status.even_cost is None:
        return None
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    so_far = "Until the decision" if status.decision is not None else "So far"
    rows = [
        (lost(unit).capitalize(), "this test", "even split"),
        (f"{so_far}, same units", amount(status.cost), amount(status.even_cost)),
    ]
    totals = _whole_costs(design, status, turns, even)
    if totals is None:
        unknown = f" {no_forecast_words(status)}" if status.is_open else ""
        said = f"The same units, split evenly, {_compared(status, unit)}.{unknown}"
        return Table(tuple(rows), strong=(0,)), said
    rows.append(("Until each test's own decision", amount(totals[0]), amount(totals[1])))
    costs = "cost" if status.decision is not None else "is expected to cost"
    said = (
        f"This test {costs} {amount(totals[0])} {unit} in all, and an even split "
        f"{amount(totals[1])} until its own decision: {compared(*totals)}."
    )
    if status.is_open:
        said += " The proportion is that of the forecasts under Speed and cost."
    if status.is_open and as_shown(totals[1]) < as_shown(status.even_cost):
        said += " An even split would be expected to have ended by now."
    return Table(tuple(rows), strong=(0,)), said


def no_forecast_words(status: Status) -> str:
    """Say why the rest of a running test cannot be forecast."""
    if status.undecided_guardrails:
        return "The rest is not forecast while a guardrail of the leading arm is undecided."
    return "It is too early to forecast the rest."


def _compared(status: Status, unit: str) -> str:
    """Compare the cost so far with that of as many units split evenly."""
    assert status.cost is not None
    assert status.even_cost is not None
    verb = "would have cost" if status.decision is not None else "would have cost so far"
    difference = compared(status.cost, status.even_cost)
    return f"{verb} {amount(status.even_cost)} {unit}: this test has cost {difference}"


def _whole_costs(
    design: Design, status: Status, turns: Sequence[Turn], even: Prediction | None
) -> tuple[float, float] | None:
    """Return the total cost of the test and of one with an even split; None if unknown.

    For a running test, the total is the sum of the figures shown, and that of the even split is
    this total times a ratio: the forecast cost of the rest at the knob's value for an even split,
    over that at its present value. A forecast of the even split from its first unit would not share
    the luck that this test has had so far.
    """
    assert status.cost is not None
    if status.decision is not None:
        return (status.cost, even.regret) if even is not None and known(even.regret) else None
    knob, costs = design.rule.knob, {turn.value: turn.cost for turn in turns}
    if knob is None or not status.is_open or not costs.get(knob.value):
        return None
    whole = as_shown(status.cost) + as_shown(costs[knob.value])
    return (
        (whole, whole * costs[knob.soonest] / costs[knob.value]) if knob.soonest in costs else None
    )


def audit_rows(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the audit log, newest entries first: the time, the actor, and the change in words."""
    return [
        (when(entry["time"]), str(entry["actor"]), audit_words(entry))
        for entry in reversed(entries)
    ]


def start_words(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the day of a test's first start, from its audit log; empty if it was never started.

    >>> start_words([{"action": "create", "time": 0.0}, {"action": "start", "time": 86400.0}])
    '2 Jan 1970'
    """
    times = [entry["time"] for entry in entries if entry["action"] == "start"]
    return f"{moment(times[0]):%-d %b %Y}" if times else ""


MISMATCH = "sample ratio"
"""Diagnostic that finds a sample ratio mismatch."""

NO_SAMPLE_RATIO = "Not checked, no assignments with logged probabilities: sample ratio"


def diagnostic_words(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Describe diagnostics: alarms, checks without a finding, and checks that were not made."""
    is_checked = has_mismatch([diagnostic.name for diagnostic in diagnostics])
    return diagnostic_lines(diagnostics) + ([] if is_checked else [NO_SAMPLE_RATIO])


def has_mismatch(alarms: Sequence[str]) -> bool:
    """Return whether the check of the sample ratio is among the names of some alarms.

    >>> has_mismatch(["trend"]), has_mismatch(["sample ratio"])
    (False, True)
    """
    return MISMATCH in alarms


COUNTED = ("clipped", "not exposed")
"""Reasons for which an outcome is listed as excluded or changed, although it counts."""


def excluded_words(counts: Mapping[str, int]) -> str:
    """Return a sentence that counts the excluded outcomes, by reason.

    >>> excluded_words({"late": 2, "unknown unit": 1200})
    '1,202 outcomes were excluded: unknown unit (1,200), late (2).'
    """
    # Outcomes with the reasons in `COUNTED` are listed too, but count.
    kept = {reason: n for reason, n in counts.items() if reason not in COUNTED}
    total = sum(kept.values())
    if total == 0:
        return "No outcome was excluded."
    most = sorted(kept.items(), key=lambda pair: -pair[1])
    reasons = ", ".join(f"{reason} ({count(units)})" for reason, units in most)
    return f"{count(total)} outcome{' was' if total == 1 else 's were'} excluded: {reasons}."
