"""A store: experiments in one database, made from designs, plain data or files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Connection

from bascule.core.course import is_past
from bascule.core.design import Design
from bascule.core.design_parts import Reports
from bascule.core.enrolment.audience import Audience, Delivery
from bascule.core.errors import InputError, invalid
from bascule.core.metrics.measure import Measure
from bascule.live.api.backup import import_experiment, write_copy
from bascule.live.api.erasure import ErasableStore, wanted_names
from bascule.live.api.experiment import Experiment
from bascule.live.clock import Clock
from bascule.live.commit.runner import load
from bascule.live.reports.verification.verify import Verification, verify_orphans
from bascule.live.steps.inputs import check_name, checked_description
from bascule.live.steps.stages import check_live
from bascule.live.storage.delivery import checked_delivery, placed
from bascule.live.storage.queries import (
    add_experiment,
    all_experiments,
    check_free,
    delete_experiment,
    gone,
    number_of,
)
from bascule.live.storage.records import all_descriptions, audit_entries, describe, log
from bascule.live.storage.state import OPEN, Control, ExperimentState
from bascule.live.storage.state_json import DAMAGE, state_to_json, statistics_to_json
from bascule.live.storage.statements import fetch

LINKED_TOGETHER = 50
"""Maximum number of tests in which names are linked at once; more would delay assignments."""


class Store(ErasableStore):
    """Experiments in one database: a file, `":memory:"`, or `postgresql://user@host/database`.

    Use it in a `with` block, or close it. It may be used from many threads at once.

    >>> import bascule as bs
    >>> week = bs.Measure("7d", "any")
    >>> design = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3), measure=week)
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("checkout-button", design)
    ...     test.assign("user-42") == test.assign("user-42")
    True
    """

    def __init__(
        self,
        location: str | Path,
        actor: str = "python",
        clock: Clock | None = None,
        shuffle: Callable[[list[int]], None] | None = None,
    ) -> None:
        if not isinstance(location, (str, Path)):
            raise invalid(
                "store must be the path of a file, ':memory:' or postgresql://user@host/database "
                f"(got {location!r:.60})"
            )
        super().__init__(str(location), actor, clock, shuffle)

    def create(
        self,
        name: str,
        design: Design | Mapping[str, Any] | str | Path,
        *,
        start: bool = True,
        measure: Measure | None = None,
        reports: Reports | None = None,
        audience: Audience | Mapping[str, Any] | None = None,
        values: Mapping[str, Any] | None = None,
        description: str = "",
    ) -> Experiment:
        """Create an experiment and return it; it runs at once unless `start` is false.

        `name` has 1 to 100 letters of ASCII, digits, dots, dashes and underscores. `design` may
        also be plain data, or the path of a design file. A live test needs a `measure` or
        `reports`, which complete a design that has neither, such as that of a plan. `audience` says
        which units get in; all of them if it is not given. `values` is a mapping that gives every
        arm a value for programs: all true or false, all numbers, all texts or all objects.
        `description` says what it is about.
        """
        check_name(name)
        design = read_design(design, measure, reports)
        check_live(design)
        check_readable(design)
        delivery = checked_delivery(design, audience, values)
        words = checked_description(description)
        with self._database.writing() as connection:
            check_free(connection, name)
            return self._add(connection, name, design, placed(connection, delivery), start, words)

    def _add(
        self,
        connection: Connection,
        name: str,
        design: Design,
        delivery: Delivery,
        start: bool,
        words: str,
    ) -> Experiment:
        """Add an experiment whose arguments have been checked."""
        now = self.runner.store_time(connection)
        deadline = design.deadline
        if deadline is not None and is_past(deadline, now):
            raise invalid(f"deadline must be in the future (got {deadline.isoformat()})")
        state = ExperimentState.empty(design)._replace(clock=self.runner.guard.kind)
        if start:
            state = state._replace(control=Control(since=now))
        data = design.to_dict()
        values = {
            "name": name,
            "created": now,
            "design": json.dumps(data),
            "phase": "running" if start else "ready",
            "state": state_to_json(state),
            "statistics": statistics_to_json(state.statistics),
            "version": 0,
            "delivery": delivery.to_json(),
        }
        test = Experiment(self, add_experiment(connection, values), name)
        parts = json.loads(delivery.to_json() or "{}")
        detail = {**data, **{key: part for key, part in parts.items() if part}}
        log(connection, (test.id, name), now, self.actor, "create", detail)
        if start:
            log(connection, (test.id, name), now, self.actor, "start", {})
        if words:
            describe(connection, test.id, words)
        return test

    def link(
        self, unit: str | int, other: str | int, experiments: Sequence[str] | None = None
    ) -> dict[str, str | None]:
        """Link two names of one person in all open experiments; return their common arm in each.

        With `experiments`, they are linked only in the open ones of these. Call it at every
        sign-in, since an experiment that is created later does not know of the link. If an
        experiment cannot be read, it raises `InputError` after linking the names in all others.
        """
        with self.reading() as connection:
            wanted = wanted_names(connection, experiments)
            tests = [test for test in all_experiments(connection) if test.phase in OPEN]
        tests = [test for test in tests if wanted is None or test.name in wanted]
        arms: dict[str, str | None] = {}
        damaged: dict[str, Exception] = {}
        for first in range(0, len(tests), LINKED_TOGETHER):
            linking = [
                (test.name, Experiment(self, test.id, test.name).soon.link(unit, other))
                for test in tests[first : first + LINKED_TOGETHER]
            ]
            for name, reply in linking:
                try:
                    arms[name] = reply.result()
                except InputError as error:
                    # An experiment that was deleted meanwhile has no names to link.
                    if error.kind != "not_found":
                        raise
                except DAMAGE as error:
                    damaged[name] = error
        if damaged:
            names = ", ".join(damaged)
            message = (
                f"{names} cannot be read, and names are linked in all other experiments: see what "
                "is damaged with bascule doctor --full"
            )
            problem = InputError("experiment", message, kind="conflict")
            raise problem from next(iter(damaged.values()))
        return arms

    def get(self, name: str) -> Experiment:
        """Return the experiment with this name; raise `InputError` if there is none."""
        with self.reading() as connection:
            number = number_of(connection, name)
            known = (
                () if number is not None else [entry.name for entry in all_experiments(connection)]
            )
        if number is None:
            raise gone(name, known)
        return Experiment(self, number, name)

    def search(self, words: str) -> list[Experiment]:
        """Return the experiments whose name or description contains each of the words."""
        if not isinstance(words, str):
            raise invalid(f"words must be text (got {words!r:.60})")
        wanted = words.casefold().split()
        with self.reading() as connection:
            described = all_descriptions(connection)
            listed = all_experiments(connection)
        texts = [f"{test.name}\n{described.get(test.id, '')}".casefold() for test in listed]
        return [
            Experiment(self, test.id, test.name)
            for test, text in zip(listed, texts, strict=True)
            if all(word in text for word in wanted)
        ]

    def experiments(self) -> list[Experiment]:
        """Return all experiments, the oldest first."""
        with self.reading() as connection:
            return [
                Experiment(self, experiment.id, experiment.name)
                for experiment in all_experiments(connection)
            ]

    def delete(self, name: str) -> None:
        """Delete an experiment with all its data; the audit log keeps what happened.

        It must be stopped, unless its row is damaged so that it can be neither read nor stopped.

        On SQLite the deleted rows are overwritten, so that they cannot be read from the file.
        """
        number = self.get(name).id
        with self._database.erasing() as connection:
            try:
                phase = load(connection, number, name, None, lock=True)[0].phase
            except DAMAGE as problem:
                if isinstance(problem, InputError) and problem.kind == "not_found":
                    raise
                phase = "stopped"
            if phase != "stopped":
                message = f"{name} is {phase}: stop it, then delete it"
                raise InputError("state", message, kind="conflict")
            counted = "SELECT count(*) FROM assignments WHERE experiment = ?"
            units = int(fetch(connection, counted, number)[0][0])
            now = self.runner.store_time(connection)
            log(connection, (number, name), now, self.actor, "delete", {"units": units})
            delete_experiment(connection, number)
        self.runner.forget(number)

    def backup(self, path: str | Path) -> None:
        """Copy a snapshot of the store, which may be in use meanwhile, into a new SQLite file."""
        with self.reporting() as source:
            write_copy(source, Path(path))

    def import_experiment(
        self, path: str | Path, experiment: str | None = None, name: str | None = None
    ) -> Experiment:
        """Verify an experiment in a backup or exported store, add it to this store, and return it.

        `experiment` selects an experiment if the file has several, and `name` gives it another
        name.
        """
        return import_experiment(self, path, experiment, name)

    def audit(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return the audit log of all experiments, or of those with one name, oldest first.

        Deleted experiments of the same name are included; `Experiment.audit` has the entries of a
        single experiment.
        """
        with self.reading() as connection:
            return audit_entries(connection, name=name)

    def verify(self) -> tuple[Verification, ...]:
        """Recompute every experiment from its raw log, and compare the results with the store.

        The last result lists the rows that belong to no experiment.
        """
        with self.reporting() as connection:
            orphans = verify_orphans(connection, self._database.name)
        return (*(test.verify() for test in self.experiments()), orphans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever put into the store: no experiment, no audit entry, no key."""
        with self.reading() as connection:
            tables = ("experiments", "audit", "service_keys")
            asked = (f"SELECT count(*) FROM {table}" for table in tables)  # nosec B608: constants
            return not any(fetch(connection, query)[0][0] for query in asked)

    def check_writable(self) -> None:
        """Raise `StoreError` if the store cannot be written to, for example on a full disk."""
        self._database.check_writable()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self._database.name!r})"


@contextmanager
def opened_store(location: str, actor: str) -> Iterator[Store]:
    """Open a store for a `with` block; if the block fails, remove the file if it is new and empty.

    A mistake in a command must not leave an empty store behind; a store with data stays.
    """
    is_new = "://" not in location and not Path(location).exists()
    with Store(location, actor) as store:
        try:
            yield store
        except BaseException:
            is_new = is_new and store.is_empty
            raise
        else:
            is_new = False
        finally:
            store.close()
            if is_new:
                for part in ("", "-wal", "-shm"):
                    Path(f"{location}{part}").unlink(missing_ok=True)


def read_design(
    design: Design | Mapping[str, Any] | str | Path,
    measure: Measure | None = None,
    reports: Reports | None = None,
) -> Design:
    """Read a design from a `Design`, plain data or a file; add `measure` and `reports` if given."""
    if isinstance(design, Mapping):
        design = Design.from_dict(dict(design))
    if isinstance(design, str | Path):
        design = Design.load(design)
    if not isinstance(design, Design):
        raise invalid(
            f"design must be a Design, its data or a file (got {type(design).__name__}): the "
            "design of a plan is plan.design"
        )
    return completed(design, measure, reports)


def check_readable(design: Design) -> None:
    """Raise `InputError` unless reading the stored form of a design gives the same design.

    A rule or an outcome model that is not registered cannot be read, so nobody could use the test.
    """
    try:
        again = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    except (InputError, TypeError, ValueError) as problem:
        raise InputError(
            "design",
            f"the design could not be loaded from its stored form ({problem}): register a rule "
            "of your own with RULES.register, and an outcome model with OUTCOMES.register",
        ) from None
    if again != design:
        part = "outcome" if again.outcome != design.outcome else "rule"
        raise InputError(
            "design",
            f"the stored form of the design would be loaded with the {part} "
            f"{getattr(again, part)!r:.80}: register the class of {getattr(design, part)!r:.80} "
            "under a kind of its own",
        )


def completed(design: Design, measure: Measure | None, reports: Reports | None) -> Design:
    """Return the design with `measure` or `reports` set; raise if it already has one of them."""
    if measure is None and reports is None:
        return design
    if design.measure is not None or design.reports is not None:
        field = "measure" if measure is not None else "reports"
        option = "measure" if design.measure is not None else "reports"
        raise invalid(f"{field} cannot be given: the design already has its {option}: leave it out")
    return replace(design, measure=measure, reports=reports)
