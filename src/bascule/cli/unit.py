"""`bascule unit`: export the data of a unit, link its names, and erase it."""

from __future__ import annotations

import typer

from bascule.cli.support.console import confirm, print_json, print_rows
from bascule.cli.support.designs import AS_JSON, switch
from bascule.cli.support.stores import STORE, YES, store_at

app = typer.Typer(
    help="Units: export the data of a unit, link two names, erase a unit or all old units.",
    no_args_is_help=True,
)

UNIT = typer.Argument(..., metavar="UNIT", help="The unit, as it was sent.")


@app.command("show")
def show(unit: str = UNIT, store: str = STORE) -> None:
    """Print all that a store knows of a unit, as JSON: assignments, outcomes, excluded outcomes."""
    with store_at(store, there=True) as opened:
        print_json(opened.unit_data(unit))


@app.command("link")
def link(
    unit: str = UNIT,
    other: str = typer.Argument(..., metavar="OTHER", help="Another name of the same person."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Link two names of one person in all open experiments: both keep the first arm."""
    with store_at(store, there=True) as opened:
        arms = opened.link(unit, other)
    lines = (
        f"{name}: {arm or 'not assigned yet; both will get one arm'}" for name, arm in arms.items()
    )
    data = {"unit": unit, "other": other, "arms": arms}
    print_rows(as_json, data, lines, "no experiment is open: nothing was linked")


@app.command("erase")
def erase(
    unit: str = UNIT,
    experiment: list[str] = typer.Option(
        [], help=("Only in this experiment; may be given several times.")
    ),
    yes: bool = YES,
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Erase a unit for good: its name and outcomes are deleted; statistics and decisions stay."""
    from bascule.live.api import ERASED

    with store_at(store, there=True) as opened:
        confirm(f"Erase {unit!r} in {', '.join(experiment) or 'all experiments'} for good?", yes)
        names = opened.erase(unit, experiment or None)
    line = f"erased in {', '.join(names)}: {ERASED}"
    print_rows(as_json, {"erased": list(names), "note": ERASED}, [line])


@app.command("retain")
def retain(
    days: str = typer.Argument(..., metavar="AGE", help="How long units are kept, as 90d."),
    running: bool = switch(
        "--running",
        "Also in experiments that still run; a unit that comes back there counts as a new one.",
    ),
    yes: bool = YES,
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Erase the units that came more than AGE ago, in experiments that have ended."""
    with store_at(store, there=True) as opened:
        confirm(f"Erase all units that came more than {days} ago for good?", yes)
        erased = opened.erase_older(days, running=running)
    rows = [{"experiment": d.experiment, "erased": d.erased, "kept": d.kept} for d in erased]
    print_rows(as_json, {"experiments": rows}, map(str, erased), "no units came that long ago")
