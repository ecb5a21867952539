"""`steer`: one run of a steered test, from the log to the shares that come next.

Before shares are written, the ledger has the intent; afterwards it has what was read back. So a run
that is killed in between leaves a trace, and the next one finds out whether the write happened.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bascule.core.diagnostics import AllocationStatistics
from bascule.core.diagnostics.allocation import allocation_any_time
from bascule.core.errors import InputError
from bascule.core.metrics.effects import effects
from bascule.core.rounds import next_shares
from bascule.core.types import NOBODY
from bascule.steering.definition import SteeredTest
from bascule.steering.evidence import SteeringEvidence, fold_blocks
from bascule.steering.ledger import HAND, CountedPart, Ledger, Row, Shares, open_ledger, read_time
from bascule.steering.reading import Counts, SteeredLog, closed_by, new_blocks, opened_log
from bascule.steering.result import SteeringRun
from bascule.steering.targets import WRITE_SECONDS, failed

SAME = 0.006
"""Shares that differ by less are the same: some tools keep whole percents."""

WORTHWHILE = 0.02
"""Shares that would change by less stay as they are."""

GONE = 0.9
"""A block that has less than this part of the units it had is one whose rows were deleted."""

RATIO_LEVEL = 0.01
"""Probability that the sample ratio of a sound test is ever flagged."""


def steer(
    path: str | Path, *, dry_run: bool = False, resume: bool = False, now: datetime | None = None
) -> SteeringRun:
    """Run a steered test once: read its log, judge it, and set the next shares of its flag.

    Parameters
    ----------
    path
        The file of the test. Its ledger is kept beside it.
    dry_run
        Change nothing, neither the flag nor the ledger: say what a run would do.
    resume
        Go on after somebody else has changed the shares.
    now
        The time of the run, the clock's if not given.

    Returns
    -------
    SteeringRun
        What was read, what it shows, and what was done.

    """
    test = SteeredTest.load(path)
    now = (now or datetime.now(UTC)).astimezone(UTC)
    with open_ledger(test.ledger, dry_run=dry_run) as ledger:
        return _Run(test, ledger, now, dry_run).steered(resume)


def is_same(shares: Shares, other_shares: Shares, tolerance: float = SAME) -> bool:
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
    """One run: the test, its ledger, the time, and what there is to say."""

    test: SteeredTest
    ledger: Ledger
    now: datetime
    dry_run: bool
    notes: list[str] = field(default_factory=list)

    def steered(self, resume: bool) -> SteeringRun:
        """Do what the state of the test asks for."""
        test, ledger = self.test, self.ledger
        self._check_design()
        found = self._found()
        self._reconcile(found)
        if not ledger.periods:
            return self._begin(found)
        if ledger.is_by_hand and not resume:
            raise self._by_hand(ledger.periods[-1].shares)
        if ledger.is_by_hand:
            ledger.add("resumed", self.now)
        decided = ledger.latest("decided")
        if decided is not None:
            return self._after(decided)
        before = ledger.periods[-1].shares
        with opened_log(test) as log:
            blocks, counts, elsewhere = self._counted(log)
            run = SteeringRun(
                test,
                self.now,
                before,
                before,
                newest=log.newest,
                rows=log.rows,
                elsewhere=elsewhere,
            )
            excluded = log.excluded
        self._check_ratio(blocks)
        first = blocks[0].since.timestamp() if blocks else 0.0
        counted = [test.measure.matures(block.until.timestamp()) - first for block in blocks]
        clock = self.now.timestamp() - first
        deadline = test.design.deadline
        latest = math.inf if deadline is None else deadline.timestamp() - first
        evidence = fold_blocks(test.design, counts, test.name, counted, clock, latest)
        if evidence.until is not None:
            evidence = replace(evidence, until=first + evidence.until)
        run = replace(run, evidence=evidence, dry_run=self.dry_run)
        return self._act(self._with_notes(run, excluded))

    # State

    def _check_design(self) -> None:
        """Begin the ledger, or make sure that it is that of the same design."""
        design = json.dumps(self.test.design.to_dict(), sort_keys=True)
        digest = hashlib.sha256(design.encode()).hexdigest()[:16]
        begun = self.ledger.latest("start")
        if begun is None:
            self.ledger.add("start", self.now, test=self.test.name, design=digest)
        elif (begun["design"], begun["test"]) != (digest, self.test.name):
            raise InputError(
                "design",
                "the name or the design of the test has changed since it began, which its error "
                "does not allow: restore them, or begin a new test with a file of another name",
                kind="conflict",
            )

    def _found(self) -> Shares:
        """Return the shares that the flag tool has; refuse variants that are not the arms."""
        found = self.test.target.read()
        if set(found) != set(self.test.design.arms):
            raise failed(
                "target",
                f"the variants of the flag are {', '.join(found)}, and the arms of the design "
                f"{', '.join(self.test.design.arms)}: give them the same names",
            )
        return found

    def _reconcile(self, found: Shares) -> None:
        """Find out what happened since the last line: a lost write, or a change by hand."""
        ledger, now = self.ledger, self.now
        pending = ledger.pending
        current = ledger.periods[-1].shares if ledger.periods else None
        if pending is not None and is_same(found, pending["shares"]):
            at = read_time(pending["at"])
            since = at + timedelta(seconds=WRITE_SECONDS + self.test.settle)
            self._in_force(found, since=since, until=at)
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
            self._in_force(found, until=ledger.verified, by=HAND)
            raise self._by_hand(found)
        elif current is not None:
            ledger.add("checked", now)

    def _by_hand(self, shares: Shares) -> InputError:
        return InputError(
            "shares",
            f"the shares were changed by somebody else ({shares_words(shares)}): they are noted in "
            "the ledger and left as they are; units that came since the run before do not count. "
            "To steer on from here, run once with resume (--resume)",
            kind="conflict",
            others=("resume",),
        )

    def _in_force(
        self, shares: Shares, *, until: datetime, since: datetime | None = None, by: str = "steer"
    ) -> None:
        """Note shares that were read from the flag tool, and from when on units have them."""
        since = since or self.now + timedelta(seconds=self.test.settle)
        parts = {"since": since.isoformat(), "until": until.isoformat()}
        self.ledger.add("in force", self.now, **parts, shares=dict(shares), by=by)

    def _write(self, shares: Shares) -> Shares:
        """Write shares: the intent, the write, and what was read back."""
        if self.dry_run:
            return shares
        self.ledger.add("intent", self.now, shares=dict(shares))
        self.test.target.write(shares)
        written = self._found()
        self._in_force(written, until=self.now)
        if not is_same(written, shares):
            raise failed(
                "target",
                f"it has {shares_words(written)} after {shares_words(shares)} was written: find "
                "out what keeps the flag from taking these shares",
            )
        return written

    def _begin(self, found: Shares) -> SteeringRun:
        """Start a test with an even split."""
        arms = self.test.design.arms
        shares = self._write(dict.fromkeys(arms, 1.0 / len(arms)))
        self.notes.append("the test begins: units count from now on")
        return SteeringRun(
            self.test, self.now, found, shares, notes=tuple(self.notes), dry_run=self.dry_run
        )

    # Log

    def _counted(self, log: SteeredLog) -> tuple[list[CountedPart], list[Counts], int]:
        """Count all blocks again, and note those that are new or have changed."""
        test, ledger = self.test, self.ledger
        known = ledger.blocks
        blocks = list(known)
        if log.newest is not None:
            blocks += new_blocks(ledger.periods, known, closed_by(log.newest, test))
        counts, elsewhere = log.counts(blocks)
        read = [
            replace(block, sums={arm: _sums(values) for arm, values in count.items()})
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
                f"{read[gone[0]].units:,}; nothing was written: restore the rows, or end the test",
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
            end = (
                "it has no rows yet"
                if log.newest is None
                else f"it ends {log.newest:%Y-%m-%d %H:%M}"
            )
            self.notes.append(
                f"no further window has closed in the log ({end}): nothing new counts"
            )
        return read, counts, elsewhere

    def _check_ratio(self, blocks: Sequence[CountedPart]) -> None:
        """Stop if the units of the arms do not fit the shares that were in force."""
        seen, arms = None, self.test.design.arms
        for block in blocks:
            # An arm without a share is served from caches at most, and is not compared.
            active = [block.shares.get(arm, 0.0) for arm in arms]
            units = [
                block.sums[arm][0] if share else 0 for arm, share in zip(arms, active, strict=True)
            ]
            part = AllocationStatistics.of_counts(units, [share / sum(active) for share in active])
            seen = part if seen is None else seen + part
        if seen is None or not (check := allocation_any_time(seen, RATIO_LEVEL)).flagged:
            return
        pairs = zip(arms, seen.observed, seen.expected, strict=True)
        listed = "; ".join(f"{arm} {got:,} of {expected:,.0f}" for arm, got, expected in pairs)
        raise InputError(
            "exposures",
            f"sample ratio mismatch: units and what the shares in force give are {listed} "
            f"(p = {check.p_value:.2g}); nothing was written: find out where exposures are lost or "
            "counted twice",
            kind="conflict",
        )

    def _with_notes(self, run: SteeringRun, excluded: dict[str, int]) -> SteeringRun:
        assert run.evidence is not None
        counted = {
            **{f"rows excluded, {reason}": n for reason, n in excluded.items()},
            "outcomes beyond the limits, counted as the nearest": run.evidence.clipped,
            "units of blocks in which an arm has nobody, so that nothing is compared": (
                run.evidence.unpaired
            ),
        }
        self.notes += [f"{title}: {n:,}" for title, n in counted.items() if n]
        return run

    # Shares

    def _act(self, run: SteeringRun) -> SteeringRun:
        """Decide, or set the next shares."""
        design, evidence = self.test.design, run.evidence
        assert evidence is not None
        reason = evidence.reason
        if evidence.decision is None and reason is None and self._is_past_deadline(run):
            reason = "deadline"
        if evidence.until is not None:
            day = datetime.fromtimestamp(evidence.until, UTC)
            self.notes.append(
                f"decided, and withheld until {day:%Y-%m-%d %H:%M} as the design asks: "
                "the shares stay as they are"
            )
            return replace(run, withheld=day, notes=tuple(self.notes))
        if evidence.decision is not None or reason is not None:
            return self._decide(run, evidence, reason)
        shares = next_shares(design, evidence.statistics)
        if is_same(shares, run.before, WORTHWHILE):
            return replace(run, notes=tuple(self.notes))
        return replace(run, after=self._write(shares), notes=tuple(self.notes))

    def _is_past_deadline(self, run: SteeringRun) -> bool:
        deadline = self.test.design.deadline
        return deadline is not None and run.newest is not None and run.newest >= deadline

    def _decide(
        self, run: SteeringRun, evidence: SteeringEvidence, reason: str | None
    ) -> SteeringRun:
        """Note the decision with its differences, and give everyone the arm that stays."""
        design, statistics = self.test.design, evidence.statistics
        arm = NOBODY if evidence.decision is None else evidence.decision.arm
        stays = design.control_arm if arm in (None, NOBODY) else design.arms[arm]
        listed = [
            {"first": e.first, "second": e.second, "low": e.low, "high": e.high}
            | {"difference": e.difference}
            for e in effects(design, statistics)
        ]
        name = None if evidence.decision is None else evidence.decision.name
        self.ledger.add(
            "decided", self.now, winner=name, reason=reason, everyone=stays, effects=listed
        )
        shares = self._write({arm: float(arm == stays) for arm in design.arms})
        return replace(run, after=shares, reason=reason, everyone=stays, notes=tuple(self.notes))

    def _after(self, decided: Row) -> SteeringRun:
        """Do nothing after a decision, but write the shares if that had failed."""
        before = self.ledger.periods[-1].shares
        shares = {arm: float(arm == decided["everyone"]) for arm in self.test.design.arms}
        after = before if is_same(before, shares) else self._write(shares)
        return SteeringRun(
            self.test,
            self.now,
            before,
            after,
            decided=decided,
            everyone=decided["everyone"],
            reason=decided["reason"],
            notes=tuple(self.notes),
            dry_run=self.dry_run,
        )


def _sums(values: dict[float, int]) -> tuple[int, float]:
    """The units of an arm and the sum of their outcomes."""
    return sum(values.values()), sum(value * units for value, units in sorted(values.items()))
