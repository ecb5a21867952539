"""The figure of an analysis: differences and cost day by day.

This module also formats the days of a log and its outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from textwrap import wrap
from typing import TYPE_CHECKING

from bascule.core.metrics.effects import Effect, signed
from bascule.presentation.figures import SERIES, Intervals, Series, new_figure
from bascule.presentation.numbers import Amounts, known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bascule.analysis.result import Analysis


DAYS_APART = (1, 2, 3, 7, 14, 28, 56, 91, 182, 365, 730)
"""Possible numbers of days between the dates on an axis."""


def amounts_of(analysis: Analysis) -> Amounts:
    """Return the formatter of a log's outcomes and costs."""
    return Amounts(analysis.design.outcome.binary, analysis.design.cost_unit)


def stamp(analysis: Analysis, day: str) -> str:
    """Return a day as the log writes it, a date or a number; empty if the log has no times."""
    return analysis.reading.stamp(day) or ""


def short_day(analysis: Analysis, day: str) -> str:
    """Return a day as a label of an axis."""
    if analysis.reading.times == "numbers":
        return stamp(analysis, day)
    return f"{date.fromisoformat(day):%-d %b}"


def has_days(analysis: Analysis) -> bool:
    """Whether the log has times."""
    return analysis.last_day is not None and analysis.reading.times != "none"


@dataclass(frozen=True, slots=True)
class Against:
    """Treatment minus control for the leading arm and a rival: now, and at the end of each day."""

    now: Effect
    """The difference in the whole log."""
    days: Mapping[str, Effect]
    """The differences at the end of each day."""


def against(analysis: Analysis) -> tuple[Against, ...]:
    """Return the differences between the leader and each other arm, the nearest rival first."""
    return tuple(
        Against(
            now,
            {
                day.date: effect.of(now.first)
                for day in analysis.days
                for effect in day.effects
                if {effect.first, effect.second} == {now.first, now.second}
            },
        )
        for now in signed(analysis.design, analysis.leads)
    )


def tabled(analysis: Analysis) -> list[Effect]:
    """Return the differences of all pairs in the order of a table: those to the control first."""
    control = analysis.design.control_arm
    return sorted(analysis.effects, key=lambda pair: control not in (pair.first, pair.second))


def costs(analysis: Analysis) -> tuple[float, ...]:
    """Return the cumulative cost at the end of each day; empty if the mean of an arm is unknown.

    The present means determine the cost of a unit in each arm. Units whose outcomes are not final
    yet are left out.
    """
    better = analysis.design.oriented
    means = [better(arm.mean) for arm in analysis.arms if arm.mean is not None]
    if not means or len(means) < len(analysis.arms):
        return ()
    losses = [max(means) - mean for mean in means]
    return tuple(
        sum(n * loss for n, loss in zip(day.units, losses, strict=True)) for day in analysis.days
    )


def decision_place(analysis: Analysis) -> int | None:
    """Return the index of the day on which the decision was first possible, or None."""
    dates = [day.date for day in analysis.days]
    return dates.index(analysis.decided) if analysis.decided in dates else None


