"""Views: from the status of a test to the values that templates show. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bascule.core.approximate import at_most, two_digits
from bascule.core.design import Design
from bascule.core.diagnostics import Diagnostic
from bascule.core.enrolment.segments import Member
from bascule.core.metrics.contrasts import Contrast
from bascule.core.metrics.effects import Effect
from bascule.live.api import OPEN, HistoryPoint, State, Status, Turn, audit_words, decided_headline
from bascule.presentation.guarantees import (
    STANDINGS,
    UNBIASED,
    bound_words,
    interval_name,
    lift_words,
    unbiased_words,
)
from bascule.presentation.numbers import UNKNOWN, Amounts, amount, count, known, percent, when
from bascule.presentation.status import MISMATCH, TELLING, coverage_words, has_evidence, report
from bascule.service.page import words
from bascule.service.page.charts import Chart, allocation_chart, by_pair, effect_charts
from bascule.theory import Prediction

FOREST_WIDTH, FOREST_ROOM = 150.0, 6.0
"""The plot of an interval in a table, in pixels, and what is left free on each side of it."""

ORDER: tuple[State, ...] = ("decided", "running", "paused", "ready", "over", "stopped")

MOST_NAMES = 4
"""More arms than this are counted in the list, not named."""

PARTS = {part: part.capitalize() for part in ("beaten", "dropped", "harmful", "paused")}


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
    evidence: int
    shows_evidence: bool
    guarantee: str


@dataclass(frozen=True, slots=True)
class Forest:
    """Where the ends of an interval, its middle and 0 lie in a small plot."""

    low: float
    middle: float
    high: float
    zero: float


@dataclass(frozen=True, slots=True)
class ArmRow:
    """An arm in the table of arms; `against` is its difference from the leading arm.

    Differences are later arm minus first arm, as `pair` says.
    """

    index: int
    name: str
    units: str
    matured: str
    mean: str
    interval: str
    pair: str
    against: str
    forest: Forest | None
    part: str
    leads: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What the test has cost so far, beside the expected cost of an even split's own test.

    `even` is None where theory does not say what an even split would have cost.
    """

    mine: str
    even: str | None
    unit: str
    words: str
    mine_part: float
    even_part: float


@dataclass(frozen=True, slots=True)
class DiagnosticRow:
    """A diagnostic in the list."""

    name: str
    message: str
    flagged: bool
    made: bool
    is_alarm: bool


def line(design: Design, status: Status, mismatch: bool = False) -> ListEntry:
    """Return a test as a line of the list."""
    said, tone = report(status, mismatch), words.tone(status, mismatch)
    return ListEntry(
        status.name,
        words.STATES[status.state],
        tone,
        said.headline,
        said.question,
        count(status.units),
        _arms_words(status, has_units=True),
        round(100 * status.evidence),
        tone != "ended" and has_evidence(status),
        words.guarantee_kind(design, status),
    )


def whole_line(
    member: Member, parts: Mapping[str, tuple[Status, ListEntry]]
) -> tuple[Status, ListEntry]:
    """Return a test with segments as a line, and the status of a segment that may be decided."""
    statuses = {segment: parts[segment][0] for segment in member.segments.all}
    status, line = max(parts.values(), key=lambda one: one[0].is_open)
    alarm = next((each for _, each in parts.values() if each.headline == MISMATCH), None)
    return status, replace(
        line,
        name=member.test,
        tone=words.tone_of_segments(statuses.values()) if alarm is None else alarm.tone,
        headline=decided_headline(statuses) if alarm is None else MISMATCH,
        detail=f"A test with segments by {member.segments.attribute}: each has its own decision.",
        units=count(sum(one.units for one in statuses.values())),
        arms=_arms_words(status, has_units=False),
        shows_evidence=False,
    )


def _arms_words(status: Status, has_units: bool) -> str:
    """Name the arms of a test in the list, with the units of each; many are only counted."""
    if len(status.arms) > MOST_NAMES:
        return f"{len(status.arms)} arms"
    return ", ".join(
        f"{arm.name} {count(arm.units)}" if has_units else arm.name for arm in status.arms
    )


def in_order(lines: Sequence[tuple[Status, ListEntry]]) -> list[ListEntry]:
    """Sort tests: those that need action, those that run, the rest; the newest first in each."""
    newest = list(reversed(lines))
    return [line for _, line in sorted(newest, key=lambda pair: ORDER.index(pair[0].state))]


