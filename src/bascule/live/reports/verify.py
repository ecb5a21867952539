"""Everything computed again from the raw log, and compared with what is stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, func, select

from bascule.core.design import Design
from bascule.core.outcomes import Recurrent
from bascule.core.rules import Static
from bascule.live.steps.folding import fold_unit, take_out
from bascule.live.steps.maturity import unit_outcome
from bascule.live.steps.stages import begun, closed, joined
from bascule.live.storage import queries as ledger
from bascule.live.storage import schema
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import Deal, Standing
from bascule.live.transactions.change import with_knob
from bascule.live.transactions.settle import read_stage

READ_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Verification:
    """What a recomputation found; `differences` is empty if all is as it was stored."""

    name: str
    units: int
    outcomes: int
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether the raw log gives what is stored."""
        return not self.differences

    def __str__(self) -> str:
        counted = f"{self.units:,} units and {self.outcomes:,} outcomes"
        if self.agrees:
            return f"{self.name}: {counted} give what is stored, to the last digit"
        return f"{self.name}: {counted} do not give what is stored: " + "; ".join(self.differences)


def verify(connection: Connection, stored: Loaded) -> Verification:
    """Replay the log of an experiment as far as it is folded, in the order of the units."""
    recurrent = isinstance(stored.design.outcome, Recurrent)
    replay = StageReplay(connection, stored) if recurrent else _Replay(connection, stored)
    replay.run()
    wanted = stored.standing
    differences = [
        f"{name} stored as {_short(getattr(wanted, name))}, computed as {_short(got)}"
        for name, got in replay.found().items()
        if got != getattr(wanted, name)
    ]
    differences += replay.misdealt
    table = schema.outcomes.c
    asked = select(func.count()).where(table.experiment == stored.id)
    counted = connection.execute(asked).scalar() or 0
    return Verification(stored.name, replay.units, counted, tuple(differences))


class _Replay:
    """The folds and the changes by hand, one after the other."""

    def __init__(self, connection: Connection, stored: Loaded) -> None:
        self.connection, self.stored = connection, stored
        self.design: Design = stored.design
        self.standing = Standing.empty(stored.design)
        self.units = 0
        self.assigned: Counter[int] = Counter()
        self.misdealt: list[str] = []
        self._handed: list[int] = []
        self._block = 0
        self._slots: dict[int, tuple[int, ...]] = {}
        self._deals: dict[int, Deal] = {}
        self._by_hand = ByHand(connection, stored)

    def run(self) -> None:
        """Read the units in their order, and fold as many as are folded."""
        while True:
            rows = ledger.assigned_from(self.connection, self.stored.id, self.units, READ_AT_ONCE)
            if not rows:
                break
            first, last = rows[0].number, rows[-1].number
            events = dict(ledger.events_of(self.connection, self.stored.id, first, last))
            self._read_deals([row.deal for row in rows if row.deal is not None])
            for row in rows:
                self._take(row, events.get(row.number, []))
        self._check_block()
        self._change_now()

    def found(self) -> dict[str, Any]:
        """What must agree with what is stored."""
        arms = range(len(self.design.arms))
        verdict = self.standing.verdict
        stored = self.stored.standing.verdict
        if verdict is not None and stored is not None:
            # The raw log knows after which unit it was, not when somebody looked.
            verdict = replace(verdict, time=stored.time)
        return {
            "statistics": self.standing.statistics,
            "open": self.standing.open,
            "folded": self.standing.folded,
            "assigned": tuple(self.assigned[arm] for arm in arms),
            "verdict": verdict,
        }

    def _take(self, row: Any, values: list[float]) -> None:
        self.units += 1
        self.assigned[row.arm] += 1
        if row.deal is not None:
            if row.deal != self._block:
                self._check_block()
                self._block = row.deal
            self._handed.append(row.arm)
        if row.number >= self.stored.standing.folded:
            return
        self._change_now()
        value, _ = unit_outcome(self.design, values)
        deal = None if row.deal is None else self._deal(row.deal)
        design = self._by_hand.design
        self.standing = fold_unit(design, self.standing, deal, row.arm, value, 0.0)

    def _change_now(self) -> None:
        for change in self._by_hand.after(self.standing.folded):
            deal = self._deal(change["deal"]) if change["deal"] else None
            standing = self.standing._replace(handed=change["handed"])
            design = self._by_hand.design
            self.standing, kept = take_out(design, standing, change["arm"], deal, 0.0)
            if kept is not None:
                self._deals[kept.number] = kept

    def _check_block(self) -> None:
        """Compare the slots of the block at hand, as handed out, with those that were dealt."""
        slots = self._slots.get(self._block, ())
        if self._block == self.stored.standing.deal:
            slots = slots[: self.stored.standing.handed]
        if tuple(self._handed) != slots:
            got = _short(tuple(self._handed))
            self.misdealt.append(
                f"block {self._block} dealt as {_short(slots)}, handed out as {got}"
            )
        self._handed = []

    def _read_deals(self, numbers: list[int]) -> None:
        if not numbers:
            return
        found = ledger.find_deals(self.connection, self.stored.id, numbers[0], numbers[-1])
        slots = {number: deal.slots for number, deal in found.items()}
        self._slots = slots | {self._block: self._slots.get(self._block, ())}
        # What was struck by hand is struck again at its time.
        fresh = {number: replace(deal, struck=()) for number, deal in found.items()}
        kept = {number: deal for number, deal in self._deals.items() if number >= numbers[0]}
        self._deals = fresh | kept

    def _deal(self, number: int) -> Deal:
        if number not in self._deals:
            found = ledger.find_deals(self.connection, self.stored.id, number, number).get(number)
            assert found is not None
            # What was struck by hand is struck again at its time.
            self._deals[number] = replace(found, struck=())
        return self._deals[number]


