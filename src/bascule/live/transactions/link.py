"""Link two names of one person, as an anonymous visitor who signs in: both keep the first arm.

A name that was linked is replaced by its identity before anything else looks at it: assignments and
outcomes of both names belong to one unit from then on. Links of an experiment are changed by its
transactions alone, one after the other, so programs that race see one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork


class Linked(NamedTuple):
    """The arm that both names have now, None before the first is assigned.

    `moved` is the arm of the name that had another one until now: what it reported so far stays
    with that arm.
    """

    arm: int | None
    moved: int | None = None


def link(work: UnitOfWork, pairs: Sequence[tuple[str, str]]) -> list[Linked]:
    """Link the names of each pair, and return what arm they have."""
    work.write("assignments")
    return [_link(work, first, other) for first, other in pairs]


def _link(work: UnitOfWork, first: str, other: str) -> Linked:
    names = work.rows.identities([first, other])
    here, there = names.get(first, first), names.get(other, other)
    rows = work.rows.find_units([here, there])
    if here == there:
        return Linked(rows[here].arm if here in rows else None)
    # The name that was assigned first is the unit; before that, the name that was given first.
    number = {name: rows[name].number for name in (here, there) if name in rows}
    root = min(number, key=number.__getitem__) if number else here
    gone = there if root == here else here
    work.rows.add_link(gone, root)
    arm, before = (rows[name].arm if name in rows else None for name in (root, gone))
    has_moved = before is not None and before != arm
    known = work.state.names
    known = known._replace(links=known.links + 1, relinked=known.relinked + int(has_moved))
    work.state = work.state._replace(names=known)
    return Linked(arm, before if has_moved else None)
