"""The two estimators of the paper's section on units, compared: after a wait, and under UCB-MM."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.core.procedures.recurrent.estimators import Weight, equal_weight, outcome_weight
from bascule.presentation.figures import SERIES, new_figure, pretty
from bascule.research.paper.estimators import (
    FEW,
    MARKS,
    RULE,
    WAIT,
    Errors,
    ages_after_wait,
    along_runs,
    variance,
)
from bascule.research.paper.figures.style import DARK, draw_estimates, set_heading
from bascule.research.paper.measure import CsvRow, Measurements, Sheet
from bascule.research.paper.units import ARMS
from bascule.simulation import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARRIVALS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40, 55, 75, 100, 140, 200, 300, 400, 550, 750, 1000)
"""Units that have joined since the wait."""

SHORT_WAIT = 100


def figure_estimators(measurements: Measurements, seed: int) -> Sheet:
    """The drawing and the table, from as many runs as the other points had."""
    errors = along_runs(measurements.runs, seed)
    return Sheet(draw(errors), table(errors))


def table(errors: tuple[Errors, ...]) -> list[CsvRow]:
    """One row for each stage and arm of the runs; errors are root mean squares."""
    return [
        {
            "stage": each.stage,
            "arm": ARMS[each.arm],
            "units": float(each.units.mean()),
            "effective_units": float(each.effective.mean()),
            "error_of_mean_of_means": math.sqrt(float((each.of_means**2).mean())),
            "error_of_total_mean": math.sqrt(float((each.of_total**2).mean())),
            "ratio_of_squares": each.squares_ratio.mean,
            "ratio_of_squares_se": each.squares_ratio.se,
            "bias_of_mean_of_means": Estimate.of(each.of_means).mean,
            "bias_of_mean_of_means_se": Estimate.of(each.of_means).se,
            "bias_of_total_mean": Estimate.of(each.of_total).mean,
            "bias_of_total_mean_se": Estimate.of(each.of_total).se,
            "runs": len(each.units),
        }
        for each in errors
    ]


def draw(errors: tuple[Errors, ...]) -> Figure:
    """Left what is computed, right what is measured."""
    figure, (left, right) = new_figure(columns=2, width=11.0, height=4.8)
    _after_wait(left)
    _under_ucb(right, errors)
    set_heading(
        figure,
        f"Mean of means against total mean; σ = 1 between units, σ = 1 of the noise; right: "
        f"{len(errors[0].units):,} runs, bars: ± 2 standard errors",
    )
    return figure


def _deviations(weight: Weight, wait: int) -> list[float]:
    return [math.sqrt(variance(ages_after_wait(count, wait), weight)) for count in ARRIVALS]


def _after_wait(axes: Axes) -> None:
    """Standard deviations of an arm that is taken up again."""
    curves = (
        (equal_weight, WAIT, SERIES[1], "mean of means, after either wait"),
        (outcome_weight, SHORT_WAIT, SERIES[3], f"total mean, after {SHORT_WAIT} stages"),
        (outcome_weight, WAIT, SERIES[5], f"total mean, after {WAIT:,} stages"),
    )
    for weight, wait, series, name in curves:
        axes.plot(
            ARRIVALS,
            _deviations(weight, wait),
            color=series.colour,
            linestyle=series.dash,
            linewidth=1.9,
            label=name,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    _plain_ticks(axes)
    axes.set_title(f"An arm with {FEW} units waits, then gets one a stage", loc="left")
    axes.set_xlabel("units since the wait (log scale)")
    axes.set_ylabel("standard deviation (log scale)")
    axes.legend(loc="lower left", frameon=False, fontsize=10)


def _plain_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

    for axis, ticks in (
        (axes.xaxis, [1, 3, 10, 30, 100, 300, 1000]),
        (axes.yaxis, [0.05, 0.1, 0.2, 0.5]),
    ):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _under_ucb(axes: Axes, errors: tuple[Errors, ...]) -> None:
    """Ratios of mean squared errors, arm by arm."""
    for arm, (name, what) in enumerate(zip(ARMS, ("worse", "better"), strict=True)):
        cells = [each.squares_ratio for each in errors if each.arm == arm]
        # A little apart, so that the bars of both can be read.
        stages = [stage + 3 * (arm - 0.5) for stage in MARKS]
        label = f"arm {name}, the {what} one"
        draw_estimates(axes, stages, cells, SERIES[(3, 1)[arm]], label=label)
    for level, text in ((1.0, "1: as good"), (4 / 3, "4/3: units that\narrive evenly")):
        axes.axhline(level, color=DARK, linewidth=1.0, linestyle="dotted")
        axes.annotate(
            text,
            xy=(1.0, level),
            xycoords=axes.get_yaxis_transform(),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            color=DARK,
            annotation_clip=False,
        )
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.9), max(high, 1.6))
    axes.set_title(f"Along runs of {pretty(RULE.label)}", loc="left")
    axes.set_xlabel("stage")
    axes.set_ylabel("mean squared error, total mean\nover mean of means")
    axes.legend(loc="upper left", frameon=False, fontsize=10)
