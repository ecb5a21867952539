"""One experiment of a store: assign units, record outcomes, report its status, change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from bascule.core.diagnostics import Diagnostic
from bascule.core.errors import invalid
from bascule.core.inputs import checks
from bascule.core.presenter import presenter
from bascule.live.api.units import ExperimentUnits
from bascule.live.clock import moment
from bascule.live.reports.diagnostics import diagnostics_of, drift_of, put_into_log, raised
from bascule.live.reports.forecast import Turn, even_split, turns
from bascule.live.reports.history import (
    ExperimentReport,
    HistoryPoint,
    audit_words,
    point_of,
    spread,
)
from bascule.live.reports.status import Status, status_of
from bascule.live.reports.time_left import units_range
from bascule.live.reports.verification.verify import Verification, verify
from bascule.live.steps.inputs import checked_description
from bascule.live.storage.queries import Loaded, oldest_waiting
from bascule.live.storage.records import audit_entries, description_of, history_of
from bascule.live.storage.state import OPEN, Phase
from bascule.live.transactions import change
from bascule.live.transactions.settle import is_settled, settle
from bascule.live.transactions.unit_of_work import UnitOfWork
from bascule.theory import Prediction

MOST_POINTS = 400
"""Maximum number of points of the history in a report."""


class Experiment(ExperimentUnits):
    """A live test in a store: created by `Store.create`, and found again by `Store.get`.

    Its `name` is an attribute. A call that the present phase rules out, such as `pause` for a test
    that is not running or `release` before a decision, raises `InputError` of the kind "conflict".

    >>> import bascule as bs
    >>> store = bs.open(":memory:")
    >>> week = bs.Measure("7d", "any")  # 1 if there is an event within a week, else 0
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week)
    >>> test = store.create("button", design)
    >>> arm = test.assign("user-42")
    >>> test.record("user-42", 1.0).accepted
    True
    >>> test.status().units
    1
    """

    # Reports

    @property
    def state(self) -> Phase:
        """The phase: `ready`, `running`, `paused`, `decided`, `over` (undecided) or `stopped`."""
        return self._loaded().phase

    def settle(self) -> None:
        """Add all units with complete outcomes to the statistics; other calls add only some."""
        loaded = self._loaded()
        if is_settled(loaded, self.store.runner.now(loaded)):
            return
        while self._do(settle):
            pass

    def status(self, *, diagnostics: bool = False) -> Status:
        """Return the status: arms, intervals, evidence, cost, and the decision or None.

        If the guarantee needs means that do not change in time, checks of drift are included. With
        `diagnostics`, all diagnostics are included; they read the whole log, so they take longer
        the longer it is.
        """
        if diagnostics:
            return replace(self.status(), diagnostics=self.diagnostics())
        with self.store.reading() as connection:
            loaded = self.store.load(connection, self.id, self.name)
            if is_settled(loaded, self.store.runner.now(loaded)):
                return self._status(connection, loaded)
        self.settle()
        with self.store.reading() as connection:
            return self._status(connection, self.store.load(connection, self.id, self.name))

    def _status(self, connection: Connection, loaded: Loaded) -> Status:
        now = self.store.runner.now(loaded)
        status = status_of(loaded, now, oldest_waiting(connection, loaded))
        drift = drift_of(connection, loaded)
        return replace(status, diagnostics=drift) if drift else status

    def history(self, limit: int | None = None) -> list[HistoryPoint]:
        """Return the points of the test's history; at most `limit`, spread evenly over the test."""
        if limit is not None:
            limit = checks.whole("limit", limit, 1, "it is the largest number of points")
        with self.store.reading() as connection:
            design = self.store.load(connection, self.id, self.name).design
            points = history_of(connection, self.id)
        return [
            point_of(design, statistics, folded, time)
            for folded, time, statistics in spread(points, [point[0] for point in points], limit)
        ]

    def report(self) -> ExperimentReport:
        """Return a report to share: status, diagnostics, history and changes.

        `save_html` writes it as a page, and `to_frame` has the history as a table.
        """
        changes = tuple(
            (moment(entry["time"]).isoformat(), audit_words(entry)) for entry in self.audit()
        )
        history = tuple(self.history(MOST_POINTS))
        return ExperimentReport(self.status(diagnostics=True), history, changes)

    def forecast(self, values: Sequence[float]) -> tuple[Turn, ...]:
        """Forecast the rest of the test for each value of the rule's knob; empty if impossible."""
        loaded = self._loaded()
        design, statistics = loaded.design, loaded.state.statistics
        left = units_range(design, statistics)
        return () if left is None else turns(design, statistics, left.median, values)

    def even_split(self) -> Prediction | None:
        """Forecast the whole test with an even split; None if that is impossible.

        The forecast includes the units that are enrolled at the pace so far while the windows of
        the deciding units close.
        """
        loaded = self._loaded()
        design, state = loaded.design, loaded.state
        passed, window = state.enrolment.latest - loaded.created, design.matures(0.0) or 0.0
        waiting = state.units * window / passed if passed > 0.0 else 0.0
        return even_split(design, state.statistics, waiting)

    def diagnostics(self, level: float = 0.01) -> tuple[Diagnostic, ...]:
        """Check for drift, a sample ratio mismatch, missing values, and units that never report.

        Each statistical test gives a false alarm in at most a share `level` of the experiments. The
        diagnostics do not affect the decision. They read the whole log, so they take longer the
        longer it is.
        """
        self.settle()
        with self.store.reporting() as connection:
            loaded = self.store.load(connection, self.id, self.name)
            return diagnostics_of(connection, loaded, level, self.store.runner.now(loaded))

    def alarms(self, level: float = 0.01) -> tuple[Diagnostic, ...]:
        """Return the new alarms, and write each to the audit log once.

        While a test runs, only diagnostics that are valid at any time raise alarms, because they
        are looked at again and again; after its end, all diagnostics do.
        """
        alarms = raised(self.diagnostics(level), self.state in OPEN)
        return tuple(alarm for alarm in alarms if self._do(partial(put_into_log, diagnostic=alarm)))

    def verify(self) -> Verification:
        """Recompute everything from the raw log, and list all stored values that differ."""
        with self.store.reporting() as connection:
            return verify(connection, self.id, self.name)

    @property
    def erased(self) -> int:
        """Number of units that were erased, on request or by age."""
        return self._loaded().state.names.erased

    def audit(self) -> list[dict[str, Any]]:
        """Return the audit log of the experiment, oldest first: changes, alarms, the decision.

        An entry has the fields `experiment`, `time` (in seconds since 1970-01-01 in UTC), `actor`,
        `action` and `detail`.
        """
        with self.store.reading() as connection:
            return audit_entries(connection, experiment=self.id)

    @property
    def description(self) -> str:
        """Text about the experiment, such as who runs it and what is expected; may be empty."""
        with self.store.reading() as connection:
            return description_of(connection, self.id)

    # Changes

    def describe(self, description: str) -> None:
        """Set the description of the experiment, which replaces the previous one."""
        text = checked_description(description)
        self._do(lambda work: change.describe(work, text))

    def start(self) -> None:
        """Start to enrol units, or resume after a pause."""
        self._move("start", ("ready", "paused"), "running")

    def pause(self) -> int:
        """Stop enrolling once the open block is full; return the number of places left in it.

        The next units that arrive fill these places, because the arms of these places may be known,
        and nobody may choose when they are filled. Units in the test keep their arm, and their
        outcomes count. See docs/research/operators.md.
        """
        return self._move("pause", ("running",), "paused")

    def stop(self, to: str | None = None) -> None:
        """End the test by hand, for good; outcomes count no more.

        A test that is stopped already takes `to` again, which changes the arm for everyone.

        With `to`, everyone is served this arm from now on, also those who were assigned another,
        except units that a targeting rule or a holdout keeps out. Without it, enrolled units keep
        their arms.
        """
        since: tuple[Phase, ...] = ("ready", "running", "paused", "decided", "over")
        self._do(lambda work: change.stop(work, since, to))

    def knob(self, **named: float) -> None:
        """Change the rule's knob from the next unit or block on; the error guarantee stays valid.

        Pass the value by the name of the rule's knob: `knob(tilt=5)` with Tilt, `knob(alpha=2)`
        with UCB. docs/research/live.md has the proof.
        """
        if len(named) != 1:
            raise invalid(
                f"knob needs one value (got {len(named)}): give alpha for UCB, or tilt for Tilt",
                others=("alpha", "tilt"),
            )
        ((knob, value),) = named.items()
        self._do(lambda work: change.turn_knob(work, knob, value))

    def set_share(self, share: float) -> int:
        """Set the share of the traffic to admit, from the next block on; enrolled units remain.

        This ends a schedule (`ramp`). Return how many places of the open block are left: the next
        units fill these at the previous share. The proof is in docs/research/enrolment.md.
        """
        return int(self._do(lambda work: change.set_share(work, share)))

    def drop_arm(self, arm: str, to: str | None = None) -> None:
        """Drop an arm from the test for good; nothing is claimed about it any more.

        At least two arms must remain. Its users are served the arm `to`, at once in this program
        and within a second in all others; if `to` is not given, the control, or the first remaining
        arm if the control is dropped. Their outcomes stay with the arm that they were assigned.

        From the first drop on, all pairs are judged more strictly, and arms that are not beaten at
        the stricter level come back (docs/research/ends.md).
        """
        self._do(lambda work: change.drop_arm(work, arm, to))

    def release(self) -> None:
        """Serve the winner to everyone after the decision, also to units that were in another arm.

        Units that a targeting rule or a holdout keeps out still get the control. If the decision is
        that no difference matters, everyone gets the control, or the first active arm if the
        control has been dropped.
        """
        self._do(change.release)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"

    def _repr_html_(self) -> str:
        design = presenter("pages").design_report(self.design)
        return str(presenter("pages").shown(self.status().report(), design))

    # Private

    def _do(self, step: Callable[[UnitOfWork], object]) -> Any:
        """Run one change in a transaction."""
        (result,) = self.store.change(self.id, self.name, lambda work, _: [step(work)], [None])
        return result

    def _move(self, action: str, since: tuple[Phase, ...], to: Phase) -> int:
        return int(self._do(lambda work: change.move(work, action, since, to)))
