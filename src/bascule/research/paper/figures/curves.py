"""Figures 1 and 4: regret and decision time of several rules; the style of all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bascule.presentation.figures import SERIES, Series, new_figure, plain_log_ticks, pretty
from bascule.research.paper import iid, units
from bascule.research.paper.measure import CsvRow, Measurements, Quantity, Sheet
from bascule.simulation import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DARK = "#333333"
COLOURS = (SERIES[3].colour, SERIES[1].colour)
"""Colour of each arm."""


def set_heading(figure: Figure, text: str) -> None:
    """Write a heading above all panels of a figure."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, color=DARK)


def draw_estimates(
    axes: Axes, places: Sequence[float], cells: Sequence[Estimate], series: Series, **more: Any
) -> None:
    """Draw a curve of means with bars of two standard errors."""
    style = {"color": series.colour, "linestyle": series.dash, "marker": series.marker, **more}
    axes.errorbar(
        places,
        [cell.mean for cell in cells],
        yerr=[2 * cell.se for cell in cells],
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.6,
        linewidth=1.7,
        elinewidth=1.0,
        **style,
    )


PANELS: tuple[tuple[Quantity, str, str], ...] = (
    ("regret", "Regret at the decision", "regret (outcome units)"),
    ("decision_time", "Decision time", "units until the decision (log scale)"),
)
"""Quantity, title and axis label of each panel."""


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a figure: one for each rule, over a grid of log(1/delta).

    `arms` describes the arms in the title.
    """

    arms: str
    labels: tuple[str, ...]
    grid: tuple[float, ...]

    def __call__(self, measurements: Measurements, seed: int) -> Sheet:
        """Return the figure and its table; `seed` is ignored."""
        del seed
        return Sheet(self.draw(measurements), self.table(measurements))

    def table(self, measurements: Measurements) -> list[CsvRow]:
        """Return a row for each rule and log(1/delta)."""
        return [_row(measurements, label, level) for label in self.labels for level in self.grid]

    def draw(self, measurements: Measurements) -> Figure:
        """Draw two panels: regret on a linear scale, and decision time on a log scale."""
        figure, panels = new_figure(columns=2, width=11.0, height=4.8)
        for panel, (quantity, title, name) in zip(panels, PANELS, strict=True):
            self._curves(panel, measurements, quantity)
            panel.set_title(title, loc="left")
            panel.set_ylabel(name)
            panel.set_xlabel("log(1/δ)")
            panel.set_xticks(self.grid)
        left, right = panels
        left.set_ylim(bottom=0)
        right.set_yscale("log")
        plain_log_ticks(right.yaxis)
        right.legend(frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
        runs = measurements.at(self.labels[0], self.grid[0]).runs
        set_heading(figure, f"{self.arms}; {runs:,} runs a point; bars: ± 2 standard errors")
        return figure

    def _curves(self, axes: Axes, measurements: Measurements, quantity: Quantity) -> None:
        for label, series in zip(self.labels, SERIES, strict=True):
            cells = [measurements.at(label, level).summary()[quantity] for level in self.grid]
            draw_estimates(axes, self.grid, cells, series, label=pretty(label))


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


LABELS = tuple(rule.label for rule in iid.RULES)
MEANS = "means {:g} and {:g}".format(*iid.MEANS)

figure1 = Curves(f"Two Gaussian arms, {MEANS}, σ = 1", LABELS, iid.GRID)
"""Figure 1: ETC, ETC' and UCB_alpha in the i.i.d. setting."""

figure4 = Curves(
    f"Unit setting (UCB-MM, ETC-MM): {MEANS}, σ = 1 between units, σ = 1 of the noise",
    LABELS,
    units.GRID,
)
"""Figure 4: UCB-MM_alpha and ETC' for recurring outcomes. ETC-MM, which the paper defines but does
not show, is drawn too."""
