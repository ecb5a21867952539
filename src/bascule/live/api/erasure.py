"""Return and erase the data of a unit in a store; old units can also be erased by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from bascule.core.errors import InputError
from bascule.core.inputs.checks import seconds
from bascule.live.clock import moment
from bascule.live.commit.context import StoreContext
from bascule.live.steps.inputs import check_listed, checked_unit
from bascule.live.storage import queries, statements
from bascule.live.storage.names import PREFIX
from bascule.live.storage.state import OPEN
from bascule.live.storage.state_json import naming_damage
from bascule.live.transactions.erase import erase, erase_excluded
from bascule.live.transactions.settle import settle
from bascule.live.transactions.unit_of_work import UnitOfWork

ERASED = (
    "its name is gone; outcomes of a unit that has not counted yet stay without the name until it "
    "has, and statistics and decisions stay"
)
"""Message that says what an erasure did."""

ERASED_AT_ONCE = 500
"""Maximum number of units that one transaction erases, so that assignments do not wait long."""

_WHERE = (
    "SELECT id, name FROM experiments WHERE "
    "EXISTS (SELECT 1 FROM assignments WHERE experiment = experiments.id AND unit = ?) OR "
    "EXISTS (SELECT 1 FROM links WHERE experiment = experiments.id AND unit = ?) OR "
    "EXISTS (SELECT 1 FROM set_aside WHERE experiment = experiments.id AND unit = ?) ORDER BY id"
)
_OUTCOMES = (
    "SELECT value, at, received, event, metric, per FROM outcomes "
    "WHERE experiment = ? AND number = ? ORDER BY id"
)
_EXCLUDED = (
    "SELECT value, at, received, event, reason, detail, metric FROM set_aside "
    "WHERE experiment = ? AND unit = ? ORDER BY id"
)
_OLD = (
    "SELECT a.number, a.unit, a.time FROM assignments a LEFT JOIN erased e "
    "ON e.experiment = a.experiment AND e.number = a.number "
    "WHERE a.experiment = ? AND a.number > ? AND a.time < ? AND e.number IS NULL "
    "ORDER BY a.number LIMIT ?"
)
_COUNT_OLD = (
    "SELECT count(*) FROM assignments a LEFT JOIN erased e "
    "ON e.experiment = a.experiment AND e.number = a.number "
    "WHERE a.experiment = ? AND a.time < ? AND e.number IS NULL"
)
_OLD_EXCLUDED = (
    "SELECT count(*) FROM set_aside WHERE experiment = ? AND received < ? "  # nosec B608 - a constant
    f"AND unit <> '{PREFIX}excluded'"
)


@dataclass(frozen=True, slots=True)
class Expired:
    """The numbers of units of an experiment that an erasure by age has erased and kept."""

    experiment: str
    erased: int
    kept: int
    """Number of units that were kept, because the test still runs and needs their names."""

    def __str__(self) -> str:
        kept = f"; {self.kept:,} are kept while the test runs" if self.kept else ""
        return f"{self.experiment}: {self.erased:,} units erased{kept}"


def wanted_names(connection: Connection, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the experiments to use, None for all; an unknown name is an error."""
    if names is None:
        return None
    check_listed("experiments", names)
    for name in names:
        if queries.number_of(connection, name) is None:
            raise queries.gone(name, [test.name for test in queries.all_experiments(connection)])
    return tuple(names)


