"""Compute an experiment again from the raw log, and list all that differs from what is stored.

Damaged rows do not end it: each is listed, and what does not depend on them is still compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.live.reports.row_checks import (
    AUDIT,
    BLOCKS,
    DAMAGE,
    READ_AT_ONCE,
    Findings,
    RowCheck,
    check_leftovers,
    check_orphans,
    check_outcomes,
    check_state,
    reason,
    short,
)
from bascule.live.steps.assignment import Assignment
from bascule.live.steps.folding import fold_unit, take_out
from bascule.live.steps.maturity import unit_outcome
from bascule.live.steps.stages import begun, closed, joined
from bascule.live.storage import queries
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import Deal, ExperimentState, run_from_json
from bascule.live.transactions.change import with_knob
from bascule.live.transactions.settle import read_stage


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a recomputation; `differences` is empty if it gives what is stored."""

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


def verify(connection: Connection, experiment: int, name: str) -> Verification:
    """Replay the log of an experiment as far as it is folded, and list every difference."""
    findings = Findings()
    stored = _load(connection, experiment, name, findings)
    units = 0
    if stored is not None:
        check_state(stored, findings)
        staged = stored.design.procedure.counts == "stages"
        replay = (StageReplay if staged else _Replay)(connection, stored, findings)
        try:
            replay.run()
        except DAMAGE as error:
            findings.add(f"the replay ended at unit {replay.units}: {reason(error)}")
        else:
            replay.compare()
        units = replay.units
        check_outcomes(connection, stored, findings)
    check_leftovers(connection, experiment, stored, findings)
    counted = queries.fetch(connection, _COUNT_OUTCOMES, experiment)[0][0]
    return Verification(name, units, counted, findings.all())


def verify_orphans(connection: Connection, name: str) -> Verification:
    """List rows that belong to no experiment at all."""
    findings = Findings()
    check_orphans(connection, findings)
    return Verification(name, 0, 0, findings.all())


_COUNT_OUTCOMES = "SELECT count(*) FROM outcomes WHERE experiment = ?"
_STORED = (
    "SELECT id, name, created, design, state, standing, statistics, version FROM experiments "
    "WHERE id = ?"
)


def _load(connection: Connection, experiment: int, name: str, findings: Findings) -> Loaded | None:
    rows = queries.fetch(connection, _STORED, experiment)
    if not rows:
        raise queries.gone(name)
    try:
        return queries.loaded_row(rows[0])
    except DAMAGE as error:
        findings.add(f"the experiment's own row cannot be read: {reason(error)}")
        return None