def arm_rows(design: Design, status: Status) -> list[ArmRow]:
    """The table of arms; each rival has its difference from the leader, as it decides."""
    amounts = Amounts.of(design.outcome, design.goal)
    leader = _leader(status)
    effects = by_pair(status.effects)
    pairs = {arm.name: effects.get(frozenset((leader or "", arm.name))) for arm in status.arms}
    against = {name: _against(effect) for name, effect in pairs.items()}
    ends = [end for three in against.values() if three for end in three]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return [
        ArmRow(
            i,
            arm.name,
            count(arm.units),
            count(arm.matured),
            amounts.mean(arm.mean),
            amounts.mean_interval(arm.low, arm.high) if arm.low is not None else "",
            "" if (effect := pairs[arm.name]) is None else effect.reversed.name,
            _against_words(against[arm.name], amounts),
            _forest(against[arm.name], low, high),
            PARTS.get(arm.part, ""),
            arm.name == leader,
        )
        for i, arm in enumerate(status.arms)
    ]


@dataclass(frozen=True, slots=True)
class MetricTable:
    """A metric other than the primary one: what it is for, and each treatment minus the control."""

    name: str
    role: str
    interval: str
    rows: list[tuple[str, str, str]]
    standings: list[str]
    values: str


def metric_tables(design: Design, status: Status) -> list[MetricTable]:
    """The guardrails and secondary metrics, each as a table."""
    tables = []
    for one, metric in zip(design.metric_designs, status.metrics, strict=True):
        amounts = Amounts.of(one.outcome, one.goal)
        better = "higher is better" if metric.goal == "increase" else "lower is better"
        role = f"secondary, {better}"
        if metric.margin is not None:
            margin = amounts.size(metric.margin)
            role = f"guardrail, {better}, margin {margin}, error {at_most(metric.error)}"
        error = metric.contrasts[0].error if metric.contrasts else metric.error
        is_guardrail = metric.role == "guardrail"
        tables.append(
            MetricTable(
                metric.name,
                role,
                interval_name(error),
                contrast_rows(metric.contrasts, amounts),
                [STANDINGS[one] if is_guardrail else "" for one in metric.standings],
                values_words(status, metric.coverage),
            )
        )
    return tables


def values_words(status: Status, shares: Sequence[float | None]) -> str:
    """Return how many units of each arm have a value, as a sentence; empty where all have."""
    words = coverage_words([arm.name for arm in status.arms], shares)
    return f"Recorded: {words}." if words else ""


def contrast_rows(contrasts: Sequence[Contrast], amounts: Amounts) -> list[tuple[str, str, str]]:
    """Each treatment minus the control: its name, the difference, and the relative lift."""
    rows = []
    for contrast in contrasts:
        three = contrast.difference, contrast.low, contrast.high
        is_known = known(contrast.low) and known(contrast.high)
        shown = _against_words(three if is_known else None, amounts)
        if contrast.unbiased is not None:
            shown += f"; {unbiased_words(contrast, amounts)}"
        rows.append((contrast.name, shown, lift_words(contrast) if is_known else UNKNOWN))
    return rows


def unbiased_note(contrasts: Sequence[Contrast]) -> str | None:
    """Say why there are two estimates of a difference; None before the end of a test."""
    return UNBIASED if any(one.unbiased is not None for one in contrasts) else None


def cost_of(
    design: Design, status: Status, turns: Sequence[Turn] = (), even: Prediction | None = None
) -> Cost | None:
    """Return the cost so far beside that of an even split's own test, from start to decision.

    `turns` forecast the rest of this test at values of its knob. None before every arm has
    outcomes.
    """
    if status.cost is None:
        return None
    amounts = Amounts.of(design.outcome, design.goal)
    is_early = status.decision is None and status.evidence < TELLING
    even_cost = None if even is None or not known(even.regret) or is_early else even.regret
    most = max(status.cost, even_cost or 0.0, 1e-300)
    return Cost(
        amount(status.cost),
        None if even_cost is None else two_digits(even_cost),
        amounts.cost_unit,
        _saving(design, status, turns, even_cost, amounts),
        round(100 * status.cost / most, 1),
        round(100 * (even_cost or 0.0) / most, 1),
    )


def charts(
    design: Design, status: Status, history: Sequence[HistoryPoint]
) -> tuple[list[Chart], Chart]:
    """Intervals over time, and allocation over time."""
    amounts = Amounts.of(design.outcome, design.goal)
    return effect_charts(status, history, amounts), allocation_chart(status, history)


