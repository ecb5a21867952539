"""Back up and restore a store, and move single experiments between stores."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from bascule.core.errors import InputError
from bascule.live.api.experiment import Experiment
from bascule.live.commit.context import StoreContext
from bascule.live.reports.verification.verify import verify
from bascule.live.steps.inputs import check_name
from bascule.live.storage import copies
from bascule.live.storage.databases.database import Database
from bascule.live.storage.delivery import check_places
from bascule.live.storage.queries import all_experiments, load, number_of
from bascule.live.storage.records import log
from bascule.live.storage.schema import check_version

ENDED = ("over", "stopped")
"""States in which an experiment enrols nobody, now or later."""


def backup(location: str, path: str | Path) -> None:
    """Copy a store into a new SQLite file, as it is at one moment, while it is in use.

    The file is a store itself, whichever database it came from: `bascule experiment verify` and
    `restore` take it.
    """
    if "://" not in location and not Path(location).is_file():
        raise InputError("store", f"there is no store {location}: give --store")
    with closing(Database(location, make=False)) as database:
        with database.reading() as connection:
            if not check_version(connection, database.name):
                raise InputError("store", f"{database.name} is empty: there is nothing to back up")
        copies.backup_database(database, Path(path))


def restore(path: str | Path, location: str) -> None:
    """Make a new store from a backup: a new SQLite file, or an empty PostgreSQL database.

    Sessions of the dashboard are left out. Keys are those of the moment of the backup: one that was
    revoked since is valid again.
    """
    if not Path(path).is_file():
        raise InputError("file", f"there is no file {path}: give the path of a backup")
    if "://" not in location:
        if Path(location).exists():
            raise InputError(
                "store", f"{location} already exists: move it away, or restore to another path"
            )
        with copies.new_store(Path(location)) as connection:
            copies.restore(Path(path), connection, location)
        return
    with closing(Database(location)) as database, database.writing() as connection:
        copies.restore(Path(path), connection, database.name)


def import_experiment(
    store: StoreContext, path: str | Path, experiment: str | None = None, name: str | None = None
) -> Experiment:
    """Add an experiment of a backup or of an exported store to a store, and return it.

    `experiment` says which, where the file has several, and `name` gives it another name. It is
    verified before anything is added.
    """
    with copies.opened_copy(Path(path)) as source, source.reporting() as rows:
        numbers = {one.name: one.id for one in all_experiments(rows)}
        chosen = _chosen(numbers, experiment)
        verification = verify(rows, numbers[chosen], chosen)
        if not verification.agrees:
            raise InputError("file", f"the file is damaged or was changed: {verification}"[:500])
        wanted = chosen if name is None else name
        check_name(wanted)
        moved, _ = load(rows, numbers[chosen], chosen, None)
        member = moved.delivery.member
        if member is not None and wanted != chosen:
            raise InputError(
                "name", f"{chosen} is a segment of {member.test} and keeps its name: leave it out"
            )
        with store.writing() as connection:
            whole = "" if member is None else member.test
            if number_of(connection, whole):
                message = f"there is an experiment {whole!r} without segments: delete it first"
                raise InputError("name", message, kind="conflict")
            if number_of(connection, wanted):
                message = f"there is an experiment {wanted!r} already: choose another name"
                raise InputError("name", message, kind="conflict")
            if moved.phase not in ENDED:
                check_places(connection, chosen, moved.delivery)
            number = copies.import_experiment(rows, connection, numbers[chosen], wanted)
            detail = {"experiment": chosen, "units": verification.units}
            now = store.runner.store_time(connection)
            log(connection, (number, wanted), now, store.actor, "import", detail)
    return Experiment(store, number, wanted)


def _chosen(names: Iterable[str], experiment: str | None) -> str:
    listed = sorted(names)
    if experiment in listed or (experiment is None and len(listed) == 1):
        return experiment or listed[0]
    shown = ", ".join(listed) or "none"
    if experiment is None:
        raise InputError("experiment", f"the file has {shown}: say which one to import")
    message = f"the file has no experiment {experiment!r:.60}: it has {shown}"
    raise InputError("experiment", message)
