"""`bascule analyze`: analyse the log of a test that another tool has run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from bascule.analysis.call import ANALYSIS, LogMetric, call_of
from bascule.cli.support import designs
from bascule.cli.support.console import (
    prepare_files,
    print_json,
    print_report,
    say_written,
    write_files,
)
from bascule.cli.support.declared import declared, named, read
from bascule.core.errors import InputError, invalid
from bascule.core.metrics.metric import line_parts
from bascule.core.options import Option, options_of, parameters
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.presentation.progress import progress_bar

if TYPE_CHECKING:
    from bascule.analysis.each import LogCollection
    from bascule.analysis.log.reading import Question

METRIC = options_of(LogMetric)
PARAMETERS = {
    name: replace(option, group="advanced")
    for name, option in parameters(OUTCOMES).items()
    if name not in (*ANALYSIS, "at", "sigma_unit", "sigma_noise")
}
"""Parameters of outcome models; ratios and repeated outcomes have columns instead."""

METRICS = named(
    metric=Option(
        "What is measured: a column, or 'clicks per views; decrease; margin 5'. May be "
        "given several times; the first metric decides.",
        group="basics",
        many=True,
        metavar="METRIC",
    )
)
COLLECTION = named(
    test=Option(
        "In a log of many tests, the name of the test; the result is a table of all tests.",
        group="basics",
        metavar="COLUMN",
        excludes=("figure", "html"),
    ),
)
"""The option for a log of many tests."""

TABLES = named(
    no_cumulative=Option(
        "If rows are sums: each row has the counts of its own day alone.",
        kind="switch",
        needs=("count",),
        excludes=("cumulative",),
    ),
    assignments_query=Option(
        "Query for the assignments, in LOG's database unless --assignments is given.",
        metavar="SQL",
    ),
    assignments_unit=Option("The unit in the assignments.", metavar="COLUMN"),
    assignments_time=Option("The time in the assignments.", metavar="COLUMN"),
)
LOOKS = named(
    once=Option(
        "A single look at the planned end, with narrower intervals.",
        kind="switch",
        group="basics",
        excludes=("today",),
    ),
    today=Option("The result of today only, which is quicker.", kind="switch", group="basics"),
)
FILES = named(
    csv=Option("Write the days as CSV.", kind="file", group="output"),
    figure=Option("Draw it: .png or .svg.", kind="file", group="output"),
    html=Option("Write a page to share.", kind="file", group="output"),
)
DAYS = named(days=Option("Print the days as well.", kind="switch", group="output"))
OPTIONS = {**METRICS, **ANALYSIS, **COLLECTION, **TABLES, **LOOKS, **PARAMETERS}
TYPED = {name: option.typed for name, option in OPTIONS.items()} | {
    "outcome=Bernoulli()": "--outcome bernoulli",
    "outcome=Bounded(low, high)": "--low LOW --high HIGH",
    "outcome=Gaussian(sigma)": "--sigma SIGMA",
}
"""How options that notes mention are spelled on the command line."""

SHOWN = ("basics", "outcome", "output")


@declared(OPTIONS, DAYS, FILES, designs.JSON, shown=SHOWN)
def command(
    context: typer.Context,
    log: str = typer.Argument(
        ...,
        metavar="LOG",
        help="A file (Parquet, CSV, JSON lines), or the URL of a database with --query.",
    ),
    **options: Any,
) -> None:
    """Analyse a log: whether and since when there is a winner, and how large the effect is."""
    from bascule.analysis.api import analyze
    from bascule.analysis.log.reading import Question
    from bascule.core.inputs.files import csv_text, write_whole

    files = {name: options.get(name) for name in FILES}
    as_json = "json" in options
    prepare_files(**files)
    call = call_of(log, **_asked(log, options))
    result: Any
    try:
        result = _collection(call, options["test"]) if "test" in options else analyze(**call)
    except Question as question:
        raise InputError(question.field, question.text(_command(question, context))) from None
    except InputError as error:
        text = error.spelled(lambda name: "LOG" if name == "events" else name)
        raise InputError(error.field, text, kind=error.kind, others=error.others) from None
    if files["csv"] is not None:
        rows = result.to_rows() if "test" in options else result.day_rows()
        write_whole(files["csv"], csv_text(rows).encode())
    write_files(result, files["figure"], files["html"])
    if as_json:
        print_json(result.to_dict())
        return
    report = result.report().spelled(TYPED)
    print_report(report.whole if "days" in options else report, width=0)
    say_written(*files.values())


def _asked(log: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an analysis, converted from text."""
    first, *further = options.get("metric") or [""]
    asked = read(ANALYSIS, options) | {
        name: options[name] for name in TABLES if name in options and name != "no_cumulative"
    }
    if "assignments_query" in asked:
        asked.setdefault("assignments", log)
    if "no_cumulative" in options:
        asked["cumulative"] = False
    if "design" in asked:
        from bascule.core.design import Design

        asked["design"] = Design.load(asked["design"])
    if "=" in asked.get("probability", ""):
        asked["probability"] = dict(part.split("=", 1) for part in asked["probability"].split(","))
    if "missing" in asked:
        asked["missing"] = _missing(asked["missing"])
    if "weights" in asked:
        asked["weights"] = _weights(asked["weights"])
    asked["outcome"] = _outcome(options)
    asked["looks"] = 1 if "once" in options else "now" if "today" in options else None
    asked["metrics"] = [LogMetric(**_metric(line)) for line in further] or None
    for name, value in (_metric(first) if first else {}).items():
        if asked.get(name) is not None:
            raise InputError(name, f"{name} is given in --metric and as an option: leave one out")
        asked[name] = value
    return asked


