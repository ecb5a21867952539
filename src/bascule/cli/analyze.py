"""`bascule analyze`: what the log of a test says that something else has run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import (
    prepare_files,
    print_json,
    print_result,
    progress_bar,
    say_written,
    screen,
    visible,
    write_files,
)
from bascule.cli.support.designs import OutcomeName, option
from bascule.core.errors import InputError
from bascule.core.metrics.measure import Aggregate
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import OUTCOMES, Outcome

if TYPE_CHECKING:
    from bascule.analysis import Analysis
    from bascule.analysis.log.recognise import Question


SIZES = ("sigma", "low", "high", "sigma_unit", "sigma_noise")
"""Options that an outcome model is made of."""


def show_all(context: typer.Context, wanted: bool) -> None:
    """Print the help with the options that `--help` leaves out."""
    if not wanted:
        return
    for parameter in context.command.params:
        parameter.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    raise typer.Exit


COLUMNS, METRICS, LOOKS, OUTPUT = "Columns", "Metrics", "Looks", "Output"
"""Panels of the help; options of no panel are basics."""


def _column(what: str, **more: Any) -> Any:
    return option(what, "COLUMN", rich_help_panel=COLUMNS, **more)


def _rare(what: str, metavar: str | None = None, panel: str = COLUMNS) -> Any:
    """Return an option that `--help` leaves out and `--help-all` shows."""
    return option(what, metavar, rich_help_panel=panel, hidden=True)


def _switch(what: str, panel: str = COLUMNS, *, hidden: bool = False) -> Any:
    return typer.Option(False, help=what, rich_help_panel=panel, hidden=hidden)


def command(
    context: typer.Context,
    log: str = typer.Argument(
        ...,
        metavar="LOG",
        help="A file (Parquet, CSV, JSON lines), or the URL of a database with --query.",
    ),
    metric: list[str] | None = option(
        "What is measured: a column, or 'clicks per views; decrease; margin 5'. Several: the "
        "first decides.",
        "METRIC",
    ),
    unit: str | None = _column("The unit that was assigned; usual names are found."),
    arm: str | None = _column("The unit's arm; usual names are found."),
    time: str | None = _column("When; usual names are found."),
    covariate: str | None = _column("A number known before the test, to sharpen it (CUPED)."),
    segment: str | None = _column("Answer each of its values, with a part of the error."),
    cluster: str | None = _column("What was assigned as a whole, or groups of alike units."),
    test: str | None = _column("The test of a row, in a log of many tests: a table of all."),
    assignments: str | None = option(
        "Table with the arms of units, if LOG has events only.", "FILE", rich_help_panel=COLUMNS
    ),
    query: str | None = option("Rows of the database, or a table.", "SQL", rich_help_panel=COLUMNS),
    count: str | None = _column("If rows are sums: the number of their units."),
    squares: str | None = _rare(
        "If rows are sums of other numbers than 0 and 1: squares.", "COLUMN"
    ),
    cumulative: bool | None = typer.Option(
        None, help="Whether rows that are sums count up to their time.", hidden=True
    ),
    row_is_unit: bool = _switch("Every row is a unit of its own.", hidden=True),
    time_format: str | None = _rare('How times are written, as "%d/%m/%Y %H:%M".', "FORM"),
    decimal: str | None = _rare('The decimal sign of numbers with commas: "." or ",".', "SIGN"),
    encoding: str | None = _rare("The encoding of CSV files that are not UTF-8.", "NAME"),
    drop_duplicates: bool = _switch("Leave out exact copies of rows.", hidden=True),
    assignments_query: str | None = _rare("Rows of LOG's database with the assignments.", "SQL"),
    assignments_unit: str | None = _rare("The unit in the assignments.", "COLUMN"),
    assignments_time: str | None = _rare("The time in the assignments.", "COLUMN"),
    probability: str | None = _rare(
        "The logged probability of the unit's arm, if it changed; or a column for each arm: "
        "control=p0,green=p1.",
        "COLUMN",
    ),
    least_probability: str | None = _rare(
        "The lowest probability that any arm ever had, for three or more arms and one column; or "
        "one for each arm: control=0.5,green=0.1,blue=0.1.",
        "NUMBER",
    ),
    memory: str | None = _rare("What DuckDB may take; about 300MB if not given.", "SIZE"),
    per: str | None = option(
        "Denominator of a ratio: a column, or row for a rate per row with a value.",
        "COLUMN",
        rich_help_panel=METRICS,
    ),
    follow_up: str | None = option(
        "How long the unit was at risk: a column, or START,STOP of each row.",
        "COLUMN",
        rich_help_panel=METRICS,
    ),
    window: str | None = option(
        'How long a unit\'s events count: "7d".', "TIME", rich_help_panel=METRICS
    ),
    aggregate: Aggregate | None = option(
        "What they add up to: sum, any, mean or last.", "HOW", rich_help_panel=METRICS
    ),
    missing: str | None = option(
        "The outcome of a unit without any value, 0 if not given; or: exclude.",
        "NUMBER",
        rich_help_panel=METRICS,
    ),
    goal: Goal | None = option("increase, or decrease.", "GOAL", rich_help_panel=METRICS),
    outcome: OutcomeName | None = option(
        "Outcome model, as bernoulli; the log suggests one.", "MODEL", rich_help_panel=METRICS
    ),
    low: float | None = _rare("For bounded: no outcome lies below.", panel=METRICS),
    high: float | None = _rare("For bounded: no outcome lies above.", panel=METRICS),
    sigma: float | None = _rare("For gaussian: spread of one outcome.", panel=METRICS),
    sigma_unit: float | None = _rare("For recurrent: spread of the units.", panel=METRICS),
    sigma_noise: float | None = _rare("For recurrent: spread of a unit's outcomes.", panel=METRICS),
    period: str | None = _rare("For recurrent: an outcome every 1d, say.", panel=METRICS),
    grace: str | None = _rare("How much later events may be logged.", panel=METRICS),
    min_effect: float | None = _rare("The smallest difference that matters.", panel=METRICS),
    design: Path | None = option(
        "A design file: arms, outcome, error, guardrails.", "FILE", rich_help_panel=LOOKS
    ),
    error: float | None = option(
        "Probability that a worse arm wins, at most; 0.05 if not given.", rich_help_panel=LOOKS
    ),
    sides: int | None = option(
        "2: --error is two-sided, and 0.05 gives 95 % intervals.",
        "1|2",
        min=1,
        max=2,
        rich_help_panel=LOOKS,
    ),
    control: str | None = option("The arm that others are compared with.", rich_help_panel=LOOKS),
    weights: list[float] | None = option(
        "How units were to be split, for the sample ratio.", "W1 W2 ...", rich_help_panel=LOOKS
    ),
    block: str | None = _rare(
        "Compare units within a day, a week, or days with at least N units.", "BLOCK", LOOKS
    ),
    until: str | None = _rare("Look as of the end of that day.", "DAY", LOOKS),
    once: bool = _switch("One look at the planned end: the narrower answer.", LOOKS),
    today: bool = _switch("The answer of today only, which is quicker.", LOOKS),
    sequential: bool = _switch("LOG is a folder with a file for each test.", hidden=True),
    days: bool = _switch("Print the days as well.", OUTPUT),
    csv: Path | None = option("Write the days as CSV.", "FILE", rich_help_panel=OUTPUT),
    figure: Path | None = option("Draw it: .png or .svg.", "FILE", rich_help_panel=OUTPUT),
    html: Path | None = option("Write one page to hand around.", "FILE", rich_help_panel=OUTPUT),
    as_json: bool = typer.Option(
        False, "--json", help="Print one JSON object.", rich_help_panel=OUTPUT
    ),
    help_all: bool = typer.Option(
        False,
        "--help-all",
        help="Show all options.",
        is_eager=True,
        callback=show_all,
        rich_help_panel=OUTPUT,
    ),
) -> None:
    """Is there a winner in the log, how large is the effect, and since when was it known?"""
    given = dict(locals())
    from bascule.analysis import analyze, analyze_each
    from bascule.analysis.call import call_of
    from bascule.analysis.log.recognise import Question
    from bascule.core.inputs.files import csv_text, write_whole
    from bascule.live.api import load_design

    prepare_files(csv=csv, figure=figure, html=html)
    first, others = (metric or [""])[0], (metric or [""])[1:]
    declared = _metric(first) if first else {}
    options = {name: given[name] for name in PLAIN_OPTIONS} | {
        "assignments": log if assignments is None and assignments_query else assignments,
        "metrics": [_built(_metric(text)) for text in others] or None,
        "design": None if design is None else load_design(design),
        "outcome": _outcome(outcome, {size: given[size] for size in SIZES}),
        "missing": _missing(missing),
        "follow_up": _follow_up(follow_up),
        "looks": 1 if once else "now" if today else None,
        "probability": _probability(probability),
        "least_probability": _least_probability(least_probability),
        "weights": weights or None,
    }
    call = call_of(log, **_merged(options, declared))
    try:
        if sequential or test is not None:
            if figure is not None or html is not None:
                raise InputError("html", "a collection of tests has no report: use --csv or --json")
            with progress_bar() as progress:
                collection = analyze_each(**call, test=test, progress=progress)
            if csv is not None:
                write_whole(csv, csv_text(collection.to_rows()).encode())
            if as_json:
                print_json({"tests": collection.to_rows()})
            else:
                typer.echo(visible(str(collection)))
            return
        analysis = analyze(**call)
    except Question as question:
        raise InputError(question.field, question.text(_command(question, context))) from None
    if csv is not None:
        write_whole(csv, csv_text(analysis.day_rows()).encode())
    write_files(analysis, figure, html)
    print_result(analysis, as_json, lambda found: _show(found, days))
    if not as_json:
        say_written(csv, figure, html)


PLAIN_OPTIONS = (
    *("unit", "arm", "time", "covariate", "segment", "cluster", "query", "count", "squares"),
    *("cumulative", "row_is_unit", "time_format", "decimal", "encoding", "drop_duplicates"),
    *("assignments_query", "assignments_unit", "assignments_time", "memory", "per", "window"),
    *("aggregate", "goal", "period", "grace", "min_effect", "error", "sides", "control"),
    *("block", "until"),
)
"""Options whose value is what `analyze` takes."""


def _command(question: Question, context: typer.Context) -> str:
    """The command that was given, with the options that answer a question."""
    words = context.command_path.split()
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if value is None or value is False or parameter.name in question.options:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [parameter.opts[0], *([] if one is True else [str(one)])]
    for name, value in question.options.items():
        words += [f"--{name.replace('_', '-')}", value]
    if "count" in question.options and "--outcome" not in words:
        words += ["--outcome", "bernoulli"]
    return shlex.join(words)


def _merged(options: dict[str, Any], declared: dict[str, Any]) -> dict[str, Any]:
    """The options with those that stand in the line of the first metric."""
    for name, value in declared.items():
        if options.get(name) is not None:
            raise InputError(name, f"{name} stands in --metric and as an option: drop one of them")
        options[name] = value
    return options


def _built(declared: dict[str, Any]) -> Any:
    from bascule.analysis import LogMetric

    return LogMetric(**declared)


def _metric(line: str) -> dict[str, Any]:
    """The parts of a metric in a line: its column, and words separated by semicolons.

    >>> sorted(_metric("good per judged; decrease; margin 0.02").items())
    [('goal', 'decrease'), ('margin', 0.02), ('per', 'judged'), ('value', 'good')]
    """
    name, *parts = (part.strip() for part in line.split(";"))
    value, _, per = (part.strip() for part in name.partition(" per "))
    declared: dict[str, Any] = {"value": value} | ({"per": per} if per else {})
    for part in parts:
        word, *rest = part.split()
        if word in get_args(Goal):
            declared["goal"] = word
        elif word in get_args(Aggregate):
            declared["aggregate"] = word
        elif word in OUTCOMES.kinds:
            declared["outcome"] = OUTCOMES.get(word)(*map(float, rest))
        elif word in ("margin", "error", "min_effect") and len(rest) == 1:
            declared[word] = float(rest[0])
        elif word in ("window", "grace", "harm") and len(rest) == 1:
            declared[word] = rest[0]
        elif word == "missing" and len(rest) == 1:
            declared[word] = _missing(rest[0])
        else:
            raise InputError(
                "metric",
                f"metric {value} has the part {part!r}: write it as in 'clicks per views; "
                "decrease; margin 0.02' or 'latency; gaussian 30; decrease; margin 5'",
            )
    return declared


def _follow_up(text: str | None) -> str | tuple[str, ...] | None:
    return tuple(text.split(",")) if text and text.count(",") == 1 else text


def _outcome(name: str | None, sizes: dict[str, float | None]) -> Outcome | str | None:
    """The outcome model that the options name or imply; None leaves it to the log."""
    given = {size: value for size, value in sizes.items() if value is not None}
    if name is None and given:
        name = designs.owner_of(next(iter(given)))
    if name == "recurrent" and not given:
        return "recurrent"
    if name == "gaussian" and not given:
        raise InputError("sigma", "sigma is missing: --outcome gaussian needs the spread, --sigma")
    return None if name is None else designs.described_outcome({"outcome": name, **sizes})


def _missing(text: str | None) -> float | str | None:
    """A number if it is one; the library says what else may be given."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _least_probability(text: str | None) -> float | dict[str, float] | None:
    """The smallest probability of all arms, or that of each.

    >>> _least_probability("0.1"), _least_probability("a=0.2,b=0.1")
    (0.1, {'a': 0.2, 'b': 0.1})
    """
    parts = _probability(text)
    try:
        if isinstance(parts, dict):
            return {arm: float(number) for arm, number in parts.items()}
        return None if parts is None else float(parts)
    except ValueError:
        raise InputError(
            "least_probability",
            f"least_probability must be a number, or one an arm as a=0.2,b=0.1 (got {text!r})",
        ) from None


def _probability(text: str | None) -> str | dict[str, str] | None:
    """The name of a column, or the column of each arm.

    >>> _probability("p"), _probability("a=p0,b=p1")
    ('p', {'a': 'p0', 'b': 'p1'})
    """
    if text is None or "=" not in text:
        return text
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def _show(analysis: Analysis, days: bool) -> None:
    from bascule.presentation.analysis.text import day_table, text_lines

    console = screen()
    headline, *lines = text_lines(analysis)
    console.print(headline, style="bold", soft_wrap=True, markup=False)
    for line in lines:
        style = "bold red" if line.startswith("! ") else None
        console.print(line, style=style, soft_wrap=True, markup=False)
    if days:
        for part in analysis.segments or (analysis,):
            console.print()
            for line in day_table(part):
                console.print(line, soft_wrap=True, markup=False)
