"""`bascule plan`: from a request to a design, with what it will take and cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import note_compilation, print_json, progress_bar, screen, visible
from bascule.cli.support.designs import GoalName, OutcomeName
from bascule.core.design import DEFAULT_ERROR, INCREASE
from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import read_number
from bascule.core.metrics.metric import Metric
from bascule.core.outcomes import Numeric, Outcome

if TYPE_CHECKING:
    from bascule.planning.request.request import PlanRequest
    from bascule.planning.result import Plan

INTERRUPTED = 130


class GuaranteeName(StrEnum):
    """Guarantees that can be accepted, from the strongest to the weakest."""

    PROVEN = "proven"
    GAUSSIAN = "gaussian"
    ASYMPTOTIC = "asymptotic"


FROM_SAMPLE = ("gaussian", "numeric", "recurrent")
"""Outcome models whose spreads a sample can tell."""


def command(
    baseline: str | None = typer.Option(
        None,
        metavar="MEAN",
        help="Mean of the first arm: 5% or 0.05. If not given: that of the sample, or 5%.",
        show_default=False,
    ),
    lift: list[str] | None = typer.Option(
        None,
        metavar="LIFT ...",
        help="What a new arm adds. With % a part of the baseline: 5% and 20% make 6%. Without, "
        "in outcome units: 0.05 and 0.01 make 0.06. 20% if not given, -20% with --goal decrease.",
        show_default=False,
    ),
    outcome: OutcomeName | None = typer.Option(
        None,
        help="Outcome model; as sigma, limits or sample suggest, else bernoulli.",
    ),
    sigma: float | None = typer.Option(
        None, help="Spread of one outcome, for gaussian, numeric and bounded.", show_default=False
    ),
    low: float | None = designs.LOW,
    high: float | None = designs.HIGH,
    at: float | None = typer.Option(
        None, help="For ratio: the ratio that is expected.", show_default=False
    ),
    per: float | None = typer.Option(
        None, help="For ratio: the mean denominator of a unit; 1 if not given.", show_default=False
    ),
    sigma_unit: float | None = designs.SIGMA_UNIT,
    sigma_noise: float | None = designs.SIGMA_NOISE,
    outcomes_per_day: float | None = typer.Option(
        None, help="For recurrent: outcomes of each unit; 1 if not given.", show_default=False
    ),
    sample: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="CSV of outcomes seen before (columns value and, if units come again, unit), for "
        "baseline and spread.",
    ),
    goal: GoalName | None = designs.GOAL,
    harm_error: str = typer.Option(
        "5%",
        metavar="P",
        help="Probability of removing an arm that no guardrail calls harmful, at most.",
    ),
    metric: list[str] | None = typer.Option(
        None,
        metavar="LINE|JSON|FILE",
        help="A guardrail or secondary metric, as 'latency; gaussian 30; decrease; margin 5', a "
        "JSON object as in a design file, or a .json file.",
        show_default=False,
    ),
    cap: str | None = typer.Option(
        None,
        metavar="AMOUNT",
        help="Count outcomes from 0 up to this amount: 500, or a quantile of the sample: 99%.",
        show_default=False,
    ),
    covariate: str | None = typer.Option(
        None,
        metavar="NAME",
        help="A number known of each unit before its assignment: its name, or name:low:high.",
        show_default=False,
    ),
    correlation: float = typer.Option(
        0.0, help="Of the covariate with the outcome: 0.7 halves the units."
    ),
    arms: int | None = typer.Option(None, help="How many; 2 if not given.", show_default=False),
    error: str = typer.Option(
        "5%",
        metavar="P",
        help="Probability of declaring a worse arm the winner, at most; auto chooses it for the "
        "population.",
    ),
    sides: int | None = designs.SIDES,
    units_per_day: float = typer.Option(5000.0, help="Traffic of the test, all arms together."),
    deadline_days: float = typer.Option(28.0, help="When the test ends at the latest."),
    power: str = typer.Option(
        "90%", metavar="P", help="Probability of a decision by the deadline at this lift."
    ),
    guarantee: GuaranteeName = typer.Option(
        GuaranteeName.PROVEN,
        help="The weakest guarantee that is accepted: proven, exact for normal outcomes, or right "
        "in the long run.",
    ),
    futility: str | None = typer.Option(
        None,
        metavar="P",
        help="End a test with a horizon early when it would find the lift with less probability.",
        show_default=False,
    ),
    waiting_cost: float | None = typer.Option(
        None, help="What a day of waiting is worth, in outcome units.", show_default=False
    ),
    rollout: str | None = typer.Option(
        None,
        metavar="0d:1%,1d:5%,...",
        help="Plan a guarded rollout instead: the share of the traffic that gets the new version, "
        "step by step, while no guardrail (--metric) is harmed.",
        show_default=False,
    ),
    population: float | None = typer.Option(
        None,
        help="All units that the decision is for: take the design by which they lose the least.",
        show_default=False,
    ),
    switch_cost: float | None = typer.Option(
        None,
        help="What changing to another arm costs, in outcome units; with --population.",
        show_default=False,
    ),
    segment: list[str] | None = typer.Option(
        None,
        metavar="NAME=PART",
        help="A segment with a decision of its own, and its part of the units; give each of them.",
        show_default=False,
    ),
    by: str | None = typer.Option(
        None,
        metavar="ATTRIBUTE",
        help="With --segment: the attribute of a unit's context that has its name.",
        show_default=False,
    ),
    save: Path | None = typer.Option(
        None, metavar="FILE", help="Write the design, for simulate --design."
    ),
    figure: Path | None = typer.Option(
        None, metavar="FILE", help="Draw the frontier, as .png or .svg."
    ),
    html: Path | None = typer.Option(
        None, metavar="FILE", help="Write a page to hand around; it needs no network."
    ),
    runs: int | None = typer.Option(
        None,
        help="Simulated tests of the design; by their length if not given.",
        show_default=False,
    ),
    seed: int = designs.SEED,
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
    as_json: bool = designs.AS_JSON,
) -> None:
    """Which design to run, how long it will take, and what it will cost."""
    from bascule.core.inputs.files import prepare_file
    from bascule.planning.request.amounts import amount
    from bascule.planning.request.read import plan_request
    from bascule.presentation.figures import figure_kind

    for field, path in (("save", save), ("figure", figure), ("html", html)):
        if path is not None:
            prepare_file(field, path)
    if figure is not None:
        figure_kind(figure)
    sizes = {
        "sigma": sigma,
        "low": low,
        "high": high,
        "at": at,
        "per": per,
        "sigma_unit": sigma_unit,
        "sigma_noise": sigma_noise,
    }
    metrics = [designs.parsed_metric(text) for text in metric or ()]
    harm = amount("harm_error", harm_error, "5% or 0.05 is usual")
    if rollout is not None:
        if segment or by is not None:
            raise InputError("segment", "--segment does not go with --rollout: leave it out")
        given = {**sizes, "baseline": baseline, "lift": lift, "sample": sample, "outcome": outcome}
        given |= {"arms": arms, "waiting_cost": waiting_cost, "figure": figure, "html": html}
        _refuse_with_rollout(given)
        asked = (units_per_day, deadline_days, harm, runs, seed)
        _plan_rollout(rollout, metrics, *asked, save, as_json)
        return
    auto = error.strip() == "auto"
    model, spread = _outcome(outcome, sizes, sample is not None)
    request = plan_request(
        model,
        baseline,
        (lift[0] if len(lift) == 1 else lift) if lift else None,
        sample=sample,
        cap=cap,
        covariate=covariate,
        correlation=correlation,
        arms=arms,
        error=DEFAULT_ERROR if auto else amount("error", error, "5% or 0.05 is usual"),
        choose_error=auto,
        population=population,
        switch_cost=switch_cost,
        sides=sides,
        power=amount("power", power, "90% is usual"),
        guarantee=guarantee.value,
        futility=None if futility is None else amount("futility", futility, "20% is usual"),
        units_per_day=units_per_day,
        deadline_days=deadline_days,
        waiting_cost=waiting_cost,
        spread=spread,
        outcomes_per_day=outcomes_per_day,
        goal=INCREASE if goal is None else goal.value,
        metrics=metrics,
        harm_error=harm,
    )
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
    if as_json:
        print_json(answer.to_dict())
    else:
        _show(answer)
    _write(answer, save, figure, html, quiet=as_json)
    if not answer.complete:
        typer.echo(
            "bascule: interrupted: what is not marked with ± was predicted, not simulated", err=True
        )
        sys.exit(INTERRUPTED)


def say_understood(lift: list[str] | None, request: PlanRequest) -> None:
    """Say, and on a terminal ask, whether a lift larger than the baseline is meant as it stands.

    Who writes 0.2 beside a baseline of 5 % often means a fifth of it.
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
    found = plan_segments(by, weights, request, runs=runs, seed=seed, threads=threads)
    if as_json:
        print_json(found.to_dict())
    else:
        screen().print(repr(found), soft_wrap=True, highlight=False)
    if save is not None:
        found.design.save(save)


