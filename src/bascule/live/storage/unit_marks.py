"""Marks of units: what tells a new unit from those that a program has forgotten.

A Bloom filter of 64-bit words: each unit sets a few bits of one word. A unit that lacks one of its
bits was never added; one that has them all was added with near certainty, and is looked up. So
collisions of hashes, accidental or crafted, cost a query and never change an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

UNITS_A_WORD = 2
"""At 32 bits a unit, about one new unit in 3,000 is taken for one that was added."""

SHIFTS = (28, 34, 40, 46, 52, 58)
"""Where in a hash the numbers of a unit's bits are; the bits below choose the word."""

GROWTH = 4

Hashes = npt.NDArray[np.uint64]


class UnitMarks:
    """Marks of units that were added; it grows by a further table when one is full.

    >>> marks = UnitMarks(1000)
    >>> marks.add(["u", "v"])
    >>> marks.among(["u", "w"])
    ['u']
    """

    def __init__(self, room: int) -> None:
        self._tables: list[Hashes] = []
        self._room = 0
        self._grow(room)

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return sum(table.nbytes for table in self._tables)

    def add(self, units: Collection[str]) -> None:
        """Mark units."""
        if self._room < len(units):
            self._grow(max(GROWTH * UNITS_A_WORD * len(self._tables[-1]), len(units)))
        self._room -= len(units)
        table, (hashes, bits) = self._tables[-1], _bits(units)
        np.bitwise_or.at(table, hashes & np.uint64(len(table) - 1), bits)

    def among(self, units: Sequence[str]) -> list[str]:
        """Return the units that are marked: all that were added, and few others."""
        hashes, bits = _bits(units)
        found = np.zeros(len(units), bool)
        for table in self._tables:
            found |= table[hashes & np.uint64(len(table) - 1)] & bits == bits
        return [units[place] for place in np.flatnonzero(found).tolist()]

    def _grow(self, room: int) -> None:
        words = 1 << (max(room // UNITS_A_WORD, 1) - 1).bit_length()
        self._tables.append(np.zeros(words, np.uint64))
        self._room = UNITS_A_WORD * words


class RememberedUnits(dict[str, int]):
    """The arms of the units of an experiment that were seen last, and marks of all.

    `total` has the units that the experiment had when one was learned last, and `marked` those that
    have a mark for certain.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = self.marked = 0
        self.marks: UnitMarks | None = None

    def unread(self, arms: Mapping[str, int | None], total: int) -> list[str]:
        """Return which units without an arm may be in an experiment of so many units."""
        if len(self) == total:
            return []
        new = [unit for unit, arm in arms.items() if arm is None]
        marks = self.marks
        return new if marks is None or self.marked != total or not new else marks.among(new)

    def mark_all(self) -> None:
        """Mark all units that are remembered, before some are forgotten."""
        self.marks = UnitMarks(GROWTH * len(self))
        self.marks.add(self)
        self.marked = len(self)


def _bits(units: Collection[str]) -> tuple[Hashes, Hashes]:
    """Return the hashes of units, and for each the bits that it sets in its word."""
    hashes = np.fromiter(map(hash, units), np.int64, len(units)).view(np.uint64)
    bits = np.zeros(len(units), np.uint64)
    for shift in SHIFTS:
        bits |= np.uint64(1) << (hashes >> np.uint64(shift) & np.uint64(63))
    return hashes, bits
