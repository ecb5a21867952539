"""`bascule paper`: the paper's figures and claims, regenerated."""

from __future__ import annotations

from pathlib import Path

import typer

from bascule.cli.console import progress_bar, screen


def command(
    out: Path = typer.Option(..., metavar="DIR", help="Folder to write into."),
    runs: int = typer.Option(1000, help="Runs behind each point."),
    seed: int = typer.Option(0, help="Same seed, same figures."),
    threads: int | None = typer.Option(
        None, help="Threads to use; every core if not given.", show_default=False
    ),
) -> None:
    """Draw the paper's figures afresh and check what it says about them."""
    from bascule.paper import regenerate

    with progress_bar() as bar:
        result = regenerate(out, runs, seed, threads, bar)
    console = screen()
    for claim in result.claims:
        verdict = "holds        " if claim.holds else "does not hold"
        console.print(f"{verdict}  {claim.statement}", soft_wrap=True)
    held = sum(claim.holds for claim in result.claims)
    console.print(f"\n{held} of {len(result.claims)} claims hold; claims.md has the measurements.")
    for path in result.paths:
        console.print(f"wrote {path}", soft_wrap=True)
