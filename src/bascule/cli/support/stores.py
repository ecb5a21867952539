"""The store that a command works on, and printing the status of a live test."""

from __future__ import annotations

import getpass
import re
import shlex
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bascule.cli.support.console import print_json, print_line, print_report
from bascule.cli.support.designs import switch
from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.live.api import Experiment, Store


def show_status(test: Experiment, as_json: bool = False, diagnostics: bool = False) -> None:
    """Print the status of a test, as text or as JSON."""
    status = test.status(diagnostics=diagnostics)
    if as_json:
        print_json(status.to_dict())
        return
    print_report(status.report(), width=0)
    if test.description:
        print_line(f"\n{test.description}")


NAME = typer.Argument(..., metavar="NAME", help="The experiment.")
STORE = typer.Option(
    "bascule.db",
    "--store",
    envvar="BASCULE_STORE",
    help="A file, or postgresql://user@host/database.",
)

YES = switch("--yes", "Do not ask.")


def store_at(location: str, there: bool = False) -> AbstractContextManager[Store]:
    """Open the store at a location; with `there`, it must exist already."""
    from bascule.live.api import opened_store

    if there and "://" not in location and not Path(location).is_file():
        raise InputError(
            "store", f"there is no store {location}: check --store, or create an experiment first"
        )
    return opened_store(location, acting_user())


def shown_location(location: str) -> str:
    """Return a location as it can be typed after `--store`, without the password that it may have.

    >>> shown_location("postgresql://ann:secret@host/tests"), shown_location("my tests.db")
    ('postgresql://ann@host/tests', "'my tests.db'")
    """
    return shlex.quote(re.sub(r"(://[^:/@]*):[^@/]*@", r"\1@", location))


def acting_user() -> str:
    """Return the user's name for the audit log, with a note that the command line was used."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "unknown user (command line)"
