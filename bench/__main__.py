"""`python -m bench`: print the performance table and write it to bench.json."""

from __future__ import annotations

import json
from pathlib import Path

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
from bench.measure import show


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
    show(figures)
    data = {row.name: row.to_dict() for row in figures}
    Path("bench.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print("written to bench.json")


main()
