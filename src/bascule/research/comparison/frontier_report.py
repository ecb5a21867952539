"""The report and the figure of a frontier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bascule.core.approximate import error_words
from bascule.presentation.figures import (
    SERIES,
    Series,
    new_figure,
    plain_log_ticks,
    pretty,
    write_at,
)
from bascule.presentation.guarantees import sentence, sides_words
from bascule.presentation.numbers import (
    axis_amount,
    by_reason,
    count,
    joined,
    number,
    part,
    percent,
    shown,
)
from bascule.presentation.report import Cells, Report, Table
from bascule.research.comparison.contenders import RuleFamily, short_name
from bascule.research.comparison.point import STANDARD_ERRORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bascule.research.comparison.audit import AuditRow
    from bascule.research.comparison.frontier import Frontier
    from bascule.research.comparison.point import Point


HEADINGS = ("rule", "regret", "decision time", "× limit", "wrong %", "dominated by")


def title(frontier: Frontier) -> str:
    """Describe the comparison in one line: means, outcomes, effect and error."""
    effect = "" if frontier.effect is None else f", effect {frontier.effect:g}"
    error = f"error {percent(frontier.sides * frontier.error)}, {sides_words(frontier.sides)}"
    return f"means {shown(frontier.means)}, {frontier.outcome.words}{effect}, {error}"


def cells(point: Point) -> tuple[str, ...]:
    """Return the cells of a rule's row in the table, in the order of `HEADINGS`."""
    return (
        _shown_name(point),
        str(point.regret),
        str(point.decision_time),
        f"{point.information.mean:.2f}",
        wrong_cell(point),
        _dominators(point),
    )


def _shown_name(point: Point) -> str:
    """Return the name of a rule in the table: short, unless its family has unrelated rules."""
    return point.label if point.family in UNJOINED else short_name(point.label)


def wrong_cell(row: Point | AuditRow) -> str:
    """Return the share of wrong decisions in percent, marked if it is significantly too large."""
    low, high = (part(end, digits=2) for end in row.error_interval)
    return f"{part(row.error_rate)}{'!' if row.broken else ''} ({low}-{high})"


def _dominators(point: Point) -> str:
    if not point.dominated_by:
        return "efficient" if point.efficient else "compared apart"
    first, *rest = point.dominated_by
    return f"{first} +{len(rest)}" if rest else first


def verdict(frontier: Frontier) -> str:
    """Say which rules cost less and decide sooner than every published rule, if any do."""
    published = frontier.of(RuleFamily.PUBLISHED)
    if not published:
        return "No rule of the paper was played as published."
    every = "every rule of the paper as published"
    if any(entry.family is RuleFamily.PUBLISHED for entry in frontier.left_out):
        every += " that was played"
    beaters = frontier.beyond_the_paper
    names = [point.label for point in beaters if point.efficient is beaters[0].efficient]
    if len(names) == 1:
        return f"{names[0]} costs less and decides sooner than {every}."
    if names:
        return f"{joined(names)} each cost less and decide sooner than {every}."
    unbeaten = [point.label for point in published if point.efficient]
    if unbeaten:
        return f"No rule here is known to cost less and decide sooner than {joined(unbeaten)}."
    return f"{every.capitalize()} is dominated, but no single rule dominates them all."


def notes(frontier: Frontier) -> tuple[str, ...]:
    """Explain how to read the table, and which rules were not simulated."""
    lines = [
        sentence(error_words(frontier.error, len(frontier.means))),
        "× limit: the information that a rule had when it decided, divided by the minimum "
        f"({number(frontier.oracle)}) that any rule needs, even one that knows the gap.",
    ]
    if any(point.stated for point in frontier.points):
        lines.append(
            "Compared apart: rules whose error is stated by their authors. They dominate none and "
            "are never efficient, because what they save may be wrong decisions."
        )
    lines += [_excess(point) for point in frontier.points if point.broken]
    fewest = min(frontier.points, key=lambda point: point.runs)
    if fewest.runs < frontier.runs:
        lines.append(
            f"Rules with long runs have fewer than {count(frontier.runs)} of them, "
            f"{fewest.label} the fewest ({count(fewest.runs)})."
        )
    if frontier.cap_not_applied is not None:
        lines.append(
            f"Every rule runs until it decides: the design's cap of "
            f"{count(frontier.cap_not_applied)} units is not applied."
        )
    if frontier.left_out:
        labels = by_reason((entry.label, entry.reason) for entry in frontier.left_out)
        parts = [f"{names} ({reason})" for reason, names in labels.items()]
        lines.append(f"Left out: {'; '.join(parts)}.")
    return tuple(lines)


