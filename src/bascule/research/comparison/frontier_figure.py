"""A frontier as a picture: a curve for each family, filled points for the efficient rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bascule.presentation.figures import SERIES, Series, new_figure, plain_log_ticks, pretty
from bascule.presentation.numbers import axis_amount
from bascule.research.comparison import frontier_text as words
from bascule.research.comparison.contenders import Family, short_name
from bascule.research.comparison.frontier import STANDARD_ERRORS
from bascule.research.comparison.labels import Box, Spot, clearest, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation

    from bascule.research.comparison.frontier import Frontier, Point

LOOKS: dict[Family, Series] = {
    Family.PUBLISHED: Series("#000000", "solid", "o"),
    Family.PEELING: SERIES[1],
    Family.RADIUS: SERIES[2],
    Family.BERNSTEIN: Series("#6f6f00", (0, (1.2, 1.2)), "<"),
    Family.STOP: Series(SERIES[3].colour, SERIES[3].dash, "v"),
    Family.TILT: Series(SERIES[5].colour, "solid", "D"),
    Family.EFFECT: Series(SERIES[0].colour, (0, (4.0, 1.2)), "p"),
    Family.PEERS: Series("#7a7a7a", "none", "X"),
    Family.GIVEN: Series("#8a2be2", "solid", "*"),
}

LOG_FROM = 6.0
"""Regret has a log scale when the largest is this many times the smallest."""

MARK, NAME_SIZE, AIR = 6.5, 9.0, 2.0
"""The sizes of a mark, of the name beside it, and of the space left and right of a name."""

HALF_MARK, HALF_BAR = 3.9, 1.0
"""Half of what a mark with its edge takes, and of the thickness of a bar with some air."""

FEW_CURVES = 2
"""Up to this many curves have the names of their rules in full; more have the knobs only."""

POINTS_PER_INCH = 72.0
SHADE, QUIET = "#f3f1ec", "#555555"


def draw_frontier(frontier: Frontier) -> Figure:
    """Regret against decision time, a curve for each family.

    Filled points are efficient. In the shaded region some rule both costs less and decides sooner.

    >>> import bascule as bs
    >>> figure = draw_frontier(bs.research.frontier([0.0, 1.0], alphas=[2.0], tilts=[3.0], runs=50))
    >>> figure.axes[0].get_xlabel()
    'units until the decision (log scale)'
    """
    figure, (axis,) = new_figure(width=8.4, height=5.6)
    drawn = [family for family in Family if frontier.of(family)]
    _scale(axis, frontier)
    _shade(axis, frontier)
    for family in drawn:
        _curve(axis, frontier.of(family), LOOKS[family], family.words)
    axis.set_xlabel("units until the decision (log scale)")
    scale = " (log scale)" if axis.get_yscale() == "log" else ""
    axis.set_ylabel(f"regret until the decision{scale}")
    axis.set_title("Regret against decision time, at equal proven error", loc="left", pad=36)
    _say(axis, f"{words.title(frontier)}\n{_reading(drawn)}", (0.0, 1.0), (0, 8), QUIET)
    legend = axis.legend(frameon=False, fontsize=9.5)
    # Only a drawing that is laid out says where its parts are.
    figure.draw_without_rendering()
    layout = Layout(axis, POINTS_PER_INCH / figure.dpi)
    _put_legend(layout, frontier, legend)
    _name_points(layout, frontier, legend)
    return figure


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are on the page, in points."""

    axis: Axes
    scale: float

    def spot(self, place: Spot) -> Spot:
        """Where a time and a regret are."""
        x, y = self.axis.transData.transform(place)
        return float(x) * self.scale, float(y) * self.scale

    def box(self, artist: Axes | Annotation | Legend) -> Box:
        """What a part of the drawing takes."""
        sides = artist.get_window_extent().extents
        return Box(*(float(side) * self.scale for side in sides))

    def lines(self, frontier: Frontier) -> list[list[Spot]]:
        """The curves, and the points that are on none."""
        curves = [_joined(frontier.of(family)) for family in Family]
        curves += [[point] for point in frontier.points]
        return [[self.spot(_place(point)) for point in curve] for curve in curves]


def _put_legend(layout: Layout, frontier: Frontier, legend: Legend) -> None:
    """Into the corner that is furthest from the curves."""
    frame, box = layout.box(layout.axis), layout.box(legend)
    wide, tall = box.right - box.left, box.high - box.low
    corners = [
        Box(left, low, left + wide, low + tall)
        for low in (frame.high - tall - AIR, frame.low + AIR)
        for left in (frame.right - wide - AIR, frame.left + AIR)
    ]
    best = clearest(corners, layout.lines(frontier))
    across = (best.left - frame.left) / (frame.right - frame.left)
    legend.set_loc((across, (best.low - frame.low) / (frame.high - frame.low)))


def _reading(drawn: Sequence[Family]) -> str:
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
    """Where a rule would be known to be dominated, if its own place were known exactly."""
    corners = sorted(_upper(point) for point in frontier.points)
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
    """The points along the curve of their family; those of rules that were given have none."""
    along = [point for point in points if point.along_curve is not None]
    return along if along and along[0].family is not Family.GIVEN else list(points)[:1]


def _place(point: Point) -> Spot:
    return point.decision_time.mean, point.regret.mean


def _upper(point: Point) -> Spot:
    """The upper ends of both bars of a point."""
    time, regret = point.decision_time, point.regret
    return time.mean + STANDARD_ERRORS * time.se, regret.mean + STANDARD_ERRORS * regret.se


def _name(point: Point, full: bool) -> str:
    """The label of a point: the knob of its rule, or its name."""
    knob = point.design.rule.knob
    if knob is None or full or point.family is Family.GIVEN:
        return pretty(short_name(point.label))
    return f"{knob.value:g}"


def _name_points(layout: Layout, frontier: Frontier, legend: Legend) -> None:
    """Write beside every point; those of the paper and the efficient ones choose their place first.

    A name for which there is no place is left out.
    """
    full = len({point.family for point in frontier.points}) <= FEW_CURVES
    points = sorted(
        frontier.points,
        key=lambda point: not (point.efficient or point.family is Family.PUBLISHED),
    )
    names = [
        _say(layout.axis, _name(p, full), _place(p), (0, 0), LOOKS[p.family].colour, "data")
        for p in points
    ]
    spots = [layout.spot(_place(point)) for point in points]
    sizes = [(b.right - b.left + 2 * AIR, b.high - b.low) for b in map(layout.box, names)]
    marks = [layout.box(legend)]
    for point in points:
        marks += _mark(layout.spot(_place(point)), layout.spot(_upper(point)))
    places = place_labels(spots, sizes, marks, layout.lines(frontier), layout.box(layout.axis))
    for name, (x, y), place in zip(names, spots, places, strict=True):
        if place is None:
            name.remove()
        else:
            name.set_position((place.left + AIR - x, place.low - y))


def _mark(spot: Spot, upper: Spot) -> list[Box]:
    """What a mark and its two bars take."""
    (x, y), (right, high) = spot, upper
    halves = ((HALF_MARK, HALF_MARK), (right - x, HALF_BAR), (HALF_BAR, high - y))
    return [Box(x - wide, y - tall, x + wide, y + tall) for wide, tall in halves]


def _say(
    axis: Axes,
    text: str,
    at: Spot,
    offset: Spot,
    colour: str,
    coordinates: str = "axes fraction",
) -> Annotation:
    return axis.annotate(
        text,
        at,
        xycoords=coordinates,
        xytext=offset,
        textcoords="offset points",
        fontsize=NAME_SIZE,
        color=colour,
    )
