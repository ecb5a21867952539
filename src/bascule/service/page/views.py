"""Views: from the status of a test to the values that templates show. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.diagnostics import Diagnostic
from bascule.live.api import Point, State, Status, audit_words
from bascule.presentation.numbers import percent
from bascule.service.page import words
from bascule.service.page.amounts import UNKNOWN, Amounts, count, known, when
from bascule.service.page.charts import Chart, allocation_chart, effect_charts, seen_from

FOREST_WIDTH, FOREST_ROOM = 150.0, 6.0
"""The plot of an interval in a table, in pixels, and what is left free on each side of it."""

ORDER: tuple[State, ...] = ("decided", "running", "paused", "ready", "over", "stopped")

MOST_NAMES = 4
"""More arms than this are counted in the list, not named."""

PARTS = {"active": "", "beaten": "Beaten", "dropped": "Dropped", "paused": "Paused"}


@dataclass(frozen=True, slots=True)
class Line:
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
    """An arm in the table of arms; `against` is its difference from the arm that leads."""

    index: int
    name: str
    units: str
    matured: str
    mean: str
    interval: str
    against: str
    forest: Forest | None
    part: str
    leads: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What the test has cost so far, and what an even split of as many units would have."""

    mine: str
    even: str
    unit: str
    words: str
    mine_part: float
    even_part: float


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A change, in words."""

    time: str
    actor: str
    words: str


@dataclass(frozen=True, slots=True)
class DiagnosticRow:
    """A diagnostic in the list."""

    name: str
    message: str
    flagged: bool
    validity: str


def line(design: Design, status: Status, released: bool) -> Line:
    """A test in one line."""
    said = words.saying(design, status, released)
    return Line(
        status.name,
        words.STATES[status.state],
        said.tone,
        said.headline,
        said.detail,
        count(status.units),
        ", ".join(design.arms) if len(design.arms) <= MOST_NAMES else f"{len(design.arms)} arms",
        round(100 * status.evidence),
        status.matured > 0 and said.tone in ("good", "going", "waiting"),
        words.guarantee_kind(design, status),
    )


def in_order(lines: Sequence[tuple[Status, Line]]) -> list[Line]:
    """Sort tests: those that need action, those that run, the rest; the newest first in each."""
    newest = list(reversed(lines))
    return [line for _, line in sorted(newest, key=lambda pair: ORDER.index(pair[0].state))]


def arm_rows(design: Design, status: Status) -> list[ArmRow]:
    """The table of arms; each rival has its difference from the leader, as it decides."""
    amounts = Amounts.of(design.outcome)
    leader = _leader(status)
    found = {arm.name: _against(status, leader, arm.name) for arm in status.arms}
    ends = [end for three in found.values() if three for end in three]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return [
        ArmRow(
            i,
            arm.name,
            count(arm.units),
            count(arm.matured),
            amounts.mean(arm.mean),
            amounts.mean_interval(arm.low, arm.high) if arm.low is not None else "",
            _against_words(found[arm.name], amounts),
            _forest(found[arm.name], low, high),
            PARTS.get(arm.part, arm.part),
            arm.name == leader,
        )
        for i, arm in enumerate(status.arms)
    ]


def cost_of(design: Design, status: Status) -> Cost | None:
    """Cost so far beside that of an even split; None before every arm has outcomes."""
    if status.cost is None or status.even_cost is None:
        return None
    amounts = Amounts.of(design.outcome)
    most = max(status.cost, status.even_cost, 1e-300)
    return Cost(
        amounts.cost(status.cost),
        amounts.cost(status.even_cost),
        amounts.cost_unit,
        _saving(status.cost, status.even_cost, amounts),
        round(100 * status.cost / most, 1),
        round(100 * status.even_cost / most, 1),
    )


def charts(design: Design, status: Status, history: Sequence[Point]) -> tuple[list[Chart], Chart]:
    """Intervals over time, and allocation over time."""
    amounts = Amounts.of(design.outcome)
    return effect_charts(status, history, amounts), allocation_chart(status, history)


def figures(design: Design, status: Status) -> list[tuple[str, str, str]]:
    """The main figures: a label, the number, and a remark."""
    amounts = Amounts.of(design.outcome)
    pending = status.units - status.matured
    of_cap = "" if design.max_units is None else f"of {count(design.max_units)} at most"
    waiting = f"{count(pending)} pending" if pending else "none pending"
    if status.decision is not None:
        waiting = "up to the decision"
    found = [("Units", count(status.units), of_cap), ("Counted", count(status.matured), waiting)]
    if status.cost is not None and status.even_cost is not None:
        even = f"{amounts.cost(status.even_cost)} with an even split"
        found.append((f"{amounts.cost_unit.capitalize()} lost", amounts.cost(status.cost), even))
    return found


def audit_rows(entries: Sequence[Mapping[str, Any]]) -> list[AuditRow]:
    """The audit log, the newest first."""
    return [
        AuditRow(when(entry["time"]), str(entry["actor"]), _audit_text(entry))
        for entry in reversed(entries)
    ]


def _audit_text(entry: Mapping[str, Any]) -> str:
    """An entry of the audit log in words, also one whose details were damaged."""
    try:
        return audit_words(entry)
    except (AttributeError, LookupError, TypeError, ValueError):
        return f"{str(entry['action']).capitalize()}: {entry['detail']}"


def diagnostic_rows(found: Sequence[Diagnostic]) -> list[DiagnosticRow]:
    """Diagnostics, alarms first."""
    rows = [
        DiagnosticRow(_begun(one.name), _begun(one.message), one.flagged, one.validity)
        for one in found
    ]
    return sorted(rows, key=lambda row: not row.flagged)


def set_aside_words(counts: Mapping[str, int]) -> str:
    """Excluded outcomes, in a sentence.

    >>> set_aside_words({"late": 2, "unknown unit": 1200})
    '1,202 outcomes were excluded: 1,200 unknown unit, 2 late.'
    """
    total = sum(counts.values())
    if total == 0:
        return "No outcome was excluded."
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    reasons = ", ".join(f"{count(found)} {reason}" for reason, found in most)
    return f"{count(total)} outcome{' was' if total == 1 else 's were'} excluded: {reasons}."


def _begun(text: str) -> str:
    """Text as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def _leader(status: Status) -> str | None:
    if status.decision is not None and status.decision.arm is not None:
        return status.decision.name
    return status.leader


