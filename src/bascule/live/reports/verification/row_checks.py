"""Checks of single rows of the log: times, probabilities, arms, values, and rows without a unit.

`SignalCheck` recomputes early signals: their sums, and the block sizes that were based on them.
Each difference is listed, and none of them ends the checks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.core.enrolment.audience import checked_values
from bascule.core.procedures.base import Signals
from bascule.core.progress import next_block
from bascule.live.clock import TOLERANCE
from bascule.live.reports.history import WORDS
from bascule.live.steps.inputs import NAME
from bascule.live.steps.maturity import judge_value, sizes_of, with_delay
from bascule.live.steps.replay import Replay
from bascule.live.storage import queries, records, schema, statements
from bascule.live.storage.deals import Deal, Used
from bascule.live.storage.names import PREFIX
from bascule.live.storage.queries import Loaded, Rows
from bascule.live.storage.state import Assignment, Phase
from bascule.live.storage.state_json import DAMAGE, run_from_json

READ_AT_ONCE = 5000
UNITS_AT_ONCE = 1000
"""Number of units read at once with their outcomes; without outcomes it is `READ_AT_ONCE`."""

LOWEST = -(2**63)

MOST_LISTED = 1000
"""Maximum number of differences that are listed; further ones are only counted."""

# No joins: if a table has just grown, the database may choose a query plan that takes hours.
_ARRIVALS = (
    "SELECT number, time FROM assignments WHERE experiment = ? AND number >= ? "
    "ORDER BY number LIMIT ?"
)
_OUTCOMES = (
    "SELECT id, number, metric, value, per, at, received FROM outcomes "
    "WHERE experiment = ? AND number >= ?"
)
_BETWEEN = f"{_OUTCOMES} AND number <= ?"
_ERASED = (
    "SELECT e.number, a.unit FROM erased e LEFT JOIN assignments a "
    "ON a.experiment = e.experiment AND a.number = e.number WHERE e.experiment = ?"
)
_EXCLUDED = "SELECT count(*) FROM set_aside WHERE experiment = ?"
AUDIT = "SELECT id, time, action, detail FROM audit WHERE experiment = ? ORDER BY id"


LARGEST_VERSION = 2**53

SECOND = 1.0
"""Largest difference, in seconds, at which two computed times are considered equal."""


class Findings:
    """Differences found so far; beyond `MOST_LISTED` they are only counted."""

    def __init__(self) -> None:
        self._listed: list[str] = []
        self._more = 0

    def add(self, difference: str) -> None:
        """List a difference."""
        if len(self._listed) < MOST_LISTED:
            self._listed.append(difference)
        else:
            self._more += 1

    def all(self) -> tuple[str, ...]:
        """Return the listed differences, and the number of further ones."""
        further = [f"and {self._more:,} more differences"] if self._more else []
        return (*self._listed, *further)


def check_state(stored: Loaded, findings: Findings) -> None:
    """Check that the columns of an experiment's row are valid and agree with each other."""
    phase, state = stored.phase, stored.state
    if phase not in get_args(Phase):
        findings.add(f"state stored as {phase!r:.60}, which is not a state")
    if phase == "decided" and state.ending.verdict is None:
        findings.add("state stored as decided, without a decision")
    if state.ending.verdict is not None and phase not in ("decided", "stopped"):
        findings.add(f"state stored as {phase!r:.60}, with a decision")
    if phase == "decided" and state.ending.verdict is not None and not _is_due(stored):
        findings.add("stored as decided, before the calendar of the design allows it")
    if state.control.released and state.ending.verdict is None:
        findings.add("stored as released, without a decision")
    arms = range(len(stored.design.arms))
    if any(arm not in arms or to not in arms for arm, to in state.control.moved):
        findings.add("users of a dropped arm stored as moved to an arm that does not exist")
    everyone = state.control.everyone
    if everyone is not None and (everyone not in arms or phase != "stopped"):
        findings.add("stored with an arm for everyone, without a stop")
    control = state.control
    times = {"created": stored.created, "since": control.since, "latest": state.enrolment.latest}
    for name, time in times.items():
        if time is not None and not _is_time(time):
            findings.add(f"{name} stored as {short(time)}, which is not a time")
    if not (_is_time(control.ran) and control.ran >= 0.0 and 0.0 <= control.share <= 1.0):
        findings.add("stored with a running time or a share of the traffic that is impossible")
    if not isinstance(stored.name, str) or not NAME.fullmatch(stored.name):
        findings.add(f"name stored as {short(stored.name)}, which is not a valid name")
    if not isinstance(stored.version, int) or not 0 <= stored.version < LARGEST_VERSION:
        findings.add(f"version stored as {short(stored.version)}, which is not a valid number")
    values = stored.delivery.values
    if values is not None:
        try:
            checked_values(dict(zip(stored.design.arms, values, strict=True)), stored.design.arms)
        except DAMAGE as error:
            findings.add(f"the values of the arms cannot be used: {reason(error)}")