def _excess(point: Point) -> str:
    """Say that a rule was wrong significantly more often than its guarantee allows."""
    low, high = (percent(end, digits=2) for end in point.error_interval)
    allowed = "its author states" if point.stated else "is guaranteed"
    return (
        f"! {point.label} was wrong in {percent(point.error_rate)} of its runs ({low} to {high}): "
        f"more often than {allowed} ({percent(point.calibration.error)})."
    )


def report(frontier: Frontier) -> Report:
    """Return the report of a frontier: the verdict, and a row for each rule, grouped by family."""
    rows: list[Cells] = []
    strong: list[int] = []
    family: RuleFamily | None = None
    for point in frontier.points:
        if point.family is not family:
            family = point.family
            rows.append((family.words,))
        if point.efficient:
            strong.append(len(rows))
        rows.append(cells(point))
    table = Table((HEADINGS, *rows), strong=tuple(strong))
    question = f"{title(frontier)}."
    return Report(verdict(frontier), question, (), (table,), notes(frontier), (frontier,))


LOOKS: dict[RuleFamily, Series] = {
    RuleFamily.PUBLISHED: Series("#000000", "solid", "o"),
    RuleFamily.PEELING: SERIES[1],
    RuleFamily.RADIUS: SERIES[2],
    RuleFamily.STOP: Series(SERIES[3].colour, SERIES[3].dash, "v"),
    RuleFamily.LOOKS: Series(SERIES[4].colour, SERIES[4].dash, "s"),
    RuleFamily.TILT: Series(SERIES[5].colour, "solid", "D"),
    RuleFamily.EFFECT: Series(SERIES[0].colour, (0, (4.0, 1.2)), "p"),
    RuleFamily.PEERS: Series("#7a7a7a", "none", "X"),
    RuleFamily.GIVEN: Series("#8a2be2", "solid", "*"),
    RuleFamily.STATED: Series("#7a7a7a", "none", "P"),
}

UNJOINED = (RuleFamily.GIVEN, RuleFamily.STATED)
"""Families whose rules are not joined by a curve."""

LOG_FROM = 6.0
"""Regret has a log scale if the largest is more than this multiple of the smallest."""

MARK, NAME_SIZE = 6.5, 9.0
"""The sizes, in points, of a mark and of the label beside it."""

HALF_MARK = 3.9
"""Half the size of a mark, including its edge."""

DIRECTIONS, DISTANCES = 16, (8.0, 14.0, 22.0, 32.0)
"""Places that are tried for a label: this many directions, at each of these distances in points."""

FEW_CURVES = 2
"""With up to this many curves, labels are full names of rules; with more, settings only."""

Spot = tuple[float, float]
"""Coordinates of a place in the figure."""

SHADE, QUIET = "#f3f1ec", "#555555"


def draw_frontier(frontier: Frontier) -> Figure:
    """Draw regret against decision time, with a curve for each family.

    Filled points are efficient. A point in the shaded region is dominated: some rule both costs
    less and decides sooner. Rules that are compared apart are grey, and the share of their wrong
    decisions is written beside them; they do not count for the shaded region.

    >>> import bascule as bs
    >>> figure = draw_frontier(bs.research.frontier([0.0, 1.0], alphas=[2.0], tilts=[3.0], runs=50))
    >>> figure.axes[0].get_xlabel()
    'units until the decision (log scale)'
    """
    figure, (axis,) = new_figure(width=8.4, height=5.6)
    drawn = [family for family in RuleFamily if frontier.of(family)]
    _scale(axis, frontier)
    _shade(axis, frontier)
    for family in drawn:
        _curve(axis, frontier.of(family), LOOKS[family], family.words)
    axis.set_xlabel("units until the decision (log scale)")
    scale = " (log scale)" if axis.get_yscale() == "log" else ""
    axis.set_ylabel(f"regret until the decision{scale}")
    axis.set_title("Regret against decision time, at the same error", loc="left", pad=36)
    style = {"xycoords": "axes fraction", "fontsize": NAME_SIZE, "color": QUIET}
    write_at(axis, f"{title(frontier)}\n{_reading(drawn)}", (0.0, 1.0), (0, 8), **style)
    axis.legend(frameon=False, fontsize=9.5, loc="best")
    _name_points(figure, axis, frontier)
    return figure


def _reading(drawn: Sequence[RuleFamily]) -> str:
    """Explain the labels of the points and how they are filled."""
    knobs = "" if len(drawn) <= FEW_CURVES else "numbers: alpha or tilt; "
    return f"{knobs}filled: efficient; shaded: dominated; bars: ± 2 standard errors"


