"""One experiment of a store: assign units, record outcomes, see where it stands, change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bascule.core.diagnostics import Diagnostic
from bascule.core.errors import InputError
from bascule.live.api.units import Units
from bascule.live.reports.forecast import Turn, turns
from bascule.live.reports.status import Point, Status, point_of, spread, status_of
from bascule.live.steps.lead import evidence_of
from bascule.live.storage.state import OPEN, State

if TYPE_CHECKING:
    from bascule.live.reports.verify import Verification
    from bascule.live.transactions.unit_of_work import Work


class Experiment(Units):
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

    # Where it stands

    @property
    def state(self) -> State:
        """`ready`, `running`, `paused`, `decided`, `over` (undecided) or `stopped`."""
        return self._loaded().state

    def settle(self) -> None:
        """Take all mature units into the statistics, as every other call does a few at a time."""
        from bascule.live.transactions.settle import is_settled, settle

        loaded = self._loaded()
        if is_settled(loaded.design, loaded.state, loaded.standing, self.store.clock.now()):
            return
        while self._do(settle):
            pass

    def status(self, *, diagnostics: bool = False) -> Status:
        """Where the test stands: arms, intervals, evidence, cost, decision or None.

        With `diagnostics` these are in it too; they are read from the whole log, so it takes longer
        the longer that is.
        """
        if diagnostics:
            return replace(self.status(), diagnostics=self.diagnostics())
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

        from bascule.live.storage.schema import history
        from bascule.live.storage.state import statistics_from_json

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
        from bascule.live.reports.diagnostics import diagnostics_of

        self.settle()
        with self.store.reading() as connection:
            loaded = self.store.load(connection, self.id, self.name)
            return diagnostics_of(connection, loaded, level)

    def alarms(self, level: float = 0.01) -> tuple[Diagnostic, ...]:
        """Alarms that are new: each goes into the audit log, once.

        While a test runs, these are of the diagnostics that hold at any time, since one looks again
        and again; when it has ended, of all.
        """
        from bascule.live.reports.diagnostics import put_into_log

        found = self.diagnostics(level)
        if self.state in OPEN:
            found = tuple(one for one in found if one.validity == "any time")
        flagged = [one for one in found if one.flagged]
        return tuple(one for one in flagged if self._do(partial(put_into_log, found=one)))

    def verify(self) -> Verification:
        """Compute everything again from the raw log, and compare."""
        from bascule.live.reports.verify import verify

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
        from bascule.live.transactions.change import turn_knob

        given = {"alpha": alpha, "tilt": tilt}
        named = {knob: value for knob, value in given.items() if value is not None}
        if len(named) != 1:
            raise InputError("knob", "give one knob: alpha for UCB, or tilt for Tilt")
        ((knob, value),) = named.items()
        self._do(lambda work: turn_knob(work, knob, value))

    def drop_arm(self, arm: str) -> None:
        """Take an arm out of the test for good; nothing is claimed about it any more.

        From the first such removal on all pairs of arms are judged more strictly, and arms that
        were beaten by less come back (docs/explanation/ends.md).
        """
        from bascule.live.transactions.change import drop_arm

        self._do(lambda work: drop_arm(work, arm))

    def pause_arm(self, arm: str) -> None:
        """Give an arm no new units for a while; blocks that were begun are finished."""
        from bascule.live.transactions.change import pause_arm

        self._do(lambda work: pause_arm(work, arm, paused=True))

    def resume_arm(self, arm: str) -> None:
        """Give an arm units again."""
        from bascule.live.transactions.change import pause_arm

        self._do(lambda work: pause_arm(work, arm, paused=False))

    def release(self) -> None:
        """After the decision: everyone gets the winner, also who was in another arm."""
        from bascule.live.transactions.change import release

        self._do(release)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"

    # Inside

    def _do(self, change: Callable[[Work], object]) -> Any:
        """One change, which no other is like."""
        return self._change(lambda work, _: [change(work)], [None])[0]

    def _move(self, action: str, since: tuple[State, ...], to: State) -> None:
        from bascule.live.transactions.change import move

        self._do(lambda work: move(work, action, since, to))
