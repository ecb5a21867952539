"""One experiment of a store: assign units, record outcomes, see where it stands, change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.diagnostics import Diagnostic
from bascule.core.errors import InputError, StoreError
from bascule.core.rules import Static
from bascule.live.forecast import Turn, turns
from bascule.live.groups import Flush
from bascule.live.jobs import Do, Job
from bascule.live.maturity import Event, Receipt
from bascule.live.names import checked_unit, event_of
from bascule.live.standing import OPEN, State
from bascule.live.status import Point, Status, evidence_of, point_of, spread, status_of

if TYPE_CHECKING:
    import asyncio

    from bascule.live.ledger import Assignment, Loaded
    from bascule.live.store import Store
    from bascule.live.verify import Verification
    from bascule.live.work import Work

Tell = Callable[[Any, BaseException | None], Flush | None]

RECORDED_AT_ONCE = 5000


class Experiment:
    """A live test. `Store.create` makes it, and `Store.get` finds it again.

    >>> import bascule as bs
    >>> store = bs.open(":memory:")
    >>> test = store.create("button", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)))
    >>> arm = test.assign("user-42")
    >>> test.record("user-42", 1.0).accepted
    True
    >>> test.status().units
    1
    """

    def __init__(self, store: Store, number: int, name: str) -> None:
        self.store = store
        self.id = number
        self.name = name

    # Units

    def assign(self, unit: str | int) -> str:
        """The arm of a unit, which it keeps for ever; it is on disk before this returns.

        Callers in many threads share transactions. A unit that this program has seen before is
        answered from memory; a `release` by another program reaches it within a second. In a static
        population a hash tells the arm, and nothing is stored.
        """
        named = checked_unit(unit)
        arm = self._at_hand(named)
        if arm is None:
            store, given = self.store, (named,)
            (found,) = store.change(self.id, self.name, store.assigning, given, given)
            if isinstance(found, InputError):
                raise found
            arm = found.arm
        return self.arms[arm]

    def assign_many(self, units: Sequence[str | int]) -> list[str]:
        """The same for many units, in one transaction."""
        named = [checked_unit(unit) for unit in units]
        if self._is_static:
            return [self.assign(unit) for unit in named]
        return self._told(self._change(self.store.assigning, named, named))

    def assign_soon(self, unit: str | int) -> Future[str]:
        """The same as `assign` without waiting.

        The future has the arm when it is on disk, or the error that `assign` raises. A unit that
        is remembered gives a future that is done.

        >>> import bascule as bs
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("soon", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)))
        ...     test.assign_soon("user-42").result() == test.assign("user-42")
        True
        """
        future: Future[str] = Future()
        self._assign_later(unit, _answering(future))
        return future

    def assign_async(self, unit: str | int) -> asyncio.Future[str]:
        """The same to be awaited, as servers want it: one call into the loop answers a group.

        >>> import asyncio, bascule as bs
        >>> async def serve(test):
        ...     return await test.assign_async("user-42")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("loop", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)))
        ...     asyncio.run(serve(test)) == test.assign("user-42")
        True
        """
        future, tell = self.store.awaited()
        self._assign_later(unit, tell)
        return future

    def assignment(self, unit: str | int) -> Assignment | None:
        """What is stored of a unit, or None; a unit is never enrolled by asking."""
        from bascule.live.ledger import find_units

        named = checked_unit(unit)
        with self.store.reading() as connection:
            return find_units(connection, self.id, [named]).get(named)

    # Outcomes

    def record(
        self,
        unit: str | int,
        value: float,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Receipt:
        """Take down an outcome, or set it aside with a reason; its `id` makes a retry harmless."""
        return self.record_many([(unit, value, at, id)])[0]

    def record_many(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> list[Receipt]:
        """The same for many: tuples (unit, value), (unit, value, at) or (unit, value, at, id)."""
        receipts: list[Receipt] = []
        events = [event_of(given) for given in outcomes]
        for first in range(0, len(events), RECORDED_AT_ONCE):
            some = events[first : first + RECORDED_AT_ONCE]
            receipts += self._change(self.store.recording, some, [event.unit for event in some])
        return receipts

    def record_soon(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> Future[list[Receipt]]:
        """The same as `record_many` without waiting, in one transaction."""
        future: Future[list[Receipt]] = Future()
        self._record_later(outcomes, _answering(future))
        return future

    def record_async(
        self, outcomes: Iterable[tuple[Any, ...] | Event]
    ) -> asyncio.Future[list[Receipt]]:
        """The same to be awaited."""
        future, tell = self.store.awaited()
        self._record_later(outcomes, tell)
        return future

    def set_aside(self, reason: str | None = None) -> list[dict[str, Any]]:
        """Outcomes that do not count, each with its reason, in the order in which they came."""
        from sqlalchemy import select

        from bascule.live.schema import set_aside

        asked = select(set_aside).where(set_aside.c.experiment == self.id)
        if reason is not None:
            asked = asked.where(set_aside.c.reason == reason)
        with self.store.reading() as connection:
            rows = connection.execute(asked.order_by(set_aside.c.id)).mappings()
            return [
                {key: row[key] for key in row if key not in ("id", "experiment")} for row in rows
            ]

    # Where it stands

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms, which never change."""
        return tuple(self.design.arms)

    @property
    def design(self) -> Design:
        """The design, with the knob as it stands now."""
        return self._loaded().design

    @property
    def state(self) -> State:
        """`ready`, `running`, `paused`, `decided`, `over` (undecided) or `stopped`."""
        return self._loaded().state

    def settle(self) -> None:
        """Take all mature units into the statistics, as every other call does a few at a time."""
        from bascule.live.settling import settle

        while self._do(settle):
            pass

    def status(self) -> Status:
        """Where the test stands: arms, intervals, evidence, cost, decision or None."""
        self.settle()
        loaded = self._loaded()
        return status_of(
            loaded.name,
            loaded.design,
            loaded.state,
            loaded.standing,
            self.store.clock.now(),
            loaded.created,
        )

    def history(self, most: int | None = None) -> list[Point]:
        """Where the test stood, time after time: the points of a plot, at `most` so many."""
        from sqlalchemy import select

        from bascule.live.schema import history
        from bascule.live.standing import statistics_from_json

        design = self.design
        asked = select(history).where(history.c.experiment == self.id).order_by(history.c.folded)
        with self.store.reading() as connection:
            rows = connection.execute(asked).all()
        return [
            point_of(design, statistics_from_json(row.statistics), row.folded, row.time)
            for row in spread(rows, [row.folded for row in rows], most)
        ]

    def forecast(self, values: Sequence[float]) -> tuple[Turn, ...]:
        """What is expected from here on with the knob at each value; empty where nobody knows."""
        loaded = self._loaded()
        seen = loaded.standing.statistics
        return turns(loaded.design, seen, evidence_of(loaded.design, seen), values)

    def diagnostics(self, level: float = 0.01) -> tuple[Diagnostic, ...]:
        """Drift of the outcomes, and units per arm against the logged probabilities.

        Each gives false alarms in a share `level` of the tests; none is part of the decision.
        """
        from bascule.live.diagnostics import diagnostics_of

        self.settle()
        with self.store.reading() as connection:
            loaded = self.store.load(connection, self.id, self.name)
            return diagnostics_of(connection, loaded, level)

    def alarms(self, level: float = 0.01) -> tuple[Diagnostic, ...]:
        """Alarms that are new: each goes into the audit log, once.

        While a test runs, these are of the diagnostics that hold at any time, since one looks again
        and again; when it has ended, of all.
        """
        from bascule.live.diagnostics import put_into_log

        found = self.diagnostics(level)
        if self.state in OPEN:
            found = tuple(one for one in found if one.validity == "any time")
        flagged = [one for one in found if one.flagged]
        return tuple(one for one in flagged if self._do(partial(put_into_log, found=one)))

    def verify(self) -> Verification:
        """Compute everything again from the raw log, and compare."""
        from bascule.live.verify import verify

        with self.store.reading() as connection:
            return verify(connection, self.store.load(connection, self.id, self.name))

    def audit(self) -> list[dict[str, Any]]:
        """Every change by hand and the decision, the oldest first."""
        return self.store.audit(self.name)

    # Changes

    def start(self) -> None:
        """Take units, at first or again after a pause."""
        self._move("start", ("ready", "paused"), "running")

    def pause(self) -> None:
        """Take no new units; those in the test keep their arm, and their outcomes count."""
        self._move("pause", ("running",), "paused")

    def stop(self) -> None:
        """End the test by hand, for good; outcomes count no more."""
        self._move("stop", ("ready", "running", "paused", "decided", "over"), "stopped")

    def knob(self, *, alpha: float | None = None, tilt: float | None = None) -> None:
        """Turn the knob, from the next unit or the next block on; the guarantee stays.

        docs/explanation/live.md has the proof.
        """
        from bascule.live.changes import turn_knob

        given = {"alpha": alpha, "tilt": tilt}
        named = {knob: value for knob, value in given.items() if value is not None}
        if len(named) != 1:
            raise InputError("knob", "give one knob: alpha for UCB, or tilt for Tilt")
        ((knob, value),) = named.items()
        self._do(lambda work: turn_knob(work, knob, value))

    def drop_arm(self, arm: str) -> None:
        """Take an arm out of the test for good; nothing is claimed about it any more."""
        from bascule.live.changes import drop_arm

        self._do(lambda work: drop_arm(work, arm))

    def pause_arm(self, arm: str) -> None:
        """Give an arm no new units for a while; blocks that were begun are finished."""
        from bascule.live.changes import pause_arm

        self._do(lambda work: pause_arm(work, arm, paused=True))

    def resume_arm(self, arm: str) -> None:
        """Give an arm units again."""
        from bascule.live.changes import pause_arm

        self._do(lambda work: pause_arm(work, arm, paused=False))

    def release(self) -> None:
        """After the decision: everyone gets the winner, also who was in another arm."""
        from bascule.live.changes import release

        self._do(release)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"

    # Inside

    def _told(self, answers: Sequence[Any]) -> list[str]:
        for answer in answers:
            if isinstance(answer, InputError):
                raise answer
        arms = self.arms
        return [arms[answer.arm] for answer in answers]

    @cached_property
    def _is_static(self) -> bool:
        return isinstance(self.design.rule, Static)

    def _at_hand(self, unit: str) -> int | None:
        """The arm of a unit, where it takes no transaction to tell."""
        if not self._is_static:
            found = self.store.remembered(self.id, self.name, unit)
            return None if found is None else found.arm
        from bascule.live.hashing import arm_of

        try:
            released = self.store.released(self.id, self.name)
        except StoreError:
            released = None
        return arm_of(self.name, len(self.arms), unit) if released is None else released

    def _loaded(self) -> Loaded:
        with self.store.reading() as connection:
            return self.store.load(connection, self.id, self.name)

    def _change(self, do: Do, given: Sequence[Any], units: Sequence[str] = ()) -> Sequence[Any]:
        return self.store.change(self.id, self.name, do, given, units)

    def _assign_later(self, unit: str | int, tell: Tell) -> None:
        named, store, arms = checked_unit(unit), self.store, self.arms
        given = (named,)

        def then(job: Job) -> Flush | None:
            found = job.answers[0] if job.problem is None else job.problem
            if isinstance(found, BaseException):
                return tell(None, found)
            return tell(arms[found.arm], None)

        arm = self._at_hand(named)
        if arm is not None:
            flush = tell(arms[arm], None)
            if flush is not None:
                flush()
        else:
            store.submit(Job(self.id, self.name, store.assigning, given, given), then)

    def _record_later(self, outcomes: Iterable[tuple[Any, ...] | Event], tell: Tell) -> None:
        events = [event_of(given) for given in outcomes]
        units = [event.unit for event in events]
        job = Job(self.id, self.name, self.store.recording, events, units)
        self.store.submit(job, lambda job: tell(list(job.answers), job.problem))

    def _do(self, change: Callable[[Work], object]) -> Any:
        """One change, which no other is like."""
        return self._change(lambda work, _: [change(work)], [None])[0]

    def _move(self, action: str, since: tuple[State, ...], to: State) -> None:
        from bascule.live.changes import move

        self._do(lambda work: move(work, action, since, to))


def _answering(future: Future[Any]) -> Tell:
    # What waits to be written cannot be called off.
    future.set_running_or_notify_cancel()

    def tell(answer: Any, problem: BaseException | None) -> None:
        if problem is None:
            future.set_result(answer)
        else:
            future.set_exception(problem)

    return tell
