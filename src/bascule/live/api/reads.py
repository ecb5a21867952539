"""Reads across experiments, for programs that serve many: one query each, no transaction of units.

It loads the database layer, which `bascule.live.api` itself leaves until a store is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import and_, select

from bascule.core.design import Design
from bascule.core.errors import StoreError
from bascule.core.segments import Member
from bascule.live.api.experiment import Experiment
from bascule.live.api.segmented import SegmentedExperiment
from bascule.live.api.store import Store
from bascule.live.reports.status import Status
from bascule.live.steps.folding import with_knob
from bascule.live.steps.serving import (
    Arms,
    Evaluation,
    Served,
    evaluation,
    everyones_arm,
    served_arms,
)
from bascule.live.storage.queries import Loaded, all_oldest_waiting, gone
from bascule.live.storage.schema import assignments, experiments, links
from bascule.live.storage.schema import audit as audit_log
from bascule.live.storage.state import Phase

__all__ = [
    "Summary",
    "alarm_names",
    "arms_of_unit",
    "audit_log",
    "gone",
    "is_released",
    "read_statuses",
    "read_summaries",
    "segmented_tests",
    "with_knob",
]


@dataclass(frozen=True, slots=True)
class Summary:
    """An experiment as it was read last.

    `winner` is the arm that everyone gets, after a release or a stop for an arm, and `served` what
    the units of each arm are served, if it is not their own.
    """

    test: Experiment
    loaded: Loaded
    winner: str | None
    served: Served | None = None

    @property
    def design(self) -> Design:
        """The design, with the knob as it was set."""
        return self.loaded.design

    @property
    def state(self) -> Phase:
        """The phase of the experiment."""
        return self.loaded.phase

    @property
    def created(self) -> float:
        """When it was created."""
        return self.loaded.created

    @property
    def version(self) -> int:
        """Which of its versions was read."""
        return self.loaded.version

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.test.name

    @property
    def test_name(self) -> str:
        """The name of the test: that of the whole, where this is one of its segments."""
        member = self.loaded.delivery.member
        return self.name if member is None else member.test

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(self.design.arms)

    def known(self, arm: int) -> Evaluation:
        """What a unit is served that was assigned this arm."""
        return evaluation(
            Arms(self.arms, self.loaded.delivery.values or self.arms), arm, self.served
        )


def alarm_names(store: Store) -> dict[int, list[str]]:
    """Return the names of all alarms in the audit log, by the number of their experiment."""
    asked = select(audit_log.c.experiment, audit_log.c.detail).where(audit_log.c.action == "alarm")
    found: dict[int, list[str]] = {}
    with store.reading() as connection:
        for number, detail in connection.execute(asked):
            found.setdefault(number, []).append(str(json.loads(detail).get("name")))
    return found


def read_summaries(
    store: Store, known: Mapping[int, Summary]
) -> tuple[dict[str, Summary], dict[str, str]]:
    """All experiments by name, and those that cannot be read with the reason.

    Experiments whose version is the `known` one are not read again.

    >>> import bascule as bs
    >>> week = bs.Measure("7d", "any")
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week)
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("button", design)
    ...     found, damaged = read_summaries(store, {})
    >>> found["button"].arms, damaged
    (('a', 'b'), {})
    """
    found: dict[str, Summary] = {}
    damaged: dict[str, str] = {}
    asked = select(experiments.c.id, experiments.c.name, experiments.c.version)
    with store.reading() as connection:
        for row in connection.execute(asked).all():
            summary = known.get(row.id)
            # With leases out, units come without a new version.
            if summary is None or summary.version != row.version or summary.loaded.state.leases:
                try:
                    loaded = store.load(connection, row.id, row.name)
                except StoreError:
                    raise
                except Exception as problem:
                    # One row that was damaged must not hide all others.
                    damaged[row.name] = f"{type(problem).__name__}: {problem}"
                    continue
                design, state = loaded.design, loaded.state
                everyone = everyones_arm(state)
                winner = None if everyone is None else design.arms[everyone]
                test = summary.test if summary else Experiment(store, row.id, row.name, design)
                summary = Summary(test, loaded, winner, served_arms(state))
            found[row.name] = summary
    for summary in found.values():
        # From the first time on it keeps its arms at hand: no event loop has to wait for them.
        summary.test.remembered("")
    return found, damaged


def segmented_tests(store: Store, found: Iterable[Summary]) -> dict[str, SegmentedExperiment]:
    """Return the tests with segments among some experiments, by name; incomplete ones are not."""
    groups: dict[str, tuple[Member, dict[str, Experiment]]] = {}
    for one in found:
        member = one.loaded.delivery.member
        if member is not None:
            groups.setdefault(member.test, (member, {}))[1][member.segment] = one.test
    return {
        name: SegmentedExperiment(
            store, member, {each: tests[each] for each in member.segments.all}
        )
        for name, (member, tests) in groups.items()
        if set(tests) == set(member.segments.all)
    }


def read_statuses(store: Store, entries: Sequence[Summary]) -> dict[int, Status]:
    """Return the statuses of experiments by their numbers, all read in one transaction.

    Those that were changed since, have units that have to count first, or cannot be read are left
    out: `Experiment.status` settles them, or says what is wrong.
    """
    found: dict[int, Status] = {}
    with store.reading() as connection:
        asked = select(experiments.c.id, experiments.c.version)
        versions = {row.id: row.version for row in connection.execute(asked)}
        oldest: dict[int, float | None] = {}
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            oldest = all_oldest_waiting(connection, [entry.loaded for entry in entries])
        for entry in entries:
            if versions.get(entry.test.id) == entry.version:
                with suppress(ArithmeticError, LookupError, TypeError, ValueError):
                    status = entry.test.settled_status(connection, entry.loaded, oldest)
                    if status is not None:
                        found[entry.test.id] = status
    return found


def arms_of_unit(store: Store, tests: Sequence[int], unit: str) -> dict[int, int]:
    """The arm that a unit has in each of the experiments that it is in, by their numbers."""
    units, names = assignments.c, links.c
    same = and_(units.experiment == names.experiment, units.unit == names.identity)
    asked = select(units.experiment, units.arm).where(units.experiment.in_(tests))
    with store.reading() as connection:
        found = [*connection.execute(asked.where(units.unit == unit))]
        # A name that was linked has the arm of its identity, also where it had one of its own.
        found += connection.execute(asked.join(links, same).where(names.unit == unit))
    return {row.experiment: row.arm for row in found}


def is_released(test: Experiment) -> bool:
    """Whether everyone gets the winner of an experiment, by its stored state."""
    with test.store.reading() as connection:
        return test.store.load(connection, test.id, test.name).state.released
