"""`bascule analyze`: what the log of a test says that something else has run."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import (
    prepare_files,
    print_json,
    print_result,
    say_written,
    screen,
    visible,
    write_files,
)
from bascule.cli.support.designs import OutcomeName, option
from bascule.core.errors import InputError
from bascule.core.metrics.measure import Aggregate
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import Outcome

if TYPE_CHECKING:
    from bascule.analysis import Analysis


SIZES = ("sigma", "low", "high", "sigma_unit", "sigma_noise")
"""Options that an outcome model is made of."""


def _column(what: str) -> Any:
    return option(what, "COLUMN")


def command(
    log: str = typer.Argument(
        ...,
        metavar="LOG",
        help="A file (Parquet, CSV, JSON lines), or the URL of a database with --query.",
    ),
    query: str | None = option("Which rows of the database, or which table.", "SQL"),
    assignments: str | None = option(
        "Which unit was assigned to which arm, and when, if the log has events only.", "FILE"
    ),
    assignments_query: str | None = option(
        "Which rows of the database of LOG are the assignments.", "SQL"
    ),
    unit: str | None = _column("The unit that was assigned; usual names are found."),
    arm: str | None = _column("The unit's arm; usual names are found."),
    value: list[str] | None = option(
        "What a row is worth; usual names are found. Several: the first one decides.", "COLUMN"
    ),
    metric: list[str] | None = option(
        "A guardrail or secondary metric with the name of its column, as 'latency; gaussian "
        "30; decrease; margin 5'.",
        "LINE|JSON|FILE",
    ),
    time: str | None = _column("When; usual names are found."),
    per: str | None = _column("The denominator, if the metric is a ratio: sessions, views."),
    follow_up: str | None = _column("How long the unit was at risk: rates are per this time."),
    covariate: str | None = _column("A number known before the test, to sharpen it (CUPED)."),
    cluster: str | None = _column("What was assigned as a whole: villages, shops."),
    count: str | None = _column("If rows are sums: the number of their units."),
    squares: str | None = _column("If rows are sums of numbers other than 0 and 1: of squares."),
    cumulative: bool = typer.Option(False, help="Rows have what was counted up to their time."),
    row_is_unit: bool = typer.Option(False, help="Every row is a unit of its own."),
    time_format: str | None = option('How times are written, as "%d/%m/%Y %H:%M".', "FORM"),
    decimal: str | None = option('The decimal sign of numbers with commas: "." or ",".', "SIGN"),
    encoding: str | None = option(
        "The encoding of CSV files that are not UTF-8, as latin-1.", "NAME"
    ),
    assignments_unit: str | None = _column("The unit in the assignments, if called otherwise."),
    assignments_time: str | None = _column("The time in the assignments, if called otherwise."),
    segment: str | None = _column(
        "Answer each of its values on its own, with a part of the error."
    ),
    probability: str | None = _column(
        "The logged probability of the unit's arm, if it changed; or a column for each arm: "
        "control=p0,green=p1."
    ),
    least_probability: str | None = option(
        "The lowest probability that any arm ever had, if one column logs those of three or more "
        "arms; or a number for each arm: control=0.5,green=0.1,blue=0.1.",
        "NUMBER",
    ),
    design: Path | None = option("A design file: arms, outcome, error, measure.", "FILE"),
    outcome: OutcomeName | None = option(
        "Outcome model; as the options or the log suggest if not given."
    ),
    sigma: float | None = designs.declared_option("sigma"),
    low: float | None = designs.declared_option("low"),
    high: float | None = designs.declared_option("high"),
    sigma_unit: float | None = option(
        "For recurrent: spread of the units; estimated if not given."
    ),
    sigma_noise: float | None = option(
        "For recurrent: spread of one unit's outcomes; estimated if not given."
    ),
    error: float | None = designs.declared_option("error"),
    sides: int | None = designs.declared_option("sides"),
    min_effect: float | None = designs.declared_option("min_effect"),
    goal: Goal | None = designs.declared_option("goal"),
    control: str | None = designs.declared_option("control"),
    window: str | None = option('How long a unit\'s events count: "7d".'),
    aggregate: Aggregate | None = option(
        "What they add up to; sum if not given, any for bernoulli."
    ),
    missing: str | None = option(
        "The outcome of a unit without any value, 0 if not given; or: exclude.", "NUMBER"
    ),
    grace: str = typer.Option("0s", help="How much later events may be logged."),
    drop_duplicates: bool = typer.Option(
        False, help="Leave out rows that are exact copies of others."
    ),
    period: str | None = option('For recurrent: a unit gives an outcome every "1d", say.'),
    block: str | None = option(
        "Compare units within a day, a week, or days with at least N units; day if not given.",
        "BLOCK",
    ),
    weights: list[float] | None = option(
        "How units were to be split, in the order of the arms, for the sample ratio.", "W1 W2 ..."
    ),
    until: str | None = option("Look as of the end of that day.", "DAY"),
    sequential: bool = typer.Option(
        False, help="LOG is a folder with a file for each of many tests: a table of all of them."
    ),
    test: str | None = _column("The test that a row belongs to, for a log of many tests."),
    once: bool = typer.Option(
        False,
        help="Nobody looked before the planned end, and nobody will again: the narrower answer "
        "of a fixed sample.",
    ),
    today: bool = typer.Option(False, help="The answer of today only, which is quicker."),
    days: bool = typer.Option(False, help="Print the days as well."),
    csv: Path | None = option("Write the days as CSV.", "FILE"),
    figure: Path | None = option(
        "Draw the difference day by day, and the cost: .png or .svg.", "FILE"
    ),
    html: Path | None = option("Write the report as one page to hand around.", "FILE"),
    memory: str | None = option("What DuckDB may take; about 300MB if not given."),
    as_json: bool = designs.AS_JSON,
) -> None:
    """Is there a winner in the log, how large is the effect, and since when was it known?"""
    given = dict(locals())
    from bascule.analysis import analyze, analyze_each
    from bascule.core.inputs.files import csv_text, write_whole
    from bascule.live.api import load_design

    prepare_files(csv=csv, figure=figure, html=html)
    if assignments is None and assignments_query is not None:
        given["assignments"] = log
    # Most options have the name and the value that `analyze` takes; these are translated.
    options = {name: given[name] for name in signature(analyze).parameters if name in given}
    options |= {
        "value": value[0] if value is not None and len(value) == 1 else value,
        "metrics": [designs.parsed_metric(text) for text in metric or ()],
        "design": None if design is None else load_design(design),
        "outcome": _outcome(outcome, {size: given[size] for size in SIZES}),
        "missing": _missing(missing),
        "looks": 1 if once else None,
        "probability": _probability(probability),
        "least_probability": _least_probability(least_probability),
        "weights": weights or None,
        "by_day": not today,
    }
    if sequential or test is not None:
        if figure is not None or html is not None:
            raise InputError("html", "a collection of tests has no report: use --csv or --json")
        collection = analyze_each(log, test=test, **options)
        if csv is not None:
            write_whole(csv, csv_text(collection.to_rows()).encode())
        if as_json:
            print_json({"tests": collection.to_rows()})
        else:
            typer.echo(visible(str(collection)))
        return
    analysis = analyze(log, **options)
    if csv is not None:
        write_whole(csv, csv_text(analysis.to_rows()).encode())
    write_files(analysis, figure, html)
    print_result(analysis, as_json, lambda found: _show(found, days))
    if not as_json:
        say_written(csv, figure, html)


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