class _Replay:
    """Folds units and changes by hand again, one after the other."""

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self.connection, self.stored, self.findings = connection, stored, findings
        self.design: Design = stored.design
        self.state = ExperimentState.empty(stored.design)
        self.units = 0
        self._rows = RowCheck(stored, findings)
        self._folds = True
        self._handed: list[int] = []
        self._block = 0
        self._slots: dict[int, Deal] = {}
        self._deals: dict[int, Deal] = {}
        self._by_hand = ByHand(connection, stored, findings)

    def run(self) -> None:
        """Read the units in their order, and fold as many as are folded."""
        first = 0
        while rows := queries.assigned_from(self.connection, self.stored.id, first, READ_AT_ONCE):
            first = rows[-1].number + 1
            events = dict(
                queries.events_of(self.connection, self.stored.id, rows[0].number, first - 1)
            )
            self._read_deals([row.deal for row in rows if row.deal is not None])
            for row in rows:
                self._take(row, events.get(row.number, []))
        self._rows.end()
        self._check_block()
        if self._folds:
            self._change_now()

    def compare(self) -> None:
        """List what the replay gives and what is stored, where they differ."""
        if not self._folds:
            self.findings.add("the statistics were not compared: damaged rows cannot be replayed")
        state, verdict = self.state, self.state.verdict
        stored = self.stored.state.verdict
        if verdict is not None and stored is not None:
            # The raw log knows after which unit it was, not when somebody looked.
            verdict = replace(verdict, time=stored.time)
        assigned = tuple(self._rows.assigned[arm] for arm in range(len(self.design.arms)))
        computed: dict[str, Any] = {"assigned": assigned}
        if self._folds:
            computed |= {
                "statistics": state.statistics,
                "open": state.open,
                "folded": state.folded,
                "verdict": verdict,
            }
        _compare(computed, self.stored.state, self.findings)

    def _take(self, row: Assignment, values: list[float]) -> None:
        self.units += 1
        slot = None
        if row.deal is not None:
            if row.deal != self._block:
                self._check_block()
                self._block = row.deal
            slot = len(self._handed)
            self._handed.append(row.arm)
        sound = self._rows.check(row, self._chances(row, slot))
        if row.number >= self.stored.state.folded or not self._folds:
            return
        if not sound:
            self._folds = False
            return
        try:
            self._fold(row, values)
        except DAMAGE as error:
            self.findings.add(f"unit {row.number} cannot be folded: {reason(error)}")
            self._folds = False

    def _fold(self, row: Assignment, values: list[float]) -> None:
        if self.design.measure is None and not values:
            raise ValueError("it has no outcome")
        self._change_now()
        value, _ = unit_outcome(self.design, values)
        deal = None if row.deal is None else self._deal(row.deal)
        self.state = fold_unit(self._by_hand.design, self.state, deal, row.arm, value, 0.0)

    def _chances(self, row: Assignment, slot: int | None) -> frozenset[float]:
        """Return the probabilities that a unit's arm may have had."""
        if slot is None:
            return frozenset((1.0,))
        deal = self._slots.get(row.deal or 0)
        found = frozenset[float]() if deal is None else _chances_of_slot(deal, slot)
        # A slot that does not exist is listed with its block.
        return found or frozenset((row.probability,))

    def _change_now(self) -> None:
        for change in self._by_hand.after(self.state.folded):
            deal = self._deal(change["deal"]) if change["deal"] else None
            state = self.state._replace(handed=change["handed"])
            design = self._by_hand.design
            self.state, kept = take_out(design, state, change["arm"], deal, 0.0)
            if kept is not None:
                self._deals[kept.number] = kept

    def _check_block(self) -> None:
        """Compare the slots of the current block, as handed out, with those that were dealt."""
        deal = self._slots.get(self._block)
        slots = () if deal is None else deal.slots
        if self._block == self.stored.state.deal:
            slots = slots[: self.stored.state.handed]
        if tuple(self._handed) != slots:
            handed = short(tuple(self._handed))
            self.findings.add(
                f"block {self._block} dealt as {short(slots)}, handed out as {handed}"
            )
        self._handed = []

    def _read_deals(self, numbers: list[int]) -> None:
        if not numbers:
            return
        found = self._find_deals(numbers[0], numbers[-1])
        current = {self._block: self._slots[self._block]} if self._block in self._slots else {}
        self._slots = found | current
        # What was struck by hand is struck again at its time.
        fresh = {number: replace(deal, struck=()) for number, deal in found.items()}
        kept = {number: deal for number, deal in self._deals.items() if number >= numbers[0]}
        self._deals = fresh | kept

    def _find_deals(self, first: int, last: int) -> dict[int, Deal]:
        try:
            return queries.find_deals(self.connection, self.stored.id, first, last)
        except DAMAGE:
            # One of them cannot be read: the others are read one by one.
            found: dict[int, Deal] = {}
            for number, slots in queries.fetch(self.connection, BLOCKS, self.stored.id):
                try:
                    found |= {deal.number: deal for deal in run_from_json(number, slots)}
                except DAMAGE:
                    continue
            return {number: deal for number, deal in found.items() if first <= number <= last}

    def _deal(self, number: int) -> Deal:
        if number not in self._deals:
            found = self._find_deals(number, number).get(number)
            if found is None:
                raise ValueError(f"its block {number} is not stored")
            # What was struck by hand is struck again at its time.
            self._deals[number] = replace(found, struck=())
        return self._deals[number]


