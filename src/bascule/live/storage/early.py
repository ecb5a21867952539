"""What is stored of early signals: events of open blocks, delays, and what a block went by."""

from __future__ import annotations

from typing import Any, NamedTuple

Early = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""For each kind of block that is not folded, by the units of each arm in it, the units of each arm
that have an event."""

Delays = tuple[tuple[int, int, int], ...]
"""For each arm the matured units with an event, and the sums of their delays and of the squares of
these, in hundredths of the window."""


class Used(NamedTuple):
    """What the sizes of a block went by: units folded by then, the knob, and early signals."""

    folded: int
    knob: float
    early: Early = ()
    delays: Delays = ()

    @classmethod
    def of(cls, folded: int, knob: float, early: Any, delays: Any) -> Used:
        """Return what was stored as lists."""
        return cls(folded, knob, early_of(early), delays_of(delays))


def early_of(data: Any) -> Early:
    """Return early events that were stored as lists."""
    return tuple((tuple(sizes), tuple(events)) for sizes, events in data)


def delays_of(data: Any) -> Delays:
    """Return delays that were stored as lists."""
    return tuple((count, total, squares) for count, total, squares in data)