def _against(status: Status, leader: str | None, name: str) -> tuple[float, float, float] | None:
    if leader is None or name == leader:
        return None
    for effect in status.effects:
        if {effect.first, effect.second} == {leader, name}:
            three = seen_from(effect, name)
            return three if known(three[1]) and known(three[2]) else None
    return None


def _against_words(three: tuple[float, float, float] | None, amounts: Amounts) -> str:
    if three is None:
        return UNKNOWN
    return amounts.interval(three[1], three[2])


def _forest(three: tuple[float, float, float] | None, low: float, high: float) -> Forest | None:
    if three is None or high <= low:
        return None

    def place(value: float) -> float:
        share = (value - low) / (high - low)
        return round(FOREST_ROOM + share * (FOREST_WIDTH - 2 * FOREST_ROOM), 1)

    return Forest(place(three[1]), place(three[0]), place(three[2]), place(0.0))


def _saving(cost: float, even: float, amounts: Amounts) -> str:
    saved = even - cost
    if even <= 0.0 or abs(saved) < 0.005 * even:
        return "As much as an even split would have cost."
    part, size = percent(abs(saved) / even), f"{amounts.cost(abs(saved))} {amounts.cost_unit}"
    if saved > 0:
        return f"{size} saved: {part} less than an even split of as many units."
    return f"{size} more than an even split of as many units, by {part}."
