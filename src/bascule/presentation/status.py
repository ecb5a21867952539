"""The status of a live test as text: arms, differences, other metrics, each in its own unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.core.approximate import two_digits
from bascule.core.procedures.base import EndReason
from bascule.presentation.guarantees import (
    bound_words,
    contrast_words,
    interval_name,
)
from bascule.presentation.numbers import Amounts, amount, count, duration, known
from bascule.presentation.report import Report, Table, lines

if TYPE_CHECKING:
    from bascule.core.diagnostics import Diagnostic
    from bascule.core.metrics.effects import Effect
    from bascule.live.reports.metric_status import MetricStatus
    from bascule.live.reports.status import Status
    from bascule.live.storage.state import Verdict

FUTILE = "it is unlikely to find the planned difference by its horizon"

NO_SPREAD = (
    "the spread of outcomes is not known yet; every arm needs 20 units, or 20 times its squared "
    "skewness, and outcomes must not all be equal"
)

ENDED_BY: dict[EndReason | None, str] = {
    None: "",
    "horizon": ": it has reached its horizon",
    "futility": f": {FUTILE}",
}
"""Why a test is over, as the end of a sentence."""

TELLING = 0.3
"""Below this part of the way to a decision, differences are as large as their noise, and what is
forecast from them says nothing."""


def amounts_of(status: Status) -> Amounts:
    """Return how the outcomes of the primary metric are written."""
    return Amounts(status.binary, status.cost_unit)


def headline(status: Status) -> str:
    """Return what to do, in one line: the effect once it is decided, else how long it may take."""
    if status.decision is not None:
        return _decided(status, status.decision)
    if status.state == "over":
        return f"The test has ended undecided{ENDED_BY[status.ended_by]}"
    if status.state == "stopped":
        return "The test was stopped undecided"
    if status.state in ("ready", "paused"):
        return f"The test is {status.state}: it takes no new units{status.filling}"
    if status.waiting is not None and status.waiting.is_held and not status.futile:
        return f"Waiting: {status.waiting.words}"
    if status.rollout is not None:
        return f"Keep running: {status.rollout.words}"
    if status.guarded is not None:
        return f"Keep running: {status.guarded}"
    if status.futile:
        return f"Consider ending the test: {FUTILE}"
    return f"Keep running{_time_left(status)}"


def _time_left(status: Status) -> str:
    """Say how long a decision may take, or why nothing is said of it."""
    undecided = status.undecided_guardrails
    if undecided:
        return (
            f": {status.leader} leads; no time is forecast while it is not shown to stay within "
            f"the margin of {' and '.join(undecided)}"
        )
    if status.left is not None:
        if status.evidence < TELLING:
            return ": too early to say how long"
        if units_to_cap(status) is not None:
            return ": a decision before the cap is unlikely"
        if status.left < 1.0:
            return ": the decision may come at any time"
        if status.days_left is None:
            return f": about {two_digits(status.left)} units left"
    if status.days_left is not None:
        return f": about {duration(status.days_left)} left"
    if status.waiting is not None:
        return f": {status.waiting.words}"
    if status.matured and status.effects and all(map(_is_unknown, status.effects)):
        return f": {NO_SPREAD}"
    return ""


def units_to_cap(status: Status) -> int | None:
    """Return the units until the cap, where it will come before a decision as things look."""
    if status.max_units is None or status.left is None:
        return None
    rest = max(0, status.max_units - status.units)
    return rest if status.left > rest and status.evidence >= TELLING else None


def _decided(status: Status, decision: Verdict) -> str:
    name = decision.name
    if decision.harm:
        return f"Keep {name}: every other arm was found harmful ({', '.join(decision.harm)})"
    if decision.by == "guardrails":
        return f"{name} is rolled out: it is within the margin of every guardrail"
    if decision.arm is not None:
        return f"Ship {name}{_effect_words(status, name)}"
    left = [arm.name for arm in status.arms if arm.part in ("active", "paused")]
    among = "" if len(left) == len(status.arms) else f" between {', '.join(left)}"
    return f"{name.capitalize()}{among}: keep what is cheapest"


def _effect_words(status: Status, winner: str) -> str:
    """Return the winner minus the control, or minus its nearest rival if it is the control."""
    amounts = amounts_of(status)
    own = [
        (one.difference, one.low, one.high, "")
        for one in status.contrasts
        if one.treatment == winner
    ]
    rivals = [
        (-one.difference, -one.high, -one.low, f" against {one.treatment}")
        for one in status.contrasts
        if one.control == winner
    ]
    sign = -1.0 if status.goal == "decrease" else 1.0
    shown = own or sorted(rivals, key=lambda one: sign * one[0])
    if not shown:
        return ""
    difference, low, high, against = shown[0]
    text = f": {amounts.difference(difference, high - low)}{against}"
    if not known(low) or not known(high):
        return text
    return f"{text} ({amounts.ends(low, high)})"


def _is_unknown(effect: Effect) -> bool:
    """Whether nothing is said of a difference because the spread cannot be estimated yet."""
    return effect.guarantee == "asymptotic" and math.isinf(effect.low) and math.isinf(effect.high)


def report(status: Status, promise: str = "") -> Report:
    """Return the status as a report: what to do, the arms, the differences, the guarantee."""
    notes = [*difference_lines(status, all_pairs=True)]
    is_measured = not (status.rollout or status.guarded)
    if is_measured and not (status.decision and status.decision.harm):
        notes.append(f"evidence: {100 * status.evidence:.0f} % of the way to a decision")
    if status.cost is not None:
        even = "" if status.even_cost is None else f" ({amount(status.even_cost)} in equal parts)"
        notes.append(f"cost so far: {amount(status.cost)} {status.cost_unit}{even}")
    notes += [
        f"guarantee: {promise or status.promise}",
        *diagnostic_lines(status.diagnostics or ()),
    ]
    about = f"{status.name}, {status.rule}, {status.state}"
    return Report(headline(status), about, (), (arm_table(status),), tuple(notes))


def diagnostic_lines(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """List alarms, then what was checked without a finding, then what could not be checked."""
    said = [f"! {one.name}: {one.message}" for one in diagnostics if one.flagged]
    # With too little data a diagnostic has no statistic, and nothing was compared.
    unchecked = [one for one in diagnostics if one.statistic == 0.0 and one.p_value == 1.0]
    calm = [one.name for one in diagnostics if not one.flagged and one not in unchecked]
    if calm:
        said.append(f"diagnostics without a finding: {', '.join(dict.fromkeys(calm))}")
    if unchecked:
        names = ", ".join(dict.fromkeys(one.name for one in unchecked))
        said.append(f"not checked, too little data: {names}")
    return said


def arm_table(status: Status) -> Table:
    """Return the arms, a row each, and what means are."""
    amounts, about = amounts_of(status), []
    if status.covariates is not None:
        about.append(f"means {status.covariates.words}")
    if status.goal == "decrease":
        about.append("lower is better")
    rows = [
        (arm.name, count(arm.units), count(arm.matured), amounts.mean(arm.mean), arm.part)
        for arm in status.arms
    ]
    head = ("arm", "units", "matured", "mean", "part")
    return Table((head, *rows), "; ".join(about))


def difference_lines(status: Status, all_pairs: bool = False) -> list[str]:
    """Return each treatment minus the control on every metric, and what intervals promise.

    `all_pairs` adds the differences of treatments on the primary metric.
    """
    amounts = amounts_of(status)
    said = [contrast_words(contrast, amounts) for contrast in status.contrasts]
    control = {contrast.control for contrast in status.contrasts}
    for effect in status.effects if all_pairs else ():
        if control.isdisjoint((effect.first, effect.second)):
            later = effect.reversed
            interval = f"{interval_name(later.error)} {amounts.interval(later.low, later.high)}"
            difference = amounts.difference(later.difference, later.high - later.low)
            said.append(f"{later.name}: {difference} ({interval})")
    for metric in status.metrics:
        said += _metric_lines(metric)
    promised = dict.fromkeys((effect.error, effect.guarantee) for effect in status.effects)
    return said + [
        f"intervals: {bound_words(error)} ({guarantee})" for error, guarantee in promised
    ]


def _metric_lines(metric: MetricStatus) -> list[str]:
    amounts = Amounts(metric.binary)
    about: list[str] = [metric.role]
    if metric.goal == "decrease":
        about.append("lower is better")
    if metric.margin is not None:
        about.append(f"margin {amounts.size(metric.margin)}")
    said = [f"{metric.name} ({', '.join(about)}):"]
    for contrast, standing in zip(metric.contrasts, metric.standings, strict=True):
        where = f"; {standing}" if metric.role == "guardrail" else ""
        said.append(f"  {contrast_words(contrast, amounts)}{where}")
    return said


def status_text(status: Status) -> str:
    """Return what to do, the arms, and each treatment minus the control."""
    return "\n".join(lines(report(status), width=0))