def _is_due(stored: Loaded) -> bool:
    """Return whether the calendar of the design allowed the decision when it was announced."""
    design, state = stored.design, stored.state
    verdict, first = state.ending.verdict, state.enrolment.origin
    if verdict is None or verdict.harm or not design.withholds or first is None:
        return True
    return design.announces(first, verdict.time) <= verdict.time + SECOND


def check_outcomes(
    connection: Connection, experiment: int, stored: Loaded | None, findings: Findings
) -> int:
    """Check every outcome against its unit and the design; return the number of outcomes."""
    designs: dict[str | None, Design] = {}
    if stored is not None:
        names = (None, *(metric.name for metric in stored.design.metrics))
        designs = dict(zip(names, (stored.design, *stored.design.metric_designs), strict=True))
    first: int | None = LOWEST
    counted = 0
    while first is not None:
        units = statements.fetch(connection, _ARRIVALS, experiment, first, UNITS_AT_ONCE)
        last = units[-1][0] if len(units) == UNITS_AT_ONCE else None
        if isinstance(last, int):
            rows = statements.fetch(connection, _BETWEEN, experiment, first, last)
            first = last + 1
        else:
            rows = statements.fetch(connection, _OUTCOMES, experiment, first)
            first = None
        arrivals: dict[int, float] = dict(map(tuple, units))
        counted += len(rows)
        for row, number, *outcome in rows:
            if number not in arrivals:
                findings.add(f"outcome {row} belongs to unit {number}, which does not exist")
            elif stored is not None:
                place = f"outcome {row} of unit {number}"
                _check_outcome(findings, place, designs, arrivals[number], *outcome)
    return counted


def _check_outcome(
    findings: Findings,
    place: str,
    designs: Mapping[str | None, Design],
    arrived: float,
    name: str | None,
    number: float,
    per: float | None,
    at: float,
    received: float,
) -> None:
    design = designs.get(name)
    if design is None:
        findings.add(f"{place}: metric stored as {short(name)}, which is not in the design")
        return
    measure, value = design.measure, queries.event_value(number, per)
    if not judge_value(design, value).accepted:
        findings.add(f"{place}: value stored as {short(value)}, which is not valid")
    if not (_is_time(at) and _is_time(received) and _is_time(arrived)):
        findings.add(f"{place}: at or received is not stored as a time")
    elif not arrived <= at <= max(received, arrived) + TOLERANCE:
        findings.add(f"{place}: at {at!r} lies outside {arrived!r} to {received!r}")
    elif measure is not None and measure.period is None and at >= measure.closes(arrived):
        findings.add(f"{place}: at {at!r} lies after the conversion window")


def readable_runs(
    connection: Connection, experiment: int, findings: Findings | None = None
) -> Iterator[list[Deal]]:
    """Yield the readable blocks of each stored row; list the rows that cannot be read."""
    for number, slots in statements.fetch(connection, queries.BLOCKS, experiment):
        try:
            yield run_from_json(number, slots)
        except DAMAGE as error:
            if findings is not None:
                findings.add(f"blocks from {number} on cannot be read: {reason(error)}")