def _refuse_with_rollout(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            named = designs.flag(option)
            raise InputError("rollout", f"{named} belongs to a test, not to --rollout: drop it")


def _plan_rollout(
    text: str,
    metrics: list[Metric],
    units_per_day: float,
    deadline_days: float,
    harm_error: float,
    runs: int | None,
    seed: int,
    save: Path | None,
    as_json: bool,
) -> None:
    from bascule.planning.rollout import plan_rollout, ramp_of

    plan = plan_rollout(
        metrics,
        ramp_of(text),
        units_per_day,
        deadline_days=deadline_days,
        harm_error=harm_error,
        runs=runs or 1000,
        seed=seed,
    )
    if as_json:
        print_json(plan.to_dict())
    else:
        for line in plan.lines():
            typer.echo(visible(line))
    if save is not None:
        plan.design.save(save)


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
    from bascule.planning.stages import stages

    last: Plan | None = None
    try:
        with progress_bar() as tell:
            for answer in stages(request, runs, seed, threads, tell):
                last = answer
    except KeyboardInterrupt:
        if last is None:
            raise
    assert last is not None
    return last


def _show(answer: Plan) -> None:
    from bascule.presentation.plan import text as words

    console = screen()
    recommendation = words.recommendation(answer)
    for line in words.answer(answer):
        style = "bold" if recommendation.startswith(line) and line else None
        console.print(line, style=style, soft_wrap=True, markup=False)


def _write(
    answer: Plan, save: Path | None, figure: Path | None, html: Path | None, quiet: bool
) -> None:
    """Write what was asked for, and say where it is."""
    from bascule.core.inputs.files import write_whole
    from bascule.presentation.figures import figure_kind, rendered

    if save is not None:
        answer.design.save(save)
    if figure is not None:
        write_whole(figure, rendered(answer.plot(), figure_kind(figure)))
    if html is not None:
        answer.save_html(html)
    if not quiet:
        for path in (save, figure, html):
            if path is not None:
                typer.echo(f"wrote {path}")
