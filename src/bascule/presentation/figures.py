"""Figures in one style, saved completely or not at all; Matplotlib is loaded when used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bascule.core.errors import invalid, require
from bascule.core.inputs.files import write_whole
from bascule.core.types import FloatArray
from bascule.presentation.guarantees import interval_name
from bascule.presentation.numbers import Amounts, axis_amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from bascule.core.metrics.effects import Effect


STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titlepad": 10.0,
    "axes.labelsize": 10.5,
    "axes.edgecolor": "#444444",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
}

DPI = 150
KINDS = ("png", "svg")
BARS = (10, 60)
"""Minimum and maximum number of bars of a histogram."""

NAME_SIGNS = 40
"""Maximum number of characters in a line of the name of a difference."""


@dataclass(frozen=True, slots=True)
class Series:
    """The look of a curve: its colour, its dash and its marker."""

    colour: str
    dash: str | tuple[int, tuple[float, ...]]
    marker: str


SERIES: tuple[Series, ...] = (
    Series("#3b0f70", "solid", "o"),
    Series("#2373a0", (0, (6.0, 2.0)), "s"),
    Series("#159070", (0, (2.5, 1.5)), "^"),
    Series("#c07c00", (0, (7.0, 1.5, 1.5, 1.5)), "D"),
    Series("#000000", (0, (1.2, 1.2)), "v"),
    Series("#a3172a", "solid", "X"),
)
"""Looks of curves that can be told apart by lightness, dash or marker, also without colours."""


def new_figure(
    columns: int = 1,
    width: float = 6.0,
    height: float = 4.0,
    share_y: bool = False,
    parts: Sequence[float] | None = None,
) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure with panels side by side, without changing Matplotlib's global state.

    `parts` are the relative widths of the panels, equal unless given.

    >>> figure, axes = new_figure(columns=2)
    >>> len(axes)
    2
    """
    require("figures", "a figure", "matplotlib")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, columns, sharey=share_y, squeeze=False, width_ratios=parts)
    return figure, list(panels[0])


def rendered(figure: Figure, kind: str) -> bytes:
    """Return the figure as "png" or "svg"; the same figure gives the same bytes on every call."""
    import matplotlib as mpl

    varying = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    settings = {**STYLE, "svg.fonttype": "none", "svg.hashsalt": "bascule"}
    buffer = BytesIO()
    with mpl.rc_context(settings):
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=varying)
    return buffer.getvalue()


def save_figure(figure: Figure, path: Path) -> tuple[Path, ...]:
    """Write a figure to `path`.png and `path`.svg, with text as text, and return both paths."""
    layout, written = figure.get_layout_engine(), []
    try:
        for kind in KINDS:
            written.append(
                write_whole(path.with_name(f"{path.name}.{kind}"), rendered(figure, kind))
            )
            # Laid out once for both files: the layout takes as long as the drawing.
            figure.set_layout_engine(None)
    finally:
        figure.set_layout_engine(layout)
    return tuple(written)


def inline(figure: Figure) -> str:
    """Return a figure as SVG that can be embedded in an HTML page.

    >>> figure, _ = new_figure()
    >>> inline(figure).startswith("<svg")
    True
    """
    text = rendered(figure, "svg").decode()
    return text[text.index("<svg") :]


def figure_kind(path: Path) -> str:
    """Return the format of a figure by its file name; raise if it is unknown.

    >>> figure_kind(Path("plan.svg"))
    'svg'
    """
    require("figures", "a figure", "matplotlib")
    kind = path.suffix.removeprefix(".")
    if kind not in KINDS:
        raise invalid(f"figure must end in .png or .svg (got {path})")
    return kind


