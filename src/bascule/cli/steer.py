"""`bascule steer`: one run of a test on the flags of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bascule.cli.support.console import prepare_files, print_result, say_written, write_files
from bascule.cli.support.declared import declared, named
from bascule.cli.support.designs import JSON
from bascule.core.options import Option

DECIDED = 3
"""Exit code of a test that is over; 0 is that of one that goes on, 2 that of an error."""

OPTIONS = named(
    dry_run=Option(
        "Change neither the flag nor the ledger: say what a run would do.",
        kind="switch",
        group="basics",
    ),
    resume=Option(
        "Go on after somebody else has changed the shares.", kind="switch", group="basics"
    ),
    html=Option("Write a page to share; it needs no network.", kind="file", group="output"),
)


@declared(OPTIONS, JSON)
def command(
    test: Path = typer.Argument(
        ..., metavar="TEST", help="A file with design, exposures, outcomes and target."
    ),
    **given: Any,
) -> None:
    """Read the log of a test and set the next shares of its flag; for cron, daily or hourly.

    Exit codes: 0 the test goes on, 3 it is over, 2 an error.
    """
    from bascule.steering.run import steer

    prepare_files(html=given.get("html"))
    run = steer(test, dry_run="dry_run" in given, resume="resume" in given)
    write_files(run, None, given.get("html"))
    print_result(run, "json" in given)
    if "json" not in given:
        say_written(given.get("html"))
    if run.state == "decided":
        raise typer.Exit(DECIDED)
