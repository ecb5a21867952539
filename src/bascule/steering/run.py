"""`steer`: one run of a steered test, from reading its log to setting the next shares.

Before shares are written, the ledger has the intent; afterwards it has the shares that were read
back. So a run that is killed in between leaves a trace, and the next one finds out whether the
write happened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bascule.core.course import is_past
from bascule.core.diagnostics import AllocationStatistics
from bascule.core.diagnostics.allocation import allocation_any_time
from bascule.core.errors import InputError
from bascule.core.rounds import next_shares
from bascule.live.reports.status import Status, status_of
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import ExperimentState, Phase
from bascule.steering.definition import SteeredTest
from bascule.steering.evidence import SteeringEvidence, arm_that_stays, fold_blocks
from bascule.steering.ledger import HAND, CountedPart, Ledger, Row, Shares, open_ledger, read_time
from bascule.steering.reading import (
    Counts,
    LogRead,
    Outcomes,
    SteeredLog,
    new_blocks,
    opened_log,
)
from bascule.steering.result import SteeringRun
from bascule.steering.targets import WRITE_SECONDS, failed

ROUNDING = 0.006
"""Shares that differ by at most this are the same: some tools keep whole percents."""

WORTHWHILE = 0.02
"""Shares stay as they are if none of them would change by more than this."""

GONE = 0.9
"""If a block keeps less than this fraction of its units, rows of the log were deleted."""

RATIO_LEVEL = 0.01
"""Maximum probability that a sound test is ever flagged for a sample ratio mismatch."""

ENDED_BY = {
    "cap": ": the test has reached its cap on units",
    "deadline": ": the test has reached its deadline",
}
"""Words for the reasons to end a test that the status of a live test does not name."""


def steer(
    path: str | Path, *, dry_run: bool = False, resume: bool = False, now: datetime | None = None
) -> SteeringRun:
    """Run a steered test once: read its log, judge it, and set the next shares of its flag.

    Parameters
    ----------
    path
        The JSON file of the test (docs/using/steer-your-flags.md). Its ledger is kept beside it.
    dry_run
        Return what a run would do, and change neither the flag nor the ledger.
    resume
        Go on after somebody else has changed the shares.
    now
        The time of the run; the current time if not given.

    """
    test = SteeredTest.load(path)
    with open_ledger(test.ledger, dry_run=dry_run) as ledger:
        return _Run(test, ledger, now, dry_run).steered(resume)


def is_same(shares: Shares, other_shares: Shares, tolerance: float = ROUNDING) -> bool:
    """Return whether two splits are the same up to rounding.

    >>> is_same({"a": 0.5, "b": 0.5}, {"a": 0.503, "b": 0.497}), is_same({"a": 1.0}, {"b": 1.0})
    (True, False)
    """
    arms = {*shares, *other_shares}
    return all(abs(shares.get(arm, 0.0) - other_shares.get(arm, 0.0)) <= tolerance for arm in arms)


def shares_words(shares: Shares) -> str:
    """Return a split in words.

    >>> shares_words({"control": 0.125, "green": 0.875})
    'control 12.5 %, green 87.5 %'
    """
    return ", ".join(f"{arm} {100 * share:.3g} %" for arm, share in shares.items())


@dataclass(slots=True)
class _Run:
    """One run of a test: its ledger, its time if it is not the current time, and notes on it."""

    test: SteeredTest
    ledger: Ledger
    moment: datetime | None
    dry_run: bool
    notes: list[str] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        """The time of the run or the current time, which advances while a large log is read."""
        return (self.moment or datetime.now(UTC)).astimezone(UTC)

    def steered(self, resume: bool) -> SteeringRun:
        """Begin, continue or end the test, as its ledger and its log require."""
        ledger = self.ledger
        self._check_design()
        found = self._read_flag()
        self._reconcile(found)
        if ledger.is_by_hand and not resume:
            raise self._by_hand(ledger.periods[-1].shares)
        if ledger.is_by_hand:
            ledger.add("resumed", self.now)
        if decided := ledger.latest("decided"):
            before = ledger.periods[-1].shares
            return self._result(before, self._everyone(before, decided))
        with opened_log(self.test) as log:
            if not ledger.periods:
                return self._begin(found, log.read)
            blocks, counts, read = self._counted(log)
        self._check_ratio(blocks)
        matures = self.test.matures
        counted = [block.until.timestamp() + matures for block in blocks]
        now = self.now.timestamp()
        evidence = fold_blocks(self.test.design, counts, self.test.name, counted, now)
        self._note(evidence, read)
        return self._act(evidence, read, blocks[0].since if blocks else self.now)

    # State

    def _check_design(self) -> None:
        """Begin the ledger, or check that it belongs to the same test and design."""
        design = json.dumps(self.test.design.to_dict(), sort_keys=True)
        now = {"test": self.test.name, "design": hashlib.sha256(design.encode()).hexdigest()[:16]}
        begun = self.ledger.latest("start")
        if begun is not None and now.items() <= begun.items():
            return
        if self.ledger.periods:
            raise InputError(
                "design",
                "the name or the design of the test has changed since it began, which its error "
                "does not allow: restore them, or begin a new test with a file of another name",
                kind="conflict",
            )
        self.ledger.add("start", self.now, **now)

    def _read_flag(self) -> Shares:
        """Return the shares in the flag tool; raise an error if its variants are not the arms."""
        found = self.test.target.read()
        if set(found) != set(self.test.design.arms):
            raise failed(
                "target",
                f"the variants of the flag ({', '.join(found)}) and the arms of the design "
                f"({', '.join(self.test.design.arms)}) differ: give them the same names",
            )
        return found

    def _reconcile(self, found: Shares) -> None:
        """Find out whether a write of an earlier run took place, or somebody changed the shares."""
        ledger, now = self.ledger, self.now
        pending = ledger.pending
        current = ledger.periods[-1].shares if ledger.periods else None
        if pending is not None and is_same(found, pending["shares"]):
            at = read_time(pending["at"])
            since = at + timedelta(seconds=2.0 * WRITE_SECONDS + self.test.settle)
            self._in_force(found, since=since, previous_until=at)
            self.notes.append(
                f"a run that began on {at:%Y-%m-%d %H:%M} was killed after it had written the "
                "shares: they are in force, and were not written again"
            )
        elif pending is not None and (current is None or is_same(found, current)):
            ledger.add("void", now)
            self.notes.append(
                f"a run that began on {read_time(pending['at']):%Y-%m-%d %H:%M} ended before it "
                "had written the shares"
            )
        elif current is not None and not is_same(found, current):
            self._in_force(found, previous_until=ledger.verified, by=HAND)
            raise self._by_hand(found)
        elif current is not None:
            ledger.add("checked", now)

    def _by_hand(self, shares: Shares) -> InputError:
        return InputError(
            "shares",
            f"the shares were changed by somebody else ({shares_words(shares)}): they are noted in "
            "the ledger and left as they are; units that came since the previous run do not count. "
            "To steer on from here, run once with resume (--resume)",
            kind="conflict",
            others=("resume",),
        )

    def _in_force(
        self,
        shares: Shares,
        *,
        previous_until: datetime,
        since: datetime | None = None,
        by: str = "steer",
    ) -> None:
        """Add to the ledger the shares in the flag tool, and the time since when units get them.

        The shares before these were surely in force until `previous_until`.
        """
        since = since or self.now + timedelta(seconds=self.test.settle)
        parts = {"since": since.isoformat(), "until": previous_until.isoformat()}
        self.ledger.add("in force", self.now, **parts, shares=dict(shares), by=by)

    def _write(self, shares: Shares) -> Shares:
        """Write shares to the flag tool; record the intent and the result in the ledger."""
        if self.dry_run:
            return shares
        intended = self.now
        self.ledger.add("intent", intended, shares=dict(shares))
        self.test.target.write(shares)
        written = self._read_flag()
        self._in_force(written, previous_until=intended)
        if not is_same(written, shares):
            raise failed(
                "target",
                f"it has {shares_words(written)} after {shares_words(shares)} was written: find "
                "out what keeps the flag from taking these shares",
            )
        return written

    def _begin(self, found: Shares, read: LogRead) -> SteeringRun:
        """Start a test with an even split, after its log was read to find mistakes."""
        arms = self.test.design.arms
        shares = self._write(dict.fromkeys(arms, 1.0 / len(arms)))
        self.notes.append("the test begins: units count from now on")
        return self._result(found, shares, log=read)

    def _result(self, before: Shares, after: Shares, **parts: Any) -> SteeringRun:
        decided, notes = self.ledger.latest("decided"), tuple(self.notes)
        said = {"decided": decided, "notes": notes, "dry_run": self.dry_run, **parts}
        return SteeringRun(self.test.name, self.now, before, after, **said)

    # Log

    def _counted(self, log: SteeredLog) -> tuple[list[CountedPart], list[Counts], LogRead]:
        """Count all blocks again, and add those that are new or have changed to the ledger."""
        test, ledger = self.test, self.ledger
        known = ledger.blocks
        blocks = list(known)
        if log.read.newest is not None:
            closed = log.read.newest - timedelta(seconds=test.matures)
            blocks += new_blocks(ledger.periods, known, closed)
        counts, elsewhere = log.counts(blocks)
        read = [
            replace(block, sums={arm: _sums(outcomes) for arm, outcomes in count.items()})
            for block, count in zip(blocks, counts, strict=True)
        ]
        restated = [k for k, block in enumerate(known) if block.sums != read[k].sums]
        gone = [k for k in restated if read[k].units < GONE * known[k].units]
        if gone:
            block = known[gone[0]]
            raise InputError(
                "exposures",
                f"rows are gone: the units that came from {block.since:%Y-%m-%d %H:%M} to "
                f"{block.until:%Y-%m-%d %H:%M} were {block.units:,} and are now "
                f"{read[gone[0]].units:,}; the shares stay as they are: restore the rows, or end "
                "the test",
                kind="conflict",
            )
        for number in (*restated, *range(len(known), len(read))):
            block = read[number]
            parts = {"since": block.since.isoformat(), "until": block.until.isoformat()}
            sums = {arm: list(pair) for arm, pair in block.sums.items()}
            shares = dict(block.shares)
            ledger.add("block", self.now, number=number, **parts, shares=shares, sums=sums)
        if restated:
            changed = sum(read[k].units - known[k].units for k in restated)
            self.notes.append(
                f"the log was restated: {len(restated)} of {len(known)} counted blocks have other "
                f"sums than before ({changed:+,} units); all of it is judged again"
            )
        if len(read) == len(known):
            self.notes.append(
                f"no further window has closed in the log ({log.read.end}): nothing new counts"
            )
        return read, counts, replace(log.read, elsewhere=elsewhere)

    def _check_ratio(self, blocks: Sequence[CountedPart]) -> None:
        """Raise `InputError` if the units of the arms do not match the shares in force."""
        total, arms = None, self.test.design.arms
        for block in blocks:
            # An arm with a share of 0 can only be served from caches, and is not compared.
            block_shares = [block.shares.get(arm, 0.0) for arm in arms]
            units = [
                block.units_of(arm) if share else 0
                for arm, share in zip(arms, block_shares, strict=True)
            ]
            part = AllocationStatistics.of_counts(
                units, [share / sum(block_shares) for share in block_shares]
            )
            total = part if total is None else total + part
        if total is None or not (check := allocation_any_time(total, RATIO_LEVEL)).flagged:
            return
        pairs = zip(arms, total.observed, total.expected, strict=True)
        listed = "; ".join(f"{arm} {got:,} for {expected:,.0f}" for arm, got, expected in pairs)
        raise InputError(
            "exposures",
            f"sample ratio mismatch: units of each arm, and units expected by the shares: {listed} "
            f"(p = {check.p_value:.2g}); the shares stay as they are: find out where exposures are "
            "lost or counted twice",
            kind="conflict",
        )

    def _note(self, evidence: SteeringEvidence, read: LogRead) -> None:
        """Add a note for each kind of rows or outcomes that were left out or changed."""
        counted = {
            **{f"rows excluded, {reason}": rows for reason, rows in read.excluded.items()},
            "outcomes beyond the limits, counted as the nearest limit": evidence.clipped,
            "units of blocks in which an arm has nobody, so that nothing is compared": (
                evidence.unpaired
            ),
        }
        self.notes += [f"{title}: {number:,}" for title, number in counted.items() if number]

    # Shares

    def _act(self, evidence: SteeringEvidence, read: LogRead, since: datetime) -> SteeringRun:
        """End the test if it is decided or over; else set the next shares."""
        design, state, before = self.test.design, evidence.state, self.ledger.periods[-1].shares
        is_over = evidence.reason is not None or self._is_past_deadline(read)
        is_decided = state.ending.verdict is not None
        if is_decided or (is_over and state.ending.held is None):
            return self._decide(evidence, read, since)
        shares = before if state.ending.held else next_shares(design, state.once)
        status = self._status(state, "running", since)
        after = before if is_same(shares, before, WORTHWHILE) else self._write(shares)
        return self._result(before, after, log=read, status=status)

    def _is_past_deadline(self, read: LogRead) -> bool:
        newest, deadline = read.newest, self.test.design.deadline
        if newest is None or deadline is None:
            return False
        return is_past(deadline, newest.timestamp())

    def _status(self, state: ExperimentState, phase: Phase, since: datetime) -> Status:
        """Return what the log shows, as the status of a live test."""
        test = Loaded(0, self.test.name, since.timestamp(), self.test.design, phase, state, 0)
        return status_of(test, self.now.timestamp())

    def _decide(self, evidence: SteeringEvidence, read: LogRead, since: datetime) -> SteeringRun:
        """Record the end of the test and its status, and give everyone the arm that stays."""
        design, state, verdict = self.test.design, evidence.state, evidence.state.ending.verdict
        stays = arm_that_stays(design, evidence)
        control = state.control._replace(everyone=design.arms.index(stays))
        phase: Phase = "over" if verdict is None else "decided"
        status = self._status(state._replace(control=control), phase, since)
        reason = None if verdict is not None else evidence.reason or "deadline"
        self.notes.append(f"everyone gets {stays}{ENDED_BY.get(reason or '', '')}")
        said = status.report()
        decided = {
            "winner": None if verdict is None else verdict.name,
            "reason": reason,
            "everyone": stays,
            "status": status.to_dict(),
            "headline": said.headline,
            "said": [said.question, *said.notes],
        }
        self.ledger.add("decided", self.now, **decided)
        before = self.ledger.periods[-1].shares
        after = self._everyone(before, decided)
        return self._result(before, after, log=read, status=status)

    def _everyone(self, before: Shares, decided: Row) -> Shares:
        """Give everyone the arm that stays, unless they have it."""
        shares = {arm: float(arm == decided["everyone"]) for arm in self.test.design.arms}
        return before if is_same(before, shares) else self._write(shares)


def _sums(outcomes: Mapping[Outcomes, int]) -> tuple[float, ...]:
    """Return the number of units of an arm, and the sum of their outcomes for each metric."""
    parts = ([units * value for value in values] for values, units in sorted(outcomes.items()))
    return sum(outcomes.values()), *map(sum, zip(*parts, strict=True))
