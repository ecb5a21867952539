"""Dealt blocks: the arms of their slots, dropped arms, and the inputs that set their sizes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import NamedTuple

Early = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Early events: for each set of sizes (the units of each arm in a part of a block), the number of
units of each arm that have an event, over all open parts of these sizes."""

Delays = tuple[tuple[int, int, int], ...]
"""Delays of each arm, in hundredths of the window: the number of matured units with an event, the
sum of their delays, and the sum of the squared delays."""


class StoredSignals(NamedTuple):
    """Early signals of a test: events of open blocks, and delays of matured units."""

    early: Early = ()
    delays: Delays = ()


class Used(NamedTuple):
    """The inputs that set a block's sizes: number of counted units, knob and early signals."""

    folded: int
    knob: float
    signals: StoredSignals = StoredSignals()


Parts = tuple[tuple[int, ...], ...]
"""The arms of the slots of each part of a block, in order."""

Struck = tuple[tuple[int, int], ...]
"""Dropped arms of a block, each with the slot from which on the arm gets no units."""


@dataclass(frozen=True)
class Deal:
    """A dealt block; `parts` has the arm of each slot, in order, for every part of the block.

    `struck` has the arms dropped while the block was handed out, each with the slot from which on
    it gets no units. `used` has the inputs that set the sizes, in tests with early signals; of
    blocks dealt together, only the first has it.

    From these follow `kept`, the parts without the slots that dropped arms no longer get; `slots`,
    the arms of all kept slots in order; and `chances`, the probability of each slot's arm given the
    slots before it.

    >>> Deal(1, ((0, 1, 0), (0, 0, 1)), struck=((1, 2),)).slots
    (0, 1, 0, 0, 0)
    >>> Deal(1, ((0, 1, 0),)).chances
    (0.6666666666666666, 0.5, 1.0)
    """

    number: int
    parts: Parts
    struck: Struck = ()
    used: Used | None = None
    kept: Parts = field(init=False, repr=False, compare=False)
    slots: tuple[int, ...] = field(init=False, repr=False, compare=False)
    chances: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Set when a block is dealt or read, since every unit of the block needs them.
        kept = _without(self.parts, self.struck) if self.struck else self.parts
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "slots", tuple(chain.from_iterable(kept)))
        object.__setattr__(self, "chances", tuple(chain.from_iterable(map(chances_in, kept))))

    @cached_property
    def largest(self) -> tuple[int, int]:
        """The arm with the most units in a part, and its number of units.

        >>> Deal(1, ((0, 1, 0), (0, 0, 1))).largest
        (0, 2)
        """
        return largest_in(self.parts[0])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of units in each part."""
        return tuple(len(part) for part in self.kept)


# Cached, since the same few orders of arms make up most parts.
@lru_cache(maxsize=1024)
def largest_in(part: tuple[int, ...]) -> tuple[int, int]:
    """Return the arm with the most units in a part of a block, and its number of units.

    >>> largest_in((1, 0, 1)), largest_in((1, 0))
    ((1, 2), (0, 1))
    """
    units = Counter(part)
    arm = min(units, key=lambda arm: (-units[arm], arm))
    return arm, units[arm]


UnderWay = tuple[tuple[int, int, int], ...]
"""Numbers of blocks that have not counted yet, as (arm, units, blocks): blocks are grouped by the
arm with the most units in a part, and its number of units there."""


def with_blocks(under_way: UnderWay, largest: tuple[int, int], count: int) -> UnderWay:
    """Return the numbers of blocks not counted yet, with `count` blocks of one kind added.

    `largest` is the arm with the most units in a part of these blocks, and its number of units.

    >>> with_blocks(with_blocks((), (0, 1), 3), (0, 1), -1)
    ((0, 1, 2),)
    """
    blocks = {(arm, units): count for arm, units, count in under_way}
    blocks[largest] = blocks.get(largest, 0) + count
    return tuple(
        (*key, blocks_of_kind) for key, blocks_of_kind in sorted(blocks.items()) if blocks_of_kind
    )


def is_struck(struck: Struck, arm: int, slot: int) -> bool:
    """Whether a slot is skipped, because its arm was dropped before a unit could get the slot."""
    return any(arm == out and slot >= since for out, since in struck)


@lru_cache(maxsize=16)
def _without(parts: Parts, struck: Struck) -> Parts:
    slot = count()
    return tuple(
        tuple(arm for arm in part if not is_struck(struck, arm, next(slot))) for part in parts
    )


# Cached, since short parts have few different orders of arms.
@lru_cache(maxsize=1024)
def chances_in(part: tuple[int, ...]) -> tuple[float, ...]:
    """Return the probability of the arm in each slot of a shuffled part, given earlier slots.

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
