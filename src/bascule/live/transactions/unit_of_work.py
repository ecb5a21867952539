"""The unit of work: one transaction's reads, changes and writes for one experiment."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any, NamedTuple

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.live.steps.assignment import Shuffle
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Served, served_arms
from bascule.live.storage import queries, schema, statements
from bascule.live.storage.deals import Deal, Parts, Used
from bascule.live.storage.names import is_erased
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import Assignment, ExperimentState, Phase
from bascule.live.storage.state_json import run_to_json, state_to_json, statistics_to_json

ADDED = {
    table: ("experiment", *(name for name in columns if name not in ("id", "experiment")))
    for table, columns in schema.COLUMNS.items()
} | {"assignments": ("experiment", *Assignment._fields)}
"""Columns of the rows added to each table, in order."""


@cache
def _updating(columns: tuple[str, ...]) -> str:
    """Return the statement that updates some columns of an experiment."""
    names = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE experiments SET {names} WHERE id = ?"  # nosec B608: names of columns


LONGEST_RUN = 100
"""Maximum number of blocks stored in one row; the blocks of a row are always read together."""


class Kept(NamedTuple):
    """Data of an experiment that a program keeps between transactions, to read them only once.

    `deals` are some of its blocks by number, `remembered` are the arms of some units by name, and
    `served` is the evaluation for the units of each arm, None if it has to be computed.
    """

    loaded: Loaded
    deals: dict[int, Deal]
    remembered: Mapping[str, int]
    served: Served | None = None


class UnitOfWork:
    """The changes of a transaction to one experiment; `save` writes them."""

    def __init__(
        self, connection: Connection, kept: Kept, now: float, shuffle: Shuffle, actor: str
    ) -> None:
        before = kept.loaded
        self.connection = connection
        self.before = before
        self.rows = queries.Rows(connection, before.id)
        self.design: Design = before.design
        self.phase: Phase = before.phase
        self.state: ExperimentState = before.state
        self.delivery = before.delivery
        self.now = now
        self.counted = -math.inf
        """Time at which this transaction last added a complete block or unit to the statistics."""
        self.actor = actor
        self.shuffle = shuffle
        self.deals = kept.deals
        self.arms: dict[str, int | None] = {}
        self.known: dict[str, Assignment | None] = {}
        self.news: set[int] = set()
        self._remembered = kept.remembered
        self._served = kept.served
        self._rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)

    @property
    def served(self) -> Served:
        """The evaluation for the units of each arm.

        It changes only with the operators' settings and, after a release, with the decision.
        """
        control = self.state.control
        if self._served is None or control is not self.before.state.control or control.released:
            self._served = served_arms(self.before.arms, self.state)
        return self._served

    def find_arms(self, units: Sequence[str]) -> None:
        """Set `arms` to the arms of the units, None for new ones; only unknown arms are queried."""
        # Remembered arms are valid: they are forgotten when units are erased or change their arm.
        self.arms = dict(zip(units, map(self._remembered.get, units), strict=True))
        if not self.state.names.links and len(self._remembered) == self.before.state.units:
            # All units of the test are in memory, so all other units are new.
            return
        unread = [unit for unit, arm in self.arms.items() if arm is None]
        if unread:
            self.arms.update(self.rows.find_arms(unread))

    def look_up(self, units: Iterable[str]) -> None:
        """Set `known` to the assignments of the units, including those of this transaction."""
        self.write("assignments")
        names = self.identify([*dict.fromkeys(units)])
        rows = self.rows.find_units([*names.values()])
        self.known = {unit: rows.get(identity) for unit, identity in names.items()}

    def identify(self, units: Sequence[str]) -> dict[str, str]:
        """Return the identity of each name: the name under which its unit is stored."""
        return self.rows.identify(units, self.state.names)

    def exclude(self, event: Event, receipt: Receipt) -> None:
        """List an event that is excluded, capped or not exposed, with the reason.

        Once the list is full, events are only counted.
        """
        counts = self.state.counts
        counts = counts._replace(excluded=counts.excluded + 1)
        self.state = self.state._replace(counts=counts)
        if counts.unlisted:
            return
        value = f"{event.value!r:.200}"
        known = self.known.get(event.unit)
        if known is not None and is_erased(known.unit):
            event = event._replace(unit=known.unit)
        key = (receipt.reason, receipt.detail, event.metric)
        self.add("set_aside", event.unit, value, event.at, self.now, event.id, *key)

    def log(self, action: str, **detail: Any) -> None:
        """Add a change to the audit log."""
        text = json.dumps(detail)
        self.add("audit", self.before.name, self.now, self.actor, action, text)

    # Writing

    def save(self) -> Loaded:
        """Write all changes, and return the experiment as it is then stored."""
        for name in [*self._rows]:
            self.write(name)
        before = self.before
        changes: dict[str, Any] = {}
        if self.state is not before.state:
            changes["state"] = state_to_json(self.state)
        if self.state.statistics is not before.state.statistics:
            changes["statistics"] = statistics_to_json(self.state.statistics)
        if self.phase != before.phase:
            changes["phase"] = self.phase
        if self.design is not before.design:
            changes["design"] = json.dumps(self.design.to_dict())
        if self.delivery is not before.delivery:
            changes["delivery"] = self.delivery.to_json()
        if not changes:
            return before
        changes["version"] = before.version + 1
        values = (*changes.values(), before.id)
        statements.execute(self.connection, _updating(tuple(changes)), values)
        return before._replace(
            design=self.design,
            phase=self.phase,
            state=self.state,
            version=before.version + 1,
            delivery=self.delivery,
        )

    def deal_again(self, deal: Deal) -> None:
        """Replace a stored block after an arm was dropped from its remaining slots."""
        self.write("blocks")
        self.deals[deal.number] = deal
        self.rows.deal_again(deal)

    def read_deals(self, numbers: Sequence[int]) -> None:
        """Read the blocks from the first to the last of the numbers, unless they are in memory."""
        if numbers and (numbers[0] not in self.deals or numbers[-1] not in self.deals):
            self.write("blocks")
            deals = self.rows.find_deals(numbers[0], numbers[-1])
            self.deals.update(deals)

    def deal(self, number: int) -> Deal:
        """Return the block with this number."""
        if number not in self.deals:
            self.read_deals([number])
        return self.deals[number]

    def add_blocks(self, first: int, dealt: Sequence[Parts], used: Used | None = None) -> None:
        """Queue consecutive blocks to be written; the last one also stays in memory."""
        for start in range(0, len(dealt), LONGEST_RUN):
            run = dealt[start : start + LONGEST_RUN]
            parts = chain((used if start == 0 else None,), repeat(None))
            self.add("blocks", first + start, run_to_json(zip(run, repeat(()), parts)))
        last = first + len(dealt) - 1
        self.deals[last] = Deal(last, dealt[-1], (), used if len(dealt) == 1 else None)

    def add(self, table: str, *values: Any) -> None:
        """Queue a row to be written to a table, with the experiment's number put first."""
        self._rows[table].append((self.before.id, *values))

    def add_all(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Queue rows to be written to a table; each must begin with the experiment's number.

        Binding NULLs takes SQLite a third of the time of an insert, so rows may leave out columns
        at the end that are NULL.
        """
        self._rows[table] += rows

    def write(self, table: str) -> None:
        """Write the queued rows of a table now, so that queries find them."""
        rows = self._rows.pop(table, None)
        if rows:
            columns = ADDED[table]
            widths = sorted(set(map(len, rows)))
            for used in widths:
                chosen = rows if len(widths) == 1 else [row for row in rows if len(row) == used]
                statements.insert(self.connection, table, columns[:used], chosen)
