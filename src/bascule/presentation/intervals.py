"""The figure of intervals below each other on one axis, which several reports have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.presentation.figures import SERIES, new_figure
from bascule.presentation.guarantees import interval_name
from bascule.presentation.numbers import Amounts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bascule.core.metrics.effects import Effect


@dataclass(frozen=True, slots=True)
class Intervals:
    """Differences with their intervals, each below its name."""

    effects: tuple[tuple[str, Effect], ...]
    amounts: Amounts

    @classmethod
    def of(cls, named: Sequence[tuple[str, Effect]], amounts: Amounts) -> tuple[Intervals, ...]:
        """Return the figure of those differences that have an interval; nothing without any.

        >>> Intervals.of([], Amounts(binary=True))
        ()
        """
        known = tuple((name, one) for name, one in named if math.isfinite(one.high - one.low))
        return (cls(known, amounts),) if known else ()

    def plot(self) -> Figure:
        """Draw the interval of each difference."""
        names = [name for name, _ in self.effects]
        figure, (axis,) = new_figure(width=7.4, height=1.3 + 0.35 * len(names))
        for place, (_, one) in enumerate(self.effects):
            middle, low, high = (self.amounts.factor * end for end in one.interval)
            axis.plot([low, high], [place, place], color=SERIES[1].colour, linewidth=2.0)
            axis.plot(middle, place, marker="o", color=SERIES[1].colour)
        axis.axvline(0.0, color="#777777", linewidth=1.2)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.grid(False, axis="y")
        level = interval_name(self.effects[0][1].error)
        unit = self.amounts.difference_unit
        axis.set_xlabel(f"difference in {unit}, with {level}s that hold at any time")
        return figure
