"""Queries on the tables of an experiment, as plain text (see `storage.statements`)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.core.enrolment.audience import EVERYONE, Delivery, delivery_from_json
from bascule.core.errors import InputError, meant
from bascule.core.outcomes import Pair, Value
from bascule.live.storage.deals import Deal
from bascule.live.storage.names import is_storable, pseudonym
from bascule.live.storage.schema import OF_EXPERIMENT
from bascule.live.storage.state import ArmValues, Assignment, ExperimentState, Names, Phase
from bascule.live.storage.state_json import (
    run_from_json,
    run_to_json,
    state_from_json,
    statistics_from_json,
)
from bascule.live.storage.statements import execute, fetch, fetch_listed

logger = logging.getLogger("bascule.live")

_STORED = (
    "SELECT experiments.id, name, created, design, phase, state, statistics, version, delivery FROM"
)
_LOADED = f"{_STORED} experiments WHERE id = ?"
_LOADED_LISTED = (
    f"{_STORED} LISTED experiments WHERE experiments.id >= ? AND experiments.id IS_LISTED"
)
_ASSIGNMENT = "SELECT unit, arm, number, probability, time, deal, covariates FROM"
_UNITS = f"{_ASSIGNMENT} LISTED assignments WHERE experiment = ? AND unit IS_LISTED"
_ARMS = "SELECT unit, arm FROM LISTED assignments WHERE experiment = ? AND unit IS_LISTED"
_ASSIGNED = (
    f"{_ASSIGNMENT} assignments WHERE experiment = ? AND number >= ? ORDER BY number LIMIT ?"
)
# Blocks that were dealt together share rows; a row has the number of its first block.
_RUN = (
    "SELECT number, slots FROM blocks WHERE experiment = ? AND number <= ? "
    "ORDER BY number DESC LIMIT 1"
)
_RUNS_AFTER = "SELECT number, slots FROM blocks WHERE experiment = ? AND number > ? AND number <= ?"
BLOCKS = "SELECT number, slots FROM blocks WHERE experiment = ? ORDER BY number"
_DEAL_AGAIN = "UPDATE blocks SET slots = ? WHERE experiment = ? AND number = ?"
_EVENTS = (
    "SELECT number, metric, value, per FROM outcomes "
    "WHERE experiment = ? AND number BETWEEN ? AND ? ORDER BY number, at, id"
)
_EVENTS_OF_STAGE = (
    "SELECT number, at, value FROM outcomes WHERE experiment = ? AND stage = ? "
    "ORDER BY number, at, id"
)
_ARRIVALS = (
    "SELECT number, arm, time FROM LISTED assignments WHERE experiment = ? AND number IS_LISTED"
)
_TAKEN = (
    "SELECT event, number, outcomes.value, metric, per FROM LISTED outcomes "
    "WHERE experiment = ? AND event IS_LISTED"
)
Requests = dict[str, tuple[str, float]]
"""Unit and time of each request, by request id."""

_REQUESTS = (
    "SELECT event, number, min(outcomes.at) FROM LISTED outcomes "
    "WHERE experiment = ? AND event IS_LISTED GROUP BY event, number"
)
_EXCLUDED_REQUESTS = (
    "SELECT event, unit, min(COALESCE(set_aside.at, received)) FROM LISTED set_aside "
    "WHERE experiment = ? AND event IS_LISTED AND unit <> '' GROUP BY event, unit"
)
_NAMED = "SELECT number, unit FROM LISTED assignments WHERE experiment = ? AND number IS_LISTED"
_ANSWERED = (
    "SELECT DISTINCT number, metric FROM LISTED outcomes WHERE experiment = ? AND number IS_LISTED"
)
_NUMBER = "SELECT id FROM experiments WHERE name = ?"
_NAMES = "SELECT id, name, phase, version FROM experiments ORDER BY id"
_IDENTITIES = "SELECT unit, identity FROM LISTED links WHERE experiment = ? AND unit IS_LISTED"
_NAMES_OF = "SELECT unit FROM LISTED links WHERE experiment = ? AND identity IS_LISTED"
_MOVE_LINKS = "UPDATE links SET identity = ? WHERE experiment = ? AND identity = ?"
_ADD_LINK = "INSERT INTO links (experiment, unit, identity) VALUES (?, ?, ?)"
_SET_ASIDE = (
    "SELECT event, reason, metric FROM LISTED set_aside WHERE experiment = ? AND event IS_LISTED"
)
_FIRST_EVENTS = (
    "SELECT number, min(received) FROM LISTED outcomes WHERE experiment = ? AND number IS_LISTED "
    "AND metric IS NULL AND outcomes.value <> 0 GROUP BY number"
)


class Loaded(NamedTuple):
    """An experiment as read from the store, with its version."""

    id: int
    name: str
    created: float
    design: Design
    phase: Phase
    state: ExperimentState
    version: int
    delivery: Delivery = EVERYONE

    @property
    def arms(self) -> ArmValues:
        """The names of the arms, and their values."""
        names = tuple(self.design.arms)
        return ArmValues(names, self.delivery.values or names)


def stored_row(connection: Connection, experiment: int, name: str) -> Loaded:
    """Return an experiment from its row; raise one of `DAMAGE` if the row cannot be read."""
    rows = fetch(connection, _LOADED, experiment)
    if not rows:
        raise gone(name)
    return loaded_from(rows[0])


def stored_rows(connection: Connection, experiments: Sequence[int]) -> dict[int, Sequence[Any]]:
    """Return the rows of experiments by their numbers, with one query."""
    return {row[0]: row for row in fetch_listed(connection, _LOADED_LISTED, 0, experiments)}


def loaded_from(row: Sequence[Any]) -> Loaded:
    """Return an experiment from its row; raise one of `DAMAGE` if the row cannot be read."""
    number, name, created, design, phase, state, statistics, version, delivery = row
    parsed = state_from_json(state, statistics_from_json(statistics))
    parts = (design_from_json(design), phase, parsed, version)
    return Loaded(number, name, created, *parts, delivery_from_json(delivery))


@lru_cache(maxsize=4096)
def design_from_json(text: str) -> Design:
    """Parse a design from its JSON text.

    Results are cached, because the text of a test's design changes only with its knob, and parsing
    it takes half of the time of reading a test (0.3 s for 2,000 tests).
    """
    return Design.from_dict(json.loads(text))


def gone(name: str, known: Iterable[str] = ()) -> InputError:
    """Return the error for an unknown experiment, with a suggestion from the `known` names."""
    words = meant(name, known)[2:] or "check its name in the list of experiments"
    message = f"there is no experiment {name!r:.120}: {words}"
    return InputError("experiment", message, kind="not_found")


def number_of(connection: Connection, name: str) -> int | None:
    """Return the number of the experiment with a name, or None if there is none."""
    rows = fetch(connection, _NUMBER, name) if is_storable(name) else ()
    return rows[0][0] if rows else None


class Listed(NamedTuple):
    """An entry in the list of all experiments."""

    id: int
    name: str
    phase: Phase
    version: int


def all_experiments(connection: Connection) -> list[Listed]:
    """Return all experiments, the oldest first."""
    # In a damaged file, a name may not be text: its repr is shown.
    return [
        Listed(number, name if isinstance(name, str) else f"{name!r:.60}", phase, version)
        for number, name, phase, version in fetch(connection, _NAMES)
    ]


def add_experiment(connection: Connection, values: Mapping[str, Any]) -> int:
    """Add the row of an experiment, and return its number."""
    columns, marks = ", ".join(values), ", ".join("?" for _ in values)
    added = f"INSERT INTO experiments ({columns}) VALUES ({marks}) RETURNING id"  # nosec B608
    return int(fetch(connection, added, *values.values())[0][0])


def delete_experiment(connection: Connection, number: int) -> None:
    """Delete an experiment with all its rows but those of the audit log."""
    for table in OF_EXPERIMENT:
        execute(connection, f"DELETE FROM {table} WHERE experiment = ?", (number,))  # nosec B608
    execute(connection, "DELETE FROM experiments WHERE id = ?", (number,))


def event_value(value: float, per: float | None) -> Value:
    """Return the stored value of an event: a number, or a pair for a ratio."""
    return value if per is None else Pair(value, per)


def with_parts(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return the row of an outcome as it is stored, with the value of a ratio in two columns.

    >>> with_parts((1, 7, Pair(3.0, 4.0), 0.0, 0.0, None, None, None))
    (1, 7, 3.0, 0.0, 0.0, None, None, None, 4.0)
    """
    value = row[2]
    if not isinstance(value, Pair):
        return row
    return (*row[:2], value.numerator, *row[3:], value.denominator)


