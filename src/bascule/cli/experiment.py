"""`bascule experiment`: live tests of a store, one command each."""

from __future__ import annotations

import getpass
import time
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.console import confirm, print_json, print_line, screen
from bascule.cli.designs import AS_JSON
from bascule.core.errors import InputError
from bascule.core.serialization import parse_json, read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bascule.core.design import Design
    from bascule.core.diagnostics import Diagnostic
    from bascule.core.enrolment.audience import Audience
    from bascule.core.measure import Measure
    from bascule.live.api import Experiment, Status, Store
    from bascule.theory import Prediction


class Form(StrEnum):
    """Files that `export` writes."""

    CSV = "csv"
    PARQUET = "parquet"
    STORE = "store"


app = typer.Typer(help="Live tests: create, look, change, export, verify.", no_args_is_help=True)

NAME = typer.Argument(..., metavar="NAME", help="The experiment.")
STORE = typer.Option(
    "bascule.db",
    "--store",
    envvar="BASCULE_STORE",
    help="A file, or postgresql://user@host/database.",
)

YES = typer.Option(False, "--yes", help="Do not ask.")


@app.command("create")
def create(
    name: str = NAME,
    design: Path = typer.Option(..., "--design", help="A design file, JSON or YAML."),
    window: str | None = typer.Option(
        None,
        help="Conversion window, as 7d, of a design that has no measure.",
        show_default=False,
    ),
    aggregate: str | None = typer.Option(
        None,
        help="With --window: sum, any, mean or last of a unit's events; any for 0/1 outcomes, else "
        "sum, if not given.",
        show_default=False,
    ),
    reports: str | None = typer.Option(
        None,
        help="always: instead of a window, every unit reports an outcome, also 0.",
        show_default=False,
    ),
    share: str | None = typer.Option(
        None, help="Share of the traffic that gets in, as 10%.", show_default=False
    ),
    audience: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Who gets in, as JSON: share, ramp, where, layer, holdout.",
        show_default=False,
    ),
    values: str | None = typer.Option(
        None,
        metavar="JSON",
        help='Values of the arms, as \'{"control": false, "green": true}\'.',
        show_default=False,
    ),
    wait: bool = typer.Option(False, "--wait", help="Do not start it yet."),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Create an experiment from a design file, and start it."""
    from bascule.live.api import load_design

    made = load_design(design)
    measure = _measure(made, window, aggregate)
    who = _audience(share, audience)
    with store_at(store) as opened:
        given: dict[str, Any] = {"measure": measure, "reports": reports, "start": not wait}
        given["audience"] = who
        if values is not None:
            given["values"] = parse_json(values, "values", "--values")
        _show(opened.create(name, made, **given), as_json)


@app.command("list")
def list_all(
    search: str = typer.Option(
        "",
        help="Only those whose name, owner, texts, links or tags have these words.",
        show_default=False,
    ),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """List the experiments of a store."""
    with store_at(store, there=True) as opened:
        found = [test.status() for test in opened.search(search)]
    if as_json:
        print_json({"experiments": [status.to_dict() for status in found]})
        return
    if not found and search:
        print_line(f"no experiment has {search!r}")
    elif not found:
        print_line("no experiments yet: bascule experiment create makes one")
    for status in found:
        print_line(f"{status.name:<30}  {status.state:<10}{status.headline}")


@app.command("show")
def show(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Show the status of an experiment and its diagnostics."""
    with store_at(store, there=True) as opened:
        _show(opened.get(name), as_json, diagnostics=True)


