"""`bascule paper`: the paper's figures and claims, regenerated."""

from __future__ import annotations

from pathlib import Path

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import progress_bar, say_written, screen


def command(
    out: Path = typer.Option(..., metavar="DIR", help="Folder to write into."),
    runs: int = typer.Option(1000, help="Runs behind each point."),
    seed: int = typer.Option(0, help="Same seed, same figures."),
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
) -> None:
    """Draw the paper's figures afresh and check what it says about them."""
    from bascule.research.paper import regenerate
    from bascule.research.paper.claims.claim import tally

    with designs.workers(dask), progress_bar() as bar:
        result = regenerate(out, runs, seed, threads, bar)
    console = screen()
    for claim in result.claims:
        console.print(f"{claim.verdict:<13}  {claim.statement}", soft_wrap=True)
    console.print(f"\n{tally(result.claims)}; claims.md has the measurements.", soft_wrap=True)
    say_written(*result.paths)
