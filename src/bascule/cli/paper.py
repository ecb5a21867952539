"""`bascule paper`: the paper's figures and claims, regenerated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import say_written, screen
from bascule.cli.support.declared import declared, read
from bascule.core.errors import InputError, require
from bascule.presentation.progress import progress_bar

RUNS = {
    name: replace(option, group="basics") if name in ("runs", "seed") else option
    for name, option in designs.runs(1000).items()
}
"""Options of a simulation; the short help shows runs and seed, which readers change first."""


@declared(RUNS, designs.DASK)
def command(
    out: Path | None = typer.Option(None, metavar="DIR", help="Folder to write into."),
    listed: bool = designs.switch(
        "--list", "Print where each part of the paper is in bascule, and nothing else."
    ),
    **options: Any,
) -> None:
    """Draw the paper's figures again, and check the claims that the paper makes about them."""
    from bascule.research.paper import regenerate
    from bascule.research.paper.claims.claim import tally
    from bascule.research.paper.concordance import plain_text

    if listed:
        screen().print(plain_text(), soft_wrap=True)
        return
    if out is None:
        raise InputError("out", "--out is missing: name a folder to write into, or use --list")
    require("figures", "--out", "matplotlib")
    with designs.workers(options), progress_bar() as bar:
        result = regenerate(out, progress=bar, **read(RUNS, options))
    console = screen()
    for claim in result.claims:
        runs = claim.finding.runs
        played = "computed" if runs is None else f"{runs:,} runs"
        marks = f"({claim.reading}, {played})"
        console.print(f"{claim.verdict:<16}  {claim.statement} {marks}", soft_wrap=True)
    console.print(f"\n{tally(result.claims)}; claims.md has the measurements.", soft_wrap=True)
    say_written(*result.paths)