def _scale(axis: Axes, frontier: Frontier) -> None:
    times = [point.decision_time.mean for point in frontier.points]
    regrets = [point.regret.mean for point in frontier.points]
    axis.set_xscale("log")
    axis.set_xlim(min(times) / 1.35, max(times) * 1.5)
    plain_log_ticks(axis.xaxis)
    if max(regrets) > LOG_FROM * min(regrets):
        axis.set_yscale("log")
        axis.set_ylim(min(regrets) / 1.3, max(regrets) * 1.25)
        plain_log_ticks(axis.yaxis)
    else:
        axis.set_ylim(0, 1.1 * max(regrets))
        axis.yaxis.set_major_formatter(lambda value, _: axis_amount(value))


def _shade(axis: Axes, frontier: Frontier) -> None:
    """Shade the region in which a rule without sampling error would be known to be dominated."""
    corners = sorted(_upper(point) for point in frontier.points if not point.stated)
    if not corners:
        return
    times = [time for time, _ in corners]
    floors = np.minimum.accumulate([regret for _, regret in corners])
    axis.fill_between(
        [*times, axis.get_xlim()[1]],
        [*floors, floors[-1]],
        axis.get_ylim()[1],
        step="post",
        color=SHADE,
        linewidth=0,
        zorder=0,
    )


def _curve(axis: Axes, points: Sequence[Point], look: Series, title: str) -> None:
    times, regrets = zip(*(_place(point) for point in _joined(points)), strict=True)
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "markersize": MARK}
    axis.plot(times, regrets, color=look.colour, linestyle=look.dash, linewidth=1.5)
    for point in points:
        axis.errorbar(
            *_place(point),
            xerr=STANDARD_ERRORS * point.decision_time.se,
            yerr=STANDARD_ERRORS * point.regret.se,
            elinewidth=1.0,
            markerfacecolor=look.colour if point.efficient else "white",
            **style,
        )
    axis.plot([], [], linestyle=look.dash, markerfacecolor="white", label=title, **style)


def _joined(points: Sequence[Point]) -> list[Point]:
    """Return the points to join by a curve; only the first one if the family has no curve."""
    along = [point for point in points if point.along_curve is not None]
    return along if along and along[0].family not in UNJOINED else list(points)[:1]


def _place(point: Point) -> Spot:
    return point.decision_time.mean, point.regret.mean


def _upper(point: Point) -> Spot:
    """Return the upper ends of the error bars of a point."""
    time, regret = point.decision_time, point.regret
    return time.mean + STANDARD_ERRORS * time.se, regret.mean + STANDARD_ERRORS * regret.se


def _name(point: Point, full: bool) -> str:
    """Return the label of a point: the setting of its rule, or its name."""
    knob = point.design.rule.knob
    if point.stated:
        return f"{pretty(_shown_name(point))}, {percent(point.error_rate)} wrong"
    if knob is None or full or point.family is RuleFamily.GIVEN:
        return pretty(_shown_name(point))
    return f"{knob.value:g}"


def _name_points(figure: Figure, axis: Axes, frontier: Frontier) -> None:
    """Label the points, beginning with the efficient ones and those of the paper.

    A name for which there is no free place is left out.
    """
    from matplotlib.transforms import Bbox

    # The positions of the parts of a figure are known only after its layout.
    figure.draw_without_rendering()
    legend = axis.get_legend()
    assert legend is not None
    frame, half = axis.get_window_extent(), HALF_MARK * figure.dpi / 72.0
    spots = [axis.transData.transform(_place(point)) for point in frontier.points]
    taken = [legend.get_window_extent()]
    taken += [Bbox([[x - half, y - half], [x + half, y + half]]) for x, y in spots]
    full = len({point.family for point in frontier.points}) <= FEW_CURVES
    for point in sorted(
        frontier.points,
        key=lambda point: not (point.efficient or point.family is RuleFamily.PUBLISHED),
    ):
        style: dict[str, Any] = {"fontsize": NAME_SIZE, "ha": "center", "va": "center"}
        style["color"] = LOOKS[point.family].colour
        name = write_at(axis, _name(point, full), _place(point), **style)
        wide, tall = (36.0 / figure.dpi * side for side in name.get_window_extent().size)
        for place in _around(wide, tall):
            name.set_position(place)
            box = name.get_window_extent()
            inside = frame.contains(*box.min) and frame.contains(*box.max)
            if inside and not box.count_overlaps(taken):
                taken.append(box)
                break
        else:
            name.remove()


def _around(wide: float, tall: float) -> list[Spot]:
    """Return possible offsets of a label's centre from its point, the nearest first.

    `wide` and `tall` are half the width and half the height of the label.
    """
    angles = [2 * math.pi * turn / DIRECTIONS for turn in range(DIRECTIONS)]
    # Above and to the right is easiest to read.
    angles.sort(key=lambda angle: -math.cos(angle) - math.sin(angle))
    return [
        (math.cos(angle) * (distance + wide), math.sin(angle) * (distance + tall))
        for distance in DISTANCES
        for angle in angles
    ]
