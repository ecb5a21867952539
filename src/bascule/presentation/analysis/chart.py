"""An analysis as places on a page: what a template needs to draw it at any width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from bascule.presentation.analysis import numbers as amounts
from bascule.presentation.analysis.numbers import Dates, Scale, minus
from bascule.presentation.analysis.series import (
    Against,
    Step,
    against,
    costs,
    dated,
    decision_place,
    difference_with_interval,
    span,
)
from bascule.presentation.guarantees import interval_name
from bascule.presentation.pages import Frame, Tick, round_steps

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 30.0, 28.0
"""Margins, in pixels."""

FEWEST_DAYS = 2
"""One day makes no course."""

PIXELS_A_SPOT = 8.0
"""Days nearer to each other than this cannot be pointed at one by one."""

Place = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A day that can be pointed at: where it is, how much room it has, and what it says."""

    x: float
    y: float
    left: float
    width: float
    title: str
    lines: tuple[str, ...]
    marked: bool = False

    @property
    def speech(self) -> str:
        """The day in words, for readers who cannot see the chart."""
        return f"{self.title}: {'; '.join(self.lines)}"


@dataclass(frozen=True, slots=True)
class Chart(Frame):
    """A course over the days at one width, in pixels.

    `band` is the interval or the area below the line, `later` that part of it which lies after the
    decision. `mark` is where the decision is.
    """

    MARGINS: ClassVar[tuple[float, float, float, float]] = (LEFT, RIGHT, TOP, BOTTOM)

    key: str
    name: str
    title: str
    line: str
    band: str
    later: str
    spots: tuple[Spot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    zero: float
    mark: float | None
    mark_text: str

    @property
    def mark_before(self) -> bool:
        """Whether the words at the decision stand to the left of it."""
        return self.mark is not None and self.mark + 7.6 * len(self.mark_text) > self.width


@dataclass(frozen=True, slots=True)
class Line:
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
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    zero: float
    level: str


def effect_chart(
    analysis: Analysis, one: Against, key: str, name: str, width: float, height: float
) -> Chart | None:
    """The leader minus a rival, day by day; None where there are too few days for a course."""
    shown = [(at, step) for at, step in enumerate(one.steps) if step.known]
    if len(shown) < FEWEST_DAYS:
        return None
    scale, marked, written = Scale.of(analysis), decision_place(analysis), Dates.of(analysis)
    low, high = span(one.steps, marked)
    x, y = _places(len(one.steps), low, high, width, height)
    outline = [(x(at), y(step.high)) for at, step in shown]
    outline += [(x(at), y(step.low)) for at, step in reversed(shown)]
    days = _pointed(len(one.steps), shown[0][0], marked, width)
    spots = [
        _spot(
            at,
            x,
            y(one.steps[at].difference),
            written.day(one.steps[at].date),
            _day_lines(scale, one.steps[at]),
        )
        for at in days
    ]
    return Chart(
        width,
        height,
        key,
        name,
        f"{_cut(one.leader, width)} - {_cut(one.rival, width)}, in {scale.difference_unit}",
        _path([(x(at), y(step.difference)) for at, step in shown]),
        _path(outline) + " Z",
        "",
        _spread(spots, marked, _decided(analysis), width),
        _date_ticks([step.date for step in one.steps], written, x, width),
        _value_ticks(scale.factor * low, scale.factor * high, lambda v: y(v / scale.factor)),
        y(0.0),
        *_marked(analysis, marked, x),
    )


def cost_chart(
    analysis: Analysis, key: str, name: str, width: float, height: float
) -> Chart | None:
    """What the units so far have lost, day by day; None where it did not change."""
    losses = costs(analysis)
    if len(losses) < FEWEST_DAYS or losses[0] == losses[-1]:
        return None
    scale, marked, written = Scale.of(analysis), decision_place(analysis), Dates.of(analysis)
    most = 1.08 * max(losses)
    x, y = _places(len(losses), 0.0, most, width, height)
    line = [(x(at), y(cost)) for at, cost in enumerate(losses)]
    floor = [(x(len(losses) - 1), y(0.0)), (x(0), y(0.0))]
    later: list[tuple[float, float]] = []
    if marked is not None and marked + 1 < len(losses):
        flat = y(losses[marked])
        later = [*line[marked:], (x(len(losses) - 1), flat), (x(marked), flat)]
    dates = [day.date for day in analysis.days]
    spots = [
        _spot(
            at,
            x,
            y(losses[at]),
            written.day(dates[at]),
            (f"{amounts.number(losses[at])} {scale.cost_unit}",),
        )
        for at in _pointed(len(losses), 0, marked, width)
    ]
    return Chart(
        width,
        height,
        key,
        name,
        f"lost so far, in {scale.cost_unit}",
        _path(line),
        _path([*line, *floor]) + " Z",
        _path(later) + " Z" if later else "",
        _spread(spots, marked, _decided(analysis), width),
        _date_ticks(dates, written, x, width),
        _value_ticks(0.0, most, y, 4),
        y(0.0),
        *_marked(analysis, marked, x),
    )


def forest(analysis: Analysis) -> Forest | None:
    """How the leader stands against every rival now; with segments, the nearest rival of each."""
    rows: list[tuple[str, Step, bool]] = []
    if analysis.segments:
        for part in analysis.segments:
            for one in against(part)[:1]:
                label = f"{part.segment}: {one.leader} - {one.rival}"
                rows.append((label, one.now, part.decision is not None))
    else:
        rows = [
            (f"{one.leader} - {one.rival}", one.now, one.now.low >= 0.0 or one.now.high <= 0.0)
            for one in against(analysis)
        ]
    rows = [row for row in rows if row[1].known]
    if not rows:
        return None
    scale = Scale.of(analysis)
    low, high = min([0.0, *(s.low for _, s, _ in rows)]), max([0.0, *(s.high for _, s, _ in rows)])
    room = 0.03 * (high - low)

    def x(value: float) -> float:
        return round(100.0 * (value - low + room) / (high - low + 2 * room), 2)

    lines = tuple(
        Line(label, difference_with_interval(scale, s), x(s.low), x(s.high), x(s.difference), sure)
        for label, s, sure in rows
    )
    steps = round_steps(scale.factor * low, scale.factor * high, 4)
    ticks = tuple(Tick(x(v / scale.factor), _short(v)) for v in steps)
    effects = (analysis.segments[0] if analysis.segments else analysis).effects
    level = interval_name(effects[0].error)
    return Forest(scale.difference_unit, lines, ticks, x(0.0), level)


def _places(
    count: int, low: float, high: float, width: float, height: float
) -> tuple[Place, Place]:
    def x(at: float) -> float:
        return round(LEFT + at / max(count - 1, 1) * (width - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        part = (value - low) / (high - low)
        return round(height - BOTTOM - part * (height - TOP - BOTTOM), 1)

    return x, y


def _pointed(count: int, first: int, marked: int | None, width: float) -> list[int]:
    """Days that can be pointed at: the last, the marked one, and others that are not too near."""
    every = max(1, -(-count // int((width - LEFT - RIGHT) / PIXELS_A_SPOT)))
    days = set(range(count - 1, first - 1, -every))
    return sorted(days | ({marked} if marked is not None and marked >= first else set()))


def _spot(at: int, x: Place, y: float, title: str, lines: tuple[str, ...]) -> Spot:
    return Spot(x(at), y, 0.0, 0.0, title, lines)


def _spread(
    spots: Sequence[Spot], marked: int | None, decided: str | None, width: float
) -> tuple[Spot, ...]:
    """Places on the axis, each with the room halfway to its neighbours."""
    placed = []
    for place, spot in enumerate(spots):
        before = spots[place - 1].x if place else 2 * LEFT - spot.x
        after = spots[place + 1].x if place + 1 < len(spots) else 2 * (width - RIGHT) - spot.x
        left, right = max(LEFT, (before + spot.x) / 2), min(width - RIGHT, (spot.x + after) / 2)
        here = marked is not None and decided is not None and spot.title == decided
        lines = (*spot.lines, "first day that allowed the decision") if here else spot.lines
        width_here = round(max(right - left, 1.0), 1)
        placed.append(
            replace(spot, left=round(left, 1), width=width_here, lines=lines, marked=here)
        )
    return tuple(placed)


def _day_lines(scale: Scale, step: Step) -> tuple[str, ...]:
    if not step.known:
        return ("too little to tell",)
    return (
        scale.difference(step.difference, step.high - step.low),
        f"between {scale.interval(step.low, step.high, 'and')}",
    )


def _date_ticks(dates: Sequence[str], written: Dates, x: Place, width: float) -> tuple[Tick, ...]:
    places = dated(dates, int(width / 90))
    return tuple(Tick(x(at), written.day(dates[at], year=False)) for at in places)


def _value_ticks(low: float, high: float, y: Place, most: int = 5) -> tuple[Tick, ...]:
    return tuple(Tick(y(value), _short(value)) for value in round_steps(low, high, most))


def _short(value: float) -> str:
    return minus(f"{value:,g}")


def _decided(analysis: Analysis) -> str | None:
    decided = analysis.decided
    return None if decided is None else Dates.of(analysis).day(decided)


def _marked(analysis: Analysis, place: int | None, x: Place) -> tuple[float | None, str]:
    if place is None or analysis.decided is None:
        return None, ""
    day = Dates.of(analysis).day(analysis.decided, year=False)
    return x(place), f"decision allowed, {day}"


def _cut(name: str, width: float) -> str:
    """A name that is too long for a title, shortened."""
    most = int(width / 22)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{a:g} {b:g}" for a, b in points)
