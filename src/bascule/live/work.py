"""One transaction's work on one experiment: pure steps in between, reads before, writes after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table

from bascule.core.design import Design
from bascule.live import ledger, schema
from bascule.live.assignment import Shuffle
from bascule.live.ledger import Assignment, Loaded
from bascule.live.maturity import Event, Receipt
from bascule.live.standing import (
    Deal,
    Standing,
    State,
    deal_to_json,
    standing_to_json,
    statistics_to_json,
)


def _insert(table: Table) -> str:
    names = [column.name for column in table.columns if column.name not in ("id", "experiment")]
    if table is schema.assignments:
        names = list(Assignment._fields)
    marks = ", ".join("?" * (1 + len(names)))
    return f"INSERT INTO {table.name} (experiment, {', '.join(names)}) VALUES ({marks})"


INSERTS = {table.name: _insert(table) for table in (*schema.OF_EXPERIMENT, schema.audit)}
"""How rows are written: the experiment's number first, then the columns in the schema's order."""


class Work:
    """What a transaction does to an experiment; `save` writes it."""

    def __init__(
        self,
        connection: Connection,
        before: Loaded,
        deals: dict[int, Deal],
        now: float,
        shuffle: Shuffle,
        actor: str,
        remembered: Mapping[str, tuple[Any, ...]] | None = None,
    ) -> None:
        self.connection = connection
        self.before = before
        self.design: Design = before.design
        self.state: State = before.state
        self.standing: Standing = before.standing
        self.now = now
        self.actor = actor
        self.shuffle = shuffle
        self.deals = deals
        self.known: dict[str, Assignment | None] = {}
        self.news: set[int] = set()
        self._remembered = remembered or {}
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in INSERTS}

    def look_up(self, units: Iterable[str]) -> None:
        """Read which units have an arm, once for all who ask in this transaction."""
        known, remembered = self.known, self._remembered
        unread = []
        for unit in units:
            if unit not in known:
                # Once there, an assignment never changes.
                seen = remembered.get(unit)
                known[unit] = None if seen is None else Assignment(*seen)
                if seen is None:
                    unread.append(unit)
        if unread:
            known.update(ledger.find_units(self.connection, self.before.id, unread))

    def put_aside(self, event: Event, receipt: Receipt) -> None:
        """List an event that does not count as it came, with the reason."""
        value = f"{event.value!r:.200}"
        why = (receipt.reason, receipt.detail)
        self.add("set_aside", event.unit, value, event.at, self.now, event.id, *why)

    def log(self, action: str, **detail: Any) -> None:
        """Put a change into the audit log."""
        told = json.dumps(detail)
        self.add("audit", self.before.name, self.now, self.actor, action, told)

    # Writing

    def save(self) -> Loaded:
        """Write all that has changed, and return what is stored then."""
        for name in INSERTS:
            self.write(name)
        before = self.before
        changes: dict[str, Any] = {}
        if self.standing is not before.standing:
            changes["standing"] = standing_to_json(self.standing)
        if self.standing.statistics is not before.standing.statistics:
            changes["statistics"] = statistics_to_json(self.standing.statistics)
        if self.state != before.state:
            changes["state"] = self.state
        if self.design is not before.design:
            changes["design"] = json.dumps(self.design.to_dict())
        if not changes:
            return before
        changes["version"] = before.version + 1
        names = ", ".join(f"{name} = ?" for name in changes)
        ledger.tell(
            self.connection,
            f"UPDATE experiments SET {names} WHERE id = ?",
            (*changes.values(), before.id),
        )
        return replace(
            before,
            design=self.design,
            state=self.state,
            standing=self.standing,
            version=before.version + 1,
        )

    def deal_again(self, deal: Deal) -> None:
        """Replace a block by what is left of it."""
        self.write("blocks")
        self.deals[deal.number] = deal
        which = (self.before.id, deal.number)
        statement = "UPDATE blocks SET slots = ? WHERE experiment = ? AND number = ?"
        ledger.tell(self.connection, statement, (deal_to_json(deal), *which))

    def read_deals(self, numbers: Sequence[int]) -> None:
        """Have blocks at hand, from the first of the numbers to the last."""
        if numbers and (numbers[0] not in self.deals or numbers[-1] not in self.deals):
            self.write("blocks")
            found = ledger.find_deals(self.connection, self.before.id, numbers[0], numbers[-1])
            self.deals.update(found)

    def deal(self, number: int) -> Deal:
        """A block as it was dealt."""
        if number not in self.deals:
            found = ledger.find_deal(self.connection, self.before.id, number)
            assert found is not None
            self.deals[number] = found
        return self.deals[number]

    def add(self, table: str, *values: Any) -> None:
        """Have a row written with the others of its table; after the experiment's number."""
        self._rows[table].append((self.before.id, *values))

    def add_all(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """The same for many rows."""
        experiment = (self.before.id,)
        self._rows[table] += [experiment + row for row in rows]

    def write(self, table: str) -> None:
        """Write the rows of a table now, so that they can be read."""
        rows = self._rows[table]
        if rows:
            ledger.tell(self.connection, INSERTS[table], rows)
            self._rows[table] = []
