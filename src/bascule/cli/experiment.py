"""`bascule experiment`: live tests of a store, one command each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import typer

from bascule.cli.steer import sync_command
from bascule.cli.support.console import confirm, note, print_line, print_rows
from bascule.cli.support.declared import declared, named, read
from bascule.cli.support.designs import AS_JSON, JSON, option, switch
from bascule.cli.support.stores import NAME, STORE, YES, show_status, shown_location, store_at
from bascule.core.errors import InputError
from bascule.core.inputs.serialization import parse_json, read_json
from bascule.core.metrics.measure import Aggregate, Measure, missing_of
from bascule.core.options import Option, options_of, parameters
from bascule.core.rules import RULES, Rule

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.core.enrolment.audience import Audience

ExportForm = Literal["csv", "parquet", "store"]

CREATION = named(
    design=Option(
        "A design file, as bascule plan --save writes it.",
        kind="file",
        group="basics",
        required=True,
    ),
    window=Option(
        "Conversion window, as 7d, of a design that has no measure.",
        group="basics",
        excludes=("reports",),
    ),
    aggregate=Option(
        "How a unit's events in the window are combined.",
        group="basics",
        choices=get_args(Aggregate),
        unset="any for 0/1 outcomes, else sum",
        needs=("window",),
    ),
    missing=Option(
        "The value of a unit without events, zero or a number; needed with mean and last.",
        group="basics",
        unset="0 for sum and any",
        needs=("window",),
    ),
    coverage=Option(
        "Share of an arm's units that must have a value before it is shipped, as 90%.",
        kind="number",
        unset="80%",
        needs=("missing",),
    ),
    reports=Option(
        "Instead of a window: every unit reports an outcome, including 0.",
        group="basics",
        choices=("always",),
    ),
    share=Option("Share of the traffic that gets in, as 10%.", kind="number", group="basics"),
    audience=Option(
        "Who gets in, as JSON: share, ramp, where, layer, holdout.",
        kind="file",
        excludes=("share",),
    ),
    values=Option('Values of the arms, as {"control": false, "green": true}.', metavar="JSON"),
    wait=Option("Do not start the experiment yet.", kind="switch", group="basics"),
)
"""Options of `bascule experiment create`."""


def _knobs() -> dict[str, Option]:
    """Return the numeric options that may be the knob of a rule."""
    names = set()
    for rule in (RULES.get(kind) for kind in RULES.kinds if RULES.get(kind).knob is not Rule.knob):
        try:
            knob = rule().knob
        except (TypeError, InputError):
            # The knob of a rule with required parameters is known only once the rule is made: all
            # numeric parameters of the rule are accepted.
            names |= {option.flag or name for name, option in options_of(rule).items()}
        else:
            names |= set() if knob is None else {knob.name}
    return {
        name: replace(option, default="", unset="")
        for name, option in parameters(RULES).items()
        if name in names and option.numeric
    }


KNOBS = _knobs()

app = typer.Typer(help="Live tests: create, look, change, export, verify.", no_args_is_help=True)


@app.command("create")
@declared(CREATION, JSON)
def create(name: str = NAME, store: str = STORE, **options: Any) -> None:
    """Create an experiment from a design file, and start it."""
    from bascule.core.design import Design

    made = Design.load(options["design"])
    parts: dict[str, Any] = {"start": "wait" not in options, "reports": options.get("reports")}
    parts |= {"measure": _measure(made, options), "audience": _audience(options)}
    if "values" in options:
        parts["values"] = parse_json(options["values"], "values", "--values")
    if made.decides == "guardrails" and parts["audience"] is None:
        note(
            "all units are in this test from the start: give --share, or the schedule of a rollout "
            "as --audience FILE, which bascule plan --rollout --save writes"
        )
    with store_at(store) as opened:
        test = opened.create(name, made, **parts)
        if "json" in options:
            show_status(test, as_json=True)
            return
        print_line(f"created {name} in {shown_location(store)}\n")
        show_status(test)
    at = f"--store {shown_location(store)}"
    starts = [f"to start it    bascule experiment start {name} {at}"] if "wait" in options else []
    for line in (
        "\nNext:",
        *starts,
        f"over HTTP      bascule serve {at}",
        f"in Python      bascule.open({store!r}).get({name!r})",
        f"to look        bascule experiment status {name} {at}",
    ):
        print_line(line)


@app.command("list")
def list_all(
    search: str = typer.Option(
        "",
        help="List only experiments whose name or description has each of these words.",
        show_default=False,
    ),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """List the experiments of a store."""
    from bascule.live.api.reads import readable_statuses

    with store_at(store, there=True) as opened:
        statuses, damaged = readable_statuses(opened.search(search))
    message = "no experiments yet: bascule experiment create makes one"
    print_rows(
        as_json,
        {
            "experiments": [status.to_dict() for status in statuses],
            **({"unreadable": damaged} if damaged else {}),
        },
        (
            *(f"{status.name:<30}  {status.state:<10}{status.headline}" for status in statuses),
            *(f"{name:<30}  unreadable: {reason}" for name, reason in damaged.items()),
        ),
        f"no experiment has {search!r} in its name or description" if search else message,
    )


@app.command("status")
def status(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Show the status of an experiment and its diagnostics."""
    with store_at(store, there=True) as opened:
        show_status(opened.get(name), as_json, diagnostics=True)


