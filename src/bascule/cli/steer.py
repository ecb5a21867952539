"""`bascule steer` and `bascule experiment sync`: tests with flags or outcomes in other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bascule.cli.support.console import (
    prepare_files,
    print_result,
    print_rows,
    say_written,
    write_files,
)
from bascule.cli.support.declared import declared, named
from bascule.cli.support.designs import JSON
from bascule.cli.support.stores import NAME, STORE, store_at
from bascule.core.options import Option

DECIDED = 3
"""Exit code if the test is over; it is 0 if the test goes on, and 2 after an error."""

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
    **options: Any,
) -> None:
    """Read the log of a test and set the next shares of its flag; for cron, daily or hourly.

    Exit codes: 0 the test goes on, 3 it is over, 2 an error.
    """
    from bascule.steering.run import steer

    prepare_files(html=options.get("html"))
    run = steer(test, dry_run="dry_run" in options, resume="resume" in options)
    write_files(run, None, options.get("html"))
    print_result(run, "json" in options)
    if "json" not in options:
        say_written(options.get("html"))
    if run.state == "decided":
        raise typer.Exit(DECIDED)


WAREHOUSE = named(
    source=Option(
        "A file, or the URL of a database.", group="basics", required=True, metavar="PLACE"
    ),
    query=Option("Query for the rows with the outcomes.", group="basics", metavar="SQL"),
    id=Option(
        "Column that identifies an outcome, so that an outcome read twice counts once.",
        group="basics",
        required=True,
        metavar="COLUMN",
    ),
    unit=Option("The unit; usual names are found.", group="basics", metavar="COLUMN"),
    value=Option("The value.", group="basics", metavar="COLUMN", unset="1 for every row"),
    time=Option("The time; usual names are found.", group="basics", metavar="COLUMN"),
    metric=Option("The metric of the design.", group="basics", unset="the primary one"),
)


@declared(WAREHOUSE, JSON)
def sync_command(name: str = NAME, store: str = STORE, **options: Any) -> None:
    """Record the outcomes that a query returns, each once; for cron, daily or hourly."""
    from bascule.steering.sync import QueryColumns, sync

    columns = QueryColumns(
        options["id"], *(options.get(part) for part in ("unit", "value", "time"))
    )
    with store_at(store, there=True) as opened:
        synced = sync(
            opened.get(name),
            options["source"],
            columns,
            query=options.get("query"),
            metric=options.get("metric"),
        )
    print_rows("json" in options, synced.to_dict(), synced.lines())
