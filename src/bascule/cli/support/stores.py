"""The store that a command works on, and whom its audit log names."""

from __future__ import annotations

import getpass
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.live.api import Experiment, SegmentTests, Store

NAME = typer.Argument(..., metavar="NAME", help="The experiment.")
STORE = typer.Option(
    "bascule.db",
    "--store",
    envvar="BASCULE_STORE",
    help="A file, or postgresql://user@host/database.",
)

YES = typer.Option(False, "--yes", help="Do not ask.")


def store_at(location: str, there: bool = False) -> AbstractContextManager[Store]:
    """Open the store at a location, which must be `there` already where that is asked for."""
    from bascule.live.api import opened_store

    if there and "://" not in location and not Path(location).is_file():
        raise InputError(
            "store", f"there is no store {location}: give --store, or create an experiment first"
        )
    return opened_store(location, acting_user())


def parts(test: Experiment | SegmentTests) -> list[Experiment]:
    """Return the experiments of a test: itself, or those of its segments."""
    from bascule.live.api import SegmentTests

    return [*test.tests.values()] if isinstance(test, SegmentTests) else [test]


def acting_user() -> str:
    """Whom the audit log names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "command line"
