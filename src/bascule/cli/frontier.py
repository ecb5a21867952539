"""`bascule frontier`: regret against decision time for every rule, at equal proven error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import (
    note_compilation,
    print_result,
    progress_bar,
    say_written,
    screen,
)
from bascule.cli.support.designs import OutcomeName, option
from bascule.core.design import DEFAULT_ERROR
from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.research.comparison.frontier import Frontier

GAP = 2
"""Spaces before each column."""


def command(
    means: list[float] | None = designs.MEANS,
    outcome: OutcomeName | None = designs.OUTCOME,
    sigma: float | None = designs.SIGMA,
    error: float = typer.Option(
        DEFAULT_ERROR,
        help="Probability of declaring a worse arm the winner, at most, for every rule.",
    ),
    sides: int | None = designs.SIDES,
    effect: float | None = option(
        "The difference worth finding: adds tilted blocks that are informed of it."
    ),
    peers: bool = typer.Option(
        False, "--peers", help="Add rules of other tools and papers, of which nothing is proven."
    ),
    runs: int = typer.Option(1000, help="Runs of each rule; fewer where runs are long."),
    seed: int = designs.SEED,
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
    device: designs.DeviceName | None = designs.DEVICE,
    out: Path | None = option("Folder for the table, the figure and the JSON.", "DIR"),
    as_json: bool = designs.AS_JSON,
) -> None:
    """Compare every rule on one problem: what it costs, when it decides, which dominates which."""
    from bascule.core.inputs.files import prepare_folder
    from bascule.research.comparison.contenders import USUAL, Family
    from bascule.research.comparison.frontier import frontier

    if not means:
        raise InputError(
            "means", "--means is missing: give the mean of each arm, as in --means 0 1"
        )
    model = designs.described_outcome({"outcome": outcome, "sigma": sigma})
    if out is not None:
        prepare_folder(out)
    with designs.workers(dask, device), progress_bar() as report:
        result = frontier(
            means,
            outcome=model,
            error=error,
            effect=effect,
            runs=runs,
            seed=seed,
            threads=threads,
            progress=report,
            families=(*USUAL, Family.PEERS) if peers else USUAL,
            sides=sides,
        )
    note_compilation(result.compile_seconds)
    written = () if out is None else result.save(out)
    print_result(result, as_json, _show)
    if not as_json:
        say_written(*written)


def _show(result: Frontier) -> None:
    """Print a table with a part for each family, or lines where it does not fit."""
    from bascule.research.comparison import frontier_text as words
    from bascule.research.comparison.contenders import Family

    console = screen()
    rows = [words.HEADINGS, *(words.cells(point) for point in result.points)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) > console.width:
        console.print(repr(result), soft_wrap=True)
        return

    def line(cells: Sequence[str]) -> str:
        numbers = map(str.rjust, cells[1:-1], widths[1:-1])
        return (" " * GAP).join([cells[0].ljust(widths[0]), *numbers, cells[-1]])

    console.print(words.title(result))
    console.print(line(words.HEADINGS))
    for family in Family:
        points = result.of(family)
        if points:
            console.print(f"\n{family.words}")
        for point in points:
            console.print(line(words.cells(point)), style="bold" if point.efficient else None)
    console.print()
    for note in words.notes(result):
        console.print(note)
