"""Erase units: names, event ids, times, covariates and excluded outcomes go; what counted stays.

A unit that has counted leaves one anonymous number behind, which its arm's sums are made of: the
statistics stay what they are, and can still be computed again from the log. A unit that has not
counted yet loses its name at once, and its covariates and single outcomes when it has counted, so
that nobody can change a result by erasing units of one arm. docs/how-to/erase-units.md
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.core.errors import InputError
from bascule.live.steps.maturity import unit_outcome
from bascule.live.storage import queries, statements
from bascule.live.storage.state import OPEN

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork

PREFIX = "erased-"
"""How the random texts begin that stand in place of names."""

DAY = 86400.0

_RENAME = "UPDATE assignments SET unit = ? WHERE experiment = ? AND number = ?"
_FORGET_IDS = "UPDATE outcomes SET event = NULL WHERE experiment = ? AND number = ?"
_FORGET_EXCLUDED = (
    "UPDATE set_aside SET unit = ?, value = '', at = NULL, event = NULL, detail = '' "
    "WHERE experiment = ? AND unit = ?"
)
_FORGET_OLD_EXCLUDED = (
    "UPDATE set_aside SET unit = ?, value = '', at = NULL, event = NULL, detail = '' "
    "WHERE experiment = ? AND received < ?"
)
_FORGET_LINKS = "DELETE FROM links WHERE experiment = ? AND identity = ?"
_DROP_OUTCOMES = "DELETE FROM outcomes WHERE experiment = ? AND number = ?"
_MOVE = "UPDATE assignments SET time = ?, covariates = NULL WHERE experiment = ? AND number = ?"
_TIME_BEFORE = "SELECT time FROM assignments WHERE experiment = ? AND number = ?"


def erase(work: UnitOfWork, units: Sequence[str]) -> int:
    """Erase units of an experiment, and return how many of them had an assignment.

    All names that were linked to one of them are erased with it.
    """
    units = _with_linked(work, units)
    found = [*queries.find_units(work.connection, work.before.id, [*units]).values()]
    _refuse_unfinished(work, [one.number for one in found])
    experiment = work.before.id
    names = {unit: f"{PREFIX}{secrets.token_hex(8)}" for unit in units}
    renamed = [(names[one.unit], experiment, one.number) for one in found]
    if renamed:
        statements.execute(work.connection, _RENAME, renamed)
        statements.execute(work.connection, _FORGET_IDS, [row[1:] for row in renamed])
    rows = [(name, experiment, unit) for unit, name in names.items()]
    statements.execute(work.connection, _FORGET_EXCLUDED, rows)
    for one in found:
        work.add("erased", one.number, work.now)
    state = work.state
    staged = work.design.procedure.counts == "stages"
    pending = () if staged else tuple(one.number for one in found)
    work.state = state._replace(
        erased=state.erased + len(found), erasing=(*state.erasing, *pending)
    )
    finish(work)
    return len(found)


def _with_linked(work: UnitOfWork, units: Sequence[str]) -> Sequence[str]:
    """Return all names of the units, and forget which of them belong together."""
    if not work.state.links:
        return units
    connection, experiment = work.connection, work.before.id
    roots = [*dict.fromkeys(work.identify(units).values())]
    names = [*dict.fromkeys([*units, *roots, *queries.names_of(connection, experiment, roots)])]
    statements.execute(connection, _FORGET_LINKS, [(experiment, root) for root in roots])
    return names


def erase_excluded(work: UnitOfWork, before: float) -> None:
    """Take the names and values out of excluded outcomes that came before a time."""
    values = (f"{PREFIX}excluded", work.before.id, before)
    statements.execute(work.connection, _FORGET_OLD_EXCLUDED, values)


def finish(work: UnitOfWork) -> None:
    """Replace the outcomes of erased units that have counted by what they counted as."""
    state, is_open = work.state, work.phase in OPEN
    ready = sorted(n for n in state.erasing if n < state.folded or not is_open)
    if not ready:
        return
    work.write("outcomes")
    work.write("assignments")
    for number in ready:
        _collapse(work, number)
    left = tuple(number for number in state.erasing if number not in set(ready))
    work.state = work.state._replace(erasing=left)


def _collapse(work: UnitOfWork, number: int) -> None:
    connection, experiment = work.connection, work.before.id
    (row,) = queries.assigned_from(connection, experiment, number, 1)
    values = dict(queries.events_of(connection, experiment, number, number)).get(number)
    others = queries.metric_events_of(connection, experiment, number, number).get(number, {})
    before = statements.fetch(connection, _TIME_BEFORE, experiment, number - 1)
    # The moment of arrival tells who it was; of its day, the one of the unit before does not.
    time = max(before[0][0] if before else work.before.created, math.floor(row.time / DAY) * DAY)
    time = min(time, row.time)
    statements.execute(connection, _MOVE, (time, experiment, number))
    if number == work.state.units - 1:
        work.state = work.state._replace(latest=time)
    statements.execute(connection, _DROP_OUTCOMES, (experiment, number))
    if number >= work.state.folded:
        return
    if values:
        counted, _ = unit_outcome(work.design, values)
        work.add("outcomes", number, counted, time, time, None, None, None)
    for name, events in others.items():
        counted, _ = unit_outcome(work.design.metric_design(name), events)
        work.add("outcomes", number, counted, time, time, None, name, None)


def _refuse_unfinished(work: UnitOfWork, numbers: list[int]) -> None:
    """Raise where a unit cannot be erased without changing what the test concludes."""
    if work.phase not in OPEN or not numbers:
        return
    if work.design.procedure.assigns == "hash":
        raise InputError(
            "unit",
            f"{work.before.name} is {work.phase}: in a static population a hash of the name gives "
            "the arm, and an erased unit that comes back would count twice; stop the test first",
            kind="conflict",
        )
    waiting = {number for number in numbers if number >= work.state.folded}
    if work.design.measure is None and waiting:
        found = queries.answered(work.connection, work.before.id, sorted(waiting))
        metrics = {None, *(metric.name for metric in work.design.metrics)}
        waiting = {n for n in waiting if not all((n, metric) in found for metric in metrics)}
        if waiting:
            raise InputError(
                "unit",
                f"{work.before.name} waits for the outcome of this unit, and would wait for ever: "
                "record it (0 where nothing happened) or end the test, then erase the unit",
                kind="conflict",
            )
