"""`bascule backup`, `bascule restore` and `bascule doctor`: copies of a store, and its health."""

from __future__ import annotations

from pathlib import Path

import typer

from bascule.cli.support.console import print_line, print_rows
from bascule.cli.support.designs import AS_JSON, switch
from bascule.cli.support.stores import STORE


def backup(
    file: Path = typer.Argument(..., help="The file to write; it must not be there yet."),
    store: str = STORE,
) -> None:
    """Copy a store into a file, as it is at one moment, while services use it."""
    from bascule.live.api.backup import backup as write

    write(store, file)
    print_line(f"written to {file}; check it with: bascule doctor --full --store {file}")


def restore(
    file: Path = typer.Argument(..., help="A backup."),
    store: str = STORE,
) -> None:
    """Make a new store from a backup: a new file, or an empty PostgreSQL database."""
    from bascule.live.api.backup import restore as read
    from bascule.live.storage.databases.database import shown

    read(file, store)
    print_line(f"restored {file} to {shown(store)}; keys revoked since the backup are valid again")


def doctor(
    full: bool = switch("--full", "Also compute every experiment again from its log."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Check a store without changing it; the exit code is 1 if something is wrong."""
    from bascule.live.reports.verification.doctor import doctor as examine

    checks = examine(store, full=full)
    rows = [{"check": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
    is_well = all(check.ok for check in checks)
    print_rows(as_json, {"ok": is_well, "checks": rows}, map(str, checks))
    if not is_well:
        raise typer.Exit(1)