def check_leftovers(
    connection: Connection, experiment: int, stored: Loaded | None, findings: Findings
) -> None:
    """List stored blocks that were never dealt, and unreadable blocks, history and log entries."""
    dealt = None if stored is None else stored.state.enrolment.deal
    for run in readable_runs(connection, experiment, findings):
        if dealt is not None and run and run[-1].number > dealt:
            findings.add(f"block {run[-1].number} is stored, but the last one dealt was {dealt}")
    progress = None if stored is None else stored.state.progress
    staged = stored is not None and stored.design.procedure.counts == "stages"
    counted = "stages" if staged else "units"
    for folded, time, statistics in statements.fetch(connection, records.HISTORY, experiment):
        _check_entry(findings, f"history after {folded} {counted}", time, statistics)
        if progress is not None and not folded <= progress:
            findings.add(f"history after {folded} {counted}, but only {progress} have counted")
    entries = statements.fetch(connection, AUDIT, experiment)
    is_logged = any(action == "decide" for _, _, action, _ in entries)
    if stored is not None and is_logged != (stored.state.ending.verdict is not None):
        findings.add("the audit log and the stored state differ about whether there is a decision")
    for row, time, action, detail in entries:
        _check_entry(findings, f"audit entry {row} ({action})", time, detail)
        if action not in WORDS:
            findings.add(
                f"audit entry {row}: action stored as {short(action)}, which is not an action"
            )


def _check_entry(findings: Findings, place: str, time: object, text: str) -> None:
    try:
        json.loads(text)
    except DAMAGE as error:
        findings.add(f"{place} cannot be read: {reason(error)}")
    if not _is_time(time):
        findings.add(f"{place}: time stored as {short(time)}, which is not a time")


def check_erased(
    connection: Connection, experiment: int, stored: Loaded | None, findings: Findings
) -> int:
    """Compare the list of erased units with the rows of these units; return the list's length."""
    rows = statements.fetch(connection, _ERASED, experiment)
    for number, unit in rows:
        if unit is None or not unit.startswith(PREFIX):
            findings.add(f"unit {number} is listed as erased, but has a name or no row")
    erased = len(rows) if stored is None else stored.state.names.erased
    if erased != len(rows):
        findings.add(f"erased stored as {erased}, but {len(rows)} units are listed")
    return len(rows)


def check_excluded(connection: Connection, stored: Loaded, findings: Findings) -> None:
    """Compare the number of excluded outcomes with the length of their list."""
    ((listed,),) = statements.fetch(connection, _EXCLUDED, stored.id)
    counts = stored.state.counts
    if listed != counts.excluded - counts.unlisted:
        findings.add(f"excluded stored as {counts.excluded}, but {listed} outcomes are listed")


def check_orphans(connection: Connection, findings: Findings) -> None:
    """List rows that belong to no experiment at all."""
    for table in schema.OF_EXPERIMENT:
        asked = (
            f"SELECT experiment, count(*) FROM {table} WHERE experiment NOT IN "  # nosec B608: our table
            "(SELECT id FROM experiments) GROUP BY experiment ORDER BY experiment"
        )
        for experiment, rows in statements.fetch(connection, asked):
            findings.add(
                f"{rows:,} rows of {table} belong to experiment {experiment}, which does not exist"
            )


