"""The figure of an analysis: the difference day by day, and what it cost."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from bascule.core.metrics.effects import signed
from bascule.presentation.analysis.series import (
    Against,
    against,
    amounts_of,
    costs,
    dated,
    decision_place,
    short_day,
    span,
)
from bascule.presentation.figures import SERIES, Series, new_figure
from bascule.presentation.intervals import Intervals
from bascule.presentation.numbers import Amounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bascule.analysis.result import Analysis

MOST_RIVALS = 4
"""More rivals than this would hide each other."""


def plot_analysis(analysis: Analysis) -> Figure:
    """The arm that is ahead against its rivals, and the cost; with segments, how each stands now.

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
    dates = [one.date for one in analysis.days]
    days = [_ordinal(text) for text in dates]
    place = decision_place(analysis)
    for one, series in zip(rivals, (SERIES[1], SERIES[3], SERIES[2], SERIES[0]), strict=False):
        _draw_steps(left, one, series, amounts, len(rivals) > 1)
    left.axhline(0.0, color="#111111", linewidth=1.2)
    spans = [span(one.steps, place) for one in rivals]
    if spans:
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        left.set_ylim(low * amounts.factor, high * amounts.factor)
    first = rivals[0] if rivals else None
    names = "" if first is None else first.name
    if len(rivals) > 1:
        names = "differences"
    left.set_title(f"{names} ({amounts.difference_unit})", loc="left")
    losses = costs(analysis)
    right.set_title(f"cost ({amounts.cost_unit})", loc="left")
    if losses:
        colour = SERIES[5].colour
        right.plot(days, losses, color=colour, linewidth=1.8)
        right.fill_between(days, 0.0, losses, color=colour, alpha=0.14, linewidth=0)
        if place is not None:
            later = slice(place, None)
            right.fill_between(
                days[later], losses[place], losses[later], color=colour, alpha=0.35, linewidth=0
            )
        right.set_ylim(bottom=0)
    for panel, most in ((left, 6), (right, 3)):
        if dates:
            _dates(panel, analysis, most)
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
        left.legend(frameon=False, fontsize=9)
    figure.suptitle(analysis.headline, x=0.01, ha="left", fontsize=12)
    return figure


def _draw_steps(panel: Axes, one: Against, series: Series, amounts: Amounts, named: bool) -> None:
    known = [step for step in one.steps if step.known]
    days = [_ordinal(step.date) for step in known]
    lows = [amounts.factor * step.low for step in known]
    highs = [amounts.factor * step.high for step in known]
    middle = [amounts.factor * step.difference for step in known]
    if len(known) == 1:
        reach = [[middle[0] - lows[0]], [highs[0] - middle[0]]]
        panel.errorbar(days, middle, yerr=reach, color=series.colour, capsize=4)
    else:
        panel.fill_between(days, lows, highs, color=series.colour, alpha=0.18, linewidth=0)
    label = one.name if named else None
    dash, marker = series.dash if named else "solid", "o" if len(known) < 2 else None
    panel.plot(
        days,
        middle,
        color=series.colour,
        linewidth=1.8,
        linestyle=dash,
        marker=marker,
        label=label,
    )


def _dates(panel: Axes, analysis: Analysis, most: int) -> None:
    dates = [day.date for day in analysis.days]
    places = dated(dates, most)
    panel.set_xticks(
        [_ordinal(dates[at]) for at in places], [short_day(analysis, dates[at]) for at in places]
    )


def _ordinal(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def standing_intervals(analysis: Analysis) -> tuple[Intervals, ...]:
    """Return the leader against each rival now; with segments, the nearest rival of each."""
    named = [
        (f"{part.segment}: {effect.name}", effect)
        for part in analysis.segments
        for effect in signed(part.design, part.leads[:1])
    ]
    effects = signed(analysis.design, analysis.leads)
    named = named or [(effect.name, effect) for effect in effects]
    return Intervals.of(named, amounts_of(analysis))