@app.command("describe")
def describe(
    name: str = NAME,
    description: str | None = option("Who runs it, what is expected, where to read more."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Set the description of an experiment. Without one, show the present description."""
    with store_at(store, there=True) as opened:
        test = opened.get(name)
        if description is not None:
            test.describe(description)
        words = test.description
    print_rows(as_json, {"description": words}, [words])


@app.command("report")
def report(
    name: str = NAME,
    html: Path = typer.Option(..., metavar="FILE", help="The page to write."),
    store: str = STORE,
) -> None:
    """Write a page to share: status, diagnostics, history and changes; it needs no network."""
    from bascule.core.inputs.files import prepare_file

    prepare_file("html", html)
    with store_at(store, there=True) as opened:
        opened.get(name).report().save_html(html)
    print_line(f"written to {html}")


def _add(verb: str, meaning: str) -> None:
    """Add a command that changes an experiment and takes no options."""

    @app.command(verb, help=meaning)
    def change(name: str = NAME, store: str = STORE) -> None:
        _change(store, name, verb)


_add("start", "Start an experiment, or resume it after a pause.")
_add("pause", "Assign no new units after the open block, until the experiment is started again.")
_add("release", "After the decision: give the winner to the units of the other arms, too.")


@app.command("stop")
def stop(
    name: str = NAME,
    to: str | None = option("Serve everyone this arm from now on.", "ARM"),
    yes: bool = YES,
    store: str = STORE,
) -> None:
    """End an experiment for good."""
    served = "units keep their arms" if to is None else f"everyone gets {to}"
    confirm(f"Stop {name} for good ({served})?", yes)
    _change(store, name, "stop", to=to)


@app.command("knob")
@declared(KNOBS, shown=("basics", "advanced"))
def knob(name: str = NAME, store: str = STORE, **options: Any) -> None:
    """Change the tilt or alpha of a running experiment, as --tilt 5; its guarantee stays."""
    _change(store, name, "knob", **read(KNOBS, options))


@app.command("share")
def share_of(name: str = NAME, share: str = typer.Argument(...), store: str = STORE) -> None:
    """Set the share of the traffic that gets in, such as 50%, from the next block on."""
    from bascule.presentation.numbers import percent

    asked = CREATION["share"].read(share)
    _change(store, name, "set_share", share=asked)
    print_line(f"\n{percent(asked)} of the traffic gets in from the next block on")


@app.command("drop-arm")
def drop_arm(
    name: str = NAME,
    arm: str = typer.Argument(...),
    to: str | None = option("What its users get; the control if not given.", "ARM"),
    yes: bool = YES,
    store: str = STORE,
) -> None:
    """Drop an arm for good and serve its users another; no guarantee covers the dropped arm."""
    served = "the control" if to is None else to
    confirm(f"Drop {arm} of {name} for good (its users get {served})?", yes)
    _change(store, name, "drop_arm", arm=arm, to=to)


@app.command("delete")
def delete(name: str = NAME, yes: bool = YES, store: str = STORE) -> None:
    """Delete a stopped experiment with all its data."""
    confirm(f"Delete {name} with all its data?", yes)
    with store_at(store, there=True) as opened:
        opened.delete(name)
    print_line(f"{name} is deleted; the audit log says so")


@app.command("log")
def log(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List every change of an experiment: when, by whom, what."""
    from bascule.live.api import audit_words, moment

    with store_at(store, there=True) as opened:
        entries = opened.audit(name)
    times = [moment(entry["time"]).isoformat(timespec="seconds") for entry in entries]
    lines = (
        f"{time}  {entry['actor']:<12}  {audit_words(entry)}"
        for time, entry in zip(times, entries, strict=True)
    )
    print_rows(as_json, {"audit": entries}, lines)


@app.command("excluded")
def excluded(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List the outcomes that were excluded or changed, each with its reason."""
    with store_at(store, there=True) as opened:
        test = opened.get(name)
        rows, unlisted = test.excluded(), test.excluded_counts().get("not listed", 0)
    lines = [f"{row['unit']:<30}  {row['reason']:<18}{row['detail']}" for row in rows]
    if unlisted:
        lines.append(f"{unlisted:,} more are not listed: the list is full")
    print_rows(as_json, {"excluded": rows, "unlisted": unlisted}, lines, "no outcome was excluded")


@app.command("export")
def export(
    name: str = NAME,
    out: Path = typer.Option(Path(), help="The folder to write into."),
    form: ExportForm = typer.Option("csv", help="csv, parquet, or store: all data, for import."),
    spreadsheet: bool = switch(
        "--spreadsheet",
        "In CSV, put an apostrophe before text that a spreadsheet would run as a formula.",
    ),
    store: str = STORE,
) -> None:
    """Write assignments and outcomes into files."""
    from bascule.live.api import export as write

    with store_at(store, there=True) as opened:
        for path in write(opened.get(name), out, form, spreadsheet=spreadsheet):
            print_line(f"written to {path}")


@app.command("import")
def import_one(
    file: Path = typer.Argument(..., help="A backup, or what export --form store wrote."),
    experiment: str | None = option("Name of the experiment, if the file has several."),
    name: str | None = option("A new name for the experiment."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Add an experiment of a backup or an exported store, after verifying it."""
    with store_at(store) as opened:
        show_status(opened.import_experiment(file, experiment, name), as_json)


@app.command("verify")
def verify(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Recompute everything from the raw log, and compare it with what is stored."""
    with store_at(store, there=True) as opened:
        verification = opened.get(name).verify()
    names = ("agrees", "units", "outcomes", "erased", "differences")
    data = {name: getattr(verification, name) for name in names}
    print_rows(as_json, data, [str(verification)])
    if not verification.agrees:
        raise typer.Exit(1)


def _measure(design: Design, options: Mapping[str, Any]) -> Measure | None:
    """Return the measure that the options describe; None without a window."""
    if "window" not in options:
        return None
    usual, missing = "any" if design.outcome.binary else "sum", missing_of(options.get("missing"))
    coverage = options.get("coverage")
    return Measure(options["window"], options.get("aggregate", usual), missing, coverage=coverage)


def _audience(options: Mapping[str, Any]) -> Audience | None:
    """Return the audience that the options describe; None if everyone gets in."""
    from bascule.core.enrolment.audience import Audience, read_audience

    if "share" in options:
        return Audience(share=CREATION["share"].read(options["share"]))
    return (
        read_audience(read_json(options["audience"], "audience")) if "audience" in options else None
    )


def _change(location: str, name: str, verb: str, **options: Any) -> None:
    with store_at(location, there=True) as opened:
        test = opened.get(name)
        methodcaller(verb, **options)(test)
        show_status(test)


app.command("sync")(sync_command)