class Rows(NamedTuple):
    """The rows of one experiment: its units, blocks, events and links."""

    connection: Connection
    experiment: int

    def _read(self, statement: str, *values: Any) -> Sequence[Any]:
        return fetch(self.connection, statement, self.experiment, *values)

    def _listed(self, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        return fetch_listed(self.connection, statement, self.experiment, values)

    def find_arms(self, units: Sequence[str]) -> dict[str, int]:
        """Return the arm of each unit in `units` that has an assignment."""
        return dict(map(tuple, self._listed(_ARMS, units)))

    def find_units(self, units: Sequence[str]) -> dict[str, Assignment]:
        """Return the assignment of each unit in `units` that has one."""
        return {row[0]: Assignment(*row) for row in self._listed(_UNITS, units)}

    def identities(self, units: Sequence[str]) -> dict[str, str]:
        """Return, for each linked name in `units`, the name that it is linked to."""
        return dict(map(tuple, self._listed(_IDENTITIES, units)))

    def identify(self, units: Sequence[str], names: Names) -> dict[str, str]:
        """Return the identity of each name: itself, or the name that it is linked to.

        The identity of a unit that was erased before it counted is its pseudonym.
        """
        identities = dict(zip(units, units, strict=True))
        if names.links:
            identities |= self.identities(units)
        if names.key:
            hidden = {unit: pseudonym(names.key, unit) for unit in units}
            if names.links:
                linked = self.identities([*hidden.values()])
                hidden = {unit: linked.get(name, name) for unit, name in hidden.items()}
            arms = self.find_arms([*hidden.values()])
            identities |= {unit: name for unit, name in hidden.items() if name in arms}
        return identities

    def names_of(self, identities: Sequence[str]) -> list[str]:
        """Return all names that are linked to one of the identities."""
        return [row[0] for row in self._listed(_NAMES_OF, identities)]

    def add_link(self, unit: str, identity: str) -> None:
        """Link a name, and all names that were linked to it before, to an identity."""
        execute(self.connection, _MOVE_LINKS, (identity, self.experiment, unit))
        execute(self.connection, _ADD_LINK, (self.experiment, unit, identity))

    def find_deals(self, first: int, last: int) -> dict[int, Deal]:
        """Return the blocks from `first` to `last`, and all others in the same rows, by number."""
        rows = [*self._read(_RUN, first), *self._read(_RUNS_AFTER, first, last)]
        return {deal.number: deal for row in rows for deal in run_from_json(*row)}

    def deal_again(self, deal: Deal) -> None:
        """Replace a stored block after an arm was dropped from its remaining slots."""
        ((first, slots),) = self._read(_RUN, deal.number)
        run = run_from_json(first, slots)
        run[deal.number - first] = deal
        written = run_to_json((row.parts, row.struck, row.used) for row in run)
        execute(self.connection, _DEAL_AGAIN, (written, self.experiment, first))

    def assigned_from(self, number: int, limit: int) -> list[Assignment]:
        """Return at most `limit` units from a number on, in the order of their assignment."""
        return [Assignment(*row) for row in self._read(_ASSIGNED, number, limit)]

    def events_of(self, first: int, last: int) -> dict[int, dict[str | None, list[Value]]]:
        """Return the event values of units in order of time, by unit number and metric."""
        events: dict[int, dict[str | None, list[Value]]] = {}
        for number, metric, *value in self._read(_EVENTS, first, last):
            events.setdefault(number, {}).setdefault(metric, []).append(event_value(*value))
        return events

    def events_of_stage(self, stage: int) -> Sequence[tuple[int, int, float, float, float]]:
        """Return the events of a stage: the unit's number, arm and arrival, then time and value.

        Arms and arrivals are looked up by number, since a planner might run a join slowly.
        """
        events = self._read(_EVENTS_OF_STAGE, stage)
        numbers = [*dict.fromkeys(number for number, _, _ in events)]
        rows = self._listed(_ARRIVALS, numbers)
        units = {number: (arm, time) for number, arm, time in rows}
        return [
            (number, *units[number], at, value) for number, at, value in events if number in units
        ]

    def first_events(self, numbers: Sequence[int]) -> dict[int, float]:
        """Return when the first event of each unit was received; units without events are left out.

        Only events of the primary metric with a value other than 0 are considered.
        """
        return dict(map(tuple, self._listed(_FIRST_EVENTS, numbers)))

    def taken_ids(self, ids: list[str]) -> dict[tuple[str, str | None], tuple[int, object]]:
        """Return the used event ids with their metrics, each with the unit's number and value."""
        rows = self._listed(_TAKEN, ids)
        return {
            (event, metric): (number, event_value(value, per))
            for event, number, value, metric, per in rows
        }

    def requests(self, ids: list[str], key: str) -> tuple[Requests, Requests]:
        """Return the requests with these ids, first those of stored events, then of excluded ones.

        A request has the unit and the time of the first event with its id. Ids of erased units are
        stored as pseudonyms made with the `key` of the experiment.
        """
        hidden = {pseudonym(key, name): name for name in ids} if key else {}
        asked = [*ids, *hidden]
        taken = [tuple(row) for row in self._listed(_REQUESTS, asked)]
        names = dict(map(tuple, self._listed(_NAMED, sorted({number for _, number, _ in taken}))))
        stored = {event: (names[number], at) for event, number, at in taken if number in names}
        rows = sorted(map(tuple, self._listed(_EXCLUDED_REQUESTS, asked)), key=itemgetter(2))
        excluded = {event: (unit, at) for event, unit, at in reversed(rows)}
        first, second = (
            {hidden.get(name, name): request for name, request in requests.items()}
            for requests in (stored, excluded)
        )
        return first, second

    def answered(self, numbers: list[int]) -> set[tuple[int, str | None]]:
        """Return pairs of a unit's number and a metric of which the unit has an event."""
        rows = self._listed(_ANSWERED, numbers)
        return {(number, metric) for number, metric in rows}

    def listed(self, ids: list[str]) -> set[tuple[Any, ...]]:
        """Return the ids that were excluded before, each with its reason and metric."""
        return set(map(tuple, self._listed(_SET_ASIDE, ids)))


def oldest_waiting(connection: Connection, loaded: Loaded) -> float | None:
    """Return when the oldest unit that has not counted was enrolled, or None if there is none."""
    state = loaded.state
    if not loaded.design.procedure.supports("maturing") or state.pending <= 0:
        return None
    rows = Rows(connection, loaded.id).assigned_from(state.folding.folded, 1)
    return rows[0].time if rows else None


def check_free(connection: Connection, name: str) -> None:
    """Raise `InputError` if there is already an experiment with this name."""
    if number_of(connection, name) is not None:
        message = f"there is an experiment {name!r} already: choose another name"
        raise InputError("name", message, kind="conflict")
