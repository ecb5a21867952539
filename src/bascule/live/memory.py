"""Assignments that a program has seen, so that a unit that comes back costs no question.

An assignment never changes, so what is remembered stays true, whatever other programs do; only the
release of all units and the deletion of the experiment overrule it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from bascule.live.assignment import Fields

REMEMBERED = 100_000
"""Units of one experiment that are remembered; those that came first are forgotten first."""

Known = dict[str, "Fields | None"]


class Memory:
    """The units that were seen last, experiment by experiment.

    >>> memory = Memory(most=2)
    >>> memory.learn(1, {"u": ("u", 0), "v": None, "w": ("w", 1), "x": ("x", 0)})
    >>> list(memory.of(1))
    ['w', 'x']
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._lock = Lock()
        # Plain tuples, which cost the garbage collector nothing.
        self._units: dict[int, dict[str, Fields]] = {}

    def of(self, experiment: int) -> Mapping[str, Fields]:
        """What is remembered of an experiment, now and later: fields of assignments, by unit."""
        with self._lock:
            return self._units.setdefault(experiment, {})

    def learn(self, experiment: int, known: Known) -> None:
        """Remember units; called when they are on disk."""
        with self._lock:
            units = self._units.setdefault(experiment, {})
            units.update(_there(known))
            if len(units) > self._most:
                for unit in list(islice(units, len(units) - self._most)):
                    del units[unit]

    def forget(self, experiment: int) -> None:
        """Forget an experiment that is gone."""
        with self._lock:
            self._units.get(experiment, {}).clear()


def _there(known: Known) -> dict[str, Fields]:
    if None not in known.values():
        return cast("dict[str, Fields]", known)
    return {unit: found for unit, found in known.items() if found is not None}
