"""`bascule key`: API keys of the service and links to its page."""

from __future__ import annotations

import time
from typing import Literal

import typer

from bascule.cli.support.console import note, print_json, print_line, print_rows
from bascule.cli.support.designs import AS_JSON, switch
from bascule.cli.support.stores import STORE, acting_user, store_at

app = typer.Typer(
    help="API keys of the service, and links to its page.",
    no_args_is_help=True,
)


@app.command("create")
def create(
    role: Literal["client", "viewer", "admin"] = typer.Option(
        ..., help="client: assign and record; viewer: look; admin: everything."
    ),
    experiment: list[str] = typer.Option(
        [], help="Make the key valid for this experiment only; may be given several times."
    ),
    unit_names: bool = switch("--unit-names", "A viewer may see and export the names of units."),
    label: str = typer.Option("", help="The owner of the key, for the list and the audit log."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Create a key; it is shown now and never again."""
    from bascule.service.auth.keys import create_key

    with store_at(store) as opened:
        key = create_key(opened, role, experiment, label, acting_user(), unit_names)
        existing = {test.name for test in opened.experiments()}
    if as_json:
        print_json({"key": key, "role": role, "experiments": experiment or None})
        return
    typer.echo(key)
    note("keep the key: it is not shown again")
    for name in sorted({*experiment} - existing):
        note(f"there is no experiment {name!r} yet: the key will be valid for it")


@app.command("list")
def list_all(store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List the keys: their numbers, roles and experiments, but never the keys themselves."""
    from bascule.live.api import moment
    from bascule.service.auth.keys import list_keys

    with store_at(store, there=True) as opened:
        keys = list_keys(opened)
    rows, lines = [], []
    for key in keys:
        rows.append(
            {
                "id": key.id,
                "role": key.role,
                "label": key.label,
                "unit_names": key.role == "admin" or key.unit_names,
                "experiments": key.experiments,
                "created": moment(key.created).isoformat(),
                "creator": key.creator,
                "revoked": None if key.revoked is None else moment(key.revoked).isoformat(),
            }
        )
        limits = "all experiments" if key.experiments is None else ", ".join(key.experiments)
        state = "" if key.revoked is None else "revoked"
        lines.append(f"{key.id}  {key.role:<8}{state:<9}{key.label:<20}{limits}".rstrip())
    print_rows(as_json, {"keys": rows}, lines)


@app.command("revoke")
def revoke(
    key: str = typer.Argument(..., metavar="ID", help="The key's number, as list shows it."),
    store: str = STORE,
) -> None:
    """Revoke a key; it is refused within a second."""
    from bascule.service.auth.keys import revoke_key

    with store_at(store, there=True) as opened:
        revoke_key(opened, key)
    print_line(f"key {key} is revoked")


@app.command("link")
def link(
    address: str = typer.Option(
        "http://127.0.0.1:8000", help="Where the service is, as a browser reaches it."
    ),
    store: str = STORE,
) -> None:
    """Print a link that signs in to the page once, as an admin, within an hour."""
    from bascule.service.auth.keys import make_link

    with store_at(store, there=True) as opened:
        print_line(f"{address.rstrip('/')}/sign-in?token={make_link(opened, time.time())}")
