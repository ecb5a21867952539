"""Assignments that a program has seen, so that a unit that comes back costs no question.

An assignment never changes, so what is remembered stays true, whatever other programs do; only the
release of all units and the deletion of the experiment overrule it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import cast

REMEMBERED = 100_000
"""Units of one experiment that are remembered; those that came first are forgotten first."""


class Memory:
    """The arms of the units that were seen last, experiment by experiment.

    >>> memory = Memory(most=2)
    >>> memory.learn(1, {"u": 0, "v": None, "w": 1, "x": 0})
    >>> memory.of(1)
    {'w': 1, 'x': 0}
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._lock = Lock()
        # Bare numbers, which cost the garbage collector nothing.
        self._arms: dict[int, dict[str, int]] = {}

    def of(self, experiment: int) -> Mapping[str, int]:
        """What is remembered of an experiment, now and later: arms, by unit."""
        with self._lock:
            return self._arms.setdefault(experiment, {})

    def learn(self, experiment: int, arms: Mapping[str, int | None]) -> None:
        """Remember units; called when they are on disk."""
        with self._lock:
            known = self._arms.setdefault(experiment, {})
            known.update(_there(arms))
            if len(known) > self._most:
                for unit in list(islice(known, len(known) - self._most)):
                    del known[unit]

    def forget(self, experiment: int) -> None:
        """Forget an experiment that is gone."""
        with self._lock:
            self._arms.get(experiment, {}).clear()


def _there(arms: Mapping[str, int | None]) -> Mapping[str, int]:
    if None not in arms.values():
        return cast("Mapping[str, int]", arms)
    return {unit: arm for unit, arm in arms.items() if arm is not None}