class RowCheck:
    """Compares each assignment with the one before it and with the design."""

    def __init__(self, stored: Loaded, findings: Findings) -> None:
        self._arms = len(stored.design.arms)
        self._stored, self._findings = stored, findings
        self._number, self._time = -1, -math.inf

    def check(self, row: Assignment, chances: frozenset[float]) -> bool:
        """List the errors of a row; return whether it can be replayed."""
        place, sound = f"unit {row.number}", True
        if row.number != self._number + 1:
            self._findings.add(f"{place} comes after unit {self._number}: units are missing")
        self._number = row.number
        if not isinstance(row.arm, int) or not 0 <= row.arm < self._arms:
            self._findings.add(f"{place}: arm stored as {short(row.arm)}, which is not an arm")
            sound = False
        if not _is_time(row.time):
            self._findings.add(f"{place}: time stored as {short(row.time)}, which is not a time")
            sound = False
        else:
            self._check_time(place, row.time)
        if row.probability not in chances:
            wanted = " or ".join(f"{chance:g}" for chance in sorted(chances))
            self._findings.add(
                f"{place}: probability stored as {short(row.probability)}, dealt with {wanted}"
            )
        return sound

    def _check_time(self, place: str, time: float) -> None:
        if time < self._time:
            self._findings.add(f"{place}: time {time!r} lies before that of the unit before it")
        if time < self._stored.created - TOLERANCE:
            self._findings.add(f"{place}: time {time!r} lies before the experiment was created")
        self._time = max(self._time, time)

    def end(self) -> None:
        """Compare the time of the last row with the time of the last unit in the stored state."""
        latest = self._stored.state.enrolment.latest
        if self._number >= 0 and self._time != latest:
            self._findings.add(
                f"the last unit's time is {self._time!r}, but stored as {short(latest)}"
            )


def _is_time(time: object) -> bool:
    return isinstance(time, (int, float)) and math.isfinite(time)


def short(value: object) -> str:
    """Return a value as short text."""
    return f"{value!r:.120}"


def reason(error: BaseException) -> str:
    """Return the type and message of an error as short text."""
    return f"{type(error).__name__}: {error}"[:120]


class SignalCheck:
    """Recomputes the early signals of a test, and the block sizes that were based on them.

    The sizes of a block are recomputed from the signals stored with it, once the replay has folded
    as many units as had been folded when the block was dealt.
    """

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self.connection, self.stored, self.findings = connection, stored, findings
        self.is_used = stored.design.procedure.uses_signals
        self._arms = len(stored.design.arms)
        self._heard: dict[int, float] = {}
        self._choices = self._read() if self.is_used else iter(())
        self._next = next(self._choices, None)

    def read(self, rows: Sequence[Assignment]) -> None:
        """Read the times of the first events of units."""
        if self.is_used:
            log = Rows(self.connection, self.stored.id)
            self._heard = log.first_events([row.number for row in rows])

    def is_heard(self, row: Assignment) -> bool:
        """Whether a unit has an event."""
        return row.number in self._heard

    def with_delay(self, replay: Replay, row: Assignment) -> Replay:
        """Return the replay with the delay of the next unit's event added to the early signals."""
        self.check_choices(replay)
        if row.number not in self._heard:
            return replay
        span = row.time, self._heard[row.number]
        state = with_delay(self.stored.design, replay.state, row.arm, *span)
        return replace(replay, state=state)

    def check_choices(self, replay: Replay) -> None:
        """Recompute the sizes of blocks that were dealt up to this point of the replay."""
        while self._next is not None and self._next[1].folded <= replay.state.folding.folded:
            deal, used = self._next
            self._next = next(self._choices, None)
            sizes = sizes_of(deal, self._arms)
            rule = replay.design.rule.with_knob(used.knob)
            # Arms without units in the block had been removed.
            statistics = replay.changed(before=deal.number).state.latest_once
            gone = frozenset(arm for arm, units in enumerate(sizes) if not units)
            statistics = replace(statistics, removed=gone - statistics.dropped)
            design = replace(replay.design, rule=rule)
            chosen = next_block(design, statistics, Signals(*used.signals)).units
            if chosen != sizes:
                self.findings.add(
                    f"block {deal.number} has sizes {short(sizes)}, but those that follow "
                    f"from its stored inputs are {short(chosen)}"
                )

    def _read(self) -> Iterator[tuple[Deal, Used]]:
        for run in readable_runs(self.connection, self.stored.id):
            yield from ((deal, deal.used) for deal in run if deal.used is not None)
