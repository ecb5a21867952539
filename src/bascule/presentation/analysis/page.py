"""An analysis as one page to hand around, for a reader who does not know this package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.presentation import numbers
from bascule.presentation.analysis import sentences as words
from bascule.presentation.analysis.chart import (
    MARGINS,
    Chart,
    Forest,
    cost_chart,
    effect_chart,
    forest,
)
from bascule.presentation.analysis.series import Against, Dates, against, amounts_of, has_days
from bascule.presentation.analysis.text import guardrail_lines, metric_words, p_words
from bascule.presentation.guarantees import interval_name, unbiased_lines
from bascule.presentation.numbers import UNKNOWN, Amounts, known, relative
from bascule.presentation.pages import frames, template

if TYPE_CHECKING:
    from bascule.analysis.evidence.fixed import OneLook
    from bascule.analysis.result import Analysis
    from bascule.core.metrics.contrasts import Contrast

LARGE, SMALL, COST = (300.0, 300.0), (220.0, 220.0), (190.0, 190.0)
"""Heights of charts in pixels: of the nearest rival, of others, and of the cost."""

MOST_CHARTS = 3
"""Of more rivals than this, the nearest ones are drawn day by day; all are in the table of now."""

MOST_ROWS = 400
"""A longer table is thinned out."""

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """One analysis with its drawings and its table of days."""

    analysis: Analysis
    amounts: Amounts
    rivals: tuple[Against, ...]
    forest: Forest | None
    effects: tuple[tuple[Chart, ...], ...]
    costs: tuple[Chart, ...]
    heading: Cells
    days: tuple[tuple[bool, Cells], ...]
    compared: tuple[Compared, ...]
    levels: str
    others: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """A treatment minus the control: cells with a title, a number and its interval."""

    name: str
    cells: tuple[tuple[str, str, str], ...]


def page(analysis: Analysis) -> str:
    """The page as HTML.

    >>> import bascule as bs
    >>> log = {"unit": range(400), "arm": ["a", "b"] * 200, "value": [0, 1, 0, 0] * 100}
    >>> text = page(bs.analyze(log))
    >>> text.startswith("<!doctype html>"), "http" in text
    (True, False)
    """
    from bascule import __version__

    parts = [view(part, f"s{at}") for at, part in enumerate(analysis.segments)]
    return template("report.html").render(
        analysis=analysis,
        whole=view(analysis, "all"),
        parts=parts,
        words=words,
        guardrail_lines=guardrail_lines,
        metric_words=metric_words,
        scores=score_rows(analysis),
        numbers=numbers,
        has_days=has_days(analysis),
        dates=Dates.of(analysis),
        version=__version__,
    )


def score_rows(analysis: Analysis) -> list[Cells]:
    """The scorecard: a row of cells for each metric and treatment."""
    rows = []
    for row in analysis.scores:
        lift = relative(row.lift) if row.lift is not None else ""
        if known(row.lift_low) and known(row.lift_high):
            lift += f" ({relative(row.lift_low)} to {relative(row.lift_high)})"
        means = map(Amounts(row.binary).mean, (row.control_mean, row.treatment_mean))
        p_value = "" if row.p_value is None else p_words(row.p_value)
        rows.append((row.metric, row.treatment, *means, lift, p_value, row.verdict))
    return rows


def view(analysis: Analysis, key: str) -> View:
    """What the template shows of an analysis; `key` tells its drawings from those of others."""
    rivals = against(analysis)
    effects = [
        _drawn(
            effect_chart(analysis, one, f"{key}-{at}", frame)
            for frame in frames(SMALL if at else LARGE, MARGINS)
        )
        for at, one in enumerate(rivals[:MOST_CHARTS])
    ]
    costs = _drawn(cost_chart(analysis, f"{key}-cost", frame) for frame in frames(COST, MARGINS))
    heading, days = day_rows(analysis, rivals[:MOST_CHARTS])
    return View(
        analysis,
        amounts_of(analysis),
        rivals,
        forest(analysis),
        tuple(charts for charts in effects if charts),
        costs,
        heading,
        days,
        compared(analysis),
        levels(analysis),
        tuple(view(other, f"{key}-m{at}") for at, other in enumerate(analysis.metrics)),
    )


def _drawn(charts: Iterable[Chart | None]) -> tuple[Chart, ...]:
    return tuple(chart for chart in charts if chart is not None)


def compared(analysis: Analysis) -> tuple[Compared, ...]:
    """Treatments minus the control: as they stand at any time, and for one look."""
    amounts, control = amounts_of(analysis), analysis.design.control_arm
    once = {one.name: one for one in analysis.once if one.first == control}
    rows = []
    for one in analysis.contrasts or once.values():
        cells = [_cell(amounts, "difference", one), _lift_cell(one)]
        if analysis.contrasts and one.name in once:
            cells.append(_cell(amounts, "if looked at once", once[one.name]))
        rows.append(Compared(one.name, tuple(cells)))
    return tuple(rows)


def _cell(amounts: Amounts, title: str, one: Contrast | OneLook) -> tuple[str, str, str]:
    width = one.high - one.low
    ends = amounts.ends(one.low, one.high) if known(width) else ""
    return title, amounts.difference(one.difference, width), ends


def _lift_cell(one: Contrast | OneLook) -> tuple[str, str, str]:
    is_known = known(one.lift) and known(one.lift_low) and known(one.lift_high)
    ends = f"{relative(one.lift_low)} to {relative(one.lift_high)}" if is_known else ""
    return "relative lift", relative(one.lift), ends


def levels(analysis: Analysis) -> str:
    """The levels of the intervals in the table of treatments, and when each holds."""
    parts = []
    if analysis.contrasts:
        one = analysis.contrasts[0]
        parts.append(
            f"{interval_name(one.error)}s for differences and {interval_name(one.lift_error)}s for "
            f"lifts: they hold however often anyone looks ({one.guarantee})."
        )
        parts += unbiased_lines(analysis.contrasts, amounts_of(analysis))
    if analysis.once:
        look = analysis.once[0]
        parts.append(
            f"{interval_name(look.error)}s by {look.test} where the log is looked at once: they "
            "hold only if the time of the look was fixed before the test (asymptotic)."
        )
    return " ".join(parts)


def day_rows(
    analysis: Analysis, rivals: tuple[Against, ...]
) -> tuple[Cells, tuple[tuple[bool, Cells], ...]]:
    """The table of days: its heading, and each row with whether the decision came on that day."""
    amounts, dates = amounts_of(analysis), Dates.of(analysis)
    heading = (
        "day",
        *(f"units, {name}" for name in analysis.design.arms),
        *(f"mean, {name}" for name in analysis.design.arms),
        *(one.name for one in rivals),
    )
    steps = [{step.date: step for step in one.steps} for one in rivals]
    every = -(-len(analysis.days) // MOST_ROWS) or 1
    rows = []
    for place, day in enumerate(analysis.days):
        first = day.date == analysis.decided
        if (len(analysis.days) - 1 - place) % every and not first:
            continue
        cells = [
            dates.stamp(day.date),
            *(f"{n:,}" for n in day.units),
            *(amounts.mean(m) for m in day.means),
        ]
        for by_date in steps:
            step = by_date[day.date]
            cells.append(step.words(amounts) if step.known else UNKNOWN)
        rows.append((first, tuple(cells)))
    return heading, tuple(rows)
