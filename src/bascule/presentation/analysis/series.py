"""The difference of the leader from each other arm, day by day: what figures and pages draw.

Here is also how the days of a log, and its outcomes, are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from bascule.core.metrics.effects import signed
from bascule.presentation.numbers import UNKNOWN, Amounts

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

DAYS_APART = (1, 2, 3, 7, 14, 28, 56, 91, 182, 365, 730)
"""Days between the dates on an axis."""


def amounts_of(analysis: Analysis) -> Amounts:
    """Return how the outcomes of a log are written, and what cost is counted in."""
    return Amounts(analysis.design.outcome.binary, analysis.design.cost_unit)


def stamp(analysis: Analysis, day: str) -> str:
    """Return a day as the log calls it: by its date, or by its number."""
    return analysis.reading.stamp(day) or ""


def short_day(analysis: Analysis, day: str) -> str:
    """Return a day as it stands at an axis."""
    if analysis.reading.times == "numbers":
        return stamp(analysis, day)
    return f"{date.fromisoformat(day):%-d %b}"


def has_days(analysis: Analysis) -> bool:
    """Whether the log says when anything happened."""
    return analysis.last_day is not None and analysis.reading.times != "none"


@dataclass(frozen=True, slots=True)
class Step:
    """A difference at the end of a day, and the interval that it lies in."""

    date: str
    difference: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether the interval has ends at all."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def width(self) -> float:
        """How wide the interval is."""
        return self.high - self.low

    @property
    def apart(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.low >= 0.0 or self.high <= 0.0

    def words(self, amounts: Amounts) -> str:
        """Return the difference and its interval, as a cell of a table has them."""
        if not self.known:
            return UNKNOWN
        bounds = amounts.bounds(self.low, self.high)
        return f"{amounts.signed(self.difference, self.width)} ({bounds})"


@dataclass(frozen=True, slots=True)
class Against:
    """The difference of the arm that leads and a rival, as `signed` has it: now, and day by day."""

    first: str
    second: str
    now: Step
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The difference in words."""
        return f"{self.first} - {self.second}"


def against(analysis: Analysis) -> tuple[Against, ...]:
    """The leader against every other arm, the nearest rival first."""
    last = analysis.last_day or ""
    rivals = []
    for now in signed(analysis.design, analysis.leads):
        steps = tuple(
            Step(day.date, *effect.of(now.first).interval)
            for day in analysis.days
            for effect in day.effects
            if {effect.first, effect.second} == {now.first, now.second}
        )
        rivals.append(Against(now.first, now.second, Step(last, *now.interval), steps))
    return tuple(rivals)


def costs(analysis: Analysis) -> tuple[float, ...]:
    """What the units of each day and those before it lost, by the means as they are now.

    Units whose outcomes are not final yet are not in it. The cost of a live test goes by its
    differences: that of the days is in proportion to it.
    """
    better = analysis.design.oriented
    means = [better(arm.mean) for arm in analysis.arms if arm.mean is not None]
    if not means or len(means) < len(analysis.arms):
        return ()
    losses = [max(means) - mean for mean in means]
    total = sum(arm.units * loss for arm, loss in zip(analysis.arms, losses, strict=True))
    part = analysis.cost / total if analysis.cost is not None and total > 0.0 else 1.0
    return tuple(
        part * sum(n * loss for n, loss in zip(day.units, losses, strict=True))
        for day in analysis.days
    )


def decision_place(analysis: Analysis) -> int | None:
    """Which of the days was the first that allowed the decision."""
    dates = [day.date for day in analysis.days]
    return dates.index(analysis.decided) if analysis.decided in dates else None


def span(steps: Sequence[Step], marked: int | None = None) -> tuple[float, float]:
    """Lowest and highest value to draw: of all but the first days, whose intervals are vast.

    >>> day = Step("2026-03-01", 0.1, -1.0, 1.0)
    >>> span([day]), span([])
    ((-1.1, 1.1), (-1.0, 1.0))
    """
    known = [step for step in steps if step.known]
    shown = known[len(known) // 4 :]
    if marked is not None:
        shown += [step for step in steps[marked : marked + 1] if step.known]
    low = min([0.0, *(step.low for step in shown)])
    high = max([0.0, *(step.high for step in shown)])
    if low == high:
        return -1.0, 1.0
    room = 0.05 * (high - low)
    return low - room, high + room


def dated(dates: Sequence[str], most: int) -> list[int]:
    """Places of dates to write on an axis: the first, and others whole weeks or so apart.

    >>> dated([f"2026-03-{day:02}" for day in range(1, 32)], 6)
    [0, 7, 14, 21, 28]
    """
    days = [date.fromisoformat(text).toordinal() for text in dates]
    step = next((s for s in DAYS_APART if (days[-1] - days[0]) / s <= most), DAYS_APART[-1])
    return [at for at, day in enumerate(days) if (day - days[0]) % step == 0]
