"""Recompute an experiment from the raw log, and list all differences from the stored state.

Damaged rows do not end the recomputation: each is listed, and everything else is still compared.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from sqlalchemy import Connection

from bascule.core.errors import InputError
from bascule.core.metrics.guardrails import empty_metrics
from bascule.core.outcomes import Pair
from bascule.core.statistics import Statistics
from bascule.live.reports.verification.row_checks import (
    AUDIT,
    READ_AT_ONCE,
    Findings,
    RowCheck,
    SignalCheck,
    check_erased,
    check_excluded,
    check_leftovers,
    check_orphans,
    check_outcomes,
    check_state,
    readable_runs,
    reason,
    short,
)
from bascule.live.steps.folding import announced, fold_ahead_unit, with_knob
from bascule.live.steps.maturity import Events, matured, outcomes_of
from bascule.live.steps.replay import ManualChange, Replay
from bascule.live.storage import queries, statements
from bascule.live.storage.deals import Deal
from bascule.live.storage.names import PREFIX
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import Assignment, ExperimentState, Folding, Front
from bascule.live.storage.state_json import DAMAGE
from bascule.live.transactions.settle import read_stage


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a recomputation; `differences` is empty if it agrees with the stored state.

    `erased` is the number of units erased on request or by age: the log still has their counted
    values, but not the single events that these were computed from. The covariates of erased units
    are gone as well: if they were needed, `unchecked` says what could not be recomputed.
    """

    name: str
    units: int
    """Number of units of the test."""
    outcomes: int
    """Number of outcomes in the log."""
    differences: tuple[str, ...]
    erased: int = 0
    unchecked: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the state that was recomputed from the raw log is the stored one."""
        return not self.differences

    def __str__(self) -> str:
        counted = f"{self.units:,} units and {self.outcomes:,} outcomes"
        if self.erased:
            counted += f" ({self.erased:,} units erased: their values stay, without names)"
        said = f"recomputed from {counted}; the stored state"
        if self.agrees and self.unchecked:
            return f"{self.name}: {said} agrees; {self.unchecked}"
        if self.agrees:
            return f"{self.name}: {said} agrees to the last digit"
        return f"{self.name}: {said} differs: {'; '.join(self.differences)}"


def verify(connection: Connection, experiment: int, name: str) -> Verification:
    """Replay the log of an experiment up to its last counted unit, and list every difference."""
    findings = Findings()
    stored = _load(connection, experiment, name, findings)
    units, unchecked = 0, ""
    if stored is not None:
        check_state(stored, findings)
        check_excluded(connection, stored, findings)
        staged = stored.design.procedure.counts == "stages"
        log = (_StageLog if staged else _UnitLog)(connection, stored, findings)
        try:
            log.run()
        except DAMAGE as error:
            findings.add(f"the replay ended at unit {log.units}: {reason(error)}")
        else:
            log.compare()
        units, unchecked = log.units, log.unchecked
    counted = check_outcomes(connection, experiment, stored, findings)
    check_leftovers(connection, experiment, stored, findings)
    erased = check_erased(connection, experiment, stored, findings)
    return Verification(name, units, counted, findings.all(), erased, unchecked)


def verify_orphans(connection: Connection, name: str) -> Verification:
    """List rows that belong to no experiment at all."""
    findings = Findings()
    check_orphans(connection, findings)
    return Verification(name, 0, 0, findings.all())


def _load(connection: Connection, experiment: int, name: str, findings: Findings) -> Loaded | None:
    try:
        return queries.stored_row(connection, experiment, name)
    except DAMAGE as error:
        if isinstance(error, InputError) and error.kind == "not_found":
            raise
        findings.add(f"the experiment's own row cannot be read: {reason(error)}")
        return None


def _changes(connection: Connection, stored: Loaded, findings: Findings) -> list[ManualChange]:
    """Return the changes of knobs and the removals of arms in the audit log, in order."""
    changes = []
    for _, _, action, text in statements.fetch(connection, AUDIT, stored.id):
        if action not in ("knob", "drop arm", "harm"):
            continue
        try:
            detail = json.loads(text)
            after = int(detail["after"])
        except DAMAGE:
            # `check_leftovers` lists unreadable entries.
            continue
        try:
            if action == "knob":
                change = ManualChange(
                    after, detail["knob"], float(detail["before"]), float(detail["now"])
                )
                for value in (change.before, change.now):
                    with_knob(stored.design, change.knob, value)
            else:
                arm, deal, handed = detail["arm"], detail["deal"] or 0, detail["handed"]
                by_harm = action == "harm"
                change = ManualChange(after, arm=arm, deal=deal, handed=handed, by_harm=by_harm)
        except DAMAGE as error:
            findings.add(f"a change by hand ({action}) cannot be replayed: {reason(error)}")
        else:
            changes.append(change)
    return changes


class _UnitLog:
    """Reads, checks and replays the log of a test with one outcome per unit."""

    names: tuple[str, ...] = (
        *("statistics", "block.sums", "block.metrics", "folding.folded", "enrolment.under_way"),
        *("ending.verdict", "ending.held", "ending.final", "signals.early", "signals.delays"),
    )

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self.connection, self.stored, self.findings = connection, stored, findings
        self.units = 0
        self._log = queries.Rows(connection, stored.id)
        self._rows = RowCheck(stored, findings)
        self._folds = True
        self._since: int | None = None
        self._total = 0.0
        self._counted_at = 0.0
        self._handed: list[int] = []
        self._block = 0
        self._deals: dict[int, Deal] = {}
        self._signals = SignalCheck(connection, stored, findings)
        fronts = tuple(Front(*front[:2]) for front in stored.state.folding.fronts)
        self._ahead = ExperimentState.empty(stored.design)._replace(folding=Folding(fronts=fronts))
        changes = _changes(connection, stored, findings)
        origin = stored.state.enrolment.origin
        self.replay = Replay.start(stored.design, self._deal, changes, origin)

    def run(self) -> None:
        """Read the units in order, and count as many of them as the stored state has counted."""
        first = 0
        while rows := self._log.assigned_from(first, READ_AT_ONCE):
            first = rows[-1].number + 1
            events = self._log.events_of(rows[0].number, first - 1)
            self._signals.read(rows)
            numbers = [row.deal for row in rows if row.deal is not None]
            if numbers:
                # The first block may have begun in earlier rows, and later blocks may have no unit.
                self._deals = self._find_deals(self._block or 1, numbers[-1])
            for row in rows:
                self._take(row, events.get(row.number, {}))
        self._rows.end()
        self._check_block()
        if self._folds:
            self._signals.check_choices(self.replay)
            self.replay = self.replay.changed()

    def compare(self) -> None:
        """List the differences between the replayed and the stored state."""
        if self._since is not None:
            self._compare_totals()
        elif not self._folds:
            self.findings.add("the statistics were not compared: damaged rows cannot be replayed")
        for fault in self.replay.faults if self._folds else ():
            self.findings.add(f"the test did not follow its rule: {fault}")
        wanted = self.stored.state
        if wanted.ending.verdict is not None:
            self.replay = self.replay.announced(wanted.ending.verdict.time)
        replayed = self._with_ahead(self.replay.state)
        verdict, held = replayed.ending.verdict, replayed.ending.held
        # The raw log knows after which unit a decision was reached, but not at which time.
        if verdict is not None and wanted.ending.verdict is not None:
            verdict = replace(verdict, time=wanted.ending.verdict.time)
        elif verdict is None and held is not None and wanted.ending.held is not None:
            held = replace(held, time=wanted.ending.held.time)
        ending = replayed.ending._replace(verdict=verdict, held=held)
        computed = replayed._replace(ending=ending)
        for name in ("enrolment.assigned", *(self.names if self._folds else ())):
            stored, value = (attrgetter(name)(state) for state in (wanted, computed))
            if value != stored:
                difference = f"{short(stored)}, computed as {short(value)}"
                self.findings.add(f"{name.rpartition('.')[2]} stored as {difference}")

    @property
    def unchecked(self) -> str:
        """A sentence on what could not be recomputed without the covariates of erased units."""
        if self._since is None:
            return ""
        return (
            f"covariates of erased units are gone, so from unit {self._since + 1:,} on only the "
            "number and the total of the outcomes were computed again, not what covariates explain"
        )

    def _compare_totals(self) -> None:
        """Compare the number and the total of all counted outcomes, before any adjustment."""
        state = self.stored.state
        stored = [
            sum(parts[k] for parts in (state.once.covariates, state.block.covariates) if parts)
            for k in (0, 1)
        ]
        if stored[0] != state.folding.folded:
            self.findings.add(
                f"{state.folding.folded} units have counted, but {stored[0]:g} are in the sums"
            )
        # For a ratio the stored total is of residuals, which depend on blocks not replayed here.
        is_ratio = math.isnan(self._total)
        if not is_ratio and not math.isclose(stored[1], self._total, rel_tol=1e-9, abs_tol=1e-9):
            self.findings.add(f"total stored as {stored[1]!r}, computed as {self._total!r}")

    def _take(self, row: Assignment, events: Events) -> None:
        self.units += 1
        slot, deal = None, None
        if row.deal is not None:
            if row.deal != self._block:
                self._check_block()
                self._check_skipped(row.deal)
                self._block = row.deal
            slot, deal = len(self._handed), self._deals.get(row.deal)
            self._handed.append(row.arm)
        sound = self._rows.check(row, self._chances(row, slot))
        is_heard = self._signals.is_heard(row)
        self.replay = self.replay.enrolled(row.arm, deal, slot == 0, is_heard)
        if sound and self._folds:
            self._take_ahead(row, events)
        if row.number >= self.stored.state.folding.folded:
            return
        if not self._folds and self._since is None:
            return
        if not sound:
            self._folds = False
            return
        design = self.stored.design
        try:
            if design.measure is None and not events.get(None):
                raise ValueError("it has no outcome")
            if design.measure is None and len(events) < 1 + len(design.metrics):
                raise ValueError("it has no outcome of some metric")
            unit = matured(design, row.arm, events, row.known, self._places_ahead)
            self._total += math.nan if isinstance(unit.value, Pair) else unit.value
            is_erased = row.covariates is None and row.unit.startswith(PREFIX)
            if design.adjustment is not None and is_erased and self._since is None:
                self._since, self._folds = row.number, False
            if not self._folds:
                return
            replay = self._signals.with_delay(self.replay, row).changed().checked(self._counted_at)
            counts_at = design.matures(row.time) or 0.0
            verdict = self.stored.state.ending.verdict
            if verdict is not None and counts_at > verdict.time:
                replay = replay.announced(verdict.time)
            self.replay = replay.fold(unit, row.deal)
            self._counted_at = counts_at
        except DAMAGE as error:
            self.findings.add(f"unit {row.number} cannot be counted: {reason(error)}")
            self._folds = False

    @property
    def _places_ahead(self) -> frozenset[int]:
        """Indices of the metrics whose windows close before that of the primary metric."""
        return frozenset(number for front in self._ahead.folding.fronts for number in front.metrics)

    def _take_ahead(self, row: Assignment, events: Events) -> None:
        """Add a unit to the metrics with shorter windows in which the store has counted it."""
        design = self.stored.design
        for place, front in enumerate(self.stored.state.folding.fronts):
            if row.number >= front.folded or row.deal not in self._deals:
                continue
            values = [value for value, _ in outcomes_of(design, front.metrics, events)]
            deal = self._deals[row.deal]
            self._ahead = fold_ahead_unit(design, self._ahead, place, deal, row.arm, values, 0.0)

    def _with_ahead(self, state: ExperimentState) -> ExperimentState:
        """Return the state with the replayed statistics of metrics that have shorter windows."""
        places = self._places_ahead
        if not places or not self._folds:
            return state
        design = self.stored.design
        metrics: tuple[Statistics, ...] = ()
        if self._ahead.once.metrics or state.once.metrics:
            ahead = self._ahead.once.metrics or empty_metrics(design)
            metrics = tuple(
                replace(ahead[number], lacking=metric_statistics.lacking)
                if number in places
                else metric_statistics
                for number, metric_statistics in enumerate(
                    state.once.metrics or empty_metrics(design)
                )
            )
        opened = (
            (self._ahead if number in places else state).block.metrics[number]
            for number in range(len(design.metrics))
        )
        merged = state._replace(
            statistics=replace(state.once, metrics=metrics),
            block=state.block._replace(metrics=tuple(opened)),
        )
        return announced(design, merged, 0.0)

    def _chances(self, row: Assignment, slot: int | None) -> frozenset[float]:
        """Return the probabilities with which the unit may have got its arm."""
        if slot is None:
            return frozenset((1.0,))
        deal = self._deals.get(row.deal or 0)
        chances = frozenset[float]() if deal is None else _chances_of_slot(deal, slot)
        # `_check_block` lists a slot that does not exist.
        return chances or frozenset((row.probability,))

    def _check_block(self) -> None:
        """Compare the arms that units got in the current block with the arms that were dealt."""
        deal = self._deals.get(self._block)
        slots = () if deal is None else deal.slots
        stored = self.stored.state.enrolment
        if self._block == stored.deal:
            slots = slots[: stored.handed]
            left = 0 if deal is None else len(deal.slots) - stored.handed
            if left != stored.left:
                message = f"places left stored as {stored.left}, but the last block has {left}"
                self.findings.add(message)
        if tuple(self._handed) != slots:
            handed = short(tuple(self._handed))
            self.findings.add(
                f"block {self._block} dealt as {short(slots)}, handed out as {handed}"
            )
        self._handed = []

    def _check_skipped(self, block: int) -> None:
        """List the blocks without units between the current block and another one."""
        first, last = self._block + 1, block - 1
        if first <= last:
            missing = f"{first}" if first == last else f"{first} to {last}"
            self.findings.add(f"no unit has a slot of block {missing}, but one of block {block}")

    def _find_deals(self, first: int, last: int) -> dict[int, Deal]:
        try:
            return self._log.find_deals(first, last)
        except DAMAGE:
            # A block cannot be read; `check_leftovers` lists it.
            runs = readable_runs(self.connection, self.stored.id)
            deals = (deal for run in runs for deal in run)
            return {deal.number: deal for deal in deals if first <= deal.number <= last}

    def _deal(self, number: int) -> Deal:
        deal = self._deals.get(number) or self._find_deals(number, number).get(number)
        if deal is None:
            raise ValueError(f"its block {number} is not stored")
        return deal


@lru_cache(maxsize=4096)
def _chances_of_slot(deal: Deal, slot: int) -> frozenset[float]:
    """Return the probabilities of a slot's arm, before and after each removal of an arm."""
    versions = (replace(deal, struck=deal.struck[:i]) for i in range(len(deal.struck) + 1))
    return frozenset(version.chances[slot] for version in versions if slot < len(version.chances))