@app.command("describe")
def describe(
    name: str = NAME,
    owner: str | None = typer.Option(None, help="Who runs it.", show_default=False),
    hypothesis: str | None = typer.Option(None, help="What is expected.", show_default=False),
    description: str | None = typer.Option(None, help="What it is about.", show_default=False),
    link: list[str] | None = typer.Option(
        None, "--link", help="Where to read more; may be given again.", show_default=False
    ),
    tag: list[str] | None = typer.Option(
        None, "--tag", help="A word to find it by; may be given again.", show_default=False
    ),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Set words about an experiment; what is not given stays as it is. Without any, show them."""
    given: dict[str, Any] = {"owner": owner, "hypothesis": hypothesis, "description": description}
    given |= {"links": link, "tags": tag}
    with store_at(store, there=True) as opened:
        test = opened.get(name)
        test.describe(**{key: value for key, value in given.items() if value})
        words = test.description
    if as_json:
        print_json(words.to_dict())
        return
    for line in words.lines():
        print_line(line)


@app.command("report")
def report(
    name: str = NAME,
    html: Path = typer.Option(..., "--html", metavar="FILE", help="The page to write."),
    store: str = STORE,
) -> None:
    """Write a page to hand around: the analysis of the experiment's log; it needs no network."""
    from bascule.analysis.live_test import analyze_experiment
    from bascule.core.files import prepare_file

    prepare_file("html", html)
    with store_at(store, there=True) as opened:
        analyze_experiment(opened.get(name)).save_html(html)
    print_line(f"written to {html}")


@app.command("watch")
def watch(
    name: str = NAME,
    store: str = STORE,
    every: float = typer.Option(5.0, min=0.1, help="Seconds between two looks."),
    looks: int | None = typer.Option(None, help="Stop after so many looks.", show_default=False),
) -> None:
    """Show the status of an experiment again and again until it ends."""
    from rich.live import Live
    from rich.text import Text

    with store_at(store, there=True) as opened:
        test, seen, console = opened.get(name), 0, screen()
        with Live(console=console, auto_refresh=False) as live:
            while True:
                status = test.status()
                if console.is_terminal:
                    live.update(Text(str(status)), refresh=True)
                else:
                    print_line(f"{status}\n")
                seen += 1
                if status.state not in ("ready", "running", "paused") or seen == looks:
                    return
                time.sleep(every)


@app.command("start")
def start(name: str = NAME, store: str = STORE) -> None:
    """Start an experiment, or resume it after a pause."""
    _change(store, name, "start")


@app.command("pause")
def pause(name: str = NAME, store: str = STORE) -> None:
    """Assign no new units until the experiment is started again."""
    _change(store, name, "pause")


@app.command("stop")
def stop(
    name: str = NAME,
    to: str | None = typer.Option(
        None, "--to", metavar="ARM", help="Serve everyone this arm from now on."
    ),
    yes: bool = YES,
    store: str = STORE,
) -> None:
    """End an experiment for good."""
    served = "units keep their arms" if to is None else f"everyone gets {to}"
    confirm(f"Stop {name} for good ({served})?", yes)
    _change(store, name, "stop", to=to)


@app.command("release")
def release(name: str = NAME, store: str = STORE) -> None:
    """After the decision: give the winner to the units of the other arms, too."""
    _change(store, name, "release")


@app.command("knob")
def knob(
    name: str = NAME,
    alpha: float | None = typer.Option(None, help="The knob of ucb.", show_default=False),
    tilt: float | None = typer.Option(None, help="The knob of tilted blocks.", show_default=False),
    store: str = STORE,
) -> None:
    """Turn the knob of a running experiment; its guarantee stays."""
    _change(store, name, "knob", alpha=alpha, tilt=tilt)


@app.command("share")
def share_of(name: str = NAME, share: str = typer.Argument(...), store: str = STORE) -> None:
    """Let another share of the traffic get in, as 50%; units that are in stay in."""
    _change(store, name, "set_share", share=_part(share))


@app.command("drop-arm")
def drop_arm(
    name: str = NAME,
    arm: str = typer.Argument(...),
    to: str | None = typer.Option(
        None, "--to", metavar="ARM", help="What its users get; the control if not given."
    ),
    yes: bool = YES,
    store: str = STORE,
) -> None:
    """Drop an arm for good and serve its users another one; nothing more is claimed about it."""
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
    if as_json:
        print_json({"audit": entries})
        return
    for entry in entries:
        when = moment(entry["time"]).isoformat(timespec="seconds")
        print_line(f"{when}  {entry['actor']:<12}  {audit_words(entry)}")


@app.command("set-aside")
def set_aside(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """List excluded outcomes, each with its reason."""
    with store_at(store, there=True) as opened:
        rows = opened.get(name).excluded()
    if as_json:
        print_json({"set_aside": rows})
        return
    if not rows:
        print_line("no outcome was excluded")
    for row in rows:
        print_line(f"{row['unit']:<30}  {row['reason']:<18}{row['detail']}")


@app.command("diagnose")
def diagnose(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Check for drift of the outcomes and for a sample ratio mismatch; ! is an alarm."""
    with store_at(store, there=True) as opened:
        found = opened.get(name).diagnostics()
    if as_json:
        print_json({"diagnostics": [one.to_dict() for one in found]})
        return
    if not found:
        print_line("there is not enough data for diagnostics yet")
    for one in found:
        print_line(str(one))


@app.command("export")
def export(
    name: str = NAME,
    out: Path = typer.Option(Path(), "--out", help="The folder to write into."),
    form: Form = typer.Option(
        Form.CSV, "--form", help="csv, parquet (needs pyarrow), or store: all of it, for import."
    ),
    spreadsheet: bool = typer.Option(
        False,
        "--spreadsheet",
        help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula.",
    ),
    store: str = STORE,
) -> None:
    """Write assignments and outcomes into files."""
    from bascule.live.api import export as write

    with store_at(store, there=True) as opened:
        for path in write(opened.get(name), out, form.value, spreadsheet=spreadsheet):
            print_line(f"written to {path}")


@app.command("import")
def import_one(
    file: Path = typer.Argument(..., help="A backup, or what export --form store wrote."),
    experiment: str | None = typer.Option(
        None, "--experiment", help="Which one, where the file has several.", show_default=False
    ),
    name: str | None = typer.Option(None, help="Another name for it.", show_default=False),
    store: str = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Add an experiment of a backup or an exported store, after verifying it."""
    with store_at(store) as opened:
        _show(opened.import_experiment(file, experiment, name), as_json)


@app.command("verify")
def verify(name: str = NAME, store: str = STORE, as_json: bool = AS_JSON) -> None:
    """Recompute everything from the raw log, and compare it with what is stored."""
    with store_at(store, there=True) as opened:
        found = opened.get(name).verify()
    if as_json:
        told = {"agrees": found.agrees, "units": found.units, "outcomes": found.outcomes}
        told["erased"] = found.erased
        print_json({**told, "differences": list(found.differences)})
    else:
        print_line(str(found))
    if not found.agrees:
        raise typer.Exit(1)


def store_at(location: str, there: bool = False) -> AbstractContextManager[Store]:
    """Open the store at a location, which must be `there` already where that is asked for."""
    from bascule.live.api import opened_store

    if there and "://" not in location and not Path(location).is_file():
        raise InputError(
            "store", f"there is no store {location}: give --store, or create an experiment first"
        )
    return opened_store(location, acting_user())


def acting_user() -> str:
    """Whom the audit log names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "command line"


def _measure(design: Design, window: str | None, aggregate: str | None) -> Measure | None:
    """Return the measure that the options describe, or None."""
    from bascule.core.measure import Measure

    if window is None:
        if aggregate is not None:
            raise InputError("aggregate", "--aggregate needs --window, as --window 7d")
        return None
    how: Any = aggregate or ("any" if design.outcome.binary else "sum")
    return Measure(window, how)


def _part(share: str) -> float:
    from bascule.planning.amounts import amount

    return amount("share", share, "10% is a tenth of all units")


def _audience(share: str | None, path: Path | None) -> Audience | None:
    """Return who gets in, as the options say; None is everyone."""
    from bascule.core.enrolment.audience import Audience, read_audience

    if path is None:
        return None if share is None else Audience(share=_part(share))
    if share is not None:
        raise InputError("share", "--share and --audience cannot both be given")
    return read_audience(read_json(path, "audience"))


def _change(location: str, name: str, verb: str, **given: Any) -> None:
    with store_at(location, there=True) as opened:
        test: Experiment = opened.get(name)
        getattr(test, verb)(**given)
        _show(test)


def _show(test: Experiment, as_json: bool = False, diagnostics: bool = False) -> None:
    from bascule.presentation.amounts import Amounts
    from bascule.presentation.guarantees import (
        bound_words,
        contrast_words,
        interval_name,
        later_minus_first,
    )

    status, design = test.status(diagnostics=diagnostics), test.design
    even = None if as_json else test.even_split()
    if as_json:
        print_json(status.to_dict())
        return
    print_line(f"{status.name}, {status.rule}, {status.state}\n")
    words = test.description.lines()
    for line in [*words, ""] if words else ():
        print_line(line)
    print_line(status.headline, style="bold")
    print_line("")
    for line in status.table():
        print_line(line)
    print_line("")
    amounts = Amounts.of(design.outcome, design.goal)
    for contrast in status.contrasts:
        print_line(contrast_words(contrast, amounts))
    for effect in status.effects:
        if design.control_arm in (effect.first, effect.second):
            continue
        pair, difference, low, high = later_minus_first(effect)
        interval = f"{interval_name(effect.error)} {amounts.interval(low, high)}"
        print_line(f"{pair}: {amounts.difference(difference)} ({interval})")
    for one, metric in zip(design.metric_designs, status.metrics, strict=True):
        its = Amounts.of(one.outcome, one.goal)
        margin = f", margin {metric.margin:g}" if metric.margin is not None else ""
        print_line(f"{metric.name} ({metric.role}{margin}):")
        for contrast, standing in zip(metric.contrasts, metric.standings, strict=True):
            said = f"; {standing}" if metric.role == "guardrail" else ""
            print_line(f"  {contrast_words(contrast, its)}{said}")
    for error, guarantee in {(effect.error, effect.guarantee) for effect in status.effects}:
        print_line(f"intervals: {bound_words(error)} ({guarantee})")
    print_line(f"evidence: {100 * status.evidence:.0f} % of the way to a decision")
    if status.cost is not None:
        print_line(f"cost so far: {status.cost:.4g}{_even_words(even)}")
    print_line(f"guarantee: {_promise(status, design)}")
    for line in _diagnostic_lines(status.diagnostics or ()):
        print_line(line)


def _even_words(even: Prediction | None) -> str:
    if even is None:
        return ""
    return f"; an even split is expected to cost {even.regret:.2g} until its own decision"


def _promise(status: Status, design: Design) -> str:
    """Say what the error bounds, for a test that may still declare a winner or has done so."""
    from bascule.presentation.guarantees import error_words

    has_winner = status.decision is not None and status.decision.arm is not None
    is_open = status.state in ("ready", "running", "paused")
    promise = design.calibration
    if promise.error < 1.0 and (has_winner or is_open):
        return f"{error_words(promise.error, len(design.arms))} ({promise.guarantee})"
    return status.promise


def _diagnostic_lines(found: Sequence[Diagnostic]) -> list[str]:
    """List alarms, then what was checked without a finding, then what could not be checked."""
    flagged = [f"! {one.name}: {one.message}" for one in found if one.flagged]
    # With too little data a diagnostic has no statistic, and nothing was compared.
    unmade = [one for one in found if one.statistic == 0.0 and one.p_value == 1.0]
    calm = [one.name for one in found if not one.flagged and one not in unmade]
    if calm:
        flagged.append(f"diagnostics without a finding: {', '.join(dict.fromkeys(calm))}")
    if unmade:
        names = ", ".join(dict.fromkeys(one.name for one in unmade))
        flagged.append(f"not checked, too little data: {names}")
    return flagged
