"""The calls of an experiment's users about its units, as jobs: built here, run or submitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

from bascule.core.enrolment.targeting import Context
from bascule.core.errors import InputError
from bascule.live.commit.context import StoreContext
from bascule.live.commit.jobs import Reply, copy_error
from bascule.live.steps.inputs import checked_unit, event_of
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Answer, Arms, Evaluation, Served, evaluation
from bascule.live.transactions.enrol import Newcomer, newcomer

if TYPE_CHECKING:
    from bascule.live.storage.queries import Loaded

Covariates = Mapping[str, float]
"""What is known of a unit before it is assigned, by name."""

Outcomes = Iterable[tuple[Any, ...] | Event]
"""Outcomes as users give them."""


class Handle:
    """An experiment of a store: its number, its name, and what of it never changes."""

    def __init__(
        self, store: StoreContext, number: int, name: str, loaded: Loaded | None = None
    ) -> None:
        self.store = store
        self.id = number
        self.name = name
        self._known = store.memory.of(number)
        if loaded is not None:
            self._arms_with_values = loaded.arms

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, which never change."""
        return self._arms_with_values.names

    @cached_property
    def _arms_with_values(self) -> Arms:
        return self._loaded().arms

    def _loaded(self) -> Loaded:
        """Return the experiment as it is stored."""
        with self.store.reading() as connection:
            return self.store.load(connection, self.id, self.name)


class Calls(Handle):
    """Builds the calls about the units of an experiment, which `Units` runs and `Soon` submits.

    Each method returns a `Reply`. It has no job if no transaction is needed: for a unit whose arm
    this program remembers.
    """

    def assign(
        self,
        unit: str | int,
        context: Context | None = None,
        *,
        covariates: Covariates | None = None,
        strict: bool = False,
    ) -> Reply[str]:
        """Assign a unit and return the arm to serve; it is on disk before this returns.

        A unit keeps the arm that it was assigned, until the winner is released to everyone, its arm
        is dropped, or the test is stopped for an arm. A test that takes no new units (paused, full,
        ended) answers with the winner or the control, and such a unit is not in the test; with
        `strict` that is an error. `evaluate` says which of these it was. `context` has the unit's
        attributes for the targeting rule of the test's audience, if it has one. `covariates` are
        those of the design, as far as they are known: `{"spend_before": 12.5}`. The first call for
        a unit counts; a unit that came without one counts with its `missing`.

        Callers in many threads share transactions. A unit that this program has seen before is
        answered from memory; a change by another program reaches it within a second.
        """
        named = checked_unit(unit)
        known = self._at_hand(named)
        if known is not None:
            arm, served = known
            return Reply.ready(self.arms[arm if served is None else served.arms[arm]])
        items = [newcomer(named, covariates, context)]
        return self._assigning(items, lambda results: self._arm(results[0], strict))

    def assign_many(
        self,
        units: Sequence[str | int],
        contexts: Sequence[Context | None] | None = None,
        *,
        covariates: Sequence[Covariates | None] | None = None,
        strict: bool = False,
    ) -> Reply[list[str]]:
        """Assign many units in one transaction and return the arms to serve in order.

        `contexts` and `covariates` have an entry for each unit.
        """
        if isinstance(units, str):
            raise InputError("units", f"units must be a list of them (got {units!r:.60})")
        named = [*map(checked_unit, units)]
        if not named:
            return Reply.ready([])
        for field, given in (("contexts", contexts), ("covariates", covariates)):
            if isinstance(given, Mapping) or (given is not None and len(given) != len(named)):
                message = f"{field} must be a list with one entry for each of {len(named)} units"
                raise InputError(field, message)
        known = zip(named, covariates or repeat(None), contexts or repeat(None), strict=False)
        items = [newcomer(*one) for one in known]
        return self._assigning(items, lambda results: [self._arm(one, strict) for one in results])

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
        if known is not None:
            return Reply.ready(evaluation(self._arms_with_values, *known))
        items = [newcomer(named, covariates, context)]
        return self._assigning(items, lambda results: self._evaluation(results[0]))

    def record(self, outcomes: Outcomes) -> Reply[list[Receipt]]:
        """Return the call that records outcomes."""
        events, do, actor = [*map(event_of, outcomes)], self.store.recording, self.store.actor
        return Reply(self.id, self.name, do, events, lambda results: [*results], actor=actor)

    def remembered(self, unit: str, served: Served | None = None) -> Evaluation | None:
        """Return what a unit is served if this program remembers it; no database is asked.

        `served` is what the units of each arm are served now, where it is not their own.
        """
        arm = self._known.get(unit)
        return None if arm is None else evaluation(self._arms_with_values, arm, served)

    def _assigning(
        self, items: Sequence[Newcomer], read: Callable[[Sequence[Any]], Any]
    ) -> Reply[Any]:
        do, actor = self.store.assigning, self.store.actor
        return Reply(self.id, self.name, do, items, read, actor=actor, enrols=True)

    def _at_hand(self, unit: str) -> tuple[int, Served | None] | None:
        """Return a unit's arm and what is served now where that takes no transaction, or None."""
        if unit not in self._known:
            return None
        self.store.check_open()
        served = self.store.runner.served(self.id, self.name)
        # Asked again: to look what is served may show that units are to be forgotten.
        arm = self._known.get(unit)
        return None if arm is None else (arm, served)

    def _arm(self, result: Answer | InputError, strict: bool) -> str:
        """Return the name of the arm in a transaction's result, or raise its error."""
        if isinstance(result, InputError):
            raise copy_error(result)
        if strict and result.problem is not None:
            raise copy_error(result.problem)
        return self.arms[result.arm]

    def _evaluation(self, result: Answer | InputError) -> Evaluation:
        """Return what a unit is served, given a transaction's result, or raise its error."""
        if isinstance(result, InputError):
            raise copy_error(result)
        names, values = self._arms_with_values
        answer, problem = (names[result.arm], values[result.arm], result.reason), result.problem
        if problem is None:
            return Evaluation(*answer, enrolled=True)
        return Evaluation(*answer, False, problem.field, str(problem))