class ErasableStore(StoreContext):
    """A store that can return and erase the data of a unit."""

    def unit_data(
        self, unit: str | int, experiments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return all data that the store has about a unit, to answer a request for access.

        With `experiments`, only the data of these experiments, which must exist.

        >>> import bascule as bs
        >>> with bs.open(":memory:") as store:
        ...     store.unit_data("user-42")
        {'unit': 'user-42', 'experiments': []}
        """
        named = checked_unit(unit)
        with self.reading() as connection:
            wanted = wanted_names(connection, experiments)
            data = []
            for number, name in statements.fetch(connection, _WHERE, named, named, named):
                if wanted is None or name in wanted:
                    with naming_damage(name, "its data about the unit cannot be shown"):
                        data.append(_in_experiment(self, connection, number, name, named))
        return {"unit": named, "experiments": data}

    def erase(self, unit: str | int, experiments: Sequence[str] | None = None) -> tuple[str, ...]:
        """Erase a unit in all or some experiments; return the names of the experiments that had it.

        The unit's names, event ids and excluded outcomes are removed at once; keyed hashes stand
        for its names and ids until it has counted. Once it has counted, its covariates and exact
        times are deleted, and its outcomes are reduced to the values with which it counts, so that
        statistics and decisions stay and can be verified. Recurring outcomes are all kept, with
        their times. On SQLite the deleted data is overwritten in the file.

        A unit that no experiment has raises `InputError` of the kind "not_found".
        """
        named = checked_unit(unit)
        with self.reading() as connection:
            wanted = wanted_names(connection, experiments)
            rows = statements.fetch(connection, _WHERE, named, named, named)
        names = {number: name for number, name in rows if wanted is None or name in wanted}
        if not names:
            places = ", ".join(wanted or ["this store"])
            message = f"there is no unit {named!r:.60} in {places}: check its name"
            raise InputError("unit", message, kind="not_found")
        self.erasing(names, partial(_erase, [named]))
        return tuple(names.values())

    def erase_older(self, age: float | str, *, running: bool = False) -> tuple[Expired, ...]:
        """Erase units that were enrolled more than `age` (such as "90d") ago in ended experiments.

        With `running`, units of running experiments are erased too. A unit that had counted there
        and comes back is a new unit, and may get another arm.
        """
        before = self.clock.now() - seconds("age", age)
        done = []
        with self.reading() as connection:
            tests = queries.all_experiments(connection)
        for number, name, phase, _ in tests:
            erased = kept = 0
            if phase in OPEN and not running:
                with self.reading() as connection:
                    ((kept,),) = statements.fetch(connection, _COUNT_OLD, number, before)
            else:
                erased = _erase_before(self, number, name, before)
            if erased or kept:
                done.append(Expired(name, erased, kept))
        return tuple(done)


def _in_experiment(
    store: StoreContext, connection: Connection, experiment: int, name: str, unit: str
) -> dict[str, Any]:
    data: dict[str, Any] = {"experiment": name, "assignment": None, "outcomes": [], "excluded": []}
    log = queries.Rows(connection, experiment)
    identity = log.identities([unit]).get(unit, unit)
    names = {identity, *log.names_of([identity])} - {unit}
    if names:
        data["linked"] = sorted(names)
    assigned = log.find_units([identity]).get(identity)
    if assigned is not None:
        design = store.load(connection, experiment, name).design
        data["assignment"] = {
            "arm": design.arms[assigned.arm],
            "number": assigned.number,
            "probability": assigned.probability,
            "time": _text(assigned.time),
        }
        if assigned.covariates is not None:
            values = zip(design.covariates or (), assigned.known, strict=True)
            data["assignment"]["covariates"] = {
                covariate.name: value for covariate, value in values
            }
        for *row, per in statements.fetch(connection, _OUTCOMES, experiment, assigned.number):
            entry = _entry(("value", "at", "received", "id", "metric"), row)
            data["outcomes"].append(entry if per is None else {**entry, "value": [row[0], per]})
    columns = ("value", "at", "received", "id", "reason", "detail", "metric")
    rows = statements.fetch(connection, _EXCLUDED, experiment, unit)
    data["excluded"] = [_entry(columns, row) for row in rows]
    return data


def _entry(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return a row as plain data, with its times as text."""
    entry = dict(zip(columns, row, strict=True))
    return entry | {time: _text(entry[time]) for time in ("at", "received")}


def _erase_before(store: StoreContext, number: int, name: str, before: float) -> int:
    """Erase the units of an experiment that were enrolled before a time; return how many."""
    erased, last = 0, -1
    while True:
        with store.reading() as connection:
            rows = statements.fetch(connection, _OLD, number, last, before, ERASED_AT_ONCE)
        if not rows:
            break
        last = rows[-1][0]
        store.erasing({number: name}, partial(_erase, [row[1] for row in rows], log=False))
        erased += len(rows)
    with store.reading() as connection:
        ((listed,),) = statements.fetch(connection, _OLD_EXCLUDED, number, before)
    if erased or listed:
        store.erasing({number: name}, partial(_end, before=before, units=erased))
    return erased


def _erase(units: Sequence[str], work: UnitOfWork, log: bool = True) -> None:
    settle(work)
    erased = erase(work, units)
    if log:
        work.log("erase", units=erased)


def _end(work: UnitOfWork, before: float, units: int) -> None:
    erase_excluded(work, before)
    work.log("erase", units=units, before=_text(before))


def _text(time: float | None) -> str | None:
    return None if time is None else moment(time).isoformat()
