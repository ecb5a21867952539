"""What the figures of the paper have in common: their title, colours and error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bascule.presentation.figures import SERIES, Series
from bascule.simulation import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK = "#333333"
COLOURS = (SERIES[3].colour, SERIES[1].colour)
"""One an arm."""


def set_heading(figure: Figure, text: str) -> None:
    """Write a line above all panels that says what is drawn."""
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
