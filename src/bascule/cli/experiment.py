"""`bascule experiment`: live tests of a store, one command each."""

from __future__ import annotations

import getpass
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.console import print_json, screen
from bascule.cli.designs import AS_JSON
from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.live.api.experiment import Experiment
    from bascule.live.api.store import Store
    from bascule.live.reports.status import Status


class Form(StrEnum):
    """Files that `export` writes."""

    CSV = "csv"
    PARQUET = "parquet"


app = typer.Typer(help="Live tests: create, look, change, export, verify.", no_args_is_help=True)

NAME = typer.Argument(..., metavar="NAME", help="The experiment.")
STORE = typer.Option(
    "bascule.db",
    "--store",
    envvar="BASCULE_STORE",
    help="A file, or postgresql://user@host/database.",
)


@app.command("create")
def create(
    name: str = NAME,
    design: Path = typer.Option(..., "--design", help="A design file, JSON or YAML."),
    wait: bool = typer.Option(False, "--wait", help="Do not start it yet."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Create an experiment from a design file, and start it."""
    with store_at(store) as opened:
        _show(opened.create(name, design, start=not wait).status(), as_json)


@app.command("list")
def list_all(store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List the experiments of a store."""
    with store_at(store, there=True) as opened:
        found = [test.status() for test in opened.experiments()]
    if as_json:
        print_json({"experiments": [status.to_dict() for status in found]})
        return
    console = screen()
    if not found:
        console.print("no experiments yet: bascule experiment create makes one", soft_wrap=True)
    for status in found:
        console.print(f"{status.name:<30}  {status.state:<10}{status.headline}", soft_wrap=True)


@app.command("show")
def show(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Show where an experiment stands, and what the diagnostics say."""
    with store_at(store, there=True) as opened:
        _show(opened.get(name).status(diagnostics=True), as_json)


@app.command("watch")
def watch(
    name: str = NAME,
    store: str = STORE,
    every: float = typer.Option(5.0, min=0.1, help="Seconds between two looks."),
    looks: int | None = typer.Option(None, help="Stop after so many looks.", show_default=False),
) -> None:
    """Show where an experiment stands, again and again until it ends."""
    from rich.live import Live

    with store_at(store, there=True) as opened:
        test, seen, console = opened.get(name), 0, screen()
        with Live(console=console, auto_refresh=False) as live:
            while True:
                status = test.status()
                if console.is_terminal:
                    live.update(str(status), refresh=True)
                else:
                    console.print(f"{status}\n", soft_wrap=True, markup=False)
                seen += 1
                if status.state not in ("ready", "running", "paused") or seen == looks:
                    return
                time.sleep(every)


@app.command("start")
def start(name: str = NAME, store: str = STORE) -> None:
    """Start an experiment, or go on after a pause."""
    _change(store, name, "start")


@app.command("pause")
def pause(name: str = NAME, store: str = STORE) -> None:
    """Take no new units for a while."""
    _change(store, name, "pause")


@app.command("stop")
def stop(name: str = NAME, store: str = STORE) -> None:
    """End an experiment for good."""
    _change(store, name, "stop")


@app.command("release")
def release(name: str = NAME, store: str = STORE) -> None:
    """After the decision: give the winner also to units that are in another arm."""
    _change(store, name, "release")


@app.command("knob")
def knob(
    name: str = NAME,
    alpha: float | None = typer.Option(None, help="For ucb.", show_default=False),
    tilt: float | None = typer.Option(None, help="For tilt.", show_default=False),
    store: str = STORE,
) -> None:
    """Turn the knob of a running experiment; its guarantee stays."""
    _change(store, name, "knob", alpha=alpha, tilt=tilt)


@app.command("drop-arm")
def drop_arm(name: str = NAME, arm: str = typer.Argument(...), store: str = STORE) -> None:
    """Take an arm out of an experiment for good."""
    _change(store, name, "drop_arm", arm=arm)


@app.command("delete")
def delete(name: str = NAME, store: str = STORE) -> None:
    """Delete a stopped experiment with all its data."""
    with store_at(store, there=True) as opened:
        opened.delete(name)
    screen().print(f"{name} is deleted; the audit log says so", soft_wrap=True)


@app.command("log")
def log(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List every change of an experiment: when, by whom, what."""
    from bascule.live.clock import moment
    from bascule.live.reports.status import audit_words

    with store_at(store, there=True) as opened:
        entries = opened.audit(name)
    if as_json:
        print_json({"audit": entries})
        return
    for entry in entries:
        when = moment(entry["time"]).isoformat(timespec="seconds")
        line = f"{when}  {entry['actor']:<12}  {audit_words(entry)}"
        screen().print(line, soft_wrap=True, markup=False)


@app.command("set-aside")
def set_aside(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List the outcomes that do not count, each with its reason."""
    with store_at(store, there=True) as opened:
        rows = opened.get(name).excluded()
    if as_json:
        print_json({"set_aside": rows})
        return
    if not rows:
        screen().print("nothing was set aside")
    for row in rows:
        screen().print(f"{row['unit']:<30}  {row['reason']:<18}{row['detail']}", soft_wrap=True)


@app.command("diagnose")
def diagnose(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Look for drift and for arms that got other units than they should; ! is an alarm."""
    with store_at(store, there=True) as opened:
        found = opened.get(name).diagnostics()
    if as_json:
        print_json({"diagnostics": [one.to_dict() for one in found]})
        return
    if not found:
        screen().print("nothing to diagnose yet: too few units have counted", soft_wrap=True)
    for one in found:
        screen().print(str(one), soft_wrap=True)


@app.command("export")
def export(
    name: str = NAME,
    out: Path = typer.Option(Path(), "--out", help="The folder to write into."),
    form: Form = typer.Option(Form.CSV, "--form", help="csv, or parquet with pyarrow."),
    store: str = STORE,
) -> None:
    """Write assignments and outcomes into files."""
    from bascule.live.reports.export import export as write

    with store_at(store, there=True) as opened:
        for path in write(opened.get(name), out, form.value):
            screen().print(f"written to {path}", soft_wrap=True)


@app.command("verify")
def verify(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Compute everything again from the raw log, and say whether it is what is stored."""
    with store_at(store, there=True) as opened:
        found = opened.get(name).verify()
    if as_json:
        told = {"agrees": found.agrees, "units": found.units, "outcomes": found.outcomes}
        print_json({**told, "differences": list(found.differences)})
    else:
        screen().print(str(found), soft_wrap=True)
    if not found.agrees:
        raise typer.Exit(1)


def store_at(location: str, there: bool = False) -> Store:
    """The store at a location, which must be `there` already where that is asked for."""
    from bascule.live import open as open_store

    if there and "://" not in location and not Path(location).is_file():
        raise InputError(
            "store", f"there is no store {location}: give --store, or create an experiment first"
        )
    return open_store(location, actor=acting_user())


def acting_user() -> str:
    """Whom the audit log names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "command line"


def _change(location: str, name: str, verb: str, **given: Any) -> None:
    with store_at(location, there=True) as opened:
        test: Experiment = opened.get(name)
        getattr(test, verb)(**given)
        _show(test.status(), as_json=False)


def _show(status: Status, as_json: bool) -> None:
    if as_json:
        print_json(status.to_dict())
        return
    console = screen()
    console.print(f"{status.name}, {status.rule}, {status.state}\n", soft_wrap=True)
    console.print(status.headline, style="bold", soft_wrap=True)
    console.print()
    for line in status.table():
        console.print(line, soft_wrap=True)
    console.print()
    for effect in status.effects:
        shown = f"[{effect.low:.4g}, {effect.high:.4g}]".replace("[", r"\[")
        difference = f"{effect.first} less {effect.second}: {effect.difference:.4g}"
        console.print(f"{difference} {shown}", soft_wrap=True)
    console.print(f"evidence: {100 * status.evidence:.0f} % of the way to a decision")
    if status.cost is not None and status.even_cost is not None:
        cost = f"{status.cost:.4g}; an even split: {status.even_cost:.4g}"
        console.print(f"cost so far: {cost}", soft_wrap=True)
    console.print(f"guarantee: {status.promise}", soft_wrap=True)
    if status.diagnostics:
        flagged = [one for one in status.diagnostics if one.flagged]
        if not flagged:
            names = ", ".join(dict.fromkeys(one.name for one in status.diagnostics))
            console.print(f"diagnostics: nothing unusual ({names})", soft_wrap=True)
        for one in flagged:
            console.print(f"! {one.name}: {one.message}", soft_wrap=True, markup=False)