class ByHand:
    """Knobs that were turned and arms that were taken out, each where it happened."""

    def __init__(self, connection: Connection, stored: Loaded) -> None:
        table = schema.audit.c
        asked = (
            select(table.action, table.detail)
            .where(table.experiment == stored.id, table.action.in_(("knob", "drop arm")))
            .order_by(table.id)
        )
        self._left = [(action, json.loads(text)) for action, text in connection.execute(asked)]
        self.design = stored.design
        for action, told in reversed(self._left):
            if action == "knob":
                self.design = with_knob(self.design, told["knob"], float(told["before"]))

    def after(self, progress: int) -> Iterator[dict[str, Any]]:
        """Turn the knob as it was turned by then, and yield the arms that were taken out."""
        while self._left and self._left[0][1]["after"] <= progress:
            action, told = self._left.pop(0)
            if action == "knob":
                self.design = with_knob(self.design, told["knob"], float(told["now"]))
            else:
                yield told


class StageReplay:
    """The same where outcomes keep coming: who came when, and every stage that was closed."""

    def __init__(self, connection: Connection, stored: Loaded) -> None:
        self.connection, self.stored = connection, stored
        self.standing = Standing.empty(stored.design)
        self.units = 0
        self.misdealt: list[str] = []
        self._by_hand = ByHand(connection, stored)

    def run(self) -> None:
        """Read the units, then the stages one after the other."""
        design, wanted = self.stored.design, self.stored.standing
        assert design.measure is not None
        origin = wanted.origin
        if origin is None:
            return
        if isinstance(design.rule, Static):
            self.standing = begun(design, self.standing, origin)
        counted = sum(some.units for some in wanted.crowd)
        assigned = [0] * len(design.arms)
        while rows := ledger.assigned_from(
            self.connection, self.stored.id, self.units, READ_AT_ONCE
        ):
            for row in rows:
                assigned[row.arm] += 1
            # After the decision everyone gets the winner, and is not part of the test.
            ours = () if isinstance(design.rule, Static) else rows[: max(0, counted - self.units)]
            for time, some in groupby(ours, key=attrgetter("time")):
                self.standing = joined(design, self.standing, [row.arm for row in some], time)
            self.units += len(rows)
        self.standing = self.standing._replace(assigned=tuple(assigned))
        for stage in range(1, wanted.progress + 1):
            self._change_now()
            sums = read_stage(self.connection, self.stored.id, design.measure, origin, stage)
            self.standing = closed(self._by_hand.design, self.standing, sums, 0.0)
        self._change_now()

    def _change_now(self) -> None:
        for change in self._by_hand.after(self.standing.progress):
            design = self._by_hand.design
            self.standing, _ = take_out(design, self.standing, change["arm"], None, 0.0)

    def found(self) -> dict[str, Any]:
        """What must agree with what is stored."""
        verdict, stored = self.standing.verdict, self.stored.standing.verdict
        if verdict is not None and stored is not None:
            verdict = replace(verdict, time=stored.time)
        names = ("statistics", "folded", "assigned", "crowd", "origin")
        return {name: getattr(self.standing, name) for name in names} | {"verdict": verdict}


def _short(value: object) -> str:
    return f"{value!r:.120}"