@lru_cache(maxsize=4096)
def _chances_of_slot(deal: Deal, slot: int) -> frozenset[float]:
    """Return the probabilities of a slot's arm, before and after arms were dropped by hand."""
    versions = (replace(deal, struck=deal.struck[:i]) for i in range(len(deal.struck) + 1))
    return frozenset(one.chances[slot] for one in versions if slot < len(one.chances))


class ByHand:
    """Knobs that were turned and arms that were dropped by hand, each where it happened."""

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self._left: list[tuple[str, dict[str, Any]]] = []
        for _, _, action, text in queries.fetch(connection, AUDIT, stored.id):
            if action in ("knob", "drop arm"):
                try:
                    detail = json.loads(text)
                    int(detail["after"])
                except DAMAGE:
                    # The entry is listed with all that cannot be read.
                    continue
                self._left.append((action, detail))
        self.design = stored.design
        for action, detail in reversed(self._left):
            if action == "knob":
                try:
                    before = float(detail["before"])
                    self.design = with_knob(self.design, detail["knob"], before)
                except DAMAGE as error:
                    findings.add(f"a turn of the knob cannot be replayed: {reason(error)}")

    def after(self, progress: int) -> Iterator[dict[str, Any]]:
        """Turn the knob as it was turned by then, and yield the arms that were dropped."""
        while self._left and self._left[0][1]["after"] <= progress:
            action, detail = self._left.pop(0)
            if action == "knob":
                self.design = with_knob(self.design, detail["knob"], float(detail["now"]))
            else:
                yield detail


class StageReplay:
    """Replays a test whose outcomes keep coming: its units, and every stage that was closed."""

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self.connection, self.stored, self.findings = connection, stored, findings
        self.state = ExperimentState.empty(stored.design)
        self.units = 0
        self._rows = RowCheck(stored, findings)
        self._by_hand = ByHand(connection, stored, findings)

    def run(self) -> None:
        """Read the units, then the stages one after the other."""
        design, wanted = self.stored.design, self.stored.state
        assert design.measure is not None
        origin = wanted.origin
        if origin is None:
            return
        is_static = design.procedure.assigns == "hash"
        chances = frozenset((1.0 / len(design.arms) if is_static else 1.0,))
        if is_static:
            self.state = begun(design, self.state, origin)
        counted = sum(some.units for some in wanted.crowd)
        first = 0
        while rows := queries.assigned_from(self.connection, self.stored.id, first, READ_AT_ONCE):
            first = rows[-1].number + 1
            sound = [row for row in rows if self._rows.check(row, chances)]
            # After the decision everyone gets the winner, and is not part of the test.
            ours = () if is_static else sound[: max(0, counted - self.units)]
            for time, some in groupby(ours, key=attrgetter("time")):
                self.state = joined(design, self.state, [row.arm for row in some], time)
            self.units += len(rows)
        self._rows.end()
        assigned = tuple(self._rows.assigned[arm] for arm in range(len(design.arms)))
        self.state = self.state._replace(assigned=assigned)
        for stage in range(1, wanted.progress + 1):
            self._change_now()
            sums = read_stage(self.connection, self.stored.id, design.measure, origin, stage)
            self.state = closed(self._by_hand.design, self.state, sums, 0.0)
        self._change_now()

    def compare(self) -> None:
        """List what the replay gives and what is stored, where they differ."""
        verdict, stored = self.state.verdict, self.stored.state.verdict
        if verdict is not None and stored is not None:
            verdict = replace(verdict, time=stored.time)
        names = ("statistics", "folded", "assigned", "crowd", "origin")
        computed = {name: getattr(self.state, name) for name in names} | {"verdict": verdict}
        _compare(computed, self.stored.state, self.findings)

    def _change_now(self) -> None:
        for change in self._by_hand.after(self.state.progress):
            design = self._by_hand.design
            self.state, _ = take_out(design, self.state, change["arm"], None, 0.0)


def _compare(computed: dict[str, Any], stored: ExperimentState, findings: Findings) -> None:
    for name, value in computed.items():
        wanted = getattr(stored, name)
        if value != wanted:
            findings.add(f"{name} stored as {short(wanted)}, computed as {short(value)}")