def audit_rows(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The audit log, the newest first: when, who, and what in words."""
    return [
        (when(entry["time"]), str(entry["actor"]), _audit_text(entry))
        for entry in reversed(entries)
    ]


def _audit_text(entry: Mapping[str, Any]) -> str:
    """An entry of the audit log in words, also one whose details were damaged."""
    try:
        return audit_words(entry)
    except (AttributeError, LookupError, TypeError, ValueError):
        return f"{str(entry['action']).capitalize()}: {entry['detail']}"


def diagnostic_rows(diagnostics: Sequence[Diagnostic], ended: bool = False) -> list[DiagnosticRow]:
    """Return the diagnostics, alarms first; those that could not be computed are not ticked off.

    While a test runs it is looked at again and again, so only what is valid at any time raises an
    alarm.
    """
    rows = [
        DiagnosticRow(
            NAMES.get(one.name, _begun(one.name)),
            _begun(one.message),
            one.flagged,
            # With too little data a diagnostic has no statistic, and nothing was compared.
            not (one.statistic == 0.0 and one.p_value == 1.0),
            one.flagged and (ended or one.validity == "any time"),
        )
        for one in diagnostics
    ]
    if not any(one.name in MISMATCHES for one in diagnostics):
        rows.append(NO_SAMPLE_RATIO)
    return sorted(rows, key=lambda row: (not row.is_alarm, not row.flagged, not row.made))


MISMATCHES = ("allocation", "allocation at any time")
"""Diagnostics that find a sample ratio mismatch."""

NAMES = {
    "allocation": "Sample ratio, one look",
    "allocation at any time": "Sample ratio",
    "shift": "Difference within parts of the test",
    "trend": "Trend of the outcomes",
}

NO_SAMPLE_RATIO = DiagnosticRow(
    "Sample ratio",
    "Not checked: there are no assignments with logged probabilities to compare with",
    flagged=False,
    made=False,
    is_alarm=False,
)


def has_mismatch(alarms: Sequence[str]) -> bool:
    """Return whether a sample ratio mismatch is among the names of alarms.

    >>> has_mismatch(["trend"]), has_mismatch(["allocation at any time"])
    (False, True)
    """
    return any(name in MISMATCHES for name in alarms)


COUNTED = ("clipped", "not exposed")
"""Reasons of outcomes that are listed with the excluded ones and count."""


def set_aside_words(counts: Mapping[str, int]) -> str:
    """Excluded outcomes, in a sentence.

    >>> set_aside_words({"late": 2, "unknown unit": 1200})
    '1,202 outcomes were excluded: 1,200 unknown unit, 2 late.'
    """
    # These are listed with what was excluded, and count.
    kept = {reason: n for reason, n in counts.items() if reason not in COUNTED}
    total = sum(kept.values())
    if total == 0:
        return "No outcome was excluded."
    most = sorted(kept.items(), key=lambda pair: -pair[1])
    reasons = ", ".join(f"{count(units)} {reason}" for reason, units in most)
    return f"{count(total)} outcome{' was' if total == 1 else 's were'} excluded: {reasons}."


def _begun(text: str) -> str:
    """Text as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def _leader(status: Status) -> str | None:
    if status.decision is not None and status.decision.arm is not None:
        return status.decision.name
    return status.leader


def _against(effect: Effect | None) -> tuple[float, float, float] | None:
    if effect is None:
        return None
    difference, low, high = effect.reversed.ends
    return (difference, low, high) if known(low) and known(high) else None


def interval_heading(status: Status) -> tuple[str, str]:
    """Return the name of the intervals of differences, and what their bounds promise."""
    if not status.effects:
        return "interval", ""
    effect = status.effects[0]
    name, meaning = interval_name(effect.error), bound_words(effect.error)
    return name, f"{name}s (confidence sequences): {meaning} ({effect.guarantee})."


def _against_words(three: tuple[float, float, float] | None, amounts: Amounts) -> str:
    if three is None:
        return UNKNOWN
    difference, low, high = three
    return f"{amounts.difference(difference, high - low)} ({amounts.ends(low, high)})"


def _forest(three: tuple[float, float, float] | None, low: float, high: float) -> Forest | None:
    if three is None or high <= low:
        return None

    def place(value: float) -> float:
        share = (value - low) / (high - low)
        return round(FOREST_ROOM + share * (FOREST_WIDTH - 2 * FOREST_ROOM), 1)

    return Forest(place(three[1]), place(three[0]), place(three[2]), place(0.0))


def _saving(
    design: Design, status: Status, turns: Sequence[Turn], even: float | None, amounts: Amounts
) -> str:
    """Compare the whole test with the whole test of an even split, where both are known."""
    if even is None or even <= 0.0 or status.cost is None:
        if status.decision is None and status.evidence < TELLING:
            return "It is too early to forecast what an even split would cost."
        return "What an even split would have cost until its own decision is not known."
    if status.decision is not None:
        whole, verb = status.cost, "cost"
    else:
        knob = design.rule.knob
        left = [turn.cost for turn in turns if knob is not None and turn.value == knob.value]
        if status.state not in OPEN or not left:
            return "An even split's cost is a forecast for its whole test, until its own decision."
        whole, verb = status.cost + left[0], "is expected to cost"
    saved = even - whole
    start = (
        f"This test {verb} {two_digits(whole)} {amounts.cost_unit} in all; an even split is "
        f"expected to cost {two_digits(even)} until its own decision"
    )
    if abs(saved) < 0.05 * even:
        return f"{start}: about as much."
    return f"{start}: {percent(abs(saved) / even)} {'saved' if saved > 0 else 'more'}."
