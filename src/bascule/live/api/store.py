"""A store: experiments in one database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live.actor import acting
from bascule.live.api.experiment import Experiment
from bascule.live.clock import Clock, SystemClock
from bascule.live.commit.pending_jobs import Do, Job
from bascule.live.commit.queue import Groups, Member, own
from bascule.live.steps.assignment import fair_shuffle
from bascule.live.steps.stages import begun, check_stages
from bascule.live.storage.state import Standing, standing_to_json, statistics_to_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bascule.live.storage.queries import Loaded

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


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
        from bascule.live.commit.loop_bridge import Posts
        from bascule.live.commit.runner import Transactions
        from bascule.live.storage.database import Database
        from bascule.live.transactions.enrol import assign
        from bascule.live.transactions.record import record

        if not isinstance(location, (str, Path)):
            raise InputError(
                "store",
                "store must be the path of a file, ':memory:' or postgresql://user@host/database "
                f"(got {location!r:.60})",
            )
        self._database = Database(str(location))
        self._actor = actor
        self.clock = clock or SystemClock()
        self.assigning: Do = assign
        self.recording: Do = record
        self._transactions = Transactions(
            self._database, self.clock, shuffle or fair_shuffle(), actor
        )
        self._groups: Groups[Job] = Groups(self._transactions.do, lambda job: len(job.given))
        self.posts = Posts(self.submit)
        self.memory = self._transactions.memory

    def create(
        self, name: str, design: Design | Mapping[str, Any] | str | Path, *, start: bool = True
    ) -> Experiment:
        """A new experiment, running at once unless `start` is false.

        `design` may also be plain data, or the path of a design file, JSON or YAML.
        """
        from sqlalchemy import insert, select

        from bascule.live.storage.schema import audit, experiments

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
                message = f"there is an experiment {name!r} already: take another"
                raise InputError("name", message, kind="conflict")
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

        from bascule.live.storage.queries import gone
        from bascule.live.storage.schema import experiments

        with self._database.reading() as connection:
            asked = select(experiments.c.id).where(experiments.c.name == name)
            found = connection.execute(asked).scalar()
        if found is None:
            raise gone(name)
        return Experiment(self, found, name)

    def experiments(self) -> list[Experiment]:
        """All experiments, the oldest first."""
        from sqlalchemy import select

        from bascule.live.storage.schema import experiments

        with self._database.reading() as connection:
            asked = select(experiments.c.id, experiments.c.name).order_by(experiments.c.id)
            return [Experiment(self, row.id, row.name) for row in connection.execute(asked)]

    def delete(self, name: str) -> None:
        """Delete a stopped experiment with all its data; the audit log keeps what happened."""
        from sqlalchemy import delete, insert

        from bascule.live.storage import schema
        from bascule.live.storage.queries import load

        found = self.get(name).id
        entry = {"experiment": found, "name": name, "actor": acting(self._actor)}
        with self._database.writing() as connection:
            loaded = load(connection, found, name, None, lock=True)
            if loaded.state != "stopped":
                message = f"{name} is {loaded.state}: stop it, then delete it"
                raise InputError("state", message, kind="conflict")
            detail = json.dumps({"units": loaded.standing.units})
            told = insert(schema.audit).values(
                time=self.clock.now(), action="delete", detail=detail, **entry
            )
            connection.execute(told)
            for table in schema.OF_EXPERIMENT:
                connection.execute(delete(table).where(table.c.experiment == found))
            table = schema.experiments
            connection.execute(delete(table).where(table.c.id == found))
        self._transactions.forget(found)

    def audit(self, name: str | None = None, experiment: int | None = None) -> list[dict[str, Any]]:
        """Every change by hand and every decision, the oldest first; of one name or of all.

        A name may have belonged to several experiments, one after the other: `experiment` is the
        number of one of them.
        """
        from sqlalchemy import select

        from bascule.live.storage.schema import audit

        asked = select(audit).order_by(audit.c.id)
        if name is not None:
            asked = asked.where(audit.c.name == name)
        if experiment is not None:
            asked = asked.where(audit.c.experiment == experiment)
        with self._database.reading() as connection:
            return [
                {
                    "experiment": row.name,
                    "time": row.time,
                    "actor": row.actor,
                    "action": row.action,
                    "detail": _detail(row.detail),
                }
                for row in connection.execute(asked)
            ]

    def change(
        self, experiment: int, name: str, do: Do, given: Sequence[Any], *, enrols: bool = False
    ) -> Sequence[Any]:
        """Do something to an experiment; it is on disk when this returns, or has not happened."""
        job = Job(experiment, name, do, given, acting(self._actor), enrols)
        self._groups.run(job)
        if job.problem is not None:
            raise own(job.problem)
        return job.answers

    def submit(self, member: Member[Job]) -> None:
        """The same without waiting: the member is told when it is on disk, or has failed."""
        self._groups.submit(member)

    def released(self, experiment: int, name: str) -> int | None:
        """The arm that everyone gets once the units were released; as it was a moment ago."""
        return self._transactions.released(experiment, name)

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
        return self._transactions.load(connection, experiment, name)

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


def _detail(text: str) -> dict[str, Any]:
    """The details of an entry of the audit log, also of one that was damaged."""
    try:
        data = json.loads(text)
    except ValueError:
        data = text
    return data if isinstance(data, dict) else {"unreadable": data}


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
