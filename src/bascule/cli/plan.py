"""`bascule plan`: from a request to a design, with what it will take and cost."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import (
    note_compilation,
    prepare_files,
    print_line,
    print_result,
    print_rows,
    progress_bar,
    say_written,
    write_files,
)
from bascule.cli.support.designs import OutcomeName, option
from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import read_number
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.outcomes import Numeric, Outcome
from bascule.planning.request.fields import FIELDS

if TYPE_CHECKING:
    from bascule.planning.request.request import PlanRequest
    from bascule.planning.result import Plan

INTERRUPTED = 130

GARBAGE = 100_000
"""New objects between garbage collections: loading code makes many, which all stay in use."""


FROM_SAMPLE = ("gaussian", "numeric", "recurrent")
"""Outcome models whose spread can be estimated from a sample."""


IMPLIED = {
    "sigma_unit": "recurrent",
    "sigma_noise": "recurrent",
    "at": "ratio",
    "per": "ratio",
    "low": "bounded",
    "high": "bounded",
    "sigma": "gaussian",
}
"""The outcome model that an option stands for when none is named; the first that is there."""

OPTIONS = {*IMPLIED, *(field.option or name for name, field in FIELDS.items()), "figure", "html"}
"""Options that describe a test, or show one; a guarded rollout has only some of them."""


def field_option(name: str, metavar: str | None = None, more: str = "") -> Any:
    """Return the option for a field of the request, which is None where it is not given."""
    field = FIELDS[name]
    least, most = field.limits or (None, None)
    return option(
        field.help + more,
        metavar or ("P" if field.kind == "probability" else None),
        show_default=field.unset or field.default or False,
        min=least,
        max=most,
    )


def command(
    baseline: str | None = field_option("baseline", "MEAN"),
    lift: list[str] | None = field_option("lift", "LIFT ..."),
    outcome: OutcomeName | None = field_option("outcome"),
    sigma: float | None = option("Spread of one outcome, for gaussian, numeric and bounded."),
    low: float | None = designs.LOW,
    high: float | None = designs.HIGH,
    at: float | None = option("For ratio: the ratio that is expected."),
    per: float | None = option("For ratio: the mean denominator of a unit; 1 if not given."),
    sigma_unit: float | None = designs.SIGMA_UNIT,
    sigma_noise: float | None = designs.SIGMA_NOISE,
    outcomes_per_day: float | None = field_option("outcomes_per_day"),
    sample: Path | None = field_option(
        "sample", "FILE", " A CSV file with columns value and, if units come again, unit."
    ),
    goal: Goal | None = field_option("goal"),
    harm_error: str | None = field_option("harm_error"),
    metric: list[str] | None = field_option(
        "metrics", "LINE|JSON|FILE", " Or a JSON object as in a design file, or a .json file."
    ),
    cap: str | None = field_option("cap", "AMOUNT"),
    covariate: str | None = field_option("covariate", "NAME"),
    correlation: float | None = field_option("correlation"),
    arms: int | None = field_option("arms"),
    control: str | None = field_option("control", "ARM"),
    error: str | None = field_option("error"),
    sides: int | None = field_option("sides"),
    units_per_day: float | None = field_option("units_per_day"),
    deadline_days: float | None = field_option("deadline_days"),
    power: str | None = field_option("power"),
    guarantee: str | None = field_option("guarantee", "proven|gaussian|asymptotic"),
    futility: str | None = field_option("futility"),
    waiting_cost: float | None = field_option("waiting_cost"),
    rollout: str | None = option(
        "Plan a guarded rollout instead: the share of the traffic that gets the new version, "
        "step by step, while no guardrail (--metric) is harmed.",
        "0d:1%,1d:5%,...",
    ),
    population: float | None = field_option("population"),
    switch_cost: float | None = field_option("switch_cost"),
    segment: list[str] | None = option(
        "A segment with a decision of its own, and its part of the units; give each of them.",
        "NAME=PART",
    ),
    by: str | None = option(
        "With --segment: the attribute of a unit's context that has its name.", "ATTRIBUTE"
    ),
    save: Path | None = option("Write the design, for simulate --design.", "FILE"),
    figure: Path | None = option("Draw the frontier, as .png or .svg.", "FILE"),
    html: Path | None = option("Write a page to hand around; it needs no network.", "FILE"),
    runs: int | None = option("Simulated tests of the design; by their length if not given."),
    seed: int = designs.SEED,
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
    as_json: bool = designs.AS_JSON,
) -> None:
    """Which design to run, how long it will take, and what it will cost."""
    gc.set_threshold(GARBAGE)
    options = {name: value for name, value in locals().items() if name in OPTIONS}
    given = {name: value for name, value in options.items() if value not in (None, [])}
    prepare_files(save=save, figure=figure, html=html)
    if rollout is not None:
        if segment or by is not None:
            raise InputError("segment", "--segment does not go with --rollout: leave it out")
        _plan_rollout(rollout, given, runs, seed, save, as_json)
        return
    request = requested(given)
    if segment or by is not None:
        for option, path in (("figure", figure), ("html", html)):
            if path is not None:
                raise InputError(option, f"--{option} does not go with --segment: leave it out")
        with designs.workers(dask):
            say_understood(lift, request)
            _plan_segments(request, segment, by, (runs, seed, threads), save, as_json)
        return
    with designs.workers(dask):
        say_understood(lift, request)
    answer = _answered(request, runs, seed, threads)
    note_compilation(answer.compile_seconds)
    print_result(answer, as_json, _show)
    if save is not None:
        answer.design.save(save)
    write_files(answer, figure, html)
    if not as_json:
        say_written(save, figure, html)
    if not answer.complete:
        typer.echo(
            "bascule: interrupted: what is not marked with ± was predicted, not simulated", err=True
        )
        sys.exit(INTERRUPTED)


def say_understood(lift: list[str] | None, request: PlanRequest) -> None:
    """Say, and on a terminal ask, whether a lift larger than the baseline is meant as it stands.

    With a baseline of 5 %, 0.2 often means a fifth of it.
    """
    plain = [text for text in lift or () if not text.strip().endswith("%")]
    larger = request.outcome.binary and abs(request.main_lift) > request.baseline
    if not plain or not larger:
        return
    meant = f"{100 * read_number(plain[0])[0]:g}%"
    words = f"--lift {plain[0]} means {request.words.splitlines()[0]}; for {meant} of the baseline"
    if sys.stdin.isatty() and sys.stdout.isatty():
        typer.echo(f"bascule: {words} give --lift {meant}", err=True)
        if not typer.confirm("Plan for this?", err=True):
            raise typer.Abort
    else:
        typer.echo(f"bascule: {words} give --lift {meant}", err=True)


def _plan_segments(
    request: PlanRequest,
    segment: list[str] | None,
    by: str | None,
    how: tuple[int | None, int, int | None],
    save: Path | None,
    as_json: bool,
) -> None:
    from bascule.planning.segments import plan_segments

    parts = designs.parsed_means(segment, "segment")
    if by is None or parts is None:
        raise InputError(
            "segment", "--segment and --by go together, as --by device --segment mobile=0.7"
        )
    runs, seed, threads = how
    weights = {name: sum(part) for name, part in parts.items()}
    plan = plan_segments(by, weights, request, runs=runs, seed=seed, threads=threads)
    print_result(plan, as_json)
    if save is not None:
        plan.design.save(save)


def requested(given: Mapping[str, Any]) -> PlanRequest:
    """Return the request for a test that options make; what was not given is not among them."""
    from bascule.planning.request.read import plan_request

    sizes = {name: given.get(name) for name in IMPLIED}
    outcome, spread = _outcome(given.get("outcome"), sizes, "sample" in given)
    parts: dict[str, Any] = {
        name: given[option]
        for name, field in FIELDS.items()
        if (option := field.option or name) in given
    }
    parts |= {"outcome": outcome, "spread": spread, "metrics": _metrics(given)}
    if len(parts.get("lift", ())) == 1:
        (parts["lift"],) = parts["lift"]
    return plan_request(**parts)


def _metrics(given: Mapping[str, Any]) -> list[Metric]:
    return [designs.parsed_metric(text) for text in given.get("metric", ())]


def _plan_rollout(
    text: str,
    given: Mapping[str, Any],
    runs: int | None,
    seed: int,
    save: Path | None,
    as_json: bool,
) -> None:
    from bascule.planning.ramp import ramp_of
    from bascule.planning.rollout import plan_rollout

    shared = {field.option or name for name, field in FIELDS.items() if field.rollout}
    for name in given:
        if name not in shared:
            named = designs.flag(name)
            raise InputError("rollout", f"{named} belongs to a test, not to --rollout: drop it")
    numbers = {name: value for name, value in given.items() if name != "metric"}
    plan = plan_rollout(_metrics(given), ramp_of(text), runs=runs, seed=seed, **numbers)
    print_rows(as_json, plan.to_dict(), plan.lines())
    if save is not None:
        plan.design.save(save)


def _outcome(
    kind: str | None, sizes: dict[str, float | None], sampled: bool
) -> tuple[Outcome | None, float | None]:
    """Return the outcome model that the options name or imply, and the spread within its limits.

    Without a model it is left to the sample.
    """
    given = [size for size, value in sizes.items() if value is not None]
    if kind is None:
        kind = next((IMPLIED[size] for size in IMPLIED if size in given), None)
    if kind is None or (sampled and kind in FROM_SAMPLE and not given):
        return (Numeric() if kind == "numeric" else None), None
    if kind == "bounded":
        # There sigma is the spread that outcomes really have, which no rule needs to know.
        model = designs.described_outcome({**sizes, "outcome": kind, "sigma": None})
        return model, sizes["sigma"]
    return designs.described_outcome({**sizes, "outcome": kind}), None


def _answered(request: PlanRequest, runs: int | None, seed: int, threads: int | None) -> Plan:
    """Return the plan, or as much of it as there was when it was interrupted."""
    from bascule.planning.search.stages import stages

    last: Plan | None = None
    try:
        with progress_bar() as report:
            for answer in stages(request, runs, seed, threads, report):
                last = answer
    except KeyboardInterrupt:
        if last is None:
            raise
    assert last is not None
    return last


def _show(answer: Plan) -> None:
    from bascule.presentation.plan import text as words

    recommendation = f"{words.headline(answer)}:"
    for line in words.answer(answer):
        print_line(line, "bold" if recommendation.startswith(line) and line else None)
