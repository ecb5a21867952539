"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bascule.cli.support import designs
from bascule.cli.support.console import (
    note_compilation,
    print_report,
    print_result,
)
from bascule.cli.support.declared import declared, named, read
from bascule.core.errors import invalid
from bascule.core.options import Option
from bascule.presentation.progress import progress_bar

RUNS = designs.runs(1000)

WORLD = named(
    design=Option(
        "A design file, instead of options that describe one.",
        kind="file",
        group="basics",
        excludes=tuple(designs.DESIGN),
    ),
    world=Option(
        "Conditions of the test: a name such as rising or delay, a JSON object, or a .json file.",
        metavar="NAME|JSON|FILE",
    ),
    units_per_day=Option(
        "Units that arrive a day: the window and the calendar of the design are then simulated, "
        "and days are shown.",
        kind="positive",
    ),
    metric=Option(
        "True means of the arms on another metric of the design.",
        unset="its baseline",
        many=True,
        metavar="NAME=M1,M2",
    ),
    engine=Option(
        "plain draws every outcome; fast is for recurrent outcomes and rules in blocks.",
        choices=("fast", "plain"),
    ),
)
"""A design file, and the conditions of the simulation."""


OF_DESIGN = {**designs.DESIGN, **designs.CAP, **designs.CALENDAR}


@declared(designs.MEANS, OF_DESIGN, WORLD, RUNS, designs.WORKERS, designs.JSON)
def command(**options: Any) -> None:
    """Simulate a test many times: its regret, its decision time and how often it is wrong."""
    from bascule.simulation import World, simulate
    from bascule.simulation.api import world_of

    asked_world = designs.parsed_world(options["world"]) if "world" in options else None
    world: World | dict[str, Any] | str | None = asked_world
    means = read(designs.MEANS, options).get("means")
    settings = {"runs": 1000, **read(RUNS, options)}
    if "engine" in options:
        settings["engine"] = options["engine"]
    if "design" in options:
        asked = designs.loaded_design(options)
    else:
        asked = designs.described_design(options, _arms(means, asked_world))
    daily = read(WORLD, options).get("units_per_day")
    if daily is not None:
        world, means = replace(world_of(asked, means, world), units_per_day=daily), None
    with designs.workers(options), progress_bar() as report:
        result = simulate(
            asked,
            means,
            progress=lambda number: report("simulating", number, settings["runs"]),
            world=world,
            metrics=designs.parsed_means(options.get("metric")),
            **settings,
        )
    note_compilation(result.compile_seconds)
    print_result(result, "json" in options, lambda played: print_report(played.report().whole))


def _arms(means: list[float] | None, world: dict[str, Any] | str | None) -> int:
    """Return the number of arms: that of the means, or else that of a world in JSON."""
    from bascule.simulation import World

    if means:
        return len(means)
    if isinstance(world, dict):
        return len(World.from_dict(world).start)
    raise invalid("means is missing: give the mean of each arm, as in --means 0 1")
