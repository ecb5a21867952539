"""The units of an experiment: assign arms to them and record their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, wraps
from inspect import signature
from itertools import repeat
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.enrolment.targeting import Context
from bascule.core.errors import InputError
from bascule.live.commit.context import ACTOR, StoreContext
from bascule.live.commit.queue import Job, JoinedReply, Reply, Result
from bascule.live.steps.inputs import check_listed, checked_text, checked_unit, event_of
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Evaluation
from bascule.live.storage.names import is_erased
from bascule.live.storage.queries import Loaded, Rows
from bascule.live.storage.state import ArmValues, Assignment
from bascule.live.storage.statements import fetch
from bascule.live.transactions.enrol import assign, newcomer
from bascule.live.transactions.erase import link
from bascule.live.transactions.record import record

Covariates = Mapping[str, float]
"""Covariates of a unit, by name; they are known before the unit is assigned."""

Outcomes = Iterable[tuple[Any, ...] | Event]
"""Outcomes as callers pass them: tuples or `Event` objects."""


class Handle:
    """An experiment of a store: its number, its name, and its constant properties."""

    def __init__(
        self, store: StoreContext, number: int, name: str, loaded: Loaded | None = None
    ) -> None:
        self.store = store
        self.id = number
        self.name = name
        self.remembered: Mapping[str, int] = store.memory.of(number)
        """The arms of the units in memory, by the units' names; the mapping is kept up to date."""
        if loaded is not None:
            self._arms_with_values = loaded.arms

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, which never change."""
        return self._arms_with_values.names

    @cached_property
    def _arms_with_values(self) -> ArmValues:
        return self._loaded().arms

    def _loaded(self) -> Loaded:
        """Return the experiment as it is stored."""
        with self.store.reading() as connection:
            return self.store.load(connection, self.id, self.name)


class Calls(Handle):
    """The methods of `Experiment.soon`: as those of `Experiment`, but each returns a `Reply`.

    A reply has its result already if no transaction is needed: for a unit whose arm this program
    remembers. A mistake in the call, such as an empty name, raises an error at once; an error of
    the transaction is raised when the result of the reply is read.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("soon", design)
    ...     test.soon.assign("user-42").result() == test.assign("user-42")
    True
    """

    def __init__(
        self,
        store: StoreContext,
        number: int,
        name: str,
        loaded: Loaded | None,
        send: Callable[[Reply[Any]], Reply[Any]],
    ) -> None:
        super().__init__(store, number, name, loaded)
        self.assigning = Job(number, name, assign, enrols=True)
        self._recording = Job(number, name, record)
        self._send = send

    def assign(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> Reply[str]:
        """Assign a unit and return the arm to serve, once the assignment is on disk.

        A unit is served the arm that it was assigned, until the winner is released to everyone, its
        arm is dropped, or the test is stopped with an arm for everyone. After a decision, new units
        are enrolled with the winner (or the control if no difference matters) and do not count.

        `unit` is text of 1 to 500 characters, or a whole number, which is the same unit as its
        text.

        A unit is not enrolled while the test is ready or paused, once it is full, over or stopped,
        or if its audience excludes it. It is then served the control, with two exceptions: the
        leader, if enrolment is complete and the design has `overflow="leader"`, and the winner, if
        a decided test was stopped. With `strict`, an `InputError` of the kind "conflict" is raised
        instead. `evaluate` also says why a unit gets its arm.

        `context` has the unit's attributes for the targeting rule of the test's audience, if it has
        one. `covariates` are those of the design, as far as they are known, such as
        `{"spend_before": 12.5}`. Those of the first call for a unit are used; a covariate that was
        not given counts as its `missing` value.

        Callers in many threads share transactions. A unit that this program has seen before is
        answered from memory; a change by another program reaches it within a second.
        """
        named = checked_unit(unit)
        known = self._at_hand(named)
        if known is not None:
            return Reply.ready(known.arm)
        return self.enrol(named, context, covariates, lambda results: _arm(results[0], strict))

    def assign_many(
        self,
        units: Sequence[str | int],
        contexts: Sequence[Context | None] | None = None,
        *,
        covariates: Sequence[Covariates | None] | None = None,
        strict: bool = False,
    ) -> Reply[list[str]]:
        """Assign many units in one transaction and return the arms to serve in order.

        `contexts` and `covariates` have an entry for each unit. With `strict`, `InputError` is
        raised if a unit is not enrolled; the other units are enrolled nevertheless.
        """
        check_listed("units", units)
        named = [*map(checked_unit, units)]
        if not named:
            return Reply.ready([])
        for field, entries in (("contexts", contexts), ("covariates", covariates)):
            if isinstance(entries, Mapping) or (entries is not None and len(entries) != len(named)):
                message = f"{field} must be a list with one entry per unit (units has {len(named)})"
                raise InputError(field, message)
        known = zip(named, covariates or repeat(None), contexts or repeat(None), strict=False)
        items = [newcomer(*unit) for unit in known]

        def read(results: Sequence[Evaluation]) -> list[str]:
            return [_arm(evaluation, strict) for evaluation in results]

        return self._send(Reply(self.assigning, items, read, ACTOR.get()))

    def evaluate(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
    ) -> Reply[Evaluation]:
        """Assign a unit and return the arm to serve, why, and whether the unit is in the test.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("flag", design)
        ...     places = test.pause()
        ...     result = test.evaluate("user-42")
        >>> result.arm, result.reason, result.enrolled
        ('a', 'DISABLED', False)
        """
        named = checked_unit(unit)
        known = self._at_hand(named)
        return self.enrol(named, context, covariates) if known is None else Reply.ready(known)

    def enrol(
        self,
        unit: str,
        context: Context | None = None,
        covariates: Covariates | None = None,
        read: Callable[[Sequence[Any]], Result] = itemgetter(0),
    ) -> Reply[Result]:
        """Assign a unit that is not remembered, given by its checked name; return its evaluation.

        `read` converts the list with this evaluation to the result of the reply.
        """
        items = [newcomer(unit, covariates, context)]
        return self._send(Reply(self.assigning, items, read, ACTOR.get()))

    def record_many(self, outcomes: Outcomes) -> Reply[list[Receipt]]:
        """Record outcomes, and return the reply with their receipts.

        More than 5,000 outcomes take several transactions, between which others get their turn.
        """
        replies = [
            self._send(Reply(self._recording, part, list, ACTOR.get())) for part in _parts(outcomes)
        ]
        return replies[0] if len(replies) == 1 else JoinedReply(replies)

    def link(self, unit: str | int, other: str | int) -> Reply[str | None]:
        """Link two names of one person, such as a visitor who signs in; return their common arm.

        Both names keep the arm that the first of them was assigned, and are one unit from now on:
        their outcomes count for it. If neither has an arm yet, None is returned; the first of them
        to be assigned gets an arm for both. If the two had different arms, the outcomes of the
        later one so far stay with its own arm, and other programs follow within a second.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("sign-in", design)
        ...     arm = test.assign("visitor-7")
        ...     test.link("visitor-7", "user-42") == test.assign("user-42") == arm
        True
        """
        pair = (checked_unit(unit), checked_unit(other, "other"))
        job = Job(self.id, self.name, link, gives_way=True)
        return self._send(Reply(job, [pair], lambda arms: arms[0], ACTOR.get()))

    def _at_hand(self, unit: str) -> Evaluation | None:
        """Return the evaluation of a unit whose arm is in memory, without a transaction."""
        if unit not in self.remembered:
            return None
        self.store.check_open()
        served = self.store.runner.served(self.id, self.name)
        # Looked up again, since `served` forgets units that were erased or linked.
        arm = self.remembered.get(unit)
        return None if arm is None else served[arm]


def _parts(outcomes: Outcomes) -> list[list[Event]]:
    """Return checked outcomes in parts of nearly equal length, each for one transaction."""
    check_listed("outcomes", outcomes)
    events = [*map(event_of, outcomes)]
    # A short last part would be written before the others: see `next_group`.
    size = math.ceil(len(events) / max(1, math.ceil(len(events) / RECORDED_AT_ONCE)))
    return [events[first : first + size] for first in range(0, len(events), size or 1)] or [[]]


def _arm(evaluation: Evaluation, strict: bool) -> str:
    """Return the arm to serve; if `strict`, raise what keeps the unit out of the test."""
    if strict and not evaluation.enrolled:
        raise InputError(evaluation.why, evaluation.detail, kind="conflict")
    return evaluation.arm


Given = ParamSpec("Given")

RECORDED_AT_ONCE, EXCLUDED_AT_ONCE = 5000, 5000
"""Maximum number of outcomes of `record_many` in a transaction, and default number of excluded
outcomes on a page."""

MOST_ROWS = 2**62
"""Limit of a query that is to return all rows; no table has this many."""

EXCLUDED = ("unit", "value", "at", "received", "event", "reason", "detail", "metric")
"""The fields of an excluded outcome."""

_EXCLUDED = (
    f"SELECT id, {', '.join(EXCLUDED)} FROM set_aside "  # nosec B608
    "WHERE experiment = ? AND id > ? ORDER BY id LIMIT ?"
)
_COUNTS = (
    "SELECT reason, count(*) FROM set_aside WHERE experiment = ? GROUP BY reason ORDER BY reason"
)


def _running(
    build: Callable[Concatenate[Calls, Given], Reply[Result]],
) -> Callable[Concatenate[ExperimentUnits, Given], Result]:
    """Return a method that calls a method of `Calls` and waits for its result."""

    @wraps(build)
    def run(self: ExperimentUnits, /, *arguments: Given.args, **named: Given.kwargs) -> Result:
        return build(self.calls, *arguments, **named).result()

    shown = signature(build)
    result = shown.return_annotation.removeprefix("Reply[").removesuffix("]")
    # The signature that `help()` and the API reference show.
    run.__signature__ = shown.replace(return_annotation=result)  # type: ignore[attr-defined]
    run.__annotations__ = {**build.__annotations__, "return": result}
    return run


class ExperimentUnits(Handle):
    """Methods that assign the units of an experiment, and record and list their outcomes."""

    def __init__(
        self, store: StoreContext, number: int, name: str, loaded: Loaded | None = None
    ) -> None:
        super().__init__(store, number, name, loaded)
        self.calls = Calls(store, number, name, loaded, store.queue.run)
        self.soon: Calls = Calls(store, number, name, loaded, store.queue.submit)
        """The methods `assign`, `assign_many`, `evaluate`, `record_many` and `link` for threads and
        coroutines: each returns a `Reply` at once."""

    assign = _running(Calls.assign)
    assign_many = _running(Calls.assign_many)
    evaluate = _running(Calls.evaluate)
    link = _running(Calls.link)

    def assignment(self, unit: str | int) -> Assignment | None:
        """Return the stored assignment of a unit, or None; this never enrols the unit."""
        named = checked_text(unit, "unit")
        if is_erased(named):
            return None
        with self.store.reading() as connection:
            rows = Rows(connection, self.id)
            identity = rows.identities([named]).get(named, named)
            return rows.find_units([identity]).get(identity)

    def record(
        self,
        unit: str | int | None,
        value: float | tuple[float, float],
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002
        *,
        metric: str | None = None,
    ) -> Receipt:
        """Record an outcome, and return a receipt that says whether it is accepted.

        An outcome that is not accepted raises no error: the receipt has the reason. Only a call
        that is malformed raises `InputError`, such as an `at` without a time zone. After a
        decision, outcomes are still accepted, but they do not change the statistics, except with
        `measure_on` those of units that were enrolled before.

        - `unit`: the unit's name. It may be None if an earlier outcome with this id has named it.
        - `value`: a number, or (numerator, denominator) for a ratio.
        - `at`: when it happened, a `datetime` with a time zone; the present time if not given.
        - `id`: 1 to 500 characters. The same id with the same value is recorded once. Outcomes of
          one request in several metrics may share an id.
        - `metric`: the name of the metric; the primary one if not given.
        """
        return self.record_many([(unit, value, at, id, metric)])[0]

    def record_many(self, outcomes: Outcomes) -> list[Receipt]:
        """Record many outcomes and return their receipts in order.

        An outcome is (unit, value), (unit, value, at), (unit, value, at, id) or (unit, value, at,
        id, metric). All are checked first, then stored in transactions of at most 5,000. After a
        `StoreError` the first ones may be stored: give ids, and repeat the call.
        """
        receipts: list[Receipt] = []
        for part in _parts(outcomes):
            receipts += self.calls.record_many(part).result()
        return receipts

    def excluded(self, reason: str | None = None) -> list[dict[str, Any]]:
        """Return the outcomes that were excluded or changed, in order, each with its reason.

        With `reason`, only the outcomes with this reason are returned. Capped outcomes ("clipped")
        and those of units that did not see their arm ("not exposed") count nevertheless. A test
        lists at most the first 100,000; `excluded_counts` counts the others as "not listed". An
        entry has the fields `unit`, `value` (text), `at` (None if it was not given), `received`,
        `event` (the id of the outcome), `reason`, `detail` and `metric`; times are seconds since
        1970-01-01 in UTC.
        """
        rows, _ = self.some_excluded(most=MOST_ROWS)
        return [row for row in rows if reason in (None, row["reason"])]

    def some_excluded(
        self, after: int = 0, most: int = EXCLUDED_AT_ONCE
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Return a page of the list of excluded outcomes, and the id to continue after, or None."""
        with self.store.reading() as connection:
            rows = fetch(connection, _EXCLUDED, self.id, after, most + 1)
        last = rows[most - 1][0] if len(rows) > most else None
        return [dict(zip(EXCLUDED, row[1:], strict=True)) for row in rows[:most]], last

    def excluded_counts(self) -> dict[str, int]:
        """Return the number of excluded outcomes by reason.

        As in the list, "clipped" and "not exposed" outcomes count nevertheless. Outcomes of units
        outside of the test ("not enrolled") are not in the list, and outcomes that came after the
        list was full are "not listed".
        """
        with self.store.reading() as connection:
            counts: dict[str, int] = dict(map(tuple, fetch(connection, _COUNTS, self.id)))
            counted = self.store.load(connection, self.id, self.name).state.counts
        further = {"not enrolled": counted.unenrolled, "not listed": counted.unlisted}
        return counts | {reason: units for reason, units in further.items() if units}

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics other than the primary one, which never change."""
        return tuple(metric.name for metric in self.design.metrics)

    @property
    def values(self) -> tuple[Any, ...] | None:
        """Values of the arms, in the order of the arms; None if none were given."""
        return self._loaded().delivery.values

    @property
    def audience(self) -> Audience | None:
        """The audience, with the current share of the traffic; None if everyone is admitted."""
        return self._loaded().delivery.audience

    @property
    def design(self) -> Design:
        """The design, with the current value of the knob."""
        return self._loaded().design