def span(days: Mapping[str, Effect], marked: str | None = None) -> tuple[float, float]:
    """Return the range of the vertical axis, which contains 0 and the intervals of most days.

    In the first quarter of the days intervals are very wide: they may be cut off, except on the day
    `marked`.

    >>> day = Effect("b", "a", 0.1, -1.0, 1.0, 0.05, "proven")
    >>> span({"2026-03-01": day}), span({})
    ((-1.1, 1.1), (-1.0, 1.0))
    """
    limited = limited_days(days)
    shown = list(limited.values())[len(limited) // 4 :]
    shown += [effect for day, effect in limited.items() if day == marked]
    low = min([0.0, *(effect.low for effect in shown)])
    high = max([0.0, *(effect.high for effect in shown)])
    if low == high:
        return -1.0, 1.0
    room = 0.05 * (high - low)
    return low - room, high + room


def limited_days(days: Mapping[str, Effect]) -> dict[str, Effect]:
    """Return the days whose interval has two finite bounds."""
    return {day: effect for day, effect in days.items() if known(effect.high - effect.low)}


def dated(dates: Sequence[str], limit: int) -> list[int]:
    """Return the indices of the dates to write on an axis, all equally far apart.

    The distance is the smallest in `DAYS_APART` that divides the time into at most `limit` parts.

    >>> dated([f"2026-03-{day:02}" for day in range(1, 32)], 6)
    [0, 7, 14, 21, 28]
    """
    days = [date.fromisoformat(text).toordinal() for text in dates]
    step = next((s for s in DAYS_APART if (days[-1] - days[0]) / s <= limit), DAYS_APART[-1])
    return [at for at, day in enumerate(days) if (day - days[0]) % step == 0]


TITLE_SIGNS, PANEL_SIGNS = 105, 50
"""Maximum number of characters in a line of the title, and of the title of the left panel."""

MOST_PAIRS = 10
"""Maximum number of differences in a table; the others are in the data."""

MOST_RIVALS = 4
"""Maximum number of rivals that are drawn; more would hide each other."""


def plot_analysis(analysis: Analysis) -> Figure:
    """Plot the leader against its rivals, and the cost; or the present difference of each segment.

    >>> import bascule as bs
    >>> log = {"unit": range(400), "arm": ["a", "b"] * 200, "value": [0, 1, 0, 0] * 100,
    ...        "time": [f"2026-03-{1 + i // 40:02}" for i in range(400)]}
    >>> [panel.get_title(loc="left") for panel in plot_analysis(bs.analyze(log)).axes]
    ['b - a (points)', 'cost (conversions)']
    """
    standing = standing_intervals(analysis)
    if analysis.segments and standing:
        return standing[0].plot()
    figure, (left, right) = new_figure(columns=2, width=10.0, height=4.0, parts=(1.7, 1.0))
    amounts = amounts_of(analysis)
    rivals = against(analysis)[:MOST_RIVALS]
    dates = [day.date for day in analysis.days]
    days = [_ordinal(text) for text in dates]
    place = decision_place(analysis)
    for one, series in zip(rivals, (SERIES[1], SERIES[3], SERIES[2], SERIES[0]), strict=False):
        _draw_steps(left, one, series, amounts, len(rivals) > 1)
    left.axhline(0.0, color="#111111", linewidth=1.2)
    spans = [span(rival.days, analysis.decided) for rival in rivals]
    if spans:
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        left.set_ylim(low * amounts.factor, high * amounts.factor)
    names = "differences" if len(rivals) > 1 else "".join(rival.now.name for rival in rivals)
    title = f"{names} ({amounts.difference_unit})"
    left.set_title("\n".join(wrap(title, PANEL_SIGNS)), loc="left")
    losses = costs(analysis)
    right.set_title(f"cost ({amounts.cost_unit})", loc="left")
    if losses:
        colour = SERIES[5].colour
        marker = "o" if len(days) == 1 else None
        right.plot(days, losses, color=colour, linewidth=1.8, marker=marker)
        right.fill_between(days, 0.0, losses, color=colour, alpha=0.14, linewidth=0)
        if place is not None:
            later = slice(place, None)
            right.fill_between(
                days[later], losses[place], losses[later], color=colour, alpha=0.35, linewidth=0
            )
        right.set_ylim(bottom=0)
    for panel, limit in ((left, 6), (right, 3)):
        if dates and has_days(analysis):
            _dates(panel, analysis, limit)
        else:
            panel.set_xticks([])
        if place is not None:
            panel.axvline(days[place], color="#555555", linewidth=1.2, linestyle=(0, (4, 3)))
    if place is not None:
        left.annotate(
            "decision allowed",
            (days[place], 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            va="top",
            fontsize=9.5,
            color="#444444",
        )
    if len(rivals) > 1:
        # Long names beside the lines would cover them.
        figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    title = "\n".join(wrap(analysis.headline, TITLE_SIGNS))
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure


def _draw_steps(panel: Axes, rival: Against, series: Series, amounts: Amounts, named: bool) -> None:
    limited = limited_days(rival.days)
    days = [_ordinal(day) for day in limited]
    lows = [amounts.factor * effect.low for effect in limited.values()]
    highs = [amounts.factor * effect.high for effect in limited.values()]
    middle = [amounts.factor * effect.difference for effect in limited.values()]
    if len(limited) == 1:
        reach = [[middle[0] - lows[0]], [highs[0] - middle[0]]]
        panel.errorbar(days, middle, yerr=reach, color=series.colour, capsize=4)
    else:
        panel.fill_between(days, lows, highs, color=series.colour, alpha=0.18, linewidth=0)
    label = "\n".join(wrap(rival.now.name, TITLE_SIGNS)) if named else None
    dash, marker = series.dash if named else "solid", "o" if len(limited) < 2 else None
    panel.plot(
        days,
        middle,
        color=series.colour,
        linewidth=1.8,
        linestyle=dash,
        marker=marker,
        label=label,
    )


def _dates(panel: Axes, analysis: Analysis, limit: int) -> None:
    dates = [day.date for day in analysis.days]
    places = dated(dates, limit)
    panel.set_xticks(
        [_ordinal(dates[at]) for at in places], [short_day(analysis, dates[at]) for at in places]
    )


def _ordinal(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def standing_intervals(analysis: Analysis) -> tuple[Intervals, ...]:
    """Return the present intervals: the leader's and those of the table, or one per segment."""
    named = [
        (f"{part.segment}: {effect.name}", effect)
        for part in analysis.segments
        for effect in signed(part.design, part.leads[:1])
    ]
    effects = (*signed(analysis.design, analysis.leads), *tabled(analysis)[:MOST_PAIRS])
    pairs = {effect.name: effect for effect in effects}
    return Intervals.of(named or list(pairs.items()), amounts_of(analysis))
