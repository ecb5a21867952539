"""An analysis in words and tables of plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.core.approximate import about, at_most
from bascule.presentation.analysis.series import Dates, amounts_of, has_days
from bascule.presentation.guarantees import STANDINGS, bound_words, interval_name, unbiased_lines
from bascule.presentation.numbers import Amounts, known, number, relative

if TYPE_CHECKING:
    from bascule.analysis.each import LogCollection
    from bascule.analysis.evidence.fixed import OneLook
    from bascule.analysis.result import Analysis, ArmAnswer, Score
    from bascule.core.metrics.contrasts import Contrast
    from bascule.core.procedures.base import Decision

MOST_NAMED = 4
"""The most comparisons that a headline names."""

MOST_PAIRS = 10
"""The most differences that are printed; the others are in the data."""


def text_lines(analysis: Analysis) -> list[str]:
    """The answer as lines of text: headline, arms, differences, counts, checks and notes."""
    lines = [analysis.headline, *scorecard(analysis), ""]
    if analysis.segments:
        for part in analysis.segments:
            lines += [f"Segment {part.segment}: {part.headline}", *_numbers(part)]
            lines += [*map(str, part.flagged), *_metrics(part), ""]
    else:
        lines += [*_numbers(analysis), ""]
    lines += _money(analysis)
    lines += _counts(analysis)
    lines += [str(check) for check in analysis.checks]
    lines += [f"  note: {note}" for note in analysis.notes]
    return lines + _metrics(analysis)


def scorecard(analysis: Analysis) -> list[str]:
    """A table with a row for each metric and treatment; nothing for a single metric."""
    if not analysis.metrics:
        return [f"metric: {analysis.name}"] if analysis.reading.value else []
    looks = "at one look" if analysis.evidence.once else "at any time"
    lines = [
        "",
        f"{fitted('metric', 24)}{fitted('treatment', 16)}{'control':>12}{'treatment':>12}"
        f"{'lift':>10}{'from':>10}{'to':>10}{'p, one look':>13}  {looks}",
    ]
    lines += ["".join(score_cells(row)).rstrip() for row in analysis.scores]
    return [*lines, "", f"The first metric, {analysis.name}, decides:"]


def score_cells(row: Score) -> list[str]:
    """The cells of a row of the scorecard, each as wide as its column."""
    amounts = Amounts(row.binary)
    lifts = (row.lift, row.lift_low, row.lift_high)
    p_value = "" if row.p_value is None else p_words(row.p_value)
    return [
        fitted(row.metric, 24),
        fitted(row.treatment, 16),
        f"{amounts.mean(row.control_mean):>12}{amounts.mean(row.treatment_mean):>12}",
        *(f"{relative(end) if end is not None and known(end) else '':>10}" for end in lifts),
        f"{p_value:>13}  {row.verdict}",
    ]


def p_words(p_value: float) -> str:
    """A p-value as a cell has it."""
    return f"{p_value:.2g}" if p_value >= 1e-4 else "< 0.0001"


def _metrics(analysis: Analysis) -> list[str]:
    lines: list[str] = []
    for other in analysis.metrics:
        lines += ["", f"Metric {other.reading.value}: {metric_words(other)}", *_numbers(other)]
        lines += guardrail_lines(other)
        lines += [str(check) for check in other.flagged]
    return lines


def metric_words(analysis: Analysis) -> str:
    """Say what another metric says: what it decides by itself, or else what it is for."""
    metric = analysis.metric
    is_silent = metric is not None and metric.margin is not None and analysis.decision is None
    return "guardrail" if is_silent else analysis.headline


def guardrail_lines(analysis: Analysis) -> list[str]:
    """Say of each treatment whether it is within the margin of a guardrail."""
    metric = analysis.metric
    if metric is None or metric.margin is None:
        return []
    better = "lower" if metric.goal == "decrease" else "higher"
    margin = amounts_of(analysis).size(metric.margin)
    rest = [f"{arm} is {STANDINGS[standing]}" for arm, standing in analysis.standings.items()]
    return [
        f"guardrail, {better} is better, margin {margin}: {'; '.join(rest)} (a treatment "
        f"that is worse by the margin or more is declared within it with probability at most "
        f"{at_most(analysis.error)})"
    ]


def held_words(analysis: Analysis) -> str:
    """Say which guardrails keep the winner from being shipped."""
    held = analysis.held_by
    harmful = [name for name, standing in held.items() if standing == "harmed"]
    if harmful:
        return f"; do not ship it, it is harmful on {' and '.join(harmful)}"
    if held:
        return f"; it is not shown yet to stay within the margin of {' and '.join(held)}"
    return ""


def _numbers(analysis: Analysis) -> list[str]:
    amounts = amounts_of(analysis)
    better = ["lower is better"] if analysis.design.goal == "decrease" else []
    lines = [*arm_table(analysis.arms, amounts), *better, ""]
    if analysis.evidence.once:
        return lines + once_table(analysis.once, amounts)
    lines += effect_table(analysis)
    if analysis.once:
        lines += ["", "If this is the only look, at a time that was fixed before the test:"]
        lines += once_table(analysis.once, amounts)
    return lines


def once_table(once: tuple[OneLook, ...], amounts: Amounts) -> list[str]:
    """The differences by one look with relative lifts, a line each below a heading."""
    lines = [f"{_difference_line(amounts, one)}   p {p_words(one.p_value)}" for one in once]
    closing = f"{interval_name(once[0].error)}s by {once[0].test}, for one look (asymptotic)"
    if len(once) > 1:
        closing += (
            "; intervals are corrected for the number of arms, and p-values are those of single "
            "comparisons, not corrected"
        )
    return _differences(lines, amounts, once[0].error, closing)


def arm_table(arms: tuple[ArmAnswer, ...], amounts: Amounts) -> list[str]:
    """The arms, a line each below a heading; means of 0/1 outcomes are in percent."""
    return [
        f"{'arm':<20}{'units':>12}{'counted':>12}{'mean':>12}{'deviation':>12}",
        *(
            f"{fitted(arm.name, 20)}{arm.units:>12,}{arm.counted:>12,}"
            f"{amounts.mean(arm.mean):>12}{amounts.mean(arm.deviation):>12}"
            for arm in arms
        ),
    ]


def effect_table(analysis: Analysis) -> list[str]:
    """The differences below a heading: treatments minus the control with lifts, then others."""
    effects, compared, amounts = analysis.effects, analysis.contrasts, amounts_of(analysis)
    if not effects:
        return []
    pairs = {frozenset((one.treatment, one.control)) for one in compared}
    lines = [_difference_line(amounts, one) for one in compared]
    lines += [
        fitted(effect.name, 32) + _ends(amounts, *effect.ends)
        for effect in (effect.reversed for effect in effects)
        if frozenset((effect.first, effect.second)) not in pairs
    ]
    error = effects[0].error
    closing = f"{interval_name(error)}s: {bound_words(error)} ({effects[0].guarantee})"
    lift_error = compared[0].lift_error if compared else None
    table = _differences(lines, amounts, lift_error, closing)
    return [*table, *unbiased_lines(compared, amounts)]


def _differences(
    lines: list[str], amounts: Amounts, lift_error: float | None, closing: str
) -> list[str]:
    """A table of differences: its heading, the first lines of it, and what its intervals are."""
    unit = "points" if amounts.binary else ""
    heading = f"{'difference':<32}{unit:>12}{'from':>12}{'to':>12}"
    if lift_error is not None:
        heading += f"{'lift':>10}{'from':>10}{'to':>10} ({interval_name(lift_error)})"
    more = len(lines) - MOST_PAIRS
    rest = [f"and {more} more pairs"] if more > 0 else []
    return [heading, *lines[:MOST_PAIRS], *rest, closing]


def _difference_line(amounts: Amounts, one: Contrast | OneLook) -> str:
    line = fitted(one.name, 32) + _ends(amounts, one.difference, one.low, one.high)
    if one.lift is None or math.isnan(one.lift):
        return line
    lifts = (one.lift, one.lift_low, one.lift_high)
    return line + "".join(f"{relative(end) if known(end) else '':>10}" for end in lifts)


def _ends(amounts: Amounts, difference: float, low: float, high: float) -> str:
    ends = (difference, low, high)
    cells = [amounts.signed(end, high - low) if math.isfinite(end) else "none yet" for end in ends]
    return "".join(f"{cell:>12}" for cell in cells)


def day_table(analysis: Analysis) -> list[str]:
    """The differences of all pairs at the end of each day, a line each below a heading."""
    title = "" if analysis.segment is None else f"segment {analysis.segment}\n"
    amounts, stamp = amounts_of(analysis), Dates.of(analysis).stamp
    unit = "points" if amounts.binary else ""
    lines = [f"{title}{'day':<12}{'difference':<32}{'units':>12}{unit:>12}{'from':>12}{'to':>12}"]
    for day in analysis.days:
        mark = f"  {day.decision}" if day.decision else ""
        for effect in day.effects[:MOST_PAIRS]:
            later = effect.reversed
            numbers = f"{sum(day.units):>12,}{_ends(amounts, *later.ends)}{mark}"
            lines.append(f"{stamp(day.date):<12}{fitted(later.name, 32)}{numbers}")
    return lines


def _money(analysis: Analysis) -> list[str]:
    lines, stamp = [], Dates.of(analysis).stamp
    if analysis.cost is not None:
        lines.append(f"cost so far {number(analysis.cost)} {analysis.design.cost_unit}")
    if analysis.saved is not None and (analysis.segments or has_days(analysis)):
        decided = analysis.decided
        when = "on their first day" if decided is None else f"on {stamp(decided)}"
        lines.append(f"stopping {when} would have saved {number(analysis.saved)}")
    return lines


def _counts(analysis: Analysis) -> list[str]:
    span = ""
    if analysis.first_day is not None and analysis.last_day is not None and has_days(analysis):
        stamp = Dates.of(analysis).stamp
        span = f", {stamp(analysis.first_day)} to {stamp(analysis.last_day)}"
    lines = [
        f"{analysis.rows:,} rows, {analysis.units:,} units{span}; evidence: {analysis.evidence}"
    ]
    lines += [f"excluded: {n:,} ({reason})" for reason, n in analysis.excluded.items()]
    lines.append("read: " + "; ".join(f"{role} {name}" for role, name in analysis.reading.parts))
    return lines


def collection_lines(collection: LogCollection) -> list[str]:
    """Many tests below a heading, a line each, and how many are decided."""
    lines = [
        f"{fitted('test', 26)}{'units':>10}  {fitted('decision', 22)}{'since':<12}"
        f"{'difference':>14}{'from':>11}{'to':>11}  checks"
    ]
    for row in collection.rows:
        if row.problem:
            lines.append(f"{fitted(row.test, 26)}{'':>10}  not analysed: {row.problem}")
            continue
        amounts = Amounts(row.binary)
        ends = "".join(f"{amounts.signed(end):>11}" for end in (row.low, row.high))
        ends = f"{amounts.difference(row.difference):>14}{ends}"
        lines.append(
            f"{fitted(row.test, 26)}{row.units:>10,}  {fitted(row.decision or '-', 22)}"
            f"{row.decided or '':<12}{ends}  {row.flagged}".rstrip()
        )
    failed = sum(bool(row.problem) for row in collection.rows)
    more = f", {failed} could not be analysed" if failed else ""
    lines.append(f"{len(collection.rows):,} tests, {collection.decided:,} decided{more}")
    lines += [f"excluded: {n:,} ({reason})" for reason, n in collection.excluded.items()]
    lines.append("difference: the arm that is ahead minus its nearest rival")
    return lines


def fitted(name: str, width: int) -> str:
    """A name in a column of a table: shortened in the middle if it is too long.

    >>> fitted("green", 8), fitted("a long name of an arm", 12)
    ('green   ', 'a long …arm ')
    """
    room = width - 1
    if len(name) > room:
        last = room // 3
        name = f"{name[: room - 1 - last]}…{name[len(name) - last :]}"
    return f"{name:<{width}}"


def headline(analysis: Analysis) -> str:
    """One line that says what to do; a sample ratio mismatch comes first."""
    warning = "Sample ratio mismatch, find its cause first. " if analysis.ratio_mismatch else ""
    return warning + _answer(analysis)


def _answer(analysis: Analysis) -> str:
    risk = at_most(analysis.error)
    if analysis.segments:
        decided = sum(part.decision is not None for part in analysis.segments)
        return f"{len(analysis.segments)} segments, {decided} of them decided"
    if analysis.test_headline is not None:
        return analysis.test_headline
    decision = analysis.decision
    if analysis.evidence.once:
        test = f"by one look ({analysis.once[0].test}, error {risk})"
        if decision is None:
            return f"No decision {test}"
        return f"{_of(decision)} {test}; valid for one look only{held_words(analysis)}"
    if decision is not None and decision.arm is not None:
        return (
            f"{decision.name} is the best arm: a worse one is named with probability at most "
            f"{risk} ({analysis.guarantee}){_since(analysis)}{held_words(analysis)}"
        )
    if decision is not None:
        return f"{decision.name.capitalize()} ({analysis.guarantee}){_since(analysis)}"
    judged = judged_words(analysis)
    pairs = compared_pairs(analysis) + judged
    # What is decided on a margin is not to wait for the first metric.
    if analysis.days_left is not None and not judged:
        return f"No decision yet{pairs}: about {about(analysis.days_left)} more at this pace"
    return f"No decision yet{pairs}"


def judged_words(analysis: Analysis) -> str:
    """Say what guardrails have shown of treatments, while the first metric is open."""
    words = [
        f"{arm} is {STANDINGS[standing]} ({one.name})"
        for one in analysis.metrics
        for arm, standing in one.standings.items()
        if standing != "open"
    ]
    return f" on {analysis.name}; {'; '.join(words[:MOST_NAMED])}" if words else ""


def compared_pairs(analysis: Analysis) -> str:
    """Say which of several arms beat others, and which comparison is open."""
    if len(analysis.design.arms) < 3:
        return ""
    oriented = analysis.design.oriented
    beats, open_pairs = [], []
    for one in (effect.reversed for effect in analysis.effects):
        if one.low > 0.0 or one.high < 0.0:
            ahead, behind = one.first, one.second
            if oriented(one.difference) < 0.0:
                ahead, behind = behind, ahead
            beats.append((ahead, behind))
        else:
            open_pairs.append((one.first, one.second))
    if not beats:
        return ""
    beaten = {behind for _, behind in beats}
    text = [f"{ahead} beats {behind}" for ahead, behind in beats if ahead not in beaten]
    text += [
        f"{one} against {other} is open" for one, other in open_pairs if not {one, other} & beaten
    ]
    return f"; {'; '.join(text[:MOST_NAMED])}" + ("; ..." if len(text) > MOST_NAMED else "")


def _of(decision: Decision) -> str:
    return (
        decision.name.capitalize() if decision.arm is None else f"{decision.name} is the best arm"
    )


def _since(analysis: Analysis) -> str:
    if analysis.decided is None or not has_days(analysis):
        return ""
    return f", since {Dates.of(analysis).stamp(analysis.decided)}"
