"""Take a lease, hand out its slots, fill what others left over, and revoke leases.

A lease is a run of slots, dealt under the lock of the experiment's row, that one program hands out
without that lock. The lease's own row is locked and counted up instead, in the transaction that
stores the assignments: so no slot is given twice, none is lost when a program is killed, and a
change of the experiment, which revokes leases, waits for nobody but transactions under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from bascule.live.steps.assignment import place
from bascule.live.storage import leases
from bascule.live.storage.leases import Lease, LeaseRow, Slots
from bascule.live.storage.state import ExperimentState

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork

SECONDS = 3.0
"""How long a lease is used before its holder locks the experiment's row again."""

LEFT_AFTER = 1.0
"""Seconds after its end from which on other programs fill the rest of a lease."""

CANCELLED_AFTER = 60.0
"""Seconds after its end from which on blocks of a lease that have no unit are cancelled."""


class LeaseLostError(Exception):
    """A lease cannot be used for some units: the experiment's row has to be locked for them."""


def hand_out(work: UnitOfWork, units: Sequence[str]) -> None:
    """Give new units the next slots of the lease of a unit of work."""
    lease = work.lease
    assert lease is not None
    row = lease.row
    if len(units) > lease.left or work.now >= row.until:
        raise LeaseLostError
    work.database_time = leases.advance(work.connection, work.before.id, row, len(units))
    if work.database_time is None:
        raise LeaseLostError
    part = slice(row.used, row.used + len(units))
    slots = lease.slots
    arms, chances, deals = slots.arms[part], slots.chances[part], slots.deals[part]
    numbers = range(row.first + part.start, row.first + part.stop)
    time = max(work.now, lease.since)
    columns = (repeat(work.before.id), units, arms, numbers, chances, repeat(time), deals)
    # In the same order in all programs, so that no two wait for each other.
    work.add_all("assignments", sorted(zip(*columns, strict=False)))
    work.arms.update(zip(units, arms, strict=True))
    work.enrolled = len(arms)
    lease.row = row._replace(used=part.stop)


def fill(work: UnitOfWork, units: int, time: float) -> tuple[list[int], Slots, LeaseRow | None]:
    """Return numbers and slots for new units that leases have left over, and what is left of one.

    They come before new blocks, so that units behind them do not wait for long.
    """
    numbers: list[int] = []
    slots = Slots([], [], [])
    rest = None
    connection, experiment = work.connection, work.before.id
    for row in leases.free_leases(connection, experiment, work.holder, time - LEFT_AFTER):
        part = slice(row.used, min(row.size, row.used + units - len(numbers)))
        if rest is not None or (part.start == part.stop and row.used < row.size):
            continue
        if part.stop > part.start:
            its = leases.slots_of(connection, experiment, row)
            slots.arms.extend(its.arms[part])
            slots.chances.extend(its.chances[part])
            slots.deals.extend(its.deals[part])
            numbers.extend(range(row.first + part.start, row.first + part.stop))
        after = row._replace(used=part.stop, holder="")
        _keep(work, after)
        rest = after if after.used < after.size else None
    return numbers, slots, rest


def take(work: UnitOfWork, rest: LeaseRow | None, time: float) -> None:
    """Take a lease: on what another one has left, or on new blocks."""
    row = _dealt(work, time) if rest is None else rest
    if row is None:
        return
    deadline = work.design.deadline
    until = time + SECONDS if deadline is None else min(time + SECONDS, deadline.timestamp())
    row = row._replace(holder=work.holder, until=until)
    if rest is None:
        leases.add_lease(work.connection, work.before.id, row)
    else:
        leases.change_lease(work.connection, work.before.id, row)
    work.write("blocks")
    slots = leases.slots_of(work.connection, work.before.id, row)
    work.taken = Lease(row, slots, time)


