"""Blocks of days: what units are compared within."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from bascule.analysis.reduce.scores import PARTS, Scores
from bascule.analysis.reduce.sums import Growth, Sums
from bascule.core.errors import InputError

Block = str | int
"""What a block is: "day", "week", or whole days that have at least a number of units."""

WEEK = 7


def checked_block(block: object) -> Block | None:
    """A block as it may be given; None leaves it to the log.

    >>> checked_block("week"), checked_block("500"), checked_block(None)
    ('week', 500, None)
    """
    if block is None or block in ("day", "week"):
        return block
    if isinstance(block, str) and block.strip().isdigit():
        block = int(block)
    if isinstance(block, int) and not isinstance(block, bool) and block >= 1:
        return block
    raise InputError("block", f'block must be "day", "week" or a number of units (got {block!r})')


def starts_of(sums: Sums, block: Block) -> list[int]:
    """The places of the first days of the blocks; a last block may be shorter than others.

    The ends of blocks depend on the days and on how many units came, never on outcomes.
    """
    if block == "day":
        return list(range(len(sums.days)))
    if block == "week":
        first: date = sums.days[0]
        weeks = [(day - first).days // WEEK for day in sums.days]
        return [at for at, week in enumerate(weeks) if at == 0 or week != weeks[at - 1]]
    starts, units = [0], 0.0
    for at, size in enumerate(sums.units.sum(axis=1)):
        if units >= float(block):
            starts.append(at)
            units = 0.0
        units += float(size)
    return starts


def merged(sums: Sums, block: Block) -> Sums:
    """Sums whose rows are blocks of days; each has the date of its last day."""
    starts = starts_of(sums, block)
    if len(starts) == len(sums.days):
        return sums

    def added(part: Any, axis: int = 0) -> Any:
        return None if part is None else np.add.reduceat(part, starts, axis=axis)

    lasts = [*(start - 1 for start in starts[1:]), len(sums.days) - 1]
    growth = None
    if sums.growth is not None:
        growth = Growth(*(added(added(part), axis=1) for part in sums.growth))
    return replace(
        sums,
        days=tuple(sums.days[at] for at in lasts),
        units=added(sums.units),
        totals=added(sums.totals),
        squares=added(sums.squares),
        cubes=added(sums.cubes),
        moments=added(sums.moments),
        lows=np.minimum.reduceat(sums.lows, starts, axis=0),
        highs=np.maximum.reduceat(sums.highs, starts, axis=0),
        growth=growth,
        scores=None if sums.scores is None else _scores(sums.scores, starts),
    )


def _scores(scores: Scores, starts: list[int]) -> Scores:
    parts: dict[str, Any] = {
        name: np.add.reduceat(getattr(scores, name), starts) for name in (*PARTS, "clock")
    }
    parts["heaviest"] = np.maximum.reduceat(scores.heaviest, starts)
    return replace(scores, **parts)
