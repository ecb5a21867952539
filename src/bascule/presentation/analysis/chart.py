"""An analysis as places on a page: what a template needs to draw it at any width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.presentation.analysis.series import (
    Against,
    Dates,
    Step,
    against,
    amounts_of,
    costs,
    dated,
    decision_place,
    span,
)
from bascule.presentation.guarantees import interval_name
from bascule.presentation.numbers import Amounts, number
from bascule.presentation.pages import Frame, Spot, Tick, path, round_steps

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

MARGINS = (52.0, 14.0, 30.0, 28.0)
"""Left, right, top and bottom, in pixels."""

FEWEST_DAYS = 2
"""One day makes no course."""

PIXELS_A_SPOT = 8.0
"""Days nearer to each other than this cannot be pointed at one by one."""

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DaySpot(Spot):
    """A day that can be pointed at: how much room it has, and whether the decision is on it."""

    left: float
    width: float
    marked: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A course over the days at one width, in pixels.

    `band` is the interval or the area below the line, `later` that part of it which lies after the
    decision. `mark` is where the decision is. `key` tells the chart from others on the page.
    """

    key: str
    frame: Frame
    title: str
    line: str
    band: str
    later: str
    spots: tuple[DaySpot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    zero: float
    mark: float | None
    mark_text: str

    @property
    def mark_before(self) -> bool:
        """Whether the words at the decision stand to the left of it."""
        return self.mark is not None and self.mark + 7.6 * len(self.mark_text) > self.frame.width


@dataclass(frozen=True, slots=True)
class ForestLine:
    """One interval of a forest: an arm against a rival, as it stands; places are in percent."""

    name: str
    text: str
    low: float
    high: float
    at: float
    decided: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """Intervals below each other on one axis; places are in percent of its width."""

    unit: str
    lines: tuple[ForestLine, ...]
    ticks: tuple[Tick, ...]
    zero: float
    level: str


@dataclass(frozen=True, slots=True)
class Course:
    """Values day by day, to be drawn between a lowest and a highest one.

    `ticks` is about how many values are marked on the axis, each multiplied by `factor`.
    """

    analysis: Analysis
    dates: tuple[str, ...]
    low: float
    high: float
    factor: float = 1.0
    ticks: int = 5

    def chart(
        self,
        frame: Frame,
        key: str,
        title: str,
        values: dict[int, float],
        words: Callable[[int], tuple[str, ...]],
        line: Sequence[Place],
        band: Sequence[Place],
        later: Sequence[Place] = (),
    ) -> Chart:
        """Return the chart of values by the place of their days; `words` is said of a day.

        The line and the outlines `band` and `later` are places of days, with values.
        """
        analysis, written = self.analysis, Dates.of(self.analysis)
        marked, decided = decision_place(analysis), analysis.decided

        def x(at: float) -> float:
            return frame.x(at / max(len(self.dates) - 1, 1))

        def y(value: float) -> float:
            return frame.y((value - self.low) / (self.high - self.low))

        def drawn(places: Sequence[Place]) -> str:
            return path((x(at), y(value)) for at, value in places)

        every = max(1, -(-len(self.dates) // int((frame.right - frame.left) / PIXELS_A_SPOT)))
        places = [at for at in values if (max(values) - at) % every == 0 or at == marked]
        edges = [2 * frame.left - x(places[0]), *map(x, places), 2 * frame.right - x(places[-1])]
        spots = []
        for before, here, after, at in zip(edges, edges[1:], edges[2:], places, strict=False):
            left = max(frame.left, (before + here) / 2)
            right = min(frame.right, (here + after) / 2)
            room = round(left, 1), round(max(right - left, 1.0), 1)
            lines = words(at) + ("first day that allowed the decision",) * (at == marked)
            day = written.day(self.dates[at])
            spots.append(DaySpot(here, y(values[at]), day, lines, *room, at == marked))
        ticks = round_steps(self.factor * self.low, self.factor * self.high, self.ticks)
        mark, mark_text = None, ""
        if marked is not None and decided is not None:
            mark, mark_text = x(marked), f"decision allowed, {written.day(decided, year=False)}"
        return Chart(
            f"{key}-{frame.name}",
            frame,
            title,
            drawn(line),
            f"{drawn(band)} Z",
            f"{drawn(later)} Z" if later else "",
            tuple(spots),
            tuple(
                Tick(x(at), written.day(self.dates[at], year=False))
                for at in dated(self.dates, int(frame.width / 90))
            ),
            tuple(Tick(y(value / self.factor), _short(value)) for value in ticks),
            y(0.0),
            mark,
            mark_text,
        )


def effect_chart(analysis: Analysis, one: Against, key: str, frame: Frame) -> Chart | None:
    """The leader minus a rival, day by day; None where there are too few days for a course."""
    known = {at: step for at, step in enumerate(one.steps) if step.known}
    if len(known) < FEWEST_DAYS:
        return None
    amounts = amounts_of(analysis)
    names = f"{_cut(one.leader, frame.width)} - {_cut(one.rival, frame.width)}"
    dates = tuple(step.date for step in one.steps)
    outline = [(at, step.high) for at, step in known.items()]
    outline += [(at, step.low) for at, step in reversed(known.items())]
    course = Course(analysis, dates, *span(one.steps, decision_place(analysis)), amounts.factor)
    return course.chart(
        frame,
        key,
        f"{names}, in {amounts.difference_unit}",
        {at: one.steps[at].difference for at in range(min(known), len(one.steps))},
        lambda at: _day_words(amounts, one.steps[at]),
        [(at, step.difference) for at, step in known.items()],
        outline,
    )


def cost_chart(analysis: Analysis, key: str, frame: Frame) -> Chart | None:
    """What the units so far have lost, day by day; None where it did not change."""
    losses, marked = costs(analysis), decision_place(analysis)
    if len(losses) < FEWEST_DAYS or losses[0] == losses[-1]:
        return None
    unit, last = amounts_of(analysis).cost_unit, len(losses) - 1
    line = list(enumerate(losses))
    later = []
    if marked is not None and marked < last:
        later = [*line[marked:], (last, losses[marked]), (marked, losses[marked])]
    course = Course(
        analysis, tuple(day.date for day in analysis.days), 0.0, 1.08 * max(losses), ticks=4
    )
    return course.chart(
        frame,
        key,
        f"lost so far, in {unit}",
        dict(line),
        lambda at: (f"{number(losses[at])} {unit}",),
        line,
        [*line, (last, 0.0), (0, 0.0)],
        later,
    )


def forest(analysis: Analysis) -> Forest | None:
    """How the leader stands against every rival now; with segments, the nearest rival of each."""
    if analysis.segments:
        rows = [
            (f"{part.segment}: {one.name}", one.now, part.decision is not None)
            for part in analysis.segments
            for one in against(part)[:1]
        ]
    else:
        rows = [(one.name, one.now, one.now.apart) for one in against(analysis)]
    rows = [row for row in rows if row[1].known]
    if not rows:
        return None
    amounts = amounts_of(analysis)
    low, high = min([0.0, *(s.low for _, s, _ in rows)]), max([0.0, *(s.high for _, s, _ in rows)])
    room = 0.03 * (high - low)

    def x(value: float) -> float:
        return round(100.0 * (value - low + room) / (high - low + 2 * room), 2)

    lines = tuple(
        ForestLine(label, s.words(amounts), x(s.low), x(s.high), x(s.difference), sure)
        for label, s, sure in rows
    )
    steps = round_steps(amounts.factor * low, amounts.factor * high, 4)
    ticks = tuple(Tick(x(v / amounts.factor), _short(v)) for v in steps)
    effects = (analysis.segments[0] if analysis.segments else analysis).effects
    level = interval_name(effects[0].error)
    return Forest(amounts.difference_unit, lines, ticks, x(0.0), level)


def _day_words(amounts: Amounts, step: Step) -> tuple[str, ...]:
    if not step.known:
        return ("too little to tell",)
    ends = amounts.ends(step.low, step.high, "and")
    return amounts.difference(step.difference, step.width), f"between {ends}"


def _short(value: float) -> str:
    return f"{value:,g}".replace("-", "−")


def _cut(name: str, width: float) -> str:
    """A name that is too long for a title, shortened."""
    most = int(width / 22)
    return name if len(name) <= most else f"{name[: most - 1]}…"