def can_lease(work: UnitOfWork) -> bool:
    """Whether slots of an experiment may be handed out without its row."""
    design, state = work.design, work.state
    return (
        design.procedure.assigns == "blocks"
        and design.covariates is None
        and work.delivery.member is None
        and state.verdict is None
        and not state.links
    )


def _dealt(work: UnitOfWork, time: float) -> LeaseRow | None:
    """Deal blocks for as many units as a lease is to have, whole ones."""
    before, design = work.state, work.design
    current = work.deal(before.deal) if before.deal else None
    is_open = current is not None and before.handed < len(current.slots)
    placed = place(design, before, current, work.shuffle, work.lease_size, time)
    work.add_blocks(before.deal + 1, placed.dealt)
    state = placed.state
    if state is before:
        return None
    last = work.deal(state.deal)
    if state.handed < len(last.slots):
        more = len(last.slots) - state.handed
        state = place(design, state, last, work.shuffle, more, time).state
    size = state.units - before.units
    work.state = state._replace(leases=before.leases + 1, leased=before.leased + size)
    deal, handed = (before.deal, before.handed) if is_open else (before.deal + 1, 0)
    return LeaseRow(before.next_number, size, 0, size, deal, state.deal, handed, "", time)


def revoke_if_changed(work: UnitOfWork) -> None:
    """Revoke all leases if a transaction has changed something that they rely on.

    Their holders find that out when they want to use them. Blocks that have no unit yet are
    cancelled; those under way are completed by the next units.
    """
    if _terms(work, before=True) == _terms(work, before=False):
        return
    for row in leases.all_leases(work.connection, work.before.id):
        if row.used < row.size:
            _cancel_rest(work, row)


def skip(work: UnitOfWork) -> bool:
    """Skip the numbers that nobody will have, from the next one that counts; whether it did."""
    connection, experiment, number = work.connection, work.before.id, work.state.position
    row = leases.lease_at(connection, experiment, number)
    if row is None:
        return False
    if number < row.first + row.size:
        if work.now < row.until + CANCELLED_AFTER:
            return False
        row = _cancel_rest(work, row)
    if number < row.first + row.size:
        return False
    leases.delete_lease(connection, experiment, row)
    passed = row.first + row.reserved - number
    state = work.state
    work.state = state._replace(skipped=state.skipped + passed, leases=state.leases - 1)
    return True


def _cancel_rest(work: UnitOfWork, row: LeaseRow) -> LeaseRow:
    """Cancel the blocks of a lease that have no unit; what is left is free to be filled."""
    work.write("blocks")
    connection, experiment = work.connection, work.before.id
    size = leases.block_end(connection, experiment, row)
    state, assigned = work.state, list(work.state.assigned)
    for arm in leases.slots_of(connection, experiment, row).arms[size:]:
        assigned[arm] -= 1
    work.state = state._replace(
        assigned=tuple(assigned),
        cancelled=state.cancelled + row.size - size,
        # The units behind may count now.
        backlog=state.backlog or work.design.measure is None,
        due=None,
    )
    row = row._replace(size=size, holder="")
    _keep(work, row)
    return row


def _keep(work: UnitOfWork, row: LeaseRow) -> None:
    """Store a lease, or delete one whose numbers all have units."""
    if row.used == row.reserved:
        leases.delete_lease(work.connection, work.before.id, row)
        work.state = work.state._replace(leases=work.state.leases - 1)
    else:
        leases.change_lease(work.connection, work.before.id, row)


def _terms(work: UnitOfWork, *, before: bool) -> tuple[object, ...]:
    """What leases rely on: who gets in, with which arms, and what these are served."""
    loaded = work.before
    state: ExperimentState = loaded.state if before else work.state
    design, phase, delivery = (
        (loaded.design, loaded.phase, loaded.delivery)
        if before
        else (work.design, work.phase, work.delivery)
    )
    served = (state.moved, state.everyone, state.released, state.verdict)
    units = (state.links, state.relinked, state.erased)
    return design, phase, delivery, state.paused, state.statistics.out, served, units
