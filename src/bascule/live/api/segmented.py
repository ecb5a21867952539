"""A live test with segments: an experiment for each, and every unit in one of them for good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from bascule.core.enrolment.segments import Member, Segments
from bascule.core.enrolment.targeting import Context
from bascule.core.errors import InputError
from bascule.live.api.experiment import Experiment
from bascule.live.api.units import Covariates
from bascule.live.commit.context import StoreContext
from bascule.live.commit.jobs import future_and_sender, gathered
from bascule.live.reports.segmented import SegmentedStatus
from bascule.live.steps.inputs import checked_unit, event_of
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Evaluation
from bascule.live.storage.queries import homes

if TYPE_CHECKING:
    from bascule.live.reports.verification.verify import Verification

Result = TypeVar("Result")


class SegmentedExperiment:
    """A live test with segments. `Store.create_segmented` makes it, `Store.get_segmented` finds it.

    `tests` has the experiment of each segment, with all that an experiment can do.

    >>> import bascule as bs
    >>> segments = bs.Segments("device", ["mobile", "desktop"])
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), segments=segments)
    >>> store = bs.open(":memory:")
    >>> test = store.create_segmented("button", design, reports="always")
    >>> arm = test.assign("user-42", segment="mobile")
    >>> test.record("user-42", 1.0).accepted
    True
    >>> test.tests["mobile"].status().units
    1
    """

    def __init__(
        self, store: StoreContext, member: Member, tests: Mapping[str, Experiment]
    ) -> None:
        self.store = store
        self.name = member.test
        self.error = member.error
        self.segments: Segments = member.segments
        self.tests = dict(tests)
        self._by_number = {test.id: segment for segment, test in self.tests.items()}
        # The segment of each unit that is not written yet, so that its outcomes go there too.
        self._waiting: dict[str, str] = {}

    # Units

    def segment_of(self, unit: str | int) -> str | None:
        """Return the segment that a unit is in, or None; looking never enrols it."""
        named = checked_unit(unit)
        return self._homes([named]).get(named)

    def remembered(self, unit: str) -> str | None:
        """Return the segment of a unit if this program remembers it; no database is asked."""
        for segment, test in self.tests.items():
            if test.is_remembered(unit):
                return segment
        return None

    def experiment_of(
        self, unit: str | int, context: Context | None = None, *, segment: str | None = None
    ) -> Experiment:
        """Return the experiment of the segment that a unit is in, or belongs to if it is new."""
        home = self.segment_of(unit)
        return self.tests[self._segment(context, segment) if home is None else home]

    def assign(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        segment: str | None = None,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> str:
        """Assign a unit in its segment and return the arm to serve; it is on disk by then.

        A new unit belongs to the `segment` that is given, or to that of its context, and stays in
        it for good, whatever is said later. One that belongs to none of them is an error.
        """
        given = {"covariates": covariates, "strict": strict}
        return self._in_segment(Experiment.assign, unit, context, segment, **given)

    def assign_many(
        self,
        units: Sequence[str | int],
        contexts: Sequence[Context | None] | None = None,
        *,
        segments: Sequence[str | None] | None = None,
        covariates: Sequence[Covariates | None] | None = None,
        strict: bool = False,
    ) -> list[str]:
        """Assign many units, one transaction a segment, and return the arms to serve in order.

        `contexts`, `segments` and `covariates` have an entry for each unit. All units are looked at
        before the first is assigned.
        """
        if isinstance(units, str):
            raise InputError("units", f"units must be a list of them (got {units!r:.60})")
        named = [checked_unit(unit) for unit in units]
        columns: list[Any] = []
        lists = {"contexts": contexts, "segments": segments, "covariates": covariates}
        for field, given in lists.items():
            if isinstance(given, (str, Mapping)) or (given and len(given) != len(named)):
                message = f"{field} must be a list with one entry for each of {len(named)} units"
                raise InputError(field, message)
            columns.append(given or [None] * len(named))
        known = self._homes(named)
        places: dict[str, list[int]] = {}
        for at, (unit, context, segment, _) in enumerate(zip(named, *columns, strict=True)):
            if unit not in known:
                known[unit] = self._segment(context, segment)
            places.setdefault(known[unit], []).append(at)
        arms = [""] * len(named)
        for segment, rows in places.items():
            its: list[Any] = [[one[at] for at in rows] for one in (columns[0], columns[2])]
            some, test = [named[at] for at in rows], self.tests[segment]
            found = test.assign_many(some, its[0], covariates=its[1], strict=strict)
            for at, arm in zip(rows, found, strict=True):
                arms[at] = arm
        return arms

    def assign_soon(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        segment: str | None = None,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> Future[str]:
        """Assign a unit in its segment; return a future that resolves to its arm after commit.

        The call does not wait for a disk write, but reads the segment of a unit that this program
        has not seen. The future gets the error that `assign` would raise.
        """
        named, more = checked_unit(unit), {"covariates": covariates, "strict": strict}
        future, send = future_and_sender()

        def request(home: str, retry: bool) -> None:
            self._waiting[named] = home
            arm = self.tests[home].assign_soon(named, context, **more)  # type: ignore[arg-type]
            arm.add_done_callback(lambda done: deliver(done, retry))

        def deliver(done: Future[str], retry: bool) -> None:
            self._waiting.pop(named, None)
            problem = done.exception()
            try:
                if retry and isinstance(problem, InputError) and is_taken(problem):
                    request(self._homes([named])[named], retry=False)
                    return
            except BaseException as other:
                problem = other
            send(None if problem is not None else done.result(), problem)

        try:
            home = self.segment_of(named)
            request(self._segment(context, segment) if home is None else home, retry=True)
        except InputError as problem:
            send(None, problem)
        return future

    def evaluate(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        segment: str | None = None,
        covariates: Covariates | None = None,
    ) -> Evaluation:
        """Assign a unit in its segment; return the arm, why, and whether it is in the test."""
        call = Experiment.evaluate
        return self._in_segment(call, unit, context, segment, covariates=covariates)

    async def assign_async(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        segment: str | None = None,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> str:
        """Assign a unit in its segment from a coroutine and return its arm after commit."""
        given = {"covariates": covariates, "strict": strict}
        call = Experiment.assign_async
        return await self._in_segment_async(call, unit, context, segment, **given)

    async def evaluate_async(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        segment: str | None = None,
        covariates: Covariates | None = None,
    ) -> Evaluation:
        """Assign a unit in its segment from a coroutine and return what `evaluate` does."""
        call = Experiment.evaluate_async
        return await self._in_segment_async(call, unit, context, segment, covariates=covariates)

    def record(
        self,
        unit: str | int,
        value: float | tuple[float, float],
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002
        *,
        metric: str | None = None,
    ) -> Receipt:
        """Record an outcome in the segment of its unit, or exclude it with a reason."""
        return self.record_many([(unit, value, at, id, metric)])[0]

    def record_many(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> list[Receipt]:
        """Record many outcomes, each in the segment of its unit; return their receipts in order.

        Outcomes of units that are in none are listed as excluded by the last segment.
        """
        events = [event_of(given) for given in outcomes]
        places = self._places(events)
        found = [
            self.tests[segment].record_many([events[at] for at in rows])
            for segment, rows in places.items()
        ]
        return _in_order(places.values(), found)

    def record_soon(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> Future[list[Receipt]]:
        """Record outcomes, each in the segment of its unit; return a future of their receipts.

        Units that `assign_soon` was called for before are found, even if not yet written.
        """
        events = [event_of(given) for given in outcomes]
        places = self._places(events)
        parts = [
            self.tests[segment].record_soon([events[at] for at in rows])
            for segment, rows in places.items()
        ]
        return gathered(parts, lambda found: _in_order(places.values(), found))

    async def record_async(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> list[Receipt]:
        """Record many outcomes from a coroutine, each in the segment of its unit, after commit."""
        events = [event_of(given) for given in outcomes]
        places = await asyncio.to_thread(self._places, events)
        found = await asyncio.gather(
            *(
                self.tests[segment].record_async([events[at] for at in rows])
                for segment, rows in places.items()
            )
        )
        return _in_order(places.values(), found)

    def link(self, unit: str | int, other: str | int) -> str | None:
        """Link two names of one person; return the arm of the first in its segment.

        Names that are in different segments already stay in them.
        """
        arms = {segment: test.link(unit, other) for segment, test in self.tests.items()}
        return arms.get(self.segment_of(unit) or "")

    # Reports

    def status(self, *, diagnostics: bool = False) -> SegmentedStatus:
        """Return the status of every segment, and what is decided so far."""
        statuses = {
            segment: test.status(diagnostics=diagnostics) for segment, test in self.tests.items()
        }
        return SegmentedStatus(self.name, self.error, self.segments.attribute, statuses)

    def verify(self) -> tuple[Verification, ...]:
        """Compute every segment again from the raw log, and look for units that are in two."""
        from bascule.live.reports.segmented import verify_segments

        with self.store.reporting() as connection:
            return verify_segments(connection, self.tests)

    # Changes: of every segment; `tests[SEGMENT]` changes one

    def start(self) -> None:
        """Enrol units in every segment, at first or again after a pause."""
        self._each(Experiment.start, ("ready", "paused"))

    def pause(self) -> int:
        """Pause every segment that runs; return how many places of open blocks are left."""
        return sum(self._each(Experiment.pause, ("running",)))

    def stop(self, to: str | None = None) -> None:
        """End the test in every segment for good; with `to`, everyone is served this arm."""
        states = ("ready", "running", "paused", "decided", "over")
        self._each(lambda test: test.stop(to), states)

    def release(self) -> None:
        """Give everyone in a segment that is decided its winner."""
        self._each(Experiment.release, ("decided",))

    def knob(self, **named: float | None) -> None:
        """Turn the knob in every segment that still runs."""
        self._each(lambda test: test.knob(**named), ("ready", "running", "paused"))

    def set_share(self, share: float) -> int:
        """Let another share of the traffic into every segment; return what `pause` does."""
        return sum(self._each(lambda test: test.set_share(share), ("ready", "running", "paused")))

    def drop_arm(self, arm: str, to: str | None = None) -> None:
        """Drop an arm for good in every segment that still runs."""
        self._each(lambda test: test.drop_arm(arm, to), ("ready", "running", "paused"))

    def describe(self, **given: Any) -> None:
        """Set words about the test, in every segment."""
        for test in self.tests.values():
            test.describe(**given)

    def __repr__(self) -> str:
        return f"SegmentedExperiment({self.name!r})"

    # Private

    def _each(
        self, change: Callable[[Experiment], Result], states: tuple[str, ...]
    ) -> list[Result]:
        """Change the segments that are in one of some states; an error if there is none."""
        chosen = [test for test in self.tests.values() if test.state in states]
        if not chosen:
            found = ", ".join(f"{name} is {test.state}" for name, test in self.tests.items())
            message = f"{self.name}: no segment is {' or '.join(states)} ({found})"
            raise InputError("state", message, kind="conflict")
        return [change(test) for test in chosen]

    def _homes(self, units: Sequence[str]) -> dict[str, str]:
        """Return the segments of those units that have one; what is remembered is not read."""
        waiting = self._waiting
        known = {
            unit: home
            for unit in units
            if (home := waiting.get(unit) or self.remembered(unit)) is not None
        }
        left = [*dict.fromkeys(unit for unit in units if unit not in known)]
        if left:
            with self.store.reading() as connection:
                found = homes(connection, [*self._by_number], left)
            known |= {unit: self._by_number[number] for unit, number in found.items()}
        return known

    def _places(self, events: Sequence[Event]) -> dict[str, list[int]]:
        """Return which events belong to which segment; those of unknown units to the last."""
        known = self._homes([event.unit for event in events])
        places: dict[str, list[int]] = {}
        for at, event in enumerate(events):
            places.setdefault(known.get(event.unit, self.segments.all[-1]), []).append(at)
        return places

    def _segment(self, context: Context | None, segment: str | None) -> str:
        """Return the segment of a new unit: the one that is named, or that of its context."""
        if context is not None and not isinstance(context, Mapping):
            raise InputError("context", f"context must have names and values (got {context!r:.60})")
        if segment is None:
            return self.segments.segment_of(context)
        if context is not None and self.segments.attribute in context:
            of_context = self.segments.segment_of(context)
            if of_context != segment:
                raise InputError(
                    "segment",
                    f"segment {segment!r:.60} is given, and the context says {of_context}: leave "
                    "one of them out",
                )
        return self.segments.checked(segment)

    def _in_segment(
        self,
        call: Callable[..., Result],
        unit: str | int,
        context: Context | None,
        segment: str | None,
        **given: Any,
    ) -> Result:
        """Call a method of the experiment of a unit's segment."""
        home = self.remembered(checked_unit(unit))
        if home is not None:
            return call(self.tests[home], unit, context, **given)
        try:
            test = self.experiment_of(unit, context, segment=segment)
            return call(test, unit, context, **given)
        except InputError as problem:
            if not is_taken(problem):
                raise
            return call(self.experiment_of(unit), unit, context, **given)

    async def _in_segment_async(
        self,
        call: Callable[..., Awaitable[Result]],
        unit: str | int,
        context: Context | None,
        segment: str | None,
        **given: Any,
    ) -> Result:
        """Await a method of the experiment of a unit's segment; it is looked up in a thread."""
        home = self.remembered(checked_unit(unit))
        if home is not None:
            return await call(self.tests[home], unit, context, **given)
        look = self.experiment_of
        try:
            test = await asyncio.to_thread(look, unit, context, segment=segment)
            return await call(test, unit, context, **given)
        except InputError as problem:
            if not is_taken(problem):
                raise
            return await call(await asyncio.to_thread(look, unit), unit, context, **given)


def _in_order(rows: Iterable[Sequence[int]], found: Iterable[Sequence[Receipt]]) -> list[Receipt]:
    """Return the receipts of all segments in the order of their outcomes."""
    receipts: dict[int, Receipt] = {}
    for some, its in zip(rows, found, strict=True):
        receipts |= dict(zip(some, its, strict=True))
    return [receipts[at] for at in range(len(receipts))]


def is_taken(problem: InputError) -> bool:
    """Whether another program has assigned a unit in another segment a moment ago."""
    return problem.field == "segment" and problem.kind == "conflict"
