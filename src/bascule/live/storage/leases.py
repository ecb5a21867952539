"""Leases as they are stored: runs of slots that one program hands out, and those left over.

Slot k of a lease belongs to unit number `first + k`. docs/explanation/live.md says how they work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from bascule.live.storage.queries import Loaded, find_deals
from bascule.live.storage.state import Deal, run_from_json
from bascule.live.storage.statements import execute, fetch

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COLUMNS = "first, size, used, reserved, deal, last, handed, holder, until"
_ALL = f"SELECT {_COLUMNS} FROM leases WHERE experiment = ?"  # nosec B608: a constant
_OPEN = f"{_ALL} AND (used < size OR size = reserved)"
_FREE = f"{_OPEN} AND (holder = ? OR holder = '' OR until < ? OR used = size)"
_AT = f"{_ALL} AND first <= ? AND first + reserved > ?"
_ADD = (
    f"INSERT INTO leases (experiment, {_COLUMNS}) "  # nosec B608: a constant
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGE = (
    "UPDATE leases SET size = ?, used = ?, holder = ?, until = ? WHERE experiment = ? AND first = ?"
)
_DELETE = "DELETE FROM leases WHERE experiment = ? AND first = ?"
_ADVANCE = (
    "UPDATE leases SET used = used + ? WHERE experiment = ? AND first = ? AND holder = ? "
    "AND used = ? AND used + ? <= size RETURNING extract(epoch FROM clock_timestamp())"
)
_GIVE_BACK = "UPDATE leases SET holder = '' WHERE holder = ?"
# Each lease with the runs of blocks that its slots are in, from the one that has its first block.
_OPEN_SLOTS = (
    "SELECT leases.experiment, first, size, used, reserved, deal, last, handed, holder, until, "
    "blocks.number, slots FROM leases JOIN blocks ON blocks.experiment = leases.experiment "
    "AND blocks.number <= last AND blocks.number >= (SELECT max(runs.number) FROM blocks AS runs "
    "WHERE runs.experiment = leases.experiment AND runs.number <= deal) WHERE used < size"
)
_OF_ONE = f"{_OPEN_SLOTS} AND leases.experiment = ?"


class LeaseRow(NamedTuple):
    """A lease: of its `size` slots the first `used` are handed out, the others not yet.

    They are those of the blocks `deal` to `last`, from slot `handed` of the first block on.
    `reserved` is how many numbers of units it had at first: those beyond `size` are nobody's.
    Without a `holder`, or some time after `until`, any program may hand out the rest.
    """

    first: int
    size: int
    used: int
    reserved: int
    deal: int
    last: int
    handed: int
    holder: str
    until: float


class Slots(NamedTuple):
    """Slots in columns: their arms, the chances that these had, and the numbers of their blocks."""

    arms: list[int]
    chances: list[float]
    deals: list[int]


@dataclass(slots=True)
class Lease:
    """A lease as its holder has it in memory, with the experiment as it was at `read`."""

    row: LeaseRow
    slots: Slots
    since: float
    loaded: Loaded | None = None
    read: float = 0.0

    @property
    def left(self) -> int:
        """How many slots are left."""
        return self.row.size - self.row.used


def _locked(connection: Connection, statement: str) -> str:
    # SQLite has one writer at a time, who holds the lock already.
    ordered = f"{statement} ORDER BY first"
    return ordered if connection.dialect.name == "sqlite" else f"{ordered} FOR UPDATE"


def free_leases(
    connection: Connection, experiment: int, holder: str, before: float
) -> list[LeaseRow]:
    """Return and lock leases whose rest may be handed out now: free, or of the holder itself.

    `before` is when a lease has to have run out for that. Complete ones are returned too.
    """
    asked = _locked(connection, _FREE)
    return [LeaseRow(*row) for row in fetch(connection, asked, experiment, holder, before)]


def all_leases(connection: Connection, experiment: int) -> list[LeaseRow]:
    """Return and lock all leases of an experiment that have numbers of their own."""
    return [LeaseRow(*row) for row in fetch(connection, _locked(connection, _ALL), experiment)]


def lease_at(connection: Connection, experiment: int, number: int) -> LeaseRow | None:
    """Return and lock the lease to which a unit's number belongs."""
    rows = fetch(connection, _locked(connection, _AT), experiment, number, number)
    return LeaseRow(*rows[0]) if rows else None


