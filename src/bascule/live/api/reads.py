"""Reads of many experiments at once: summaries, statuses, alarms, and the arms of a unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bascule.core.design import Design
from bascule.core.enrolment.targeting import Context, checked_context
from bascule.live.api.experiment import Experiment
from bascule.live.api.store import Store
from bascule.live.reports.status import Status, status_of
from bascule.live.steps.serving import Evaluation, Served, served_arms
from bascule.live.storage.queries import (
    Loaded,
    Rows,
    all_experiments,
    loaded_from,
    oldest_waiting,
    stored_rows,
)
from bascule.live.storage.records import alarms_by_test
from bascule.live.storage.state import Phase
from bascule.live.storage.state_json import DAMAGE
from bascule.live.storage.statements import fetch
from bascule.live.transactions.enrol import outside_stopped
from bascule.live.transactions.settle import is_settled

# CROSS JOIN makes SQLite read the tables in this order, and find the unit by an index.
_ARMS = (
    "SELECT e.id, a.arm FROM experiments e CROSS JOIN assignments a "
    "WHERE a.experiment = e.id AND a.unit = ?"
)
_LINKED_ARMS = (
    "SELECT e.id, a.arm FROM experiments e CROSS JOIN links l CROSS JOIN assignments a "
    "WHERE l.experiment = e.id AND l.unit = ? AND a.experiment = e.id AND a.unit = l.identity"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """An experiment as it was when it was last read from the store.

    `served` has the evaluation for the units of each arm. `oldest` is when the oldest unit that has
    not counted yet was enrolled, in seconds since 1970; None if there is none.
    """

    test: Experiment
    loaded: Loaded
    served: Served
    oldest: float | None = None

    @property
    def design(self) -> Design:
        """The design, with the current value of the knob."""
        return self.loaded.design

    @property
    def state(self) -> Phase:
        """The phase of the experiment."""
        return self.loaded.phase

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.test.name

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(self.design.arms)

    @property
    def is_settled(self) -> bool:
        """Whether the status is up to date: no unit can be counted, and no other step is due."""
        return is_settled(self.loaded, self.test.store.runner.now(self.loaded))

    def status(self) -> Status:
        """Return the status computed from the stored state, without a query."""
        return status_of(self.loaded, self.test.store.runner.now(self.loaded), self.oldest)


def alarm_names(store: Store) -> dict[int, list[str]]:
    """Return the names of all alarms in the audit log, by the number of their experiment."""
    with store.reading() as connection:
        return alarms_by_test(connection)


def read_summaries(
    store: Store, known: Mapping[int, Summary]
) -> tuple[dict[str, Summary], dict[str, str]]:
    """Return summaries of the readable experiments, and the errors of the others, both by name.

    `known` has earlier summaries by the number of the experiment. One query lists the versions of
    all experiments, and only those that have changed since are read again.

    >>> import bascule as bs
    >>> week = bs.Measure("7d", "any")
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week)
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("button", design)
    ...     result, damaged = read_summaries(store, {})
    >>> result["button"].arms, damaged
    (('a', 'b'), {})
    """
    summaries: dict[str, Summary] = {}
    damaged: dict[str, str] = {}
    with store.reading() as connection:
        listed = all_experiments(connection)
        versions = {number: summary.loaded.version for number, summary in known.items()}
        changed = [entry.id for entry in listed if versions.get(entry.id) != entry.version]
        rows = stored_rows(connection, changed)
        for number, name, *_ in listed:
            summary = known.get(number)
            if number in rows:
                try:
                    loaded = loaded_from(rows[number])
                    oldest = oldest_waiting(connection, loaded)
                    served = served_arms(loaded.arms, loaded.state)
                except DAMAGE as problem:
                    # One damaged row must not hide all others.
                    damaged[name] = f"{type(problem).__name__}: {problem}"
                    continue
                store.runner.notice_erasures(loaded)
                test = summary.test if summary else Experiment(store, number, name, loaded)
                summary = Summary(test, loaded, served, oldest)
            # An experiment that was deleted between the two queries is left out.
            if summary is not None:
                summaries[name] = summary
    return summaries, damaged


def readable_statuses(tests: Iterable[Experiment]) -> tuple[list[Status], dict[str, str]]:
    """Return the statuses of readable experiments, and the errors of unreadable ones by name."""
    statuses: list[Status] = []
    damaged: dict[str, str] = {}
    for test in tests:
        try:
            statuses.append(test.status())
        except DAMAGE as problem:
            # One damaged row must not hide all others.
            damaged[test.name] = f"{type(problem).__name__}: {problem}"[:200]
    return statuses, damaged


def evaluations_of_unit(
    store: Store, summaries: Iterable[Summary], unit: str, context: Context | None = None
) -> dict[int, Evaluation]:
    """Return the evaluations of a unit that assignment would give it without enrolling it.

    They are given by the number of the experiment, for experiments of `summaries` in which the unit
    has an arm, and for those that were stopped and in which everyone gets one arm.
    """
    checked_context(context or {})
    by_number = {summary.test.id: summary for summary in summaries}
    with store.reading() as connection:
        # A linked name has the arm of the name it is linked to, even if it had another before.
        rows = [*fetch(connection, _ARMS, unit), *fetch(connection, _LINKED_ARMS, unit)]
        for number, summary in by_number.items():
            names = summary.loaded.state.names
            if names.key:
                # The unit may have been erased from this experiment before it was counted.
                units = Rows(connection, number)
                identity = units.identify([unit], names)[unit]
                rows += [(number, arm) for arm in units.find_arms([identity]).values()]
    stopped = [summary.loaded for summary in by_number.values() if summary.state == "stopped"]
    outside = {loaded.id: outside_stopped(loaded, unit, context) for loaded in stopped}
    everyones = {number: shown for number, shown in outside.items() if shown.reason == "STATIC"}
    own = {number: by_number[number].served[arm] for number, arm in rows if number in by_number}
    return everyones | own
