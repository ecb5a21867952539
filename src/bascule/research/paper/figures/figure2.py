"""Figure 2: the two kinds of intervals of UCB_alpha, before and at the decision.

The wide intervals `mean +- alpha * radius` determine which arm gets the next unit, so their upper
ends stay level; the narrow ones `mean +- radius` decide as soon as they no longer overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.core.procedures.base import Interval
from bascule.core.progress import intervals
from bascule.core.rules import UCB
from bascule.core.rules.ucb import score
from bascule.core.statistics import Statistics
from bascule.presentation.figures import new_figure, pretty, write_at
from bascule.research.paper.figures.curves import COLOURS, DARK, set_heading
from bascule.research.paper.iid import ARMS, MEANS, design
from bascule.research.paper.measure import CsvRow, Measurements, Sheet
from bascule.simulation import trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RULE = UCB(2)
LOG_INVERSE_DELTA = 12.0


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a simulated test at one time."""

    name: str
    statistics: Statistics
    intervals: tuple[Interval, ...]

    @property
    def indices(self) -> tuple[float, ...]:
        """The indices of the arms: the upper ends of the wide intervals."""
        return tuple(
            score(interval.mean, interval.radius, arm.units, RULE.alpha)
            for interval, arm in zip(self.intervals, self.statistics.arms, strict=True)
        )


def figure2(measurements: Measurements, seed: int) -> Sheet:
    """Return Figure 2 and its table, made from one simulated run; `measurements` is ignored."""
    del measurements
    shown = moments(seed)
    return Sheet(draw(shown), table(shown))


def moments(seed: int) -> tuple[Moment, Moment]:
    """Return the states of one run at a third of its decision time and at its decision."""
    traced = design(RULE, LOG_INVERSE_DELTA)
    steps = list(trace(traced, MEANS, seed=seed))
    before, after = steps[len(steps) // 3 - 1].statistics, steps[-1].statistics
    return (
        Moment("before", before, intervals(traced, before)),
        Moment("decision", after, intervals(traced, after)),
    )


def table(shown: tuple[Moment, ...]) -> list[CsvRow]:
    """Return a row for each moment and arm."""
    return [
        {
            "moment": moment.name,
            "units_total": moment.statistics.units,
            "arm": name,
            "units": moment.statistics.arms[arm].units,
            "mean": moment.intervals[arm].mean,
            "radius": moment.intervals[arm].radius,
            "alpha": RULE.alpha,
        }
        for moment in shown
        for arm, name in enumerate(ARMS)
    ]


def draw(shown: tuple[Moment, Moment]) -> Figure:
    """Draw both moments in two panels with the same scale."""
    before, after = shown
    figure, (left, right) = new_figure(columns=2, width=10.0, height=5.0, share_y=True)
    left.set_title(f"Before the decision: {before.statistics.units:,} units", loc="left")
    right.set_title(f"At the decision: {after.statistics.units:,} units", loc="left")
    left.set_ylabel("outcome")
    for panel, moment in ((left, before), (right, after)):
        _arms(panel, moment)
        _levels(panel, moment)
        _band(panel, moment)
    _explain(left, before)
    _magnify(right, after)
    set_heading(
        figure,
        f"One run of {pretty(RULE.label)} at log(1/δ) = {LOG_INVERSE_DELTA:g}; means "
        f"{MEANS[0]:g} and {MEANS[1]:g}, σ = 1",
    )
    return figure


def _arms(axes: Axes, moment: Moment) -> None:
    for arm, (interval, colour) in enumerate(zip(moment.intervals, COLOURS, strict=True)):
        reach = RULE.alpha * interval.radius
        axes.errorbar(
            arm, interval.mean, yerr=reach, color=colour, linewidth=1.5, capsize=11, capthick=1.5
        )
        _decision_interval(axes, arm, interval)
        axes.plot(arm, interval.mean, marker="o", color="white", markersize=5)
    axes.set_xticks(range(len(ARMS)))
    axes.set_xticklabels(
        f"arm {name}\n{arm.units:,} units"
        for name, arm in zip(ARMS, moment.statistics.arms, strict=True)
    )
    axes.set_xlim(-0.75, 1.75)
    axes.grid(False, axis="x")


def _decision_interval(axes: Axes, arm: int, interval: Interval) -> None:
    bounds = [interval.low, interval.high]
    axes.plot([arm, arm], bounds, color=COLOURS[arm], linewidth=9, solid_capstyle="butt")


def _levels(axes: Axes, moment: Moment) -> None:
    """Draw a line at each index, to show how close they are."""
    for level, colour, dash in zip(moment.indices, COLOURS, ("dashed", "dotted"), strict=True):
        axes.axhline(level, color=colour, linestyle=dash, linewidth=1.3)
    apart = abs(moment.indices[0] - moment.indices[1])
    place = (0.5, max(moment.indices))
    write_at(axes, f"indices, {apart:.2f} apart", place, (0, 5), ha="center")


def _gap(moment: Moment) -> tuple[float, float]:
    """Return the upper end of the lower decision interval and the lower end of the upper one."""
    lower, upper = sorted(moment.intervals, key=lambda interval: interval.mean)
    return lower.high, upper.low


def _band(axes: Axes, moment: Moment) -> None:
    """Shade the overlap of the decision intervals, or the gap between them."""
    low, high = _gap(moment)
    parted = high > low
    axes.axhspan(min(low, high), max(low, high), color="#8a8a8a", alpha=0.35, linewidth=0)
    if parted:
        axes.axhline((low + high) / 2, color=DARK, linewidth=1.2)
    text = "have parted" if parted else f"overlap by {abs(high - low):.2f}"
    place = (0.5, min(low, high))
    write_at(axes, f"decision intervals\n{text}", place, (0, -5), ha="center", va="top")


def _magnify(axes: Axes, moment: Moment) -> None:
    """Draw an enlarged inset of the gap, which is too narrow to be seen."""
    low, high = _gap(moment)
    gap = high - low
    inset = axes.inset_axes((0.58, 0.10, 0.39, 0.33))
    for arm, interval in enumerate(moment.intervals):
        _decision_interval(inset, arm, interval)
    inset.axhspan(low, high, color="#8a8a8a", alpha=0.35, linewidth=0)
    inset.set_ylim(low - 2 * gap, high + 2 * gap)
    inset.set_xlim(-0.75, 1.75)
    inset.set_xticks(range(len(ARMS)), ARMS)
    digits = max(2, 1 - math.floor(math.log10(gap)))
    inset.set_yticks([low, high], [f"{low:.{digits}f}", f"{high:.{digits}f}"])
    inset.tick_params(labelsize=9)
    inset.grid(False)
    inset.set_title("the gap, enlarged", fontsize=9.5, loc="left")


def _explain(axes: Axes, moment: Moment) -> None:
    """Label the two kinds of intervals beside the first arm."""
    interval = moment.intervals[0]
    for height, text in (
        (interval.mean, "decision interval\nmean ± radius"),
        (interval.mean - 0.75 * RULE.alpha * interval.radius, "pulling interval\nmean ± α radius"),
    ):
        write_at(axes, text, (0, height), (-12, 0), ha="right", va="center")