class _StageLog(_UnitLog):
    """Replays the log of a test with recurring outcomes: units, and all closed stages."""

    names = (
        *("statistics", "folding.folded", "enrolment.crowd", "enrolment.origin", "ending.verdict"),
    )

    def run(self) -> None:
        """Read and replay the units, then the stages one after the other."""
        design, wanted = self.stored.design, self.stored.state
        assert design.measure is not None
        if wanted.enrolment.origin is None:
            # No unit has arrived yet, but arms may have been dropped.
            self.replay = self.replay.changed()
            return
        counted = sum(joiners.units for joiners in wanted.enrolment.crowd)
        first = 0
        while rows := self._log.assigned_from(first, READ_AT_ONCE):
            first = rows[-1].number + 1
            sound = [row for row in rows if self._rows.check(row, frozenset((1.0,)))]
            for row in rows:
                self.replay = self.replay.enrolled(row.arm)
            # Units that come after the decision get the winner and are not part of the test.
            ours = sound[: max(0, counted - self.units)]
            for time, group in groupby(ours, key=attrgetter("time")):
                self.replay = self.replay.join([row.arm for row in group], time)
            self.units += len(rows)
        self._rows.end()
        for stage in range(1, wanted.progress + 1):
            sums = read_stage(self._log, design.measure, wanted, stage)
            self.replay = self.replay.close_stage(sums)
        self.replay = self.replay.changed()
