"""The units of an experiment: assign them, and record their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.enrolment.segments import Member
from bascule.live.api.calls import Calls, Handle, Outcomes
from bascule.live.commit.context import StoreContext
from bascule.live.commit.jobs import Reply, Result
from bascule.live.steps.assignment import Assignment
from bascule.live.steps.inputs import checked_unit, event_of
from bascule.live.steps.maturity import Receipt
from bascule.live.storage.queries import Loaded, Rows
from bascule.live.storage.statements import fetch
from bascule.live.transactions.link import link

Given = ParamSpec("Given")

RECORDED_AT_ONCE = 5000

EXCLUDED = ("unit", "value", "at", "received", "event", "reason", "detail", "metric")
"""What is known of an outcome that was excluded."""

_EXCLUDED = f"SELECT {', '.join(EXCLUDED)} FROM set_aside WHERE experiment = ? ORDER BY id"  # nosec B608
_COUNTS = (
    "SELECT reason, count(*) FROM set_aside WHERE experiment = ? GROUP BY reason ORDER BY reason"
)


def _running(
    build: Callable[Concatenate[Calls, Given], Reply[Result]],
) -> Callable[Concatenate[Units, Given], Result]:
    """Return a method that runs the call which a method of `Calls` builds."""

    @wraps(build)
    def run(self: Units, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return self.store.run(build(self.calls, *given, **named))

    shown = signature(build)
    result = shown.return_annotation.removeprefix("Reply[").removesuffix("]")
    # What help and the reference show.
    run.__signature__ = shown.replace(return_annotation=result)  # type: ignore[attr-defined]
    return run


class Units(Handle):
    """The units of an experiment."""

    def __init__(
        self, store: StoreContext, number: int, name: str, loaded: Loaded | None = None
    ) -> None:
        super().__init__(store, number, name, loaded)
        self.calls = Calls(store, number, name, loaded)

    assign = _running(Calls.assign)
    assign_many = _running(Calls.assign_many)
    evaluate = _running(Calls.evaluate)

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
        """Record an outcome, or exclude it with a reason; its `id` makes a retry harmless.

        Without the name of a `metric` it is an outcome of the primary one. Metrics of one request
        may share its id, and once one of them has named the unit, the others may leave it out.
        """
        return self.record_many([(unit, value, at, id, metric)])[0]

    def record_many(self, outcomes: Outcomes) -> list[Receipt]:
        """Record many outcomes and return their receipts in order.

        Each is (unit, value), (unit, value, at), (unit, value, at, id) or (unit, value, at, id,
        metric).
        """
        receipts: list[Receipt] = []
        events = [*map(event_of, outcomes)]
        for first in range(0, len(events), RECORDED_AT_ONCE):
            some = events[first : first + RECORDED_AT_ONCE]
            taken = self.store.run(self.calls.record(some))
            receipts += taken
        return receipts

    @cached_property
    def soon(self) -> Soon:
        """These verbs as calls that return at once, for futures and coroutines.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        >>> with bs.open(":memory:") as store:
        ...     test = store.create("soon", design)
        ...     test.soon.assign("user-42").result() == test.assign("user-42")
        True
        """
        return Soon(self.store, self.calls)

    def excluded(self, reason: str | None = None) -> list[dict[str, Any]]:
        """Return the excluded outcomes, each with its reason, in the order in which they came."""
        with self.store.reading() as connection:
            rows = fetch(connection, _EXCLUDED, self.id)
        listed = [dict(zip(EXCLUDED, row, strict=True)) for row in rows]
        return [row for row in listed if reason in (None, row["reason"])]

    def excluded_counts(self) -> dict[str, int]:
        """Count the outcomes that are excluded, or that count as a limit, by reason."""
        with self.store.reading() as connection:
            counts: dict[str, int] = dict(map(tuple, fetch(connection, _COUNTS, self.id)))
            counted = self.store.load(connection, self.id, self.name).state.counts
        return counts | ({"not enrolled": counted.unenrolled} if counted.unenrolled else {})

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

    @property
    def design(self) -> Design:
        """The design, with the knob as it is set now."""
        return self._loaded().design


class Soon:
    """The verbs of an experiment as calls that do not wait: each returns a `Reply`.

    What is asked for while a transaction is written shares the next one. A mistake in the call,
    such as an empty name, raises at once; an error of the transaction is that of the reply.
    """

    def __init__(self, store: StoreContext, calls: Calls) -> None:
        self.assign = _submitting(store, calls.assign)
        """Assign a unit: a reply with its arm."""
        self.assign_many = _submitting(store, calls.assign_many)
        """Assign several units: a reply with their arms."""
        self.evaluate = _submitting(store, calls.evaluate)
        """Evaluate a unit, in the test or not: a reply with what it gets."""
        self.record_many = _submitting(store, calls.record)
        """Record outcomes: a reply with their receipts."""


def _submitting(
    store: StoreContext, build: Callable[Given, Reply[Result]]
) -> Callable[Given, Reply[Result]]:
    """Return a function that submits the call which another one builds."""

    @wraps(build)
    def submit(*given: Given.args, **named: Given.kwargs) -> Reply[Result]:
        return store.submit(build(*given, **named))

    return submit
