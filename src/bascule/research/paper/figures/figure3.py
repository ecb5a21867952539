"""Figure 3: units, stages and outcomes of one run, drawn as a triangle.

Each row is a unit, each column a stage. A unit joins an arm and gives an outcome at every stage
from then on. Beside the triangle are the shares of each unit in the two estimators of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from bascule.core.procedures.recurrent import Weight, equal_weight, outcome_weight
from bascule.core.rules import UCB
from bascule.presentation.figures import new_figure, pretty
from bascule.research.paper.figures.curves import COLOURS, DARK, set_heading
from bascule.research.paper.measure import CsvRow, Measurements, Sheet
from bascule.research.paper.units import ARMS, MEANS, MIDDLE, OUTCOME, design
from bascule.simulation.trace import trace_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RULE = UCB(1.5)
STAGES = 30


@dataclass(frozen=True, slots=True)
class UnitLine:
    """One unit: its number (the stage at which it joined), its arm, and its outcomes."""

    unit: int
    arm: int
    values: tuple[float, ...]

    @property
    def outcomes(self) -> int:
        """Number of outcomes that the unit has given."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """The average of the outcomes of the unit."""
        return sum(self.values) / self.outcomes


def figure3(measurements: Measurements, seed: int) -> Sheet:
    """Return Figure 3 and its table, made from one simulated run; `measurements` is ignored."""
    del measurements
    units = lines(seed)
    return Sheet(draw(units), table(units))


def lines(seed: int) -> tuple[UnitLine, ...]:
    """Return the units of the first stages of one run."""
    stages = list(islice(trace_stages(design(RULE, MIDDLE), MEANS, seed), STAGES))
    joined = [arm for stage in stages for arm in stage.joined]
    return tuple(
        UnitLine(unit + 1, arm, tuple(stage.values[unit] for stage in stages[unit:]))
        for unit, arm in enumerate(joined)
    )


def share(units: tuple[UnitLine, ...], line: UnitLine, weight: Weight) -> float:
    """Return the share of a unit in the weighted mean of its arm."""

    def count(line: UnitLine) -> float:
        return weight(line.outcomes, OUTCOME.sigma_unit, OUTCOME.sigma_noise)

    return count(line) / sum(count(unit) for unit in units if unit.arm == line.arm)


def table(units: tuple[UnitLine, ...]) -> list[CsvRow]:
    """Return a row for each unit."""
    return [
        {
            "unit": line.unit,
            "arm": ARMS[line.arm],
            "joined_at_stage": STAGES - line.outcomes + 1,
            "outcomes": line.outcomes,
            "mean": line.mean,
            "share_in_mean_of_means": share(units, line, equal_weight),
            "share_in_total_mean": share(units, line, outcome_weight),
        }
        for line in units
    ]


def draw(units: tuple[UnitLine, ...]) -> Figure:
    """Draw the triangle, and beside it the share of each unit in the mean of its arm."""
    figure, (left, right) = new_figure(2, width=11.0, height=6.0, share_y=True, parts=(1.9, 1.0))
    _triangle(left, units)
    _shares(right, units)
    set_heading(
        figure,
        f"The first {STAGES} stages of a run of {pretty(RULE.label)} on units: one joins an arm at "
        "each stage, and all that have joined give an outcome",
    )
    return figure


def _triangle(axes: Axes, units: tuple[UnitLine, ...]) -> None:
    from matplotlib.patches import Rectangle

    for line in units:
        first = STAGES - line.outcomes + 1
        for age in range(line.outcomes):
            axes.add_patch(
                Rectangle(
                    (first + age - 0.44, line.unit - 0.44),
                    0.88,
                    0.88,
                    facecolor=COLOURS[line.arm],
                    alpha=1.0 if age == 0 else 0.4,
                    linewidth=0,
                )
            )
        axes.text(
            first,
            line.unit,
            ARMS[line.arm],
            color="white",
            fontsize=7.5,
            fontweight="bold",
            ha="center",
            va="center_baseline",
        )
    axes.set_title("Who joins which arm, and who gives outcomes when", loc="left")
    axes.set_xlabel("stage")
    axes.set_ylabel("unit")
    ticks = [1, *range(5, STAGES + 1, 5)]
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.set_xlim(0.3, STAGES + 0.7)
    axes.set_ylim(STAGES + 0.7, 0.3)
    axes.grid(False)
    axes.text(
        0.03,
        0.05,
        "\n".join(
            f"arm {name}: {sum(line.arm == arm for line in units)} units, "
            f"{sum(line.outcomes for line in units if line.arm == arm)} outcomes"
            for arm, name in enumerate(ARMS)
        )
        + "\ndark: the stage at which a unit joins",
        transform=axes.transAxes,
        fontsize=10,
        va="bottom",
        linespacing=1.5,
    )


def _shares(axes: Axes, units: tuple[UnitLine, ...]) -> None:
    shares = [
        tuple(100 * share(units, line, weight) for weight in (equal_weight, outcome_weight))
        for line in units
    ]
    for line, (equal, pooled) in zip(units, shares, strict=True):
        axes.plot([equal, pooled], [line.unit] * 2, color=COLOURS[line.arm], linewidth=1.2)
        axes.plot(equal, line.unit, "|", color=COLOURS[line.arm], markersize=8, markeredgewidth=2)
        axes.plot(pooled, line.unit, "o", color=COLOURS[line.arm], markersize=4.5)
    axes.set_title("How much each unit counts in its arm", loc="left")
    axes.set_xlabel("share of the unit (%)")
    # The axis is wide enough to keep the legend clear of the marks of late units.
    widest = max(
        1.9 * max(equal for equal, _ in shares),
        1.05 * max(by_outcomes for _, by_outcomes in shares),
    )
    axes.set_xlim(0, widest)
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.grid(False, axis="y")
    for height, mark, name in ((0.115, "|", "mean of means"), (0.06, "o", "total mean")):
        axes.plot(
            0.62,
            height,
            mark,
            color=DARK,
            markersize=8 if mark == "|" else 4.5,
            markeredgewidth=2 if mark == "|" else 1,
            transform=axes.transAxes,
        )
        axes.text(0.66, height, name, transform=axes.transAxes, fontsize=10, va="center")
