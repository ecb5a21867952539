"""Charts, each given as a table from which the browser draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bascule.core.metrics.effects import Effect
from bascule.live.api import HistoryPoint, Status
from bascule.presentation.guarantees import difference_words
from bascule.presentation.numbers import UNKNOWN, Amounts, count, known, when

MOST_RIVALS = 5
"""Maximum number of comparisons shown as charts."""

MOST_EFFECTS = 400
"""Maximum number of intervals computed for a page: each takes about a millisecond."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in a chart: its text in the table, and the value drawn (None leaves a gap)."""

    text: str
    value: float | None


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A row of a chart's table: the values at one moment."""

    time: float
    text: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: `kind` says how it is drawn, `arms` which arms its colours stand for."""

    id: str
    kind: str
    title: str
    summary: str
    unit: str
    arms: tuple[int, ...]
    columns: tuple[str, ...]
    rows: tuple[ChartRow, ...]

    @property
    def is_drawn(self) -> bool:
        """Whether the rows have at least two different times, so that there is an axis of time."""
        return len({row.time for row in self.rows}) > 1


def points_for(arms: int) -> int:
    """Return how many points of the history a page shows, for a number of arms.

    >>> points_for(2), points_for(4), points_for(20)
    (120, 66, 12)
    """
    pairs = arms * (arms - 1) // 2
    return max(12, min(120, MOST_EFFECTS // pairs))


def comparisons(status: Status) -> list[tuple[str, str]]:
    """Return the pairs of arms to compare, each as (later arm, earlier arm) in the design's order.

    One arm is compared with each of the others: the winner, or else the leader, or else the first.
    """
    names = [arm.name for arm in status.arms]
    first = names[0] if status.leader is None else status.leader
    if status.decision is not None and status.decision.arm is not None:
        first = status.decision.name
    pairs = [(first, name) for name in names if name != first]
    return [(max(pair, key=names.index), min(pair, key=names.index)) for pair in pairs]


def effect_charts(status: Status, history: Sequence[HistoryPoint], amounts: Amounts) -> list[Chart]:
    """Return charts of differences and their intervals over time, smallest difference first."""
    names = [arm.name for arm in status.arms]
    nearest = sorted(comparisons(status), key=lambda pair: _gap(_of_pair(status.effects, pair)))
    charts = []
    for number, pair in enumerate(nearest[:MOST_RIVALS]):
        effect = _of_pair(status.effects, pair)
        mine, rival = pair if effect is None else (effect.first, effect.second)
        # With many arms a point lists only some pairs, and another arm may have led at that time.
        rows = tuple(
            _effect_row(point, effect_then, mine, amounts)
            for point in history
            if (effect_then := _of_pair(point.effects, pair)) is not None
        )
        charts.append(
            Chart(
                f"effect-{number}",
                "interval",
                f"{mine} - {rival}",
                ""
                if effect is None or not status.matured
                else f"now {difference_words(effect, amounts)}",
                amounts.difference_unit if amounts.binary else "",
                (names.index(mine),),
                (_progress(status), "Difference", "Lower bound", "Upper bound"),
                rows,
            )
        )
    return charts


def allocation_chart(status: Status, history: Sequence[HistoryPoint]) -> Chart:
    """Return a chart of each arm's share of the units counted between two points of the history."""
    names = tuple(arm.name for arm in status.arms)
    rows = []
    before: tuple[int, ...] = (0,) * len(names)
    for point in history:
        new = [now - earlier for now, earlier in zip(point.units, before, strict=True)]
        total = sum(new)
        if total > 0:
            shares = tuple(Cell(f"{100 * n / total:.1f} %", 100 * n / total) for n in new)
            units = Cell(count(point.matured), float(point.matured))
            rows.append(_row(point, (units, *shares)))
            before = point.units
    return Chart(
        "allocation",
        "shares",
        "Share of new units",
        ", ".join(f"{name} {share}" for name, share in zip(names, _latest(rows), strict=False)),
        "%",
        tuple(range(len(names))),
        (_progress(status), *names),
        tuple(rows),
    )


def _progress(status: Status) -> str:
    """Return the unit of a chart's horizontal axis: units, or stages."""
    return "Units counted" if status.stage is None else "Stage"


def _of_pair(effects: Sequence[Effect], pair: tuple[str, str]) -> Effect | None:
    """Return the effect of a pair of arms in either order, if it is listed."""
    for effect in effects:
        if effect.first in pair and effect.second in pair:
            return effect
    return None


def _gap(effect: Effect | None) -> float:
    return math.inf if effect is None or not known(effect.low) else abs(effect.difference)


def _latest(rows: Sequence[ChartRow]) -> list[str]:
    return [cell.text for cell in rows[-1].cells[1:]] if rows else []


def _effect_row(point: HistoryPoint, effect: Effect, mine: str, amounts: Amounts) -> ChartRow:
    """Return the difference with its bounds, which leave a gap while there is no interval."""
    bounds = effect.of(mine).interval
    width = bounds[2] - bounds[1]
    cells = [Cell(amounts.signed(bounds[0], width), amounts.factor * bounds[0])]
    for end in bounds[1:]:
        shown = amounts.factor * end if known(width) else None
        cells.append(Cell(UNKNOWN if shown is None else amounts.signed(end, width), shown))
    return _row(point, (Cell(count(point.matured), float(point.matured)), *cells))


def _row(point: HistoryPoint, cells: tuple[Cell, ...]) -> ChartRow:
    time = datetime.fromisoformat(point.time).timestamp()
    return ChartRow(time, when(time), cells)
