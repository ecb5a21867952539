"""A store: experiments in one database, and the transactions that change them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live.actor import acting
from bascule.live.assignment import fair_shuffle, shipped
from bascule.live.clock import Clock, SystemClock
from bascule.live.experiment import Experiment
from bascule.live.groups import Groups, Member
from bascule.live.jobs import Do, Job, do_all
from bascule.live.memory import Known, Memory
from bascule.live.stages import begun, check_stages
from bascule.live.standing import Deal, Standing, standing_to_json, statistics_to_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bascule.live.ledger import Assignment, Loaded

FRESH = 1.0
"""Seconds for which a program need not ask whether others have released the units."""

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(slots=True)
class _Kept:
    """What is known of an experiment from its last transaction."""

    loaded: Loaded
    deals: dict[int, Deal] = field(default_factory=dict)


class Store:
    """Experiments in one database: a file, `":memory:"`, or `postgresql://user@host/database`.

    Use it in a `with` block, or close it. It may be used from many threads at once.

    >>> import bascule as bs
    >>> design = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3))
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
        from bascule.live.database import Database
        from bascule.live.enrolling import assign
        from bascule.live.post import Posts
        from bascule.live.recording import record

        if not isinstance(location, (str, Path)):
            raise InputError(
                "store",
                "store must be the path of a file, ':memory:' or postgresql://user@host/database "
                f"(got {location!r:.60})",
            )
        self._database = Database(str(location))
        self._actor = actor
        self.clock = clock or SystemClock()
        self._shuffle = shuffle or fair_shuffle()
        self.assigning: Do = assign
        self.recording: Do = record
        self._kept: dict[int, _Kept] = {}
        self._groups: Groups[Job] = Groups(self._work, lambda job: len(job.given))
        self.posts = Posts(self.submit)
        self._memory = Memory()
        self._seen: dict[int, tuple[Loaded, float]] = {}

    def create(
        self, name: str, design: Design | Mapping[str, Any] | str | Path, *, start: bool = True
    ) -> Experiment:
        """A new experiment, running at once unless `start` is false.

        `design` may also be plain data, or the path of a design file, JSON or YAML.
        """
        from sqlalchemy import insert, select

        from bascule.live.schema import audit, experiments

        if isinstance(design, Mapping):
            design = Design.from_dict(dict(design))
        if not isinstance(design, Design):
            from bascule.live.design_file import load_design

            design = load_design(design)
        check_name(name)
        check_stages(design)
        now, standing = self.clock.now(), Standing.empty(design)
        if design.deadline is not None and design.deadline.timestamp() <= now:
            raise InputError(
                "deadline", f"deadline must lie ahead (got {design.deadline.isoformat()})"
            )
        if start:
            standing = begun(design, standing, now)
        data = design.to_dict()
        with self._database.writing() as connection:
            asked = select(experiments.c.id).where(experiments.c.name == name)
            if connection.execute(asked).scalar() is not None:
                raise InputError("name", f"there is an experiment {name!r} already: take another")
            made = connection.execute(
                insert(experiments).values(
                    name=name,
                    created=now,
                    design=json.dumps(data),
                    state="running" if start else "ready",
                    standing=standing_to_json(standing),
                    statistics=statistics_to_json(standing.statistics),
                    version=0,
                )
            ).inserted_primary_key
            assert made is not None
            entry = {"experiment": made[0], "name": name, "time": now, "actor": acting(self._actor)}
            connection.execute(
                insert(audit).values(action="create", detail=json.dumps(data), **entry)
            )
            if start:
                connection.execute(insert(audit).values(action="start", detail="{}", **entry))
        return Experiment(self, int(made[0]), name)

    def get(self, name: str) -> Experiment:
        """The experiment of that name."""
        from sqlalchemy import select

        from bascule.live.ledger import gone
        from bascule.live.schema import experiments

        with self._database.reading() as connection:
            asked = select(experiments.c.id).where(experiments.c.name == name)
            found = connection.execute(asked).scalar()
        if found is None:
            raise gone(name)
        return Experiment(self, found, name)

    def experiments(self) -> list[Experiment]:
        """All experiments, the oldest first."""
        from sqlalchemy import select

        from bascule.live.schema import experiments

        with self._database.reading() as connection:
            asked = select(experiments.c.id, experiments.c.name).order_by(experiments.c.id)
            return [Experiment(self, row.id, row.name) for row in connection.execute(asked)]

    def delete(self, name: str) -> None:
        """Delete a stopped experiment with all its data; the audit log keeps what happened."""
        from sqlalchemy import delete, insert

        from bascule.live import schema
        from bascule.live.ledger import load

        found = self.get(name).id
        entry = {"experiment": found, "name": name, "actor": acting(self._actor)}
        with self._database.writing() as connection:
            loaded = load(connection, found, name, None, lock=True)
            if loaded.state != "stopped":
                raise InputError("state", f"{name} is {loaded.state}: stop it, then delete it")
            detail = json.dumps({"units": loaded.standing.units})
            told = insert(schema.audit).values(
                time=self.clock.now(), action="delete", detail=detail, **entry
            )
            connection.execute(told)
            for table in schema.OF_EXPERIMENT:
                connection.execute(delete(table).where(table.c.experiment == found))
            table = schema.experiments
            connection.execute(delete(table).where(table.c.id == found))
        self._memory.forget(found)
        self._seen.pop(found, None)

    def audit(self, name: str | None = None) -> list[dict[str, Any]]:
        """Every change by hand and every decision, the oldest first; of one name or of all."""
        from sqlalchemy import select

        from bascule.live.schema import audit

        asked = select(audit).order_by(audit.c.id)
        if name is not None:
            asked = asked.where(audit.c.name == name)
        with self._database.reading() as connection:
            return [
                {
                    "experiment": row.name,
                    "time": row.time,
                    "actor": row.actor,
                    "action": row.action,
                    "detail": json.loads(row.detail),
                }
                for row in connection.execute(asked)
            ]

    def change(
        self, experiment: int, name: str, do: Do, given: Sequence[Any], units: Sequence[str] = ()
    ) -> Sequence[Any]:
        """Do something to an experiment; it is on disk when this returns, or has not happened."""
        job = Job(experiment, name, do, given, units, acting(self._actor))
        self._groups.run(job)
        if job.problem is not None:
            raise job.problem
        return job.answers

    def submit(self, member: Member[Job]) -> None:
        """The same without waiting: the member is told when it is on disk, or has failed."""
        self._groups.submit(member)

    def remembered(self, experiment: int, name: str, unit: str) -> Assignment | None:
        """A unit's assignment if this program has seen it: as it stands, or released."""
        fields = self._memory.get(experiment, unit)
        if fields is None:
            return None
        from bascule.live.ledger import Assignment

        found, released = Assignment(*fields), self.released(experiment, name)
        return found if released is None else found._replace(arm=released, probability=1.0)

    def released(self, experiment: int, name: str) -> int | None:
        """The arm that everyone gets once the units were released; as it was a moment ago."""
        seen = self._seen.get(experiment)
        if seen is None or perf_counter() - seen[1] > FRESH:
            with self._database.reading() as connection:
                loaded = self.load(connection, experiment, name)
            newest = self._seen.get(experiment)
            # A transaction of our own may have come between.
            if newest is not None and newest[0].version > loaded.version:
                loaded = newest[0]
            self._seen[experiment] = seen = (loaded, perf_counter())
        standing = seen[0].standing
        return shipped(standing) if standing.released else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One moment's view of the tables."""
        with self._database.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction on tables that belong to no experiment; on disk when it ends."""
        with self._database.writing() as connection:
            yield connection

    def load(self, connection: Connection, experiment: int, name: str) -> Loaded:
        """An experiment as it is stored."""
        from bascule.live.ledger import load

        return load(connection, experiment, name, self.known(experiment), lock=False)

    def known(self, experiment: int) -> Loaded | None:
        """What the last transaction left of an experiment, if it is still at hand."""
        kept = self._kept.get(experiment)
        return None if kept is None else kept.loaded

    @property
    def is_shared(self) -> bool:
        """Whether several machines may use it: then it is PostgreSQL."""
        return not self._database.is_sqlite

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

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

    def _work(self, jobs: list[Job]) -> None:
        try:
            with self._database.writing() as connection:
                done = [
                    self._one(connection, [job for job in jobs if job.experiment == experiment])
                    # Always in the same order, so that two programs never wait for each other.
                    for experiment in sorted({job.experiment for job in jobs})
                ]
        except BaseException:
            self._kept.clear()
            raise
        for kept, known in filter(None, done):
            experiment = kept.loaded.id
            self._kept[experiment] = kept
            self._seen[experiment] = (kept.loaded, perf_counter())
            self._memory.learn(experiment, known)

    def _one(self, connection: Connection, jobs: list[Job]) -> tuple[_Kept, Known] | None:
        from bascule.live.ledger import load
        from bascule.live.work import Work

        experiment = jobs[0].experiment
        kept = self._kept.pop(experiment, None)
        known = None if kept is None else kept.loaded
        try:
            loaded = load(connection, experiment, jobs[0].name, known, lock=True)
        except InputError as problem:
            self._memory.forget(experiment)
            for job in jobs:
                job.problem = problem
            return None
        deals = kept.deals if kept is not None and kept.loaded is loaded else {}
        work = Work(
            connection,
            loaded,
            deals,
            self.clock.now(),
            self._shuffle,
            self._actor,
            self._memory.of(experiment),
        )
        work.look_up([unit for job in jobs for unit in job.units])
        do_all(work, jobs)
        after = work.save()
        # Blocks that wait for their outcomes may be many: they are read again when these have come.
        wanted = (after.standing.folding, after.standing.deal)
        deals = {number: deals[number] for number in wanted if number in deals}
        return _Kept(after, deals), work.known


def check_name(name: object) -> None:
    """Raise unless an experiment may have this name.

    >>> check_name("checkout-button")
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in (".", ".."):
        raise InputError(
            "name",
            "name must be 1 to 100 letters, digits, dots, dashes or underscores "
            f"(got {name!r:.60})",
        )