def plain_log_ticks(axis: Axis) -> None:
    """Mark a logarithmic axis at 1, 2 and 5 times each power of ten, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: axis_amount(value))
    axis.set_minor_formatter(NullFormatter())


def write_at(
    axis: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float] = (0.0, 0.0),
    **style: Any,
) -> Annotation:
    """Write a text at a place of an axis, moved by an offset in points."""
    looks = {"fontsize": 9.5, "textcoords": "offset points", **style}
    return axis.annotate(text, at, xytext=offset, **looks)


def pretty(label: str) -> str:
    """Format the label of a rule for a figure, with its parameter as a subscript.

    >>> pretty("UCB_1.5"), pretty("ETC'")
    ('UCB$_{1.5}$', 'ETC′')
    """
    name, _, alpha = label.partition("_")
    return f"{name}$_{{{alpha}}}$" if alpha else name.replace("'", "′")


def bar_edges(values: FloatArray) -> FloatArray:
    """Return the edges of a histogram's bars, each of which covers equally many possible values.

    >>> bar_edges(np.array([1.0, 2.0, 4.0])).tolist()
    [0.5, 1.5, 2.5, 3.5, 4.5]
    """
    distinct = np.unique(values)
    if len(distinct) == 1:
        return np.array([distinct[0] - 0.5, distinct[0] + 0.5])
    bars = int(np.clip(np.sqrt(len(values)), *BARS))
    step = float(np.diff(distinct).min())
    width = step * np.ceil((distinct[-1] - distinct[0]) / bars / step)
    count = int(np.ceil((distinct[-1] - distinct[0] + step) / width))
    edges: FloatArray = distinct[0] - step / 2 + width * np.arange(count + 1)
    return edges


def has_bounds(effect: Effect) -> bool:
    """Whether the interval of a difference has two finite bounds."""
    return math.isfinite(effect.high - effect.low)


@dataclass(frozen=True, slots=True)
class Intervals:
    """A figure of named differences with their intervals."""

    effects: tuple[tuple[str, Effect], ...]
    amounts: Amounts

    @classmethod
    def of(cls, named: Sequence[tuple[str, Effect]], amounts: Amounts) -> tuple[Intervals, ...]:
        """Return a figure of the differences that have an interval, or no figure if none has.

        >>> Intervals.of([], Amounts(binary=True))
        ()
        """
        known = tuple((name, effect) for name, effect in named if has_bounds(effect))
        return (cls(known, amounts),) if known else ()

    def plot(self) -> Figure:
        """Draw the interval of each difference."""
        names = ["\n".join(wrap(name, NAME_SIGNS)) for name, _ in self.effects]
        lines = max(name.count("\n") + 1 for name in names)
        figure, (axis,) = new_figure(width=7.4, height=1.3 + (0.2 + 0.15 * lines) * len(names))
        for place, (_, effect) in enumerate(self.effects):
            middle, low, high = (self.amounts.factor * end for end in effect.interval)
            axis.plot([low, high], [place, place], color=SERIES[1].colour, linewidth=2.0)
            axis.plot(middle, place, marker="o", color=SERIES[1].colour)
        axis.axvline(0.0, color="#777777", linewidth=1.2)
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(False, axis="y")
        level = interval_name(self.effects[0][1].error)
        unit = self.amounts.difference_unit
        # Below a narrow panel, a label of the axis would be cut.
        label = f"difference in {unit}, with {level}s that hold at any time"
        figure.supxlabel(label, fontsize=STYLE["axes.labelsize"])
        return figure


class HistoryMoment(Protocol):
    """The units counted and the differences between arms at one moment of a test."""

    @property
    def matured(self) -> int:
        """Number of units counted up to this moment."""

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The differences of all pairs of arms."""


@dataclass(frozen=True, slots=True)
class Differences:
    """A figure of differences with their intervals, as the number of units grows."""

    points: tuple[HistoryMoment, ...]
    amounts: Amounts

    def plot(self) -> Figure:
        """Plot each pair's difference against the number of counted units."""
        figure, (axis,) = new_figure(width=7.4, height=3.6)
        names = list(
            dict.fromkeys(effect.name for point in self.points for effect in point.effects)
        )
        for place, name in enumerate(names):
            rows = [
                (point.matured, *effect.interval)
                for point in self.points
                for effect in point.effects
                if effect.name == name and has_bounds(effect)
            ]
            if not rows:
                continue
            units, *ends = zip(*rows, strict=True)
            middle, low, high = (self.amounts.factor * np.array(end) for end in ends)
            series = SERIES[place % len(SERIES)]
            axis.fill_between(units, low, high, color=series.colour, alpha=0.15, linewidth=0)
            axis.plot(units, middle, color=series.colour, linestyle=series.dash, label=name)
        axis.axhline(0.0, color="#777777", linewidth=1.2)
        axis.set_xlabel("units that have counted")
        axis.set_ylabel(f"difference in {self.amounts.difference_unit}")
        axis.legend(frameon=False, fontsize=9)
        return figure
