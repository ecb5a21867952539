"""Reads across experiments, for programs that serve many: one query each, and no transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bascule.core.design import Design
from bascule.live.api.experiment import Experiment
from bascule.live.api.store import Store
from bascule.live.reports.status import Status, status_of
from bascule.live.steps.serving import Evaluation, evaluation, served_arms
from bascule.live.storage.queries import (
    Loaded,
    Rows,
    all_experiments,
    oldest_waiting,
    stored_row,
)
from bascule.live.storage.records import alarms_by_test
from bascule.live.storage.state import Phase
from bascule.live.storage.state_json import DAMAGE
from bascule.live.storage.statements import fetch
from bascule.live.transactions.settle import is_settled

# With CROSS JOIN SQLite takes the tables in this order, and finds the unit by an index.
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
    """An experiment as it was read last.

    `served` is what the units of each arm are served, and `oldest` when the first unit came that
    has not counted.
    """

    test: Experiment
    loaded: Loaded
    served: tuple[Evaluation, ...]
    oldest: float | None = None

    @property
    def design(self) -> Design:
        """The design, with the knob as it was set."""
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
        """Whether no unit has matured since; where one has, the status is not the latest."""
        return is_settled(self.loaded, self.test.store.runner.now(self.loaded))

    def status(self) -> Status:
        """The status as it was stored; no database is asked."""
        return status_of(self.loaded, self.test.store.runner.now(self.loaded), self.oldest)


def alarm_names(store: Store) -> dict[int, list[str]]:
    """Return the names of all alarms in the audit log, by the number of their experiment."""
    with store.reading() as connection:
        return alarms_by_test(connection)


def read_summaries(
    store: Store, known: Mapping[int, Summary]
) -> tuple[dict[str, Summary], dict[str, str]]:
    """Return all experiments by name, and those that cannot be read with the reason.

    It is one query for all whose version is the `known` one; others are read again.

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
        for number, name, _, version in all_experiments(connection):
            summary = known.get(number)
            if summary is None or summary.loaded.version != version:
                try:
                    loaded = stored_row(connection, number, name)
                    oldest = oldest_waiting(connection, loaded)
                    answers = served_arms(loaded.state)
                    served = tuple(evaluation(loaded.arms, answer) for answer in answers)
                except DAMAGE as problem:
                    # One row that was damaged must not hide all others.
                    damaged[name] = f"{type(problem).__name__}: {problem}"
                    continue
                store.runner.notice_erasures(loaded)
                test = summary.test if summary else Experiment(store, number, name, loaded)
                summary = Summary(test, loaded, served, oldest)
            summaries[name] = summary
    return summaries, damaged


def readable_statuses(tests: Iterable[Experiment]) -> tuple[list[Status], dict[str, str]]:
    """Return the statuses of experiments, and of those that cannot be read the reason, by name."""
    statuses: list[Status] = []
    damaged: dict[str, str] = {}
    for test in tests:
        try:
            statuses.append(test.status())
        except DAMAGE as problem:
            # One row that was damaged must not hide all others.
            damaged[test.name] = f"{type(problem).__name__}: {problem}"[:200]
    return statuses, damaged


def evaluations_of_unit(
    store: Store, summaries: Iterable[Summary], unit: str
) -> dict[int, Evaluation]:
    """Return what a unit is served in each of the experiments that it is in, by their numbers."""
    by_number = {summary.test.id: summary for summary in summaries}
    with store.reading() as connection:
        # A name that was linked has the arm of its identity, also where it had one of its own.
        rows = [*fetch(connection, _ARMS, unit), *fetch(connection, _LINKED_ARMS, unit)]
        for number, one in by_number.items():
            names = one.loaded.state.names
            if names.key:
                # It may have been erased here before it has counted.
                units = Rows(connection, number)
                identity = units.identify([unit], names)[unit]
                rows += [(number, arm) for arm in units.find_arms([identity]).values()]
    return {number: by_number[number].served[arm] for number, arm in rows if number in by_number}
