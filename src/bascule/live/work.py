"""One transaction's work on one experiment: pure steps in between, reads before, writes after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, insert, update

from bascule.core.design import Design
from bascule.core.ends import cap_met
from bascule.core.errors import InputError
from bascule.live import ledger, schema
from bascule.live.assignment import Shuffle, after_placing, place, shipped
from bascule.live.folding import fold_unit, take_out
from bascule.live.ledger import Assignment, Loaded
from bascule.live.maturity import ACCEPTED, Event, Receipt, judge_time, judge_value, unit_outcome
from bascule.live.standing import (
    OPEN,
    Deal,
    Standing,
    State,
    deal_to_json,
    standing_to_json,
    statistics_to_json,
)

FOLDED_AT_ONCE = 2000
"""Units that one transaction takes into the statistics, so that none of them takes long."""

SHOWN_EVERY = 1.02
"""By how much the number of units grows between two points of the history."""

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
        self._deals = deals
        self._known: dict[str, Assignment | None] = {}
        self._news: set[int] = set()
        self._rows: dict[str, list[dict[str, Any]]] = {}

    # Assignment

    def assign(self, units: Sequence[str]) -> list[Assignment | InputError]:
        """An arm for each unit: the one that it has, or one for ever."""
        self.look_up(units)
        answers: list[Assignment | InputError] = []
        self.settle()
        for unit in units:
            try:
                found = self._known[unit] or self._enrol(unit)
                answers.append(self._released(found))
            except InputError as problem:
                answers.append(problem)
        return answers

    def look_up(self, units: Iterable[str]) -> None:
        """Read which units have an arm, once for all who ask in this transaction."""
        unread = {unit for unit in units if unit not in self._known}
        found = ledger.find_units(self.connection, self.before.id, unread)
        for unit in unread:
            self._known[unit] = found.get(unit)

    def _released(self, assigned: Assignment) -> Assignment:
        if not self.standing.released:
            return assigned
        return replace(assigned, arm=shipped(self.standing), probability=1.0)

    def _enrol(self, unit: str) -> Assignment:
        if self.state not in ENROLLING and self.standing.verdict is None:
            raise not_enrolling(self.before.name, self.state)
        standing, design = self.standing, self.design
        deal = self._deal(standing.deal) if standing.deal else None
        placed, dealt = place(design, standing, deal, self._shuffle)
        if dealt is not None and dealt is not deal:
            self._deals[dealt.number] = dealt
            self._add("blocks", number=dealt.number, slots=deal_to_json(dealt))
        # Never backwards, so that units mature in the order in which they came.
        time = max(self.now, standing.latest)
        number = standing.units
        self.standing = after_placing(design, standing, placed, time)
        made = Assignment(unit, placed.arm, number, placed.probability, time, placed.deal)
        self._known[unit] = made
        self._add(
            "assignments",
            number=number,
            unit=unit,
            arm=placed.arm,
            deal=placed.deal,
            probability=placed.probability,
            time=time,
        )
        return made

    # Outcomes

    def record(self, events: Sequence[Event]) -> list[Receipt]:
        """What becomes of each event; those that count are stored, the others set aside."""
        self._write("outcomes")
        self._write("set_aside")
        self.look_up(event.unit for event in events)
        ids = [event.id for event in events if event.id is not None]
        taken = ledger.taken_ids(self.connection, self.before.id, ids)
        answered: set[int] = set()
        if self.design.measure is None:
            known = (self._known[event.unit] for event in events)
            numbers = [assigned.number for assigned in known if assigned is not None]
            answered = ledger.answered(self.connection, self.before.id, numbers)
        receipts = []
        refused = []
        for event in events:
            receipt, number, at = self._judged(event, self._known[event.unit], taken, answered)
            receipts.append(receipt)
            if receipt.accepted:
                if event.id is not None:
                    taken[event.id] = (number, event.value)
                answered.add(number)
                self._news.add(number)
                self._add(
                    "outcomes",
                    number=number,
                    value=float(event.value),
                    at=at,
                    received=self.now,
                    event=event.id,
                )
            elif receipt.reason != "duplicate":
                refused.append((event, receipt))
        # A retry of what was set aside is not listed again.
        ids = [event.id for event, _ in refused if event.id is not None]
        listed = ledger.listed(self.connection, self.before.id, ids)
        for event, receipt in refused:
            if (event.id, receipt.reason) not in listed:
                self._put_aside(event, receipt)
        self.settle()
        return receipts

    def _judged(
        self,
        event: Event,
        assigned: Assignment | None,
        taken: dict[str, tuple[int, float]],
        answered: set[int],
    ) -> tuple[Receipt, int, float]:
        at = self.now if event.at is None else event.at
        if assigned is None:
            detail = f"unit {event.unit!r:.60} was never assigned"
            return Receipt(False, "unknown unit", detail), -1, at
        number = assigned.number
        if event.id is not None and event.id in taken:
            if taken[event.id] == (number, event.value):
                return Receipt(False, "duplicate", "it was counted before"), number, at
            detail = f"id {event.id!r:.60} belongs to another outcome"
            return Receipt(False, "id used before", detail), number, at
        fit = judge_value(self.design, event.value)
        if not fit.accepted:
            return fit, number, at
        if self.state in ("over", "stopped"):
            detail = f"the experiment is {self.state}: outcomes count no more"
            return Receipt(False, "over", detail), number, at
        if event.at is None:
            # Clocks of two machines may differ by a little.
            at = max(at, assigned.time)
        timely = judge_time(self.design.measure, at, assigned.time, max(self.now, assigned.time))
        if not timely.accepted:
            return timely, number, at
        if self.design.measure is None and number in answered:
            return Receipt(False, "second outcome", "its unit has an outcome already"), number, at
        return ACCEPTED, number, at

    def _put_aside(self, event: Event, receipt: Receipt) -> None:
        self._add(
            "set_aside",
            unit=event.unit,
            value=f"{event.value!r:.200}",
            at=event.at,
            received=self.now,
            event=event.id,
            reason=receipt.reason,
            detail=receipt.detail,
        )

    # Maturity

    def settle(self, most: int = FOLDED_AT_ONCE) -> bool:
        """Take mature units into the statistics; whether there may be more."""
        if self.state not in OPEN:
            return False
        self._write("outcomes")
        deadline = self.design.deadline
        end = self.now if deadline is None else min(self.now, deadline.timestamp())
        more = self._fold(end, most)
        if self.standing.verdict is not None:
            self._decide()
        elif not more and self._has_ended():
            self.state = "over"
            self.log("end", after=self.standing.folded)
        self._show()
        return more and self.standing.verdict is None

    def _decide(self) -> None:
        assert self.standing.verdict is not None
        self.state = "decided"
        self.log("decide", **asdict(self.standing.verdict))

    def _fold(self, end: float, most: int) -> bool:
        standing, measure = self.standing, self.design.measure
        if standing.folded >= standing.units:
            return False
        if measure is None and not (standing.backlog or standing.folded in self._news):
            # Nobody folds before the first unit that waits, and that one has no outcome yet.
            return False
        if measure is not None and standing.due is not None and standing.due > end:
            return False
        self._write("assignments")
        first = standing.folded
        rows = ledger.assigned_from(self.connection, self.before.id, first, most)
        if measure is not None:
            ready = [row for row in rows if measure.matures(row.time) <= end]
        else:
            ready = list(rows)
        last = first + len(ready) - 1
        events = dict(ledger.events_of(self.connection, self.before.id, first, last))
        self._read_deals([row.deal for row in ready if row.deal is not None])
        for row in ready:
            if measure is None and row.number not in events:
                self.standing = replace(self.standing, backlog=False)
                return False
            value, clipped = unit_outcome(self.design, events.get(row.number, ()))
            if clipped:
                told = Event(row.unit, value)
                self._put_aside(told, Receipt(True, "clipped", clipped))
            deal = self._deal(row.deal) if row.deal is not None else None
            self.standing = fold_unit(self.design, self.standing, deal, row.arm, value, self.now)
            if self.standing.verdict is not None:
                return False
        due = self.standing.due
        if measure is not None and len(ready) < len(rows):
            due = measure.matures(rows[len(ready)].time)
        more = len(ready) == most
        self.standing = replace(self.standing, due=due, backlog=more)
        return more

    def _has_ended(self) -> bool:
        deadline = self.design.deadline
        if deadline is not None and self.now >= deadline.timestamp():
            return True
        waiting = self.standing.folded < self.standing.units
        if waiting or self.design.max_units is None:
            return False
        counted = self.standing.statistics.units == self.standing.units
        return counted and cap_met(self.design, self.standing.statistics)

    def _show(self) -> None:
        folded = self.standing.folded
        enough = SHOWN_EVERY * self.standing.shown if self.state in OPEN else 0
        if folded > self.standing.shown and folded >= enough:
            kept = statistics_to_json(self.standing.statistics)
            self._add("history", folded=folded, time=self.now, statistics=kept)
            self.standing = replace(self.standing, shown=folded)

    # Changes by hand

    def drop_arm(self, name: str) -> None:
        """Take an arm out of the test, from the next unit on."""
        standing = self.standing
        deal = self._deal(standing.deal) if standing.deal else None
        self.standing, kept = take_out(self.design, standing, name, deal, self.now)
        # Where it happened, so that it can be replayed.
        place = {"after": standing.folded, "deal": standing.deal, "handed": standing.handed}
        self.log("drop arm", arm=name, **place)
        if kept is not None and kept is not deal:
            self._write("blocks")
            table = schema.blocks
            self._deals[kept.number] = kept
            self.connection.execute(
                update(table)
                .where(table.c.experiment == self.before.id, table.c.number == kept.number)
                .values(slots=deal_to_json(kept))
            )
        if self.standing.verdict is not None:
            self._decide()
        self.settle()

    def log(self, action: str, **detail: Any) -> None:
        """Put a change into the audit log."""
        self._add(
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
            self._write(name)
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

    def _read_deals(self, numbers: Sequence[int]) -> None:
        if numbers and (numbers[0] not in self._deals or numbers[-1] not in self._deals):
            self._write("blocks")
            found = ledger.find_deals(self.connection, self.before.id, numbers[0], numbers[-1])
            self._deals.update(found)

    def _deal(self, number: int) -> Deal:
        if number not in self._deals:
            found = ledger.find_deal(self.connection, self.before.id, number)
            assert found is not None
            self._deals[number] = found
        return self._deals[number]

    def _add(self, table: str, **values: Any) -> None:
        values["experiment"] = self.before.id
        self._rows.setdefault(table, []).append(values)

    def _write(self, table: str) -> None:
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
