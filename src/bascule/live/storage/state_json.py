"""Write the state of a live test as JSON, and read it back by the types of its fields.

A group is a part of the state that is a named tuple, such as `Enrolment`. Its fields with default
values are left out. So a new field needs a default. Stored fields that a group no longer has are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, lru_cache
from itertools import starmap
from typing import TYPE_CHECKING, Any, get_type_hints

from bascule.core.cohorts import CohortStatistics
from bascule.core.errors import InputError
from bascule.core.procedures.base import AnyStatistics
from bascule.core.statistics import Statistics
from bascule.live.storage.deals import Deal, Parts, Struck, Used
from bascule.live.storage.state import ExperimentState

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)
"""Exceptions that reading or replaying damaged rows may raise."""


@contextmanager
def naming_damage(name: str, consequence: str) -> Iterator[None]:
    """Turn errors of damaged rows into an `InputError` that names experiment and consequence."""
    try:
        yield
    except InputError:
        raise
    except DAMAGE as problem:
        message = (
            f"{name} cannot be read, so {consequence}: see what is damaged with bascule doctor "
            "--full"
        )
        raise InputError("experiment", message, kind="conflict") from problem


def _plain(value: Any) -> Any:
    """Return a value as a type that JSON supports."""
    if isinstance(value, frozenset):
        return sorted(value)
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


_written = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _read(kind: Any, data: Any) -> Any:
    """Convert plain data to a value of a type; raise `ValueError` if the data is invalid."""
    from pydantic import ValidationError

    try:
        return _reader(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place, said = ".".join(map(str, first["loc"])), first["msg"].lower()
        raise ValueError(f"{place}: {said} (got {first['input']!r:.60})") from None


def statistics_to_json(statistics: AnyStatistics) -> str:
    """Return statistics as JSON text.

    >>> statistics_from_json(statistics_to_json(Statistics.empty(2))) == Statistics.empty(2)
    True
    """
    return _written(statistics)


def statistics_from_json(text: str) -> AnyStatistics:
    """Return the statistics that `statistics_to_json` wrote."""
    data = json.loads(text)
    read: AnyStatistics = _read(CohortStatistics if "stage" in data else Statistics, data)
    return read


def state_to_json(state: ExperimentState) -> str:
    """Return the state as JSON, without its statistics and without fields at their defaults."""
    parts = _changed(state)
    del parts["statistics"]
    groups = {name: _changed(group) for name, group in parts.items() if isinstance(group, tuple)}
    return _written({**parts, **groups})


def _changed(group: Any) -> dict[str, Any]:
    """Return the fields of a group that are not at their defaults."""
    defaults = group._field_defaults
    return {
        name: value
        for name, value in zip(group._fields, group, strict=True)
        if value is not defaults.get(name, ...)
    }


def state_from_json(text: str, statistics: AnyStatistics) -> ExperimentState:
    """Return the state that `state_to_json` wrote, with its statistics.

    >>> import bascule as bs
    >>> start = ExperimentState.empty(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    >>> state_from_json(state_to_json(start), start.statistics) == start
    True
    """
    data = json.loads(text)
    for name, fields_of_group in _groups().items():
        if isinstance(data.get(name), dict):
            data[name] = {key: part for key, part in data[name].items() if key in fields_of_group}
    state: ExperimentState = _read(ExperimentState, {**data, "statistics": statistics})
    return state


@cache
def _groups() -> dict[str, frozenset[str]]:
    """Return the names of the fields of each group of the state."""
    kinds = get_type_hints(ExperimentState)
    return {
        name: frozenset(kind._fields) for name, kind in kinds.items() if hasattr(kind, "_fields")
    }


def run_to_json(dealt: Iterable[tuple[Parts, Struck, Used | None]]) -> str:
    """Serialize consecutive blocks to JSON, each with its parts, dropped arms and sizing inputs."""
    return f"[{','.join(starmap(_block_to_json, dealt))}]"


def run_from_json(first: int, text: str) -> list[Deal]:
    """Return the blocks that `run_to_json` wrote, given the number of the first block.

    >>> run_from_json(7, run_to_json([(((0, 1),), (), None)]))
    [Deal(number=7, parts=((0, 1),), struck=(), used=None)]
    """
    return [
        Deal(
            number,
            tuple(tuple(part) for part in parts),
            tuple((arm, since) for arm, since in struck),
            _read(Used, used[0]) if used else None,
        )
        for number, (parts, struck, *used) in enumerate(json.loads(text), first)
    ]


def _block_to_json(parts: Parts, struck: Struck, used: Used | None) -> str:
    text = _parts_to_json(parts, struck)
    return text if used is None else f"{text[:-1]},{_written(used)}]"


# Cached, since consecutive blocks have few different orders of arms.
@lru_cache(maxsize=1024)
def _parts_to_json(parts: Parts, struck: Struck) -> str:
    return _written([parts, struck])