def _collection(call: dict[str, Any], test: str) -> LogCollection:
    """Return the analyses of all tests in a log; `test` is the column with their names."""
    from bascule.analysis.each import analyze_each

    with progress_bar() as progress:
        return analyze_each(**call, test=test, progress=progress)


def _command(question: Question, context: typer.Context) -> str:
    """Return the command that was typed, with the options that answer a question of the reader."""
    words = context.command_path.split()
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.param_type_name == "argument":
            words.append(str(question.options.get("log", value)))
            continue
        if value is None or value is False or parameter.name in question.options:
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            words += [parameter.opts[0], *([] if item is True else [str(item)])]
    options = {name: value for name, value in question.options.items() if name != "log"}
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [_written(value)])]
    if question.zero_or_one and "--outcome" not in words:
        words += ["--outcome", "bernoulli"]
    return shlex.join(words)


def _written(value: Any) -> str:
    """Return an option's value as text; a mapping becomes ARM=COLUMN,ARM=COLUMN."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return ",".join(f"{arm}={column}" for arm, column in pairs) or str(value)


def _metric(line: str) -> dict[str, Any]:
    """Return the fields of a `LogMetric` that a text describes, separated by semicolons.

    >>> sorted(_metric("good per judged; decrease; margin 0.02").items())
    [('goal', 'decrease'), ('margin', 0.02), ('per', 'judged'), ('value', 'good')]
    """
    name, parts = line_parts(line, METRIC, "metric")
    value, _, per = (part.strip() for part in name.partition(" per "))
    if "missing" in parts:
        parts["missing"] = _missing(parts["missing"])
    return {"value": value, **({"per": per} if per else {}), **parts}


def _outcome(options: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome model that options name or imply; None if the log is to tell."""
    sizes = {size: options[size] for size in PARAMETERS if size in options}
    name = options.get("outcome") or designs.implied(sizes)
    if name == "gaussian" and not sizes:
        raise invalid("sigma is missing: --outcome gaussian needs the spread, --sigma")
    return None if name is None else designs.described_outcome({"outcome": name, **sizes})


def _weights(given: list[str]) -> list[float] | dict[str, list[float]]:
    """Return the weights of the arms, or a dict of them by the time from which they hold.

    >>> _weights(["90", "10"]), _weights(["2026-03-02=50:50", "2026-03-09T12:00=10:90"])
    ([90.0, 10.0], {'2026-03-02': [50.0, 50.0], '2026-03-09T12:00': [10.0, 90.0]})
    """
    number = replace(ANALYSIS["weights"], kind="number", name="weights")
    by_time = [text.rpartition("=") for text in given]
    if not all(sign for _, sign, _ in by_time):
        values: list[float] = number.read(given)
        return values
    return {since: number.read(part.split(":")) for since, _, part in by_time}


def _missing(text: str) -> float | str:
    """Return a text as a number if it is one, else unchanged; the library checks other texts."""
    try:
        return float(text)
    except ValueError:
        return text
