"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import note_compilation, print_result, progress_bar, screen
from bascule.cli.support.designs import EngineName, OutcomeName, RuleName, StopName, option
from bascule.core.errors import InputError
from bascule.core.metrics.metric import Goal
from bascule.core.rules.mixture import RadiusName
from bascule.core.rules.tilt import HorizonGuarantee

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.simulation import Simulation


def command(
    means: list[float] | None = designs.MEANS,
    rule: RuleName | None = designs.RULE,
    alpha: float | None = designs.ALPHA,
    radius: RadiusName | None = designs.RADIUS,
    growth: float | None = designs.GROWTH,
    stop: StopName | None = designs.STOP,
    tilt: float | None = designs.TILT,
    effect: float | None = designs.EFFECT,
    power: float | None = designs.POWER,
    baseline: float | None = designs.BASELINE,
    guarantee: HorizonGuarantee | None = designs.GUARANTEE,
    futility: float | None = designs.FUTILITY,
    batch: int | None = designs.BATCH,
    population: int | None = designs.POPULATION,
    horizon: int | None = designs.HORIZON,
    outcome: OutcomeName | None = designs.OUTCOME,
    sigma: float | None = designs.SIGMA,
    low: float | None = designs.LOW,
    high: float | None = designs.HIGH,
    sigma_unit: float | None = designs.SIGMA_UNIT,
    sigma_noise: float | None = designs.SIGMA_NOISE,
    error: float | None = designs.ERROR,
    sides: int | None = designs.SIDES,
    delta: float | None = designs.DELTA,
    min_effect: float | None = designs.MIN_EFFECT,
    goal: Goal | None = designs.GOAL,
    design: Path | None = option("A design file, instead of all of the above but --means.", "FILE"),
    world: str | None = option(
        "What the test meets: a name such as rising or delay, a JSON object, or a .json file.",
        "NAME|JSON|FILE",
    ),
    metric: list[str] | None = option(
        "True means of the arms on another metric of the design; its baseline if not given.",
        "NAME=M1,M2",
    ),
    segment: list[str] | None = option(
        "True means of the arms in a segment of the design; give each of its segments.",
        "NAME=M1,M2",
    ),
    weight: list[str] | None = option(
        "With --segment: the part of all units that is in it; equal parts if not given.",
        "NAME=PART",
    ),
    to_serve: int | None = option(
        "With --segment: all units to serve, and one winner for everyone beside it."
    ),
    runs: int = typer.Option(1000, help="How many times to play the test."),
    seed: int = designs.SEED,
    max_units: int | None = designs.MAX_UNITS,
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
    device: designs.DeviceName | None = designs.DEVICE,
    engine: EngineName | None = designs.ENGINE,
    as_json: bool = designs.AS_JSON,
) -> None:
    """Simulate a test many times: its regret, its decision time and how often it is wrong."""
    described = designs.describing(locals())
    from bascule.simulation import simulate

    in_world = None if world is None else designs.parsed_world(world)
    if design is None:
        asked = designs.described_design(described, _arms(means, in_world), max_units)
    else:
        asked = designs.loaded_design(design, described, max_units)
    if asked.segments is not None:
        others = {"means": means, "world": world, "metric": metric, "dask": dask, "device": device}
        for option, given in others.items():
            if given:
                raise InputError(option, f"--{option} does not go with segments: use --segment")
        _segments(asked, segment, weight, to_serve, (runs, seed, threads, engine), as_json)
        return
    if segment or weight or to_serve is not None:
        raise InputError("segment", "the design has no segments: name them in its file")
    with designs.workers(dask, device), progress_bar() as report:
        result = simulate(
            asked,
            means or None,
            runs,
            seed,
            threads,
            lambda done: report("simulating", done, runs),
            world=in_world,
            engine=engine,
            metrics=designs.parsed_means(metric),
        )
    note_compilation(result.compile_seconds)
    print_result(result, as_json, _show)


def _segments(
    design: Design,
    segment: list[str] | None,
    weight: list[str] | None,
    population: int | None,
    how: tuple[int, int, int | None, EngineName | None],
    as_json: bool,
) -> None:
    from bascule.simulation import simulate_segments

    means, parts = (
        designs.parsed_means(given, name)
        for given, name in ((segment, "segment"), (weight, "weight"))
    )
    if means is None:
        names = ", ".join(design.by_segment)
        raise InputError("segment", f"--segment is missing: give the means in each of {names}")
    runs, seed, threads, engine = how
    result = simulate_segments(
        design,
        means,
        None if parts is None else {name: sum(part) for name, part in parts.items()},
        runs,
        seed,
        threads,
        population=population,
        engine=engine,
    )
    print_result(result, as_json)


def _arms(means: list[float] | None, world: dict[str, Any] | str | None) -> int:
    """How many arms there are: as many as have a mean."""
    from bascule.simulation import World

    if means:
        return len(means)
    if isinstance(world, dict):
        return len(World.from_dict(world).start)
    raise InputError("means", "--means is missing: give the mean of each arm, as in --means 0 1")


def _show(result: Simulation) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bascule.presentation.numbers import number
    from bascule.presentation.simulation import title

    console = screen()
    summary, quantiles = result.summary(), result.quantiles()
    table = Table(title=title(result), title_justify="left", box=SIMPLE_HEAD)
    published = result.design.calibration.guarantee == "as published"
    bound = "published" if published else "proven"
    for heading in ("", "mean", "10 %", "50 %", "90 %", "predicted", bound):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    predicted = result.predicted()
    stated = result.published() if published else result.proven()
    for column, words in (("regret", "regret"), ("decision_time", result.time_label)):
        table.add_row(
            words,
            str(summary[column]),
            *(number(value) for value in quantiles[column]),
            _amount(getattr(predicted, column, math.nan)),
            _amount(getattr(stated, column, math.nan)),
        )
    wide = console.options.update(width=10 * console.width)
    if console.measure(table, options=wide).maximum > console.width:
        console.print(repr(result), soft_wrap=True)
        return
    console.print(table)
    for name, value in result.rows()[2:]:
        console.print(f"{name:<16} {value}", soft_wrap=True)


def _amount(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "none" if math.isinf(value) else f"{value:,.0f}"
