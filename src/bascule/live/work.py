"""One transaction's work on one experiment: pure steps in between, reads before, writes after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, update

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live import ledger, schema
from bascule.live.assignment import Shuffle, after_placing, place, shipped
from bascule.live.ledger import Assignment, Loaded
from bascule.live.maturity import Event, Receipt
from bascule.live.settling import settle
from bascule.live.standing import (
    Deal,
    Standing,
    State,
    deal_to_json,
    standing_to_json,
    statistics_to_json,
)

ENROLLING = ("running", "decided")


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
    ) -> None:
        self.connection = connection
        self.before = before
        self.design: Design = before.design
        self.state: State = before.state
        self.standing: Standing = before.standing
        self.now = now
        self.actor = actor
        self._shuffle = shuffle
        self.deals = deals
        self.known: dict[str, Assignment | None] = {}
        self.news: set[int] = set()
        self._rows: dict[str, list[dict[str, Any]]] = {}

    # Assignment

    def assign(self, units: Sequence[str]) -> list[Assignment | InputError]:
        """An arm for each unit: the one that it has, or one for ever."""
        self.look_up(units)
        answers: list[Assignment | InputError] = []
        settle(self)
        for unit in units:
            try:
                found = self.known[unit] or self._enrol(unit)
                answers.append(self._released(found))
            except InputError as problem:
                answers.append(problem)
        return answers

    def look_up(self, units: Iterable[str]) -> None:
        """Read which units have an arm, once for all who ask in this transaction."""
        unread = {unit for unit in units if unit not in self.known}
        found = ledger.find_units(self.connection, self.before.id, unread)
        for unit in unread:
            self.known[unit] = found.get(unit)

    def _released(self, assigned: Assignment) -> Assignment:
        if not self.standing.released:
            return assigned
        return replace(assigned, arm=shipped(self.standing), probability=1.0)

    def _enrol(self, unit: str) -> Assignment:
        if self.state not in ENROLLING and self.standing.verdict is None:
            raise not_enrolling(self.before.name, self.state)
        standing, design = self.standing, self.design
        deal = self.deal(standing.deal) if standing.deal else None
        placed, dealt = place(design, standing, deal, self._shuffle)
        if dealt is not None and dealt is not deal:
            self.deals[dealt.number] = dealt
            self.add("blocks", number=dealt.number, slots=deal_to_json(dealt))
        # Never backwards, so that units mature in the order in which they came.
        time = max(self.now, standing.latest)
        number = standing.units
        self.standing = after_placing(design, standing, placed, time)
        made = Assignment(unit, placed.arm, number, placed.probability, time, placed.deal)
        self.known[unit] = made
        self.add(
            "assignments",
            number=number,
            unit=unit,
            arm=placed.arm,
            deal=placed.deal,
            probability=placed.probability,
            time=time,
        )
        return made

    def put_aside(self, event: Event, receipt: Receipt) -> None:
        """List an event that does not count as it came, with the reason."""
        self.add(
            "set_aside",
            unit=event.unit,
            value=f"{event.value!r:.200}",
            at=event.at,
            received=self.now,
            event=event.id,
            reason=receipt.reason,
            detail=receipt.detail,
        )

    def log(self, action: str, **detail: Any) -> None:
        """Put a change into the audit log."""
        self.add(
            "audit",
            name=self.before.name,
            time=self.now,
            actor=self.actor,
            action=action,
            detail=json.dumps(detail),
        )

    # Writing

    def save(self) -> Loaded:
        """Write all that has changed, and return what is stored then."""
        for name in ("blocks", "assignments", "outcomes", "set_aside", "history", "audit"):
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
        version = before.version + 1
        table = schema.experiments
        self.connection.execute(
            update(table).where(table.c.id == before.id).values(version=version, **changes)
        )
        return replace(
            before,
            design=self.design,
            state=self.state,
            standing=self.standing,
            version=version,
        )

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

    def add(self, table: str, **values: Any) -> None:
        """Have a row written with the others of its table."""
        values["experiment"] = self.before.id
        self._rows.setdefault(table, []).append(values)

    def write(self, table: str) -> None:
        """Write the rows of a table now, so that they can be read."""
        rows = self._rows.pop(table, None)
        if not rows:
            return
        if self.connection.dialect.name != "sqlite":
            self.connection.execute(insert(schema.metadata.tables[table]), rows)
            return
        # Straight to the driver: to translate each row would take longer than to write it.
        names = ", ".join(f'"{name}"' for name in rows[0])
        marks = ", ".join("?" * len(rows[0]))
        statement = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'
        self.connection.exec_driver_sql(statement, [tuple(row.values()) for row in rows])


def not_enrolling(name: str, state: str) -> InputError:
    """Why an experiment takes no new units, and what to do."""
    remedy = {
        "ready": "start it first",
        "paused": "start it again",
        "over": "it has ended undecided",
        "stopped": "it was ended by hand",
    }.get(state, "")
    return InputError("state", f"{name} takes no new units, it is {state}: {remedy}")