def add_lease(connection: Connection, experiment: int, row: LeaseRow) -> None:
    """Store a new lease."""
    execute(connection, _ADD, (experiment, *row))


def change_lease(connection: Connection, experiment: int, row: LeaseRow) -> None:
    """Store what has changed of a lease."""
    values = (row.size, row.used, row.holder, row.until, experiment, row.first)
    execute(connection, _CHANGE, values)


def delete_lease(connection: Connection, experiment: int, row: LeaseRow) -> None:
    """Delete a lease that has counted, or that has nothing left to hand out."""
    execute(connection, _DELETE, (experiment, row.first))


def advance(connection: Connection, experiment: int, row: LeaseRow, units: int) -> float | None:
    """Hand out the next slots of a lease, and return the database's time.

    None if the lease is not the holder's any more: another program has it, or it was revoked.
    """
    given = (units, experiment, row.first, row.holder, row.used, units)
    rows = fetch(connection, _ADVANCE, *given)
    return float(rows[0][0]) if rows else None


def give_back(connection: Connection, holder: str) -> None:
    """Let other programs hand out the rest of all leases of a holder."""
    execute(connection, _GIVE_BACK, (holder,))


def slots_of(connection: Connection, experiment: int, row: LeaseRow) -> Slots:
    """Return the slots of a lease, used ones included."""
    return _slots_in(row, find_deals(connection, experiment, row.deal, row.last))


def _slots_in(row: LeaseRow, found: Mapping[int, Deal]) -> Slots:
    slots = Slots([], [], [])
    for number in range(row.deal, row.last + 1):
        slots.arms.extend(found[number].slots)
        slots.chances.extend(found[number].chances)
        slots.deals.extend([number] * len(found[number].slots))
    part = slice(row.handed, row.handed + row.size)
    return Slots(slots.arms[part], slots.chances[part], slots.deals[part])


def block_end(connection: Connection, experiment: int, row: LeaseRow) -> int:
    """Return the slot at which the block ends that a lease is in the middle of, if it is."""
    found = find_deals(connection, experiment, row.deal, row.last)
    sizes = [len(found[number].slots) for number in range(row.deal, row.last + 1)]
    ends = [0, *accumulate(sizes)] if row.handed == 0 else [*accumulate(sizes)]
    return next(end - row.handed for end in ends if end - row.handed >= row.used)


class Unfilled(NamedTuple):
    """Slots of leases that no unit has yet: how many of each arm, and blocks that are under way.

    `handed` has the slots that are handed out of these blocks, by their numbers.
    """

    arms: Counter[int]
    handed: dict[int, int]


Runs = dict[LeaseRow, list[tuple[int, str]]]
"""Leases with slots that no unit has, each with the runs of blocks that it is in, as stored."""


def open_leases(connection: Connection, experiment: int | None = None) -> dict[int, Runs]:
    """Return the leases that are not used up, by the number of their experiment, in one query."""
    asked, values = (_OPEN_SLOTS, ()) if experiment is None else (_OF_ONE, (experiment,))
    found: dict[int, Runs] = {}
    for number, *columns in fetch(connection, asked, *values):
        row = LeaseRow(*columns[: len(LeaseRow._fields)])
        runs = found.setdefault(number, {}).setdefault(row, [])
        runs.append(tuple(columns[len(row) :]))
    return found


def unfilled(leases: Runs) -> Unfilled:
    """Return what leases of an experiment have not handed out yet."""
    arms: Counter[int] = Counter()
    handed: dict[int, int] = {}
    for row, runs in leases.items():
        slots = _slots_in(row, {one.number: one for run in runs for one in run_from_json(*run)})
        arms.update(slots.arms[row.used :])
        deal = slots.deals[row.used]
        before = sum(number == deal for number in slots.deals[: row.used])
        handed[deal] = before + (row.handed if deal == row.deal else 0)
    return Unfilled(arms, handed)


def with_units_only(loaded: Loaded, leases: Runs) -> Loaded:
    """Return an experiment whose counts of units leave out slots of leases without a unit."""
    open_slots = unfilled(leases).arms
    assigned = [units - open_slots[arm] for arm, units in enumerate(loaded.state.assigned)]
    return loaded._replace(state=loaded.state._replace(assigned=tuple(assigned)))
