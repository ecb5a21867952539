"""`python -m bench`: print the performance table and write it to bench.json."""

from __future__ import annotations

import json
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench import (
    analyze,
    gpu,
    live,
    live_rate,
    planning,
    reports,
    service,
    simulator,
    startup,
    units,
)
from bench.measure import Figure


def _table(figures: list[Figure]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("what")
    for heading in ("value", "reference", "ratio", "target"):
        table.add_column(heading, justify="right")
    table.add_column("unit; reference")
    for row in figures:
        mark = {True: "met", False: "MISSED", None: ""}[row.met]
        table.add_row(
            row.name,
            f"{row.value:,.3g}" if row.value < 1000 else f"{row.value:,.0f}",
            f"{row.reference:,.3g}" if row.reference < 1000 else f"{row.reference:,.0f}",
            f"{row.ratio:,.2f}" if row.ratio < 100 else f"{row.ratio:,.0f}",
            f"{row.target} {mark}".strip(),
            f"{row.unit}; {row.against}",
        )
    return table


def main() -> None:
    """Take every figure; a target that is missed is printed as such, and nothing is hidden."""
    figures = [
        *simulator.figures(),
        *units.figures(),
        *gpu.figures(),
        *live.figures(),
        *live_rate.figures(),
        *reports.figures(),
        *service.figures(),
        *startup.figures(),
        *planning.figures(),
        *analyze.figures(),
    ]
    Console(width=150).print(_table(figures))
    data = {row.name: row.to_dict() for row in figures}
    Path("bench.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print("written to bench.json")


main()
