"""Link names of the same person, and erase units without changing the statistics.

A linked name is replaced by its identity before it is used: assignments and outcomes of both names
belong to one unit from then on. Links of an experiment are changed only by its transactions, one
after the other, so that concurrent programs see one order.

The outcomes of a unit that has counted are reduced to the values with which it counts, without a
name; recurring outcomes are all kept. So the statistics stay the same, and can still be recomputed
from the log. The name of a unit that has not counted yet is replaced by a keyed hash, so that its
outcomes still count: nobody can change a result by erasing units of one arm.
docs/using/erase-units.md
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence

from bascule.core.calendar import DAY
from bascule.live.steps.maturity import heard_after_erasure, unit_outcome, with_event
from bascule.live.storage import queries, statements
from bascule.live.storage.names import PREFIX, is_erased, pseudonym
from bascule.live.storage.state import OPEN, Assignment, Front
from bascule.live.transactions.unit_of_work import UnitOfWork


def link(work: UnitOfWork, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
    """Link the two names of each pair; return their common arm, or None if neither is assigned.

    If the two had different arms, both get that of the name that was assigned first. The outcomes
    of the other name so far stay with its own arm.
    """
    work.write("assignments")
    arms = [_link(work, first, second) for first, second in pairs]
    return [None if arm is None else work.design.arms[arm] for arm in arms]


def _link(work: UnitOfWork, first: str, second: str) -> int | None:
    names = work.identify([first, second])
    first_row, second_row = names[first], names[second]
    rows = work.rows.find_units([first_row, second_row])
    if first_row == second_row:
        return rows[first_row].arm if first_row in rows else None
    # The identity is the name that was assigned first; if neither was, it is the first name.
    number = {name: rows[name].number for name in (first_row, second_row) if name in rows}
    root = min(number, key=number.__getitem__) if number else first_row
    gone = second_row if root == first_row else first_row
    work.rows.add_link(gone, root)
    arm, before = (rows[name].arm if name in rows else None for name in (root, gone))
    has_moved = before is not None and before != arm
    known = work.state.names
    known = known._replace(links=known.links + 1, relinked=known.relinked + int(has_moved))
    work.state = work.state._replace(names=known)
    return arm


_GONE = "SELECT number FROM LISTED erased WHERE experiment = ? AND number IS_LISTED"
_RENAME = "UPDATE assignments SET unit = ? WHERE experiment = ? AND number = ?"
_IDS = "SELECT outcomes.id, event FROM LISTED outcomes WHERE experiment = ? AND number IS_LISTED"
_RENAME_ID = "UPDATE outcomes SET event = ? WHERE id = ?"
_FORGET_OTHERS = "UPDATE set_aside SET event = NULL, detail = '' WHERE experiment = ? AND event = ?"
_FORGET_EXCLUDED = (
    "UPDATE set_aside SET unit = ?, value = '', at = NULL, event = NULL, detail = '' "
    "WHERE experiment = ? AND unit = ?"
)
_FORGET_OLD_EXCLUDED = (
    "UPDATE set_aside SET unit = ?, value = '', at = NULL, event = NULL, detail = '' "
    "WHERE experiment = ? AND received < ?"
)
_FORGET_LINKS = "DELETE FROM links WHERE experiment = ? AND identity = ?"
_FORGET_LINK = "DELETE FROM links WHERE experiment = ? AND unit = ?"
_FORGET_HASHES = "DELETE FROM links WHERE experiment = ? AND unit LIKE ?"
_DROP_OUTCOMES = "DELETE FROM outcomes WHERE experiment = ? AND number = ?"
_FORGET_EVENTS = "UPDATE outcomes SET event = NULL WHERE experiment = ? AND number = ?"
_MOVE = "UPDATE assignments SET time = ?, covariates = NULL WHERE experiment = ? AND number = ?"
_TIME_BEFORE = "SELECT time FROM assignments WHERE experiment = ? AND number = ?"


def erase(work: UnitOfWork, units: Sequence[str]) -> int:
    """Erase units, and all names that are linked to them, from an experiment.

    Return the number of assignments that were erased.
    """
    key = work.state.names.key or secrets.token_hex(32)
    names, roots = _names_and_roots(work, units)
    rows = work.rows.find_units([*names])
    connection, experiment = work.connection, work.before.id
    numbers = [row.number for row in rows.values()]
    gone = {number for (number,) in statements.fetch_listed(connection, _GONE, experiment, numbers)}
    # Not by its name: an old store may have a unit whose own name begins like a pseudonym.
    present = [row for row in rows.values() if row.number not in gone]
    # The identity of a name that was linked after an erasure may be a pseudonym.
    hidden = {name: name if is_erased(name) else pseudonym(key, name) for name in names}
    _forget_ids(work, key, [row.number for row in present])
    # If a name was erased, linked and assigned again, the hash of the name may belong to an earlier
    # unit: outcomes go to the earlier unit, and the later one gets a random name.
    taken = work.rows.find_units([hidden[row.unit] for row in present])
    for one in present:
        name = hidden[one.unit]
        name = f"{PREFIX}{secrets.token_hex(8)}" if name in taken else name
        renamed = (name, experiment, one.number)
        statements.execute(connection, _RENAME, renamed)
        work.add("erased", one.number, work.now)
    # The hash of each linked name is linked to the hash of the unit, so that outcomes under any of
    # the names find the unit until it counts. Hashes that an earlier erasure has linked keep their
    # links. Names of a unit that was never assigned are not linked: if one of them was assigned and
    # erased later, it would be taken for a new unit.
    linked = work.rows.identities([hidden[name] for name in roots])
    for name, root in roots.items():
        if root in rows and hidden[name] not in linked:
            work.rows.add_link(hidden[name], hidden[root])
    forgotten = [(f"{PREFIX}{secrets.token_hex(8)}", experiment, name) for name in names]
    statements.execute(connection, _FORGET_EXCLUDED, forgotten)
    before = work.state.names
    after = before._replace(
        erased=before.erased + len(present),
        erasing=(*before.erasing, *(row.number for row in present)),
        key=key if present else before.key,
    )
    work.state = work.state._replace(names=after)
    finish(work)
    return len(present)


def _names_and_roots(
    work: UnitOfWork, units: Sequence[str]
) -> tuple[Sequence[str], dict[str, str]]:
    """Delete the links of units; return all their names, and the identity of each linked name."""
    if not work.state.names.links:
        return units, {}
    connection, experiment = work.connection, work.before.id
    identities = work.rows.identities(units)
    roots = [*dict.fromkeys(identities.get(unit, unit) for unit in units)]
    linked = {name: root for root in roots for name in work.rows.names_of([root])}
    statements.execute(connection, _FORGET_LINKS, [(experiment, root) for root in roots])
    return [*dict.fromkeys([*units, *roots, *linked])], linked


def _forget_ids(work: UnitOfWork, key: str, numbers: list[int]) -> None:
    """Hash the event ids of units, and delete them from excluded events of other units."""
    rows = statements.fetch_listed(work.connection, _IDS, work.before.id, numbers)
    ids = [(row, event) for row, event in rows if event is not None]
    if ids:
        hashed = [(pseudonym(key, event), row) for row, event in ids]
        statements.execute(work.connection, _RENAME_ID, hashed)
        places = [(work.before.id, event) for _, event in ids]
        statements.execute(work.connection, _FORGET_OTHERS, places)


def erase_excluded(work: UnitOfWork, before: float) -> None:
    """Delete the names and values of excluded outcomes that were received before a time."""
    values = (f"{PREFIX}excluded", work.before.id, before)
    statements.execute(work.connection, _FORGET_OLD_EXCLUDED, values)


def finish(work: UnitOfWork) -> None:
    """Reduce erased units that have counted to the values with which they count.

    Random names replace their hashed names. After the end of a test, all units are treated as
    counted. Recurring outcomes are kept until then, and after it without their event ids.
    """
    state, is_open = work.state, work.phase in OPEN
    staged = work.design.procedure.counts == "stages"
    ready = {
        n for n in state.names.erasing if not is_open or (not staged and n < state.folding.folded)
    }
    if not ready:
        return
    work.write("outcomes")
    work.write("assignments")
    work.write("set_aside")
    for number in sorted(ready):
        _forget(work, number)
        if staged:
            statements.execute(work.connection, _FORGET_EVENTS, (work.before.id, number))
        else:
            _collapse(work, number)
    left = tuple(number for number in state.names.erasing if number not in ready)
    key = state.names.key if left else ""
    if not key:
        # Without the key, hashed names can no longer be found.
        statements.execute(work.connection, _FORGET_HASHES, (work.before.id, f"{PREFIX}%"))
    work.state = work.state._replace(names=work.state.names._replace(erasing=left, key=key))


def _forget(work: UnitOfWork, number: int) -> None:
    """Replace the hashed name of a unit by a random text.

    If names that are linked to the hash have units of their own, the first of these units becomes
    the identity of the hash and its names. Otherwise the links are deleted.
    """
    connection, experiment = work.connection, work.before.id
    (row,) = work.rows.assigned_from(number, 1)
    name = f"{PREFIX}{secrets.token_hex(8)}"
    statements.execute(connection, _RENAME, (name, experiment, number))
    linked = work.rows.find_units(work.rows.names_of([row.unit])).values()
    if linked:
        heir = min(linked, key=lambda row: row.number).unit
        statements.execute(connection, _FORGET_LINK, (experiment, heir))
        work.rows.add_link(row.unit, heir)
    else:
        statements.execute(connection, _FORGET_LINKS, (experiment, row.unit))
    statements.execute(connection, _FORGET_EXCLUDED, (name, experiment, row.unit))


def _collapse(work: UnitOfWork, number: int) -> None:
    connection, experiment = work.connection, work.before.id
    (row,) = work.rows.assigned_from(number, 1)
    events = work.rows.events_of(number, number).get(number, {})
    before = statements.fetch(connection, _TIME_BEFORE, experiment, number - 1)
    # The exact time of arrival might identify the unit. It is replaced by the start of its day, or
    # by the arrival of the unit before if that is later.
    time = max(before[0][0] if before else work.before.created, math.floor(row.time / DAY) * DAY)
    time = min(time, row.time)
    statements.execute(connection, _MOVE, (time, experiment, number))
    if number == work.state.units - 1:
        work.state = work.state._replace(enrolment=work.state.enrolment._replace(latest=time))
    heard = time
    if work.design.procedure.uses_signals:
        heard = _heard(work, row, time)
    statements.execute(connection, _DROP_OUTCOMES, (experiment, number))
    for name, values in events.items():
        if number >= _counted_units(work, name):
            continue
        design = work.design if name is None else work.design.metric_design(name)
        counted, received = unit_outcome(design, values)[0], heard if name is None else time
        kept = (experiment, number, counted, time, received, None, name, None)
        work.add_all("outcomes", [queries.with_parts(kept)])


def _counted_units(work: UnitOfWork, metric: str | None) -> int:
    """Return how many units have counted in a metric; with a shorter window, more may have."""
    folding, metrics = work.state.folding, work.design.metrics
    ahead: dict[str | None, Front] = {
        metrics[number].name: front for front in folding.fronts for number in front.metrics
    }
    return ahead[metric].folded if metric in ahead else folding.folded


def _heard(work: UnitOfWork, row: Assignment, time: float) -> float:
    """Return the time to store for the first event of a unit whose arrival is moved to `time`.

    The event of a unit that will never count is removed from the early signals.
    """
    heard = work.rows.first_events([row.number]).get(row.number)
    if heard is None:
        return time
    if row.number >= work.state.folding.folded and row.deal is not None:
        work.state = with_event(work.state, work.deal(row.deal), row.arm, -1)
    return heard_after_erasure(work.design, row.time, heard, time)
