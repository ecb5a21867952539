"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

from typing import Any

from bascule.cli.support import designs
from bascule.cli.support.console import (
    note_compilation,
    print_report,
    print_result,
    progress_bar,
)
from bascule.cli.support.declared import declared, named, read
from bascule.core.errors import InputError
from bascule.core.options import Option

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


@declared(designs.MEANS, designs.DESIGN, designs.CAP, WORLD, RUNS, designs.WORKERS, designs.JSON)
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
        names = ", ".join(asked.by_segment)
        message = f"the design has segments ({names}): simulate the design of one of them"
        raise InputError("design", message)
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
    print_result(result, "json" in given, lambda found: print_report(found.report().whole))


def _arms(means: list[float] | None, world: dict[str, Any] | str | None) -> int:
    """How many arms there are: as many as have a mean."""
    from bascule.simulation import World

    if means:
        return len(means)
    if isinstance(world, dict):
        return len(World.from_dict(world).start)
    raise InputError("means", "means is missing: give the mean of each arm, as in --means 0 1")
