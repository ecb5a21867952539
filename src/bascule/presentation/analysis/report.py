"""An analysis as a report: arms, differences, other metrics and segments, and checks of the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bascule.analysis.reduce.sums import CAPPED
from bascule.core.approximate import at_most, two_digits
from bascule.presentation.analysis import headline as sentences
from bascule.presentation.analysis.figure import (
    MOST_PAIRS,
    against,
    amounts_of,
    has_days,
    stamp,
    standing_intervals,
    tabled,
)
from bascule.presentation.analysis.headline import metric_words
from bascule.presentation.differences import OF_LIFTS, has_lower_level
from bascule.presentation.guarantees import STANDINGS, bound_words, interval_name, unbiased_lines
from bascule.presentation.numbers import (
    BETTER,
    UNKNOWN,
    Amounts,
    bounds_words,
    count,
    known,
    number,
    percent,
    relative,
)
from bascule.presentation.report import Cells, Drawable, Fact, Report, Table

if TYPE_CHECKING:
    from bascule.analysis.each import LogAnswer, LogCollection
    from bascule.analysis.evidence.fixed import OneLook
    from bascule.analysis.result import Analysis, Score
    from bascule.core.metrics.effects import Contrast, Effect

MOST_RIVALS = 3
"""Maximum number of rivals with a column in the table of days; all are in the data."""

STANDS = (
    "of the differences with this mark at most 5 % are false in expectation, however the "
    "metrics or tests depend on each other (e-values at the end of the log, e-BH)"
)
"""Note on the false discoveries among several metrics or many tests."""

MOST_DAYS = 400
"""Maximum number of rows of the table of days; a longer one is thinned out."""


def report(analysis: Analysis) -> Report:
    """Return the report of an analysis: decision, numbers, then segments, metrics and checks.

    >>> import bascule as bs
    >>> log = {"unit": range(400), "arm": ["a", "b"] * 200, "value": [0, 1, 0, 0] * 100}
    >>> report(bs.analyze(log)).question.partition("? ")[0]
    'Which is better on value: a or b'
    """
    numbers = Report("") if analysis.segments else _numbers(analysis)
    scores = (_score_table(analysis),) if analysis.metrics else ()
    parts = [
        _part(f"Segment {segment.segment}: {segment.headline}", segment, day_table(segment))
        for segment in analysis.segments
    ]
    parts += _metrics(analysis)
    parts.append(Report("Is the log sound?", notes=tuple(map(str, analysis.checks))))
    parts.append(Report("How it was computed", notes=_method(analysis)))
    return Report(
        analysis.headline,
        f"{sentences.question(analysis)} {sentences.setting(analysis)}",
        _facts(analysis),
        (*scores, *numbers.tables),
        (
            *numbers.notes,
            *([f"Stands: {STANDS}."] if scores else ()),
            sentences.guarantee(analysis),
        ),
        _figures(analysis),
        parts=tuple(parts),
        details=None if analysis.segments else day_table(analysis),
    )


def _part(headline: str, analysis: Analysis, days: Report | None = None) -> Report:
    """Return the part of the report on a segment or on another metric."""
    numbers = _numbers(analysis)
    flagged = map(str, analysis.flagged)
    return Report(
        headline,
        tables=numbers.tables,
        notes=(*numbers.notes, *_guardrail_words(analysis), *flagged),
        parts=tuple(_metrics(analysis)),
        details=days,
    )


def _metrics(analysis: Analysis) -> list[Report]:
    return [
        _part(f"Metric {metric.reading.value}: {metric_words(metric)}", metric)
        for metric in analysis.metrics
    ]


def _facts(analysis: Analysis) -> tuple[Fact, ...]:
    """Return the facts of an analysis: time of the decision, cost, savings and error."""
    if analysis.decides == "guardrails":
        return ()
    unit = amounts_of(analysis).cost_unit
    facts = [] if analysis.segments or analysis.withheld else [_time_fact(analysis)]
    if analysis.cost is not None:
        facts.append(Fact("Cost so far", number(analysis.cost), f"{unit}, against the best arm"))
    if analysis.saved is not None and (analysis.segments or has_days(analysis)):
        decided = analysis.decided
        time = "on their first days" if decided is None else f"on {stamp(analysis, decided)}"
        facts.append(Fact(f"Stopping {time} would have saved", number(analysis.saved), unit))
    if analysis.withheld:
        return tuple(facts)
    sign = "≈" if analysis.guarantee == "asymptotic" else "≤"
    looks = "at one look" if analysis.evidence.once else "however often anyone looks"
    risk = f"{sign} {percent(analysis.error)}"
    return (*facts, Fact("Wrong winner", risk, f"{looks} ({analysis.guarantee})"))


def _time_fact(analysis: Analysis) -> Fact:
    if analysis.evidence.once:
        return Fact("Looks", "1", "at a time that was fixed before the test")
    if analysis.decision is not None and not has_days(analysis):
        return Fact("Decision allowed", "now", "(the log has no times)")
    if analysis.decided is not None:
        return Fact("Decided since", stamp(analysis, analysis.decided))
    if analysis.days_left is not None:
        condition = "if units keep coming and the difference stays"
        return Fact("Expected days left", two_digits(analysis.days_left), condition)
    reason = "too far away to say" if has_days(analysis) else "the log has no times"
    return Fact("Expected days left", UNKNOWN, f"({reason})")


def _numbers(analysis: Analysis) -> Report:
    """Return the tables of arms and differences, with notes on what the intervals guarantee."""
    amounts, once = amounts_of(analysis), analysis.once
    tables = [_arm_table(analysis)]
    notes = [sentences.decided_before(analysis)]
    if not (analysis.evidence.once or analysis.withheld) and analysis.effects:
        error, compared = analysis.effects[0].error, analysis.contrasts
        rows = _effect_rows(analysis)
        tables.append(_difference_table(rows, error, compared[0].lift_error if compared else None))
        notes += [
            f"{interval_name(error)}s: {bound_words(error)} ({analysis.effects[0].guarantee})",
            *([OF_LIFTS] if any(map(has_lower_level, compared)) else ()),
            *_left_out(rows),
            *unbiased_lines(compared, amounts),
        ]
    if once:
        title = (
            ""
            if analysis.evidence.once
            else "If this is the only look, at a time that was fixed before the test"
        )
        rows = [(*_difference_cells(amounts, look), _p_words(look.p_value)) for look in once]
        tables.append(_difference_table(rows, once[0].error, once[0].error, title))
        several = (
            "; intervals are corrected for the number of arms, and p-values are those of single "
            "comparisons, not corrected"
        )
        by = f"{interval_name(once[0].error)}s by {once[0].test}, for one look (asymptotic)"
        notes.append(by + (several if len(once) > 1 else ""))
    if any(arm.counted not in (0, arm.units) for arm in analysis.arms):
        notes.append("Units are counted once their outcomes are final.")
    return Report("", tables=tuple(tables), notes=tuple(filter(None, notes)))


def _arm_table(analysis: Analysis) -> Table:
    """Return the table of arms, with a row for each arm; means of 0/1 outcomes are in percent."""
    mean = amounts_of(analysis).mean
    rows = [
        (arm.name, count(arm.units), count(arm.counted), mean(arm.mean), mean(arm.deviation))
        for arm in analysis.arms
    ]
    winner = None if analysis.decision is None else analysis.decision.name
    strong = tuple(at for at, arm in enumerate(analysis.arms) if arm.name == winner)
    better = "".join(BETTER[analysis.design.goal])
    return Table((("arm", "units", "counted", "mean", "deviation"), *rows), better, strong)


def _effect_rows(analysis: Analysis) -> list[Cells]:
    """Return a row for each treatment minus the control, then for differences of other pairs."""
    amounts = amounts_of(analysis)
    rows = [_difference_cells(amounts, contrast) for contrast in analysis.contrasts]
    no_lift = ("", "") if rows else ()
    return rows + [
        (effect.name, *_cells(amounts, *effect.interval), *no_lift)
        for effect in tabled(analysis)[len(rows) :]
    ]


def _difference_table(
    rows: list[Cells], error: float, lift_error: float | None, title: str = ""
) -> Table:
    """Return a table of the first differences; its headings state the levels of the intervals."""
    heading: Cells = ("difference", "", interval_name(error))
    if lift_error is not None:
        heading += ("lift", interval_name(lift_error), "p")[: len(rows[0]) - len(heading)]
    return Table((heading, *rows[:MOST_PAIRS]), title)


def _left_out(rows: list[Cells]) -> tuple[str, ...]:
    hidden = len(rows) - MOST_PAIRS
    return (f"and {hidden} more pairs",) if hidden > 0 else ()


def _difference_cells(amounts: Amounts, difference: Contrast | OneLook) -> Cells:
    """Return the cells for a difference and its relative lift, each with its interval."""
    return (
        difference.name,
        *_cells(amounts, difference.difference, difference.low, difference.high),
        *_lift_cells(difference),
    )


def _cells(amounts: Amounts, difference: float, low: float, high: float) -> Cells:
    return (amounts.difference(difference, high - low), amounts.bounds(low, high) or "none yet")


def _lift_cells(difference: Contrast | OneLook | Score) -> Cells:
    if not known(difference.lift):
        return ("", "")
    return (
        relative(difference.lift),
        bounds_words(difference.lift_low, difference.lift_high, relative),
    )


def _p_words(p_value: float | None) -> str:
    if p_value is None:
        return ""
    return f"{p_value:.2g}" if p_value >= 1e-4 else "< 0.0001"


def _score_table(analysis: Analysis) -> Table:
    """Return the scorecard: a row for each metric and treatment."""
    looks = "at one look" if analysis.evidence.once else "at any time"
    heading = (
        "metric",
        "treatment",
        "control",
        "treatment",
        "lift",
        "interval",
        "p, one look",
        "stands",
    )
    rows = []
    for row in analysis.scores:
        means = map(Amounts(row.binary).mean, (row.control_mean, row.treatment_mean))
        said = (_p_words(row.p_value), "yes" if row.stands else "no", row.verdict)
        rows.append((row.metric, row.treatment, *means, *_lift_cells(row), *said))
    by = f"the first, {analysis.name}, decides"
    if analysis.decides == "guardrails":
        by = "the guardrails decide"
    return Table(((*heading, looks), *rows), f"All metrics ({by})")


def _guardrail_words(analysis: Analysis) -> tuple[str, ...]:
    """Say for each treatment whether it is within the margin of a guardrail."""
    metric = analysis.metric
    if metric is None or metric.margin is None:
        return ()
    better = "lower" if metric.goal == "decrease" else "higher"
    margin = amounts_of(analysis).size(metric.margin)
    arms = [f"{arm} is {STANDINGS[standing]}" for arm, standing in analysis.standings.items()]
    return (
        f"guardrail, {better} is better, margin {margin}: {'; '.join(arms)} (a treatment that is "
        f"worse by the margin or more is declared within it with probability at most "
        f"{at_most(analysis.error)})",
    )


def _method(analysis: Analysis) -> tuple[str, ...]:
    """Return notes on how the log was read and compared, and on which rows do not count."""
    span = ""
    if analysis.first_day is not None and analysis.last_day is not None and has_days(analysis):
        days = (stamp(analysis, analysis.first_day), stamp(analysis, analysis.last_day))
        span = f", {' to '.join(days)}"
    return (
        f"{analysis.rows:,} rows, {analysis.units:,} units{span}; evidence: {analysis.evidence}",
        analysis.evidence.explanation,
        *_excluded(analysis.excluded.items()),
        "read: " + "; ".join(f"{role} {name}" for role, name in analysis.reading.parts),
        *(f"note: {note}" for note in analysis.notes),
    )


def _excluded(counts: Iterable[tuple[str, int]]) -> list[str]:
    return [
        f"{'capped' if reason == CAPPED else 'excluded'}: {n:,} ({reason})" for reason, n in counts
    ]


def _figures(analysis: Analysis) -> tuple[Drawable, ...]:
    """Return a figure of the present differences and, if there are several days, one by day."""
    course = (analysis,) if len(analysis.days) > 1 and not analysis.segments else ()
    return (*standing_intervals(analysis), *course)


def day_table(analysis: Analysis) -> Report | None:
    """Return a table of units, means and differences after each day.

    The differences are those of the nearest rivals, at most `MOST_RIVALS`. Return None if there are
    fewer than two days.
    """
    arms, rivals = analysis.design.arms, against(analysis)[:MOST_RIVALS]
    if len(analysis.days) < 2:
        return None
    amounts = amounts_of(analysis)
    heading = (
        "day",
        *(f"units, {name}" for name in arms),
        *(f"mean, {name}" for name in arms),
        *(rival.now.name for rival in rivals),
        "decision",
    )
    step, last = -(-len(analysis.days) // MOST_DAYS), len(analysis.days) - 1
    shown = [
        day
        for at, day in enumerate(analysis.days)
        if (last - at) % step == 0 or day.date == analysis.decided
    ]
    rows = [
        (
            stamp(analysis, day.date),
            *map(count, day.units),
            *map(amounts.mean, day.means),
            *(_day_cell(amounts, rival.days[day.date]) for rival in rivals),
            day.decision or "",
        )
        for day in shown
    ]
    strong = tuple(at for at, day in enumerate(shown) if day.date == analysis.decided)
    thinned = f", of which {len(rows):,} are shown" if len(rows) <= last else ""
    title = f"All {len(analysis.days):,} days{thinned}"
    return Report("", tables=(Table((heading, *rows), title, strong),))


def _day_cell(amounts: Amounts, effect: Effect) -> str:
    bounds = amounts.bounds(effect.low, effect.high)
    difference = amounts.signed(effect.difference, effect.high - effect.low)
    return f"{difference} ({bounds})" if bounds else UNKNOWN


def collection_report(collection: LogCollection) -> Report:
    """Return the report of many tests: a row for each, and how many are decided."""
    failed = sum(bool(row.problem) for row in collection.rows)
    failures = f", {failed} could not be analysed" if failed else ""
    heading = ("test", "units", "decision", "since", "difference", "interval", "stands", "checks")
    stand = sum(row.stands for row in collection.rows)
    notes = [
        f"{stand:,} stand: {STANDS}",
        *_excluded(collection.excluded.items()),
        "difference: the arm that is ahead minus its nearest rival",
    ]
    return Report(
        f"{len(collection.rows):,} tests, {collection.decided:,} decided{failures}",
        tables=(
            Table((heading, *map(_collection_cells, collection.rows))),
            *_savings_table(collection),
        ),
        notes=(*notes, *_savings_words(collection)),
    )


SAVINGS = "What the tests cost, and what a planned adaptive design is expected to cost"


def _savings_table(collection: LogCollection) -> tuple[Table, ...]:
    """Return the table of tests that were compared with an adaptive design."""
    heading = ("test", "units", "days", "lost", "adaptive: units", "days", "lost")
    rows = []
    for row in collection.rows:
        if (saved := row.savings) is not None:
            days = UNKNOWN if saved.days is None else str(saved.days)
            adaptive = UNKNOWN if saved.adaptive_days is None else number(saved.adaptive_days)
            lost, less = number(saved.lost), number(saved.adaptive_lost)
            cells = (row.test, count(saved.units), days, lost, count(round(saved.adaptive_units)))
            rows.append((*cells, adaptive, less))
    return (Table((heading, *rows), SAVINGS),) if rows else ()


def _savings_words(collection: LogCollection) -> tuple[str, ...]:
    """Say in one sentence what adaptive designs would have saved."""
    known = [row.savings for row in collection.rows if row.savings is not None]
    if not known:
        return ()
    units, taken = sum(one.units for one in known), sum(one.adaptive_units for one in known)
    lost, less = sum(one.lost for one in known), sum(one.adaptive_lost for one in known)
    dated = [one for one in known if one.days is not None]
    days = sum(one.days or 0 for one in dated)
    shorter = sum(one.adaptive_days or 0.0 for one in dated)
    when = f", {number(shorter)} days instead of {days:,}" if dated else ""
    of_all = "" if len(known) == len(collection.rows) else f" of {len(collection.rows):,}"
    return (
        "With adaptive designs (tilt 3, the same error, at most as many units), "
        f"{len(known):,}{of_all} tests are expected to take {percent(taken / units)} of their "
        f"units{when}, and to lose {number(less)} outcomes instead of {number(lost)}, if the "
        "observed means are the true ones.",
    )


def _collection_cells(row: LogAnswer) -> Cells:
    if row.units is None:
        return (row.test, "", "", "", "", "", "", f"not analysed: {row.problem}")
    amounts = Amounts(row.binary)
    return (
        row.test,
        count(row.units),
        row.decision or "-",
        row.decided or "",
        amounts.difference(row.difference),
        bounds_words(row.low, row.high, amounts.signed) or UNKNOWN,
        "yes" if row.stands else "",
        row.flagged,
    )
