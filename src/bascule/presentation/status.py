"""The status of a live test as a report: arms, differences, other metrics, each in its unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bascule.core.approximate import two_digits
from bascule.core.procedures.base import EndReason
from bascule.core.procedures.blocks.signals import GENTLE_TILT
from bascule.presentation.differences import (
    amounts_of,
    coverage_words,
    difference_lines,
    effect_words,
    has_no_spread,
    spread_words,
)
from bascule.presentation.figures import Differences, Intervals, has_bounds
from bascule.presentation.guarantees import harm_words, margin_words
from bascule.presentation.numbers import (
    BETTER,
    Amounts,
    amount,
    count,
    lost,
    percent,
    range_words,
    relative,
)
from bascule.presentation.report import Fact, Report, Table

if TYPE_CHECKING:
    from bascule.core.diagnostics import Diagnostic
    from bascule.live.reports.history import ExperimentReport
    from bascule.live.reports.status import Status
    from bascule.live.reports.time_left import TimeLeft
    from bascule.live.storage.state import Verdict

FUTILE = "it is unlikely to find the planned difference by its horizon"

NO_SPREAD = "too few outcomes to know their spread"

ENDED_BY: dict[EndReason | None, str] = {
    None: "",
    "horizon": ": it has reached its horizon",
    "futility": f": {FUTILE}",
    "guardrails": ": its guardrails rule out every arm that is left",
}
"""Why a test is over, as the end of a sentence."""

FEWEST = 10
"""Minimum number of counted units per arm for a headline that it is too early to forecast; with
fewer units, the headline says what the test waits for."""


MANY_LATE = 0.5
"""Minimum share of late events at which the status advises what to change."""


def headline(status: Status) -> str:
    """Return what to do, in one line, with the effect of a winner or the expected time left."""
    if status.decision is not None:
        return _decided(status, status.decision)
    if status.state == "over":
        return f"The test has ended undecided{ENDED_BY[status.ended_by]}"
    if status.state == "stopped":
        return "The test was stopped undecided"
    if status.withheld is not None:
        won = "no difference" if status.withheld.name not in arm_names(status) else "{} wins"
        said = won.format(status.withheld.name)
        return f"Decided, withheld until {status.withheld.day}: {said}"
    if status.state in ("ready", "paused"):
        return f"The test is {status.state}: it takes no new units{status.filling}"
    if not status.units:
        return "Waiting for the first unit"
    if status.waiting is not None and status.waiting.is_held and not status.futile:
        return f"Waiting: {status.waiting.words}"
    if status.waiting is not None and status.waiting.is_enough and not status.futile:
        return status.waiting.complete_words
    if status.rollout is not None:
        return f"Keep running: {status.rollout.words}"
    if status.guarded is not None:
        return f"Keep running: {status.guarded}"
    if status.futile:
        return f"Consider ending the test: {FUTILE}"
    return f"Keep running{_time_left(status)}"


def arm_names(status: Status) -> tuple[str, ...]:
    """Return the names of the arms."""
    return tuple(arm.name for arm in status.arms)


def late_lines(status: Status) -> list[str]:
    """Say how many events came too late to count, and that a longer window would count more.

    Their share is given if it is known, and the advice if the share is at least `MANY_LATE`.
    """
    if not status.late:
        return []
    if status.decision is not None or not status.events:
        # After a decision, late events include those of units that do not count, but `events` does
        # not: no share would be right.
        late = count(status.late)
        return [f"{late} events came after the windows of their units and do not count"]
    total = status.events + status.late
    share = status.late / total
    advice = ": a longer window counts more of them, later" if share >= MANY_LATE else ""
    return [
        f"{percent(share)} of the events of these units, {count(status.late)} of {count(total)}, "
        f"came after their windows and do not count{advice}"
    ]


def unassigned_lines(status: Status) -> list[str]:
    """Say how many outcomes belong to no assigned unit, and what to do about it."""
    if not status.unassigned:
        return []
    outcomes = (
        "1 outcome does" if status.unassigned == 1 else f"{count(status.unassigned)} outcomes do"
    )
    return [
        f"{outcomes} not count, because no unit of that name had been assigned before: assign a "
        "unit before its outcome, and use the same name for both"
    ]


def unlisted_lines(status: Status) -> list[str]:
    """Say how many excluded or changed outcomes are not listed, if there are too many."""
    if not status.unlisted:
        return []
    return [
        f"{count(status.unlisted)} more outcomes were excluded or changed and are not listed, "
        "because the list is full: find out what sends so many of them"
    ]


def signal_lines(status: Status) -> list[str]:
    """Say how early signals affect the next block, if the design uses them."""
    use = {
        "on": "on: the sizes of the next block also depend on events in open windows",
        "gentle": "gentle: the sizes of the next block also depend on events in open windows, with "
        f"a tilt of at most {GENTLE_TILT:g} until counted units show whether delays are "
        "alike in all arms",
        "off": "off: delays differ between arms, so that the sizes of the next block depend on "
        "counted units alone",
    }
    return [] if status.early_signals is None else [f"Early signals {use[status.early_signals]}"]


def _time_left(status: Status) -> str:
    """Say how long a decision may still take, or why that is not forecast."""
    undecided = status.undecided_guardrails
    if undecided:
        return (
            f": {status.leader} leads; no time is forecast while it is not shown to stay within "
            f"the margin of {' and '.join(undecided)}"
        )
    if units_to_cap(status) is not None:
        return ": a decision before the cap is unlikely"
    if status.time_left is not None:
        return f": {_range(status.time_left)}"
    if has_no_spread(status):
        return f": {NO_SPREAD}"
    counted = [arm.matured for arm in status.arms if arm.part == "active"]
    if counted and min(counted) >= FEWEST:
        return ": too early to say how long"
    if status.waiting is not None:
        return f": {status.waiting.words}"
    return ""


def _range(left: TimeLeft) -> str:
    """Return how long a test may still take, in days if its pace is known."""
    if left.high_units < 1.0:
        return "the decision may come at any time"
    if left.low_days is None or left.high_days is None:
        low, high = two_digits(left.low_units), two_digits(left.high_units)
        return f"{low} to {high} units left"
    return f"{range_words(left.low_days, left.high_days)} left"


def units_to_cap(status: Status) -> int | None:
    """Return the units until the cap, if the test is expected to end there undecided."""
    if status.max_units is None or status.time_left is None:
        return None
    if status.time_left.units < max(0, status.max_units - status.matured):
        return None
    return max(0, status.max_units - status.units)


def _decided(status: Status, decision: Verdict) -> str:
    name = decision.name
    if decision.harm:
        return harm_words(name, decision.harm)
    if decision.by == "guardrails":
        return f"Ship {name}: {_guardrail_words(status, name)}"
    if decision.arm is not None:
        margins = _guardrail_words(status, name)
        effect = effect_words(status.contrasts, name, status.goal, amounts_of(status))
        return f"Ship {name}{effect}{f'; {margins}' if margins else ''}"
    left = [arm.name for arm in status.arms if arm.part == "active"]
    among = "" if len(left) == len(status.arms) else f" between {', '.join(left)}"
    return f"{name.capitalize()}{among}: keep what is cheapest"


def _guardrail_words(status: Status, winner: str) -> str:
    """Say what is shown about a winner's guardrails, and how other metrics changed.

    For example, "quality at most 2 points worse (proven at 5 %); cost −60 %".
    """
    shown, hidden = [], []
    for metric in status.metrics:
        contrast = next(
            (contrast for contrast in metric.contrasts if contrast.treatment == winner), None
        )
        if contrast is None:
            continue
        if metric.margin is not None:
            size = Amounts(metric.binary).size(metric.margin)
            shown.append(margin_words(metric.name, size, metric.guarantee, metric.error))
        elif contrast.lift is not None:
            hidden.append(f"{metric.name} {relative(contrast.lift)}")
    return "; ".join((*shown, *hidden))


TREND = "trend"
"""The name of the check of drift."""

SAMPLE_RATIO = "sample ratio"
"""The name of the check of the sample ratio."""

MISMATCH = "Sample ratio mismatch: find the cause before you use this result"


def report(status: Status, mismatch: bool = False) -> Report:
    """Return the status as a report: what to do, what was counted, the arms, the guarantee.

    A sample ratio mismatch comes before everything else.
    """
    first, explanation = headline(status), detail(status)
    if mismatch:
        explanation = (
            "The numbers of units per arm do not fit the assignment probabilities: units are lost "
            f"or counted twice. Without it the headline would be: {first}."
        )
        first = MISMATCH
    elif drift := _drift(status):
        explanation = (
            f"{explanation} The guarantee needs means that do not change in time: {drift}."
        )
    notes = (
        *difference_lines(status),
        *clipped_lines(status),
        *late_lines(status),
        *unassigned_lines(status),
        *unlisted_lines(status),
        *signal_lines(status),
        f"Guarantee: {status.promise}",
        *diagnostic_lines(status.diagnostics or ()),
    )
    figures = Intervals.of([(effect.name, effect) for effect in status.effects], amounts_of(status))
    return Report(first, explanation, facts(status), (arm_table(status),), notes, figures)


def _drift(status: Status) -> str:
    """Return what a check of drift has found; empty if nothing."""
    found = (
        diagnostic
        for diagnostic in status.diagnostics or ()
        if diagnostic.flagged and diagnostic.name == TREND
    )
    return next((diagnostic.message for diagnostic in found), "")


def experiment_report(result: ExperimentReport) -> Report:
    """Return the report of a test: that of its status, its history and its changes."""
    status = result.status
    flagged = [diagnostic.name for diagnostic in status.diagnostics or () if diagnostic.flagged]
    said = report(status, any(name.startswith(SAMPLE_RATIO) for name in flagged))
    known = [point for point in result.history if any(map(has_bounds, point.effects))]
    figures = (*said.figures, *([Differences(tuple(known), amounts_of(status))] if known else ()))
    changes = (
        ("time", "change"),
        *((time[:16].replace("T", " "), change) for time, change in result.changes),
    )
    details = Report("", tables=(Table(changes, "What was done to the test"),))
    return replace(said, figures=figures, details=details)


def facts(status: Status) -> tuple[Fact, ...]:
    """Return how many units there are, and what they have cost."""
    pending = status.units - status.matured
    of_cap = "" if status.max_units is None else f"of {count(status.max_units)} at most"
    waiting = f"and {count(pending)} pending" if pending else "and none pending"
    if status.decision is not None:
        waiting = "up to the decision"
    rows = [
        Fact("Test", status.name, f"({status.rule}, {status.state})"),
        Fact("Units", count(status.units), of_cap),
        Fact("Counted", count(status.matured), waiting),
    ]
    if status.cost is not None:
        until = "until the decision" if status.decision is not None else "so far, estimated"
        even = ""
        if status.even_cost is not None:
            even = f" ({amount(status.even_cost)} if these units were split evenly)"
        name = lost(status.cost_unit).capitalize()
        rows.append(Fact(name, amount(status.cost), f"{until}{even}"))
    return tuple(rows)


def has_evidence(status: Status) -> bool:
    """Whether the decision depends on the primary metric, and units have counted."""
    harmed = status.decision is not None and status.decision.harm
    return status.matured > 0 and not (harmed or status.rollout or status.guarded)


def detail(status: Status) -> str:
    """Return the reason for a headline, or what happens next, in a sentence or two."""
    decided = status.decision
    if status.everyone is not None and status.state == "stopped":
        return f"All units get {status.everyone}. Further outcomes are not counted."
    if decided is not None and decided.arm is not None:
        after = f"Decided on the outcomes of {count(decided.units)} units."
        if decided.harm and not decided.units:
            after = "Decided by a guardrail with a short window, before the first unit was counted."
        if status.reversal is not None:
            after = f"{status.reversal}."
        if status.everyone is not None:
            return f"{after} All units get {decided.name}."
        return (
            f"{after} New units get {decided.name}; units in other arms keep theirs until you "
            "release the winner."
        )
    if decided is not None:
        return (
            f"Decided on the outcomes of {count(decided.units)} units: no relevant difference is "
            "left."
        )
    if status.withheld is not None:
        return (
            f"Reached on the outcomes of {count(status.withheld.units)} units. The design asks for "
            "this minimum duration: the test goes on until then, unless you stop it."
        )
    if status.state == "ready":
        return "Start the test when the code that assigns units is in place."
    if status.state == "paused":
        return "Units already assigned keep their arm, and their outcomes count."
    if status.state in ("over", "stopped"):
        return "No arm was shown to be better. Further outcomes are not counted."
    if status.rollout is not None:
        versions = "every new version" if len(status.arms) > 2 else status.rollout.version
        return (
            f"Everyone else keeps the present version; all users get it if {versions} is harmful."
        )
    if status.guarded is not None:
        return "The primary metric is decided; nothing is shipped before the rest is."
    if not status.units:
        return "No unit has been assigned yet."
    if status.matured == 0:
        return "No outcome has been counted yet."
    if has_no_spread(status):
        return spread_words(status)
    if status.leader is None or status.evidence <= 0.0:
        return "No arm is ahead yet."
    share = f"{whole_percent(status.evidence) or 'less than 1'} %"
    ahead = f"{status.leader} is ahead, {share} of the way to a decision."
    rest = units_to_cap(status)
    if rest is not None:
        return f"{ahead} The test ends after {count(rest)} more units."
    return f"{ahead} You may look as often as you like."


def whole_percent(share: float) -> int:
    """Return the progress of a test in whole percent, rounded down; 100 means a decision.

    >>> whole_percent(0.0042), whole_percent(0.368), whole_percent(0.999)
    (0, 36, 99)
    """
    return math.floor(100 * share)


def diagnostic_lines(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """List alarms, then what was checked without a finding, then what could not be checked."""
    said = [f"! {found.name}: {found.message}" for found in diagnostics if found.flagged]
    calm, unchecked = list[str](), list[str]()
    for found in diagnostics:
        if not found.flagged:
            # With too little data a diagnostic has no statistic, and nothing was compared.
            is_empty = found.statistic == 0.0 and found.p_value == 1.0
            (unchecked if is_empty else calm).append(found.name)
    if calm:
        said.append(f"Diagnostics without a finding: {', '.join(calm)}")
    if unchecked:
        said.append(f"Not checked, too little data: {', '.join(unchecked)}")
    return said


def clipped_lines(status: Status) -> list[str]:
    """Say, for each metric, how many outcomes of each arm lay beyond the limits."""
    names = [arm.name for arm in status.arms]
    counted = [("", [arm.clipped for arm in status.arms])]
    counted += [(f" of {metric.name}", [*metric.clipped]) for metric in status.metrics]
    return [
        f"outcomes{of} beyond the limits, counted as the nearest: "
        f"{', '.join(f'{count(n)} of {arm}' for arm, n in zip(names, counts, strict=True))}"
        for of, counts in counted
        if any(counts)
    ]


def arm_table(status: Status) -> Table:
    """Return the table of arms, with a note on how to read their means."""
    amounts, about = amounts_of(status), []
    if status.covariates is not None:
        about.append(f"means {status.covariates.words}")
    about += BETTER[status.goal]
    names = [arm.name for arm in status.arms]
    if values := coverage_words(names, [arm.coverage for arm in status.arms]):
        about.append(values)
    rows = [
        (arm.name, count(arm.units), count(arm.matured), amounts.mean(arm.mean), arm.part)
        for arm in status.arms
    ]
    head = ("arm", "units", "counted", "mean", "state")
    return Table((head, *rows), "; ".join(about))
