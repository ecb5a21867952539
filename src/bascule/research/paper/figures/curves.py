"""Curves of regret and decision time of several rules against log(1/delta)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.presentation.figures import SERIES, Series, new_figure, plain_log_ticks, pretty
from bascule.research.paper.figures.style import draw_estimates, set_heading
from bascule.research.paper.measure import CsvRow, Measurements, Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_DISTANCE = 0.065
"""How far the names of two curves stay apart, as a part of the height of a panel."""


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a figure: one for each rule, over a grid of log(1/delta)."""

    labels: tuple[str, ...]
    grid: tuple[float, ...]

    def table(self, measurements: Measurements) -> list[CsvRow]:
        """One row for each rule and log(1/delta)."""
        return [_row(measurements, label, level) for label in self.labels for level in self.grid]

    def draw(self, measurements: Measurements, arms: str) -> Figure:
        """Two panels, regret on a linear scale, decision time on a logarithmic one.

        The title says what the arms are.
        """
        figure, (left, right) = new_figure(columns=2, width=11.0, height=4.8)
        self._curves(left, measurements, "regret")
        left.set_ylim(bottom=0)
        left.set_title("Regret at the decision", loc="left")
        left.set_ylabel("regret (outcome units)")
        right.set_yscale("log")
        self._curves(right, measurements, "decision_time")
        right.set_title("Decision time", loc="left")
        right.set_ylabel("units until the decision (log scale)")
        plain_log_ticks(right.yaxis)
        for panel in (left, right):
            panel.set_xlabel("log(1/δ)")
            panel.set_xticks(self.grid)
            panel.set_xlim(self.grid[0] - 0.6, self.grid[-1] + 0.4)
        self._name_curves(left, measurements, "regret")
        self._name_curves(right, measurements, "decision_time")
        runs = measurements.at(self.labels[0], self.grid[0]).runs
        set_heading(figure, f"{arms}; {runs:,} runs a point; bars: ± 2 standard errors")
        return figure

    def _curves(self, axes: Axes, measurements: Measurements, quantity: Quantity) -> None:
        for label, series in zip(self.labels, SERIES, strict=True):
            cells = [measurements.at(label, level).summary()[quantity] for level in self.grid]
            draw_estimates(axes, self.grid, cells, series)

    def _name_curves(self, axes: Axes, measurements: Measurements, quantity: Quantity) -> None:
        """Name each curve at its right end, moved up or down where names would meet."""
        last = self.grid[-1]
        heights_at_end = {
            label: measurements.at(label, last).summary()[quantity].mean for label in self.labels
        }
        to_panel = axes.transData + axes.transAxes.inverted()
        heights = {
            label: float(to_panel.transform((last, y))[1]) for label, y in heights_at_end.items()
        }
        placed = spread(heights, LABEL_DISTANCE)
        styles: Mapping[str, Series] = dict(zip(self.labels, SERIES, strict=True))
        for label, height in placed.items():
            axes.annotate(
                pretty(label),
                xy=(last, heights_at_end[label]),
                xytext=(1.045, height),
                textcoords="axes fraction",
                va="center",
                fontsize=10.5,
                color=styles[label].colour,
                arrowprops={
                    "arrowstyle": "-",
                    "color": styles[label].colour,
                    "linewidth": 0.7,
                    "shrinkA": 1,
                    "shrinkB": 5,
                },
                annotation_clip=False,
            )


def _row(measurements: Measurements, label: str, level: float) -> CsvRow:
    simulation = measurements.at(label, level)
    summary = simulation.summary()
    return {
        "rule": label,
        "log_inverse_delta": level,
        "delta": simulation.design.calibration.delta,
        "regret": summary["regret"].mean,
        "regret_se": summary["regret"].se,
        "decision_time": summary["decision_time"].mean,
        "decision_time_se": summary["decision_time"].se,
        "error_rate": simulation.error_rate,
        "runs": simulation.runs,
    }


def spread(heights: Mapping[str, float], distance: float) -> dict[str, float]:
    """Move heights apart until no two are closer than `distance`, as little as that takes.

    >>> spread({"a": 0.5, "b": 0.5, "c": 0.9}, 0.1)
    {'a': 0.45, 'b': 0.55, 'c': 0.9}
    """
    groups: list[tuple[list[str], float]] = []
    for name in sorted(heights, key=lambda each: heights[each]):
        members, middle = [name], heights[name]
        while groups and _touch(groups[-1], (members, middle), distance):
            before, _ = groups.pop()
            members = before + members
            middle = sum(heights[each] for each in members) / len(members)
        groups.append((members, middle))
    return {
        name: height
        for members, middle in groups
        for name, height in zip(members, _stack(middle, len(members), distance), strict=True)
    }


def _touch(low: tuple[list[str], float], high: tuple[list[str], float], distance: float) -> bool:
    reach = (len(low[0]) + len(high[0])) / 2 * distance
    return high[1] - low[1] < reach


def _stack(middle: float, count: int, distance: float) -> Sequence[float]:
    return [middle + (place - (count - 1) / 2) * distance for place in range(count)]
