"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bascule.cli.support import designs
from bascule.cli.support.console import note_compilation, print_result, progress_bar, screen
from bascule.cli.support.declared import declared, named, read
from bascule.core.errors import InputError
from bascule.core.options import Option

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.simulation import Simulation

RUNS = designs.runs(1000)

WORLD = named(
    design=Option(
        "A design file, instead of options that describe one.",
        kind="file",
        group="basics",
        metavar="FILE",
        excludes=tuple(designs.DESIGN),
    ),
    world=Option(
        "What the test meets: a name such as rising or delay, a JSON object, or a .json file.",
        metavar="NAME|JSON|FILE",
    ),
    metric=Option(
        "True means of the arms on another metric of the design.",
        unset="its baseline",
        many=True,
        metavar="NAME=M1,M2",
    ),
    engine=Option("For recurrent: plain draws every outcome.", choices=("fast", "plain")),
)
"""The design of a file, and what it is played on."""

SEGMENTS = named(
    segment=Option(
        "True means of the arms in a segment of the design; give each of its segments.",
        many=True,
        metavar="NAME=M1,M2",
        excludes=("means", "world", "metric", "dask", "device"),
    ),
    weight=Option(
        "The part of all units that is in a segment.",
        unset="equal parts",
        many=True,
        metavar="NAME=PART",
        needs=("segment",),
    ),
    to_serve=Option(
        "All units to serve, and one winner for everyone beside it.",
        kind="whole",
        needs=("segment",),
    ),
)


@declared(
    designs.MEANS, designs.DESIGN, designs.CAP, WORLD, SEGMENTS, RUNS, designs.WORKERS, designs.JSON
)
def command(**given: Any) -> None:
    """Simulate a test many times: its regret, its decision time and how often it is wrong."""
    from bascule.simulation import simulate

    world = designs.parsed_world(given["world"]) if "world" in given else None
    means = read(designs.MEANS, given).get("means")
    how = {"runs": 1000, **read(RUNS, given)}
    if "engine" in given:
        how["engine"] = given["engine"]
    if "design" in given:
        asked = designs.loaded_design(given)
    else:
        asked = designs.described_design(given, _arms(means, world))
    if asked.segments is not None:
        _segments(asked, given, how)
        return
    if "segment" in given:
        raise InputError("segment", "the design has no segments: name them in its file")
    with designs.workers(given), progress_bar() as report:
        result = simulate(
            asked,
            means,
            progress=lambda done: report("simulating", done, how["runs"]),
            world=world,
            metrics=designs.parsed_means(given.get("metric")),
            **how,
        )
    note_compilation(result.compile_seconds)
    print_result(result, "json" in given, _show)


def _segments(design: Design, given: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    from bascule.simulation import simulate_segments

    means = designs.parsed_means(given.get("segment"), "segment")
    if means is None:
        names = ", ".join(design.by_segment)
        raise InputError("segment", f"segment is missing: give the means in each of {names}")
    parts = designs.parsed_means(given.get("weight"), "weight")
    weights = None if parts is None else {name: sum(part) for name, part in parts.items()}
    population = read(SEGMENTS, given).get("to_serve")
    result = simulate_segments(design, means, weights, population=population, **how)
    print_result(result, "json" in given)


def _arms(means: list[float] | None, world: dict[str, Any] | str | None) -> int:
    """How many arms there are: as many as have a mean."""
    from bascule.simulation import World

    if means:
        return len(means)
    if isinstance(world, dict):
        return len(World.from_dict(world).start)
    raise InputError("means", "means is missing: give the mean of each arm, as in --means 0 1")


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
