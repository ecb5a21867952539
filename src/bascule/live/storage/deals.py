"""Blocks as they are dealt: the arms of their slots, what was struck, and what sizes went by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import NamedTuple

Early = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""For each kind of block that is not folded, by the units of each arm in it, the units of each arm
that have an event."""

Delays = tuple[tuple[int, int, int], ...]
"""For each arm the matured units with an event, and the sums of their delays and of the squares of
these, in hundredths of the window."""


class StoredSignals(NamedTuple):
    """Early signals of a test: events of open blocks, and delays of matured units."""

    early: Early = ()
    delays: Delays = ()


class Used(NamedTuple):
    """What the sizes of a block went by: units folded by then, the knob, and early signals."""

    folded: int
    knob: float
    signals: StoredSignals = StoredSignals()


Parts = tuple[tuple[int, ...], ...]
"""For each part of a block the arms of its slots, in order."""

Struck = tuple[tuple[int, int], ...]
"""Arms dropped by hand, each with the slot of a block from which on it gets nothing."""


@dataclass(frozen=True)
class Deal:
    """A block of a tilted test as it is dealt: for each part the arms of its slots, in order.

    `struck` has the arms dropped by hand while it was handed out, each with the slot from which
    on it gets nothing. `used` is what its sizes went by, of the first of blocks that were dealt at
    once in a test with early signals.

    >>> Deal(1, ((0, 1, 0), (0, 0, 1)), struck=((1, 2),)).slots
    (0, 1, 0, 0, 0)
    """

    number: int
    parts: Parts
    struck: Struck = ()
    used: Used | None = None

    @cached_property
    def largest(self) -> tuple[int, int]:
        """The arm that has the most units in a part, and how many.

        >>> Deal(1, ((0, 1, 0), (0, 0, 1))).largest
        (0, 2)
        """
        return largest_in(self.parts[0])

    @property
    def kept(self) -> Parts:
        """The parts without what was struck."""
        return _without(self.parts, self.struck) if self.struck else self.parts

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The arms of all slots that are handed out, in order."""
        return tuple(chain.from_iterable(self.kept))

    @cached_property
    def chances(self) -> tuple[float, ...]:
        """The probability of each slot's arm, given the slots before it.

        >>> Deal(1, ((0, 1, 0),)).chances
        (0.6666666666666666, 0.5, 1.0)
        """
        return tuple(chain.from_iterable(map(chances_in, self.kept)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many units each part has."""
        return tuple(len(part) for part in self.kept)


# Parts come in few orders.
@lru_cache(maxsize=1024)
def largest_in(part: tuple[int, ...]) -> tuple[int, int]:
    """Return the arm that has the most units in a part of a block, and how many.

    >>> largest_in((1, 0, 1)), largest_in((1, 0))
    ((1, 2), (0, 1))
    """
    units = Counter(part)
    arm = min(units, key=lambda arm: (-units[arm], arm))
    return arm, units[arm]


UnderWay = tuple[tuple[int, int, int], ...]
"""Blocks that are not folded: the largest arm of each and its units, and how many there are."""


def with_blocks(under_way: UnderWay, largest: tuple[int, int], count: int) -> UnderWay:
    """Return the blocks that are not folded with some more of a kind, or fewer.

    >>> with_blocks(with_blocks((), (0, 1), 3), (0, 1), -1)
    ((0, 1, 2),)
    """
    blocks = {(arm, units): count for arm, units, count in under_way}
    blocks[largest] = blocks.get(largest, 0) + count
    return tuple((*key, its) for key, its in sorted(blocks.items()) if its)


def is_struck(struck: Struck, arm: int, slot: int) -> bool:
    """Whether an arm gets nothing in a slot of a block, since it was dropped by hand before it."""
    return any(arm == out and slot >= since for out, since in struck)


@lru_cache(maxsize=16)
def _without(parts: Parts, struck: Struck) -> Parts:
    slot = count()
    return tuple(
        tuple(arm for arm in part if not is_struck(struck, arm, next(slot))) for part in parts
    )


# Short parts come in few orders.
@lru_cache(maxsize=1024)
def chances_in(part: tuple[int, ...]) -> tuple[float, ...]:
    """The probability of the arm in each slot of a shuffled part, given the slots before it.

    >>> chances_in((0, 1, 0))
    (0.6666666666666666, 0.5, 1.0)
    """
    chances = []
    left, slots = Counter(part), len(part)
    for arm in part:
        chances.append(left[arm] / slots)
        left[arm] -= 1
        slots -= 1
    return tuple(chances)
