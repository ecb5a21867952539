"""What is read from the tables of one experiment, and in which form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, bindparam, select

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live.schema import assignments, blocks, experiments, outcomes, set_aside
from bascule.live.standing import (
    Deal,
    Standing,
    State,
    deal_from_json,
    standing_from_json,
    statistics_from_json,
)

Item = TypeVar("Item")

AT_ONCE = 500
"""How many values one question may name."""

# Questions are put together once: that takes longer than to answer them.
_EXPERIMENT = experiments.c.id == bindparam("experiment")
_VERSION = select(experiments.c.version).where(_EXPERIMENT)
_LOCKED_VERSION = _VERSION.with_for_update()
_LOADED = select(experiments).where(_EXPERIMENT)
_UNITS = select(assignments).where(
    assignments.c.experiment == bindparam("experiment"),
    assignments.c.unit.in_(bindparam("units", expanding=True)),
)
_SLOTS = select(blocks.c.number, blocks.c.slots).where(
    blocks.c.experiment == bindparam("experiment"),
    blocks.c.number.between(bindparam("first"), bindparam("last")),
)
_ASSIGNED = (
    select(assignments)
    .where(
        assignments.c.experiment == bindparam("experiment"),
        assignments.c.number >= bindparam("number"),
    )
    .order_by(assignments.c.number)
    .limit(bindparam("most"))
)
_EVENTS = (
    select(outcomes.c.number, outcomes.c.value)
    .where(
        outcomes.c.experiment == bindparam("experiment"),
        outcomes.c.number.between(bindparam("first"), bindparam("last")),
    )
    .order_by(outcomes.c.number, outcomes.c.at, outcomes.c.id)
)
_TAKEN = select(outcomes.c.event, outcomes.c.number, outcomes.c.value).where(
    outcomes.c.experiment == bindparam("experiment"),
    outcomes.c.event.in_(bindparam("ids", expanding=True)),
)
_ANSWERED = select(outcomes.c.number).where(
    outcomes.c.experiment == bindparam("experiment"),
    outcomes.c.number.in_(bindparam("numbers", expanding=True)),
)
_LISTED = select(set_aside.c.event, set_aside.c.reason).where(
    set_aside.c.experiment == bindparam("experiment"),
    set_aside.c.event.in_(bindparam("ids", expanding=True)),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An experiment as it was stored at some version."""

    id: int
    name: str
    created: float
    design: Design
    state: State
    standing: Standing
    version: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit and its arm: which unit of the test it is, when it came, and how likely that arm was.

    `deal` is the block it came in, in tests that have blocks.
    """

    unit: str
    arm: int
    number: int
    probability: float
    time: float
    deal: int | None = None


def batched(items: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
    """The items, as many at once as one question may name.

    >>> [len(some) for some in batched(range(1200))]
    [500, 500, 200]
    """
    left = iter(items)
    while some := tuple(islice(left, AT_ONCE)):
        yield some


def load(
    connection: Connection, experiment: int, name: str, known: Loaded | None, *, lock: bool
) -> Loaded:
    """The experiment as it is now; `known` saves reading what has not changed."""
    which = {"experiment": experiment}
    version = connection.execute(_LOCKED_VERSION if lock else _VERSION, which).scalar()
    if version is None:
        raise gone(name)
    if known is not None and known.version == version:
        return known
    return loaded_row(connection.execute(_LOADED, which).one())


def loaded_row(row: Row[Any]) -> Loaded:
    """An experiment from its row."""
    standing = standing_from_json(row.standing, statistics_from_json(row.statistics))
    design = Design.from_dict(json.loads(row.design))
    return Loaded(row.id, row.name, row.created, design, row.state, standing, row.version)


def gone(name: str) -> InputError:
    """There is no such experiment."""
    return InputError("experiment", f"there is no experiment {name!r}: list what there is")


def find_units(
    connection: Connection, experiment: int, units: Iterable[str]
) -> dict[str, Assignment]:
    """The assignments of those of the units that have one."""
    found = {}
    for some in batched(set(units)):
        for row in connection.execute(_UNITS, {"experiment": experiment, "units": some}):
            found[row.unit] = Assignment(
                row.unit, row.arm, row.number, row.probability, row.time, row.deal
            )
    return found


def find_deal(connection: Connection, experiment: int, number: int) -> Deal | None:
    """A block as it was dealt."""
    return find_deals(connection, experiment, number, number).get(number)


def find_deals(connection: Connection, experiment: int, first: int, last: int) -> dict[int, Deal]:
    """Blocks as they were dealt, by their numbers."""
    asked = {"experiment": experiment, "first": first, "last": last}
    rows = connection.execute(_SLOTS, asked)
    return {row.number: deal_from_json(row.number, row.slots) for row in rows}


def assigned_from(connection: Connection, experiment: int, number: int, most: int) -> Sequence[Any]:
    """Units from that number on, in the order of their assignment."""
    asked = {"experiment": experiment, "number": number, "most": most}
    return connection.execute(_ASSIGNED, asked).all()


def events_of(
    connection: Connection, experiment: int, first: int, last: int
) -> Iterator[tuple[int, list[float]]]:
    """Numbers of units that have events, each with their values in the order of their times."""
    asked = {"experiment": experiment, "first": first, "last": last}
    rows = connection.execute(_EVENTS, asked)
    for number, its in groupby(rows, key=lambda row: row.number):
        yield number, [row.value for row in its]


def taken_ids(
    connection: Connection, experiment: int, ids: Iterable[str]
) -> dict[str, tuple[int, float]]:
    """Which event ids were used, each with the unit's number and the value."""
    found = {}
    for some in batched(set(ids)):
        for row in connection.execute(_TAKEN, {"experiment": experiment, "ids": some}):
            found[row.event] = (row.number, row.value)
    return found


def answered(connection: Connection, experiment: int, numbers: Iterable[int]) -> set[int]:
    """Which of the units have an event."""
    found: set[int] = set()
    for some in batched(set(numbers)):
        asked = {"experiment": experiment, "numbers": some}
        found |= set(connection.execute(_ANSWERED, asked).scalars())
    return found


def listed(connection: Connection, experiment: int, ids: Iterable[str]) -> set[tuple[str, str]]:
    """Which events were set aside before, and why."""
    found: set[tuple[str, str]] = set()
    for some in batched(set(ids)):
        rows = connection.execute(_LISTED, {"experiment": experiment, "ids": some})
        found |= {(row.event, row.reason) for row in rows}
    return found
