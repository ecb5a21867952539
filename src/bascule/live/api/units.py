"""The units of an experiment: assign them, and record their outcomes."""

from __future__ import annotations

from asyncio import Future as AsyncFuture
from asyncio import get_running_loop
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.enrolment.segments import Member
from bascule.core.enrolment.targeting import Context
from bascule.core.errors import InputError, StoreError
from bascule.live.commit.context import StoreContext
from bascule.live.commit.jobs import Job, PendingJob, future_and_sender
from bascule.live.commit.queue import copy_error
from bascule.live.steps.assignment import Assignment, hashed_arm
from bascule.live.steps.inputs import checked_unit, checked_units, events_of
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Arms, Evaluation, Served, evaluation
from bascule.live.storage.queries import find_units, identities
from bascule.live.transactions.enrol import Newcomer, Newcomers, newcomer
from bascule.live.transactions.link import link

if TYPE_CHECKING:
    from bascule.live.commit.loop_bridge import Batch
    from bascule.live.storage.queries import Loaded

RECORDED_AT_ONCE = 5000

Covariates = Mapping[str, float]
"""What is known of a unit before it is assigned, by name."""


class Units:
    """The units of an experiment."""

    def __init__(
        self, store: StoreContext, number: int, name: str, design: Design | None = None
    ) -> None:
        self.store = store
        self.id = number
        self.name = name
        self._remembered = store.memory.of(number)
        self._batch: Batch | None = None
        if design is not None:
            # Neither changes with the knob.
            self.arms, self.is_hashed = tuple(design.arms), design.procedure.assigns == "hash"

    def assign(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> str:
        """Assign a unit and return the arm to serve; it is on disk before this returns.

        A unit keeps the arm that it was assigned, until the winner is released to everyone, its arm
        is dropped, or the test is stopped for an arm. A test that takes no new units (paused, full,
        ended) answers with the winner or the control, and such a unit is not in the test; with
        `strict` that is an error. `evaluate` says which of these it was. `context` has the unit's
        attributes for the targeting rule of the test's audience, if it has one. `covariates` are
        those of the design, as far as they are known: `{"spend_before": 12.5}`. The first call for
        a unit counts; a unit that came without one counts with its `missing`.

        Callers in many threads share transactions. A unit that this program has seen before is
        answered from memory; a change by another program reaches it within a second. In a static
        population a hash gives the arm, and nothing is stored.
        """
        named = checked_unit(unit)
        arm = self._at_hand(named)
        if arm is not None:
            return self.arms[arm]
        return self._assign([newcomer(named, covariates, context)], strict)[0]

    def assign_many(
        self,
        units: Sequence[str | int],
        contexts: Sequence[Context | None] | None = None,
        *,
        covariates: Sequence[Covariates | None] | None = None,
        strict: bool = False,
    ) -> list[str]:
        """Assign many units in one transaction and return the arms to serve in order.

        `contexts` and `covariates` have an entry for each unit.
        """
        if isinstance(units, str):
            raise InputError("units", f"units must be a list of them (got {units!r:.60})")
        named = checked_units(units)
        if self.is_hashed:
            return [self.assign(unit) for unit in named]
        if contexts is None and covariates is None:
            return self._assign(named, strict)
        for field, given in (("contexts", contexts), ("covariates", covariates)):
            if isinstance(given, Mapping) or (given is not None and len(given) != len(named)):
                message = f"{field} must be a list with one entry for each of {len(named)} units"
                raise InputError(field, message)
        if contexts is None and covariates and set(map(type, covariates)) == {dict}:
            # They are read before this returns, so that they need not be copied.
            return self._assign(Newcomers(named, covariates), strict)
        nothing = [None] * len(named)
        more = zip(named, covariates or nothing, contexts or nothing, strict=True)
        return self._assign([newcomer(*one) for one in more], strict)

    def assign_soon(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> Future[str]:
        """Assign a unit without blocking; return a future that resolves to its arm after commit.

        The future gets the error that `assign` would raise. For a unit that this program has seen
        before it is done already.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("soon", design)
        ...     test.assign_soon("user-42").result() == test.assign("user-42")
        True
        """
        future, send = future_and_sender()
        named, store = checked_unit(unit), self.store
        store.check_open()
        arm = self._at_hand(named)
        if arm is None:
            items = [newcomer(named, covariates, context)]
            job = Job(self.id, self.name, store.assigning, items, enrols=True)
            store.queue.submit(PendingJob(job, send, partial(self._arm, strict=strict)))
        else:
            send(self.arms[arm], None)
        return future

    async def assign_async(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> str:
        """Assign a unit from a coroutine and return its arm after commit.

        All units that are requested in one turn of the loop share a transaction.

        >>> import asyncio, bascule as bs
        >>> async def serve(test):
        ...     return await test.assign_async("user-42")
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("loop", design)
        ...     asyncio.run(serve(test)) == test.assign("user-42")
        True
        """
        named = checked_unit(unit)
        if named in self._remembered or self.is_hashed:
            arm = self._at_hand(named)
            if arm is not None:
                return self.arms[arm]
        result = await self.request(named, context, covariates)
        if type(result) is int:
            return self.arms[result]
        if isinstance(result, BaseException):
            raise copy_error(result)
        return self._arm(result, strict)

    def evaluate(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
    ) -> Evaluation:
        """Assign a unit and return the arm to serve, why, and whether the unit is in the test.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("flag", design)
        ...     places = test.pause()
        ...     found = test.evaluate("user-42")
        >>> found.arm, found.reason, found.enrolled
        ('a', 'DISABLED', False)
        """
        named = checked_unit(unit)
        if self.is_hashed:
            arm = hashed_arm(self.name, len(self.arms), named)
            return evaluation(self._named_arms, arm, self._served())
        if named in self._remembered:
            self.store.check_open()
            found = self.remembered(named, self.store.runner.served(self.id, self.name))
            if found is not None:
                return found
        items = [newcomer(named, covariates, context)]
        (result,) = self.store.change(self.id, self.name, self.store.assigning, items, enrols=True)
        return self.evaluation(result)

    async def evaluate_async(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
    ) -> Evaluation:
        """Assign a unit from a coroutine and return what `evaluate` does, after commit."""
        return self.evaluation(await self.request(checked_unit(unit), context, covariates))

    def request(
        self, unit: str, context: Context | None = None, covariates: Covariates | None = None
    ) -> AsyncFuture[Any]:
        """Request the arm of a unit in the running loop; `evaluation` reads the future's result."""
        item: Newcomer = unit
        if covariates is not None or context is not None:
            item = newcomer(unit, covariates, context)
        batch = self._batch
        if batch is None or batch.callers or batch.loop is not get_running_loop():
            batch = self.store.bridges.batch(self.id, self.name, self.store.assigning)
            self._batch = batch
        future: AsyncFuture[Any] = AsyncFuture(loop=batch.loop)
        batch.units.append(item)
        batch.futures.append(future)
        return future

    def remembered(self, unit: str, served: Served | None = None) -> Evaluation | None:
        """What a unit is served if this program remembers it; no database is asked.

        `served` is what the units of each arm are served now, where it is not their own.
        """
        arm = None if self.is_hashed else self._remembered.get(unit)
        return None if arm is None else evaluation(self._named_arms, arm, served)

    def is_remembered(self, unit: str) -> bool:
        """Whether this program remembers the arm of a unit; no database is asked."""
        return unit in self._remembered

    def link(self, unit: str | int, other: str | int) -> str | None:
        """Link two names of one person, as a visitor who signs in; return the arm of both.

        Both names keep the arm that the first of them was assigned, and are one unit from now on:
        their outcomes count for it. None if neither has an arm yet; the first to come gets one for
        both. Where the two had different arms, what the later one reported so far stays with its
        arm, and other programs follow within a second.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("sign-in", design)
        ...     arm = test.assign("visitor-7")
        ...     test.link("visitor-7", "user-42") == test.assign("user-42") == arm
        True
        """
        pair = (checked_unit(unit), checked_unit(other, "other"))
        (linked,) = self.store.change(self.id, self.name, link, [pair])
        return None if linked.arm is None else self.arms[linked.arm]

    def assignment(self, unit: str | int) -> Assignment | None:
        """Return the stored assignment of a unit, or None; looking never enrols it."""
        named = checked_unit(unit)
        with self.store.reading() as connection:
            identity = identities(connection, self.id, [named]).get(named, named)
            return find_units(connection, self.id, [identity]).get(identity)

    def record(
        self,
        unit: str | int,
        value: float | tuple[float, float],
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002
        *,
        metric: str | None = None,
    ) -> Receipt:
        """Record an outcome, or exclude it with a reason; its `id` makes a retry harmless.

        Without the name of a `metric` it is an outcome of the primary one.
        """
        return self.record_many([(unit, value, at, id, metric)])[0]

    def record_many(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> list[Receipt]:
        """Record many outcomes and return their receipts in order.

        Each is (unit, value), (unit, value, at), (unit, value, at, id) or (unit, value, at, id,
        metric).
        """
        receipts: list[Receipt] = []
        events = events_of(outcomes)
        for first in range(0, len(events), RECORDED_AT_ONCE):
            some = events[first : first + RECORDED_AT_ONCE]
            receipts += self.store.change(self.id, self.name, self.store.recording, some)
        return receipts

    def record_soon(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> Future[list[Receipt]]:
        """Record outcomes in one transaction without blocking; return a future of receipts."""
        self.store.check_open()
        future, send = future_and_sender()
        self.store.queue.submit(PendingJob(self._recording(outcomes), send))
        return future

    async def record_async(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> list[Receipt]:
        """Record outcomes from a coroutine and return their receipts after commit."""
        receipts: list[Receipt] = await self.store.bridges.here().run(self._recording(outcomes))
        return receipts

    def excluded(self, reason: str | None = None) -> list[dict[str, Any]]:
        """Return the excluded outcomes, each with its reason, in the order in which they came."""
        from sqlalchemy import select

        from bascule.live.storage.schema import set_aside

        asked = select(set_aside).where(set_aside.c.experiment == self.id)
        if reason is not None:
            asked = asked.where(set_aside.c.reason == reason)
        with self.store.reading() as connection:
            rows = connection.execute(asked.order_by(set_aside.c.id)).mappings()
            return [
                {key: row[key] for key in row if key not in ("id", "experiment")} for row in rows
            ]

    def excluded_counts(self) -> dict[str, int]:
        """Count the outcomes that are excluded, or that count as a limit, by reason."""
        from sqlalchemy import func, select

        from bascule.live.storage.schema import set_aside

        asked = (
            select(set_aside.c.reason, func.count())
            .where(set_aside.c.experiment == self.id)
            .group_by(set_aside.c.reason)
            .order_by(set_aside.c.reason)
        )
        with self.store.reading() as connection:
            counts = {reason: int(found) for reason, found in connection.execute(asked)}
            unenrolled = self.store.load(connection, self.id, self.name).state.unenrolled
        return counts | ({"not enrolled": unenrolled} if unenrolled else {})

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, which never change."""
        return tuple(self.design.arms)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics beside the primary one, which never change."""
        return tuple(metric.name for metric in self.design.metrics)

    @property
    def values(self) -> tuple[Any, ...] | None:
        """Values of the arms, in their order; None where none were given."""
        return self._loaded().delivery.values

    @property
    def audience(self) -> Audience | None:
        """Who gets in, with the share as it is set now; None is everyone."""
        return self._loaded().delivery.audience

    @property
    def member(self) -> Member | None:
        """The test and the segment that this experiment is; None if it is not a segment."""
        return self._loaded().delivery.member

    @cached_property
    def _named_arms(self) -> Arms:
        return Arms(self.arms, self.values or self.arms)

    @property
    def design(self) -> Design:
        """The design, with the knob as it is set now."""
        return self._loaded().design

    @cached_property
    def is_hashed(self) -> bool:
        """Whether a hash of its name tells a unit's arm, as in a static population."""
        return self.design.procedure.assigns == "hash"

    def _at_hand(self, unit: str) -> int | None:
        """Return the arm that a unit is served where that takes no transaction, or None."""
        if self.is_hashed:
            arm, served = hashed_arm(self.name, len(self.arms), unit), self._served()
        else:
            if unit not in self._remembered:
                return None
            self.store.check_open()
            served = self.store.runner.served(self.id, self.name)
            # Asked again: to look what is served may show that units are to be forgotten.
            remembered = self._remembered.get(unit)
            if remembered is None:
                return None
            arm = remembered
        return arm if served is None else served.arms[arm]

    def _served(self) -> Served | None:
        """What each arm's units are served; a static population is answered without a store too."""
        try:
            return self.store.runner.served(self.id, self.name)
        except StoreError:
            return None

    def _arm(self, result: Any, strict: bool) -> str:
        """Return the name of the arm in a transaction's result, or raise its error."""
        if type(result) is int:
            return self.arms[result]
        if isinstance(result, BaseException):
            raise copy_error(result)
        if strict and result.problem is not None:
            raise copy_error(result.problem)
        arm: str = self.arms[result.arm]
        return arm

    def evaluation(self, result: Any) -> Evaluation:
        """Return what a unit is served, given the result of its request; raise its error if any."""
        if type(result) is int:
            return evaluation(self._named_arms, result)
        arm, problem = self._arm(result, strict=False), result.problem
        answer = (arm, self._named_arms.values[result.arm], result.reason)
        if problem is None:
            return Evaluation(*answer, enrolled=True)
        return Evaluation(*answer, False, problem.field, str(problem))

    def _loaded(self) -> Loaded:
        with self.store.reading() as connection:
            return self.store.load(connection, self.id, self.name)

    def _assign(self, units: Sequence[Newcomer], strict: bool) -> list[str]:
        """Assign units in one transaction; return the arms to serve."""
        store = self.store
        results = store.change(self.id, self.name, store.assigning, units, enrols=True)
        if set(map(type, results)) == {int}:
            return [*map(self.arms.__getitem__, results)]
        return [self._arm(result, strict) for result in results]

    def _recording(self, outcomes: Iterable[tuple[Any, ...] | Event]) -> Job:
        return Job(self.id, self.name, self.store.recording, events_of(outcomes))
