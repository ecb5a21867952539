"""Assignments that a program has seen, so that most units need no query.

An assignment never changes, so what is remembered stays true, whatever other programs do; only the
release of all units and the deletion of the experiment overrule it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from sys import getsizeof
from threading import Lock
from typing import cast

MOST_UNITS = 100_000
"""Units of one experiment that are remembered; those that came first are forgotten first."""

MOST_BYTES = 32 * 2**20
"""Memory that the units of all experiments of a store may take together."""

ENTRY_BYTES = 100
"""What a unit takes in a dictionary beside its name."""


class Memory:
    """The arms of the units that were seen last, by experiment.

    >>> memory = Memory(most_units=2)
    >>> memory.learn(1, {"u": 0, "v": None, "w": 1, "x": 0})
    >>> memory.of(1)
    {'w': 1, 'x': 0}
    """

    def __init__(
        self,
        most_units: int = MOST_UNITS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._most_units = most_units
        self._most_bytes = most_bytes
        self._lock = Lock()
        # Bare numbers, which cost the garbage collector nothing.
        self._arms: dict[int, dict[str, int]] = {}
        self._bytes: dict[int, int] = {}
        self._total = 0

    @property
    def size(self) -> int:
        """How many bytes the units take, about."""
        return self._total

    def of(self, experiment: int) -> dict[str, int]:
        """Return what is remembered of an experiment, now and later: arms by unit."""
        known = self._arms.get(experiment)
        return self._arms.setdefault(experiment, {}) if known is None else known

    def learn(self, experiment: int, arms: Mapping[str, int | None]) -> None:
        """Remember units that are on disk."""
        with self._lock:
            known = self.of(experiment)
            new = arms
            if None in arms.values() or not known.keys().isdisjoint(arms):
                new = {u: arm for u, arm in arms.items() if arm is not None and u not in known}
            known.update(cast("Mapping[str, int]", new))
            added = sum(map(getsizeof, new)) + ENTRY_BYTES * len(new)
            self._bytes[experiment] = self._bytes.get(experiment, 0) + added
            self._total += added
            if len(known) > self._most_units:
                self._forget_first(experiment, len(known) - self._most_units)
            while self._total > self._most_bytes:
                self._forget_first(max(self._bytes, key=self._bytes.__getitem__), 1)

    def forget(self, experiment: int) -> None:
        """Forget an experiment that is gone."""
        with self._lock:
            if experiment in self._arms:
                self._arms[experiment].clear()
            self._total -= self._bytes.pop(experiment, 0)

    def _forget_first(self, experiment: int, least: int) -> None:
        known = self._arms[experiment]
        # Some more at once: to find the first of a dictionary is slow after many were dropped.
        dropped = list(islice(known, max(least, len(known) // 8)))
        for unit in dropped:
            del known[unit]
        freed = sum(map(getsizeof, dropped)) + ENTRY_BYTES * len(dropped)
        self._bytes[experiment] -= freed
        self._total -= freed
