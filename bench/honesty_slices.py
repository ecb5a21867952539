"""Slices of the cells of `bench.honesty_metrics`, played apart and added up.

The 400 tests of a cell are 16 slices of 25, which may be played apart. A cell takes 30 to 300 s of
CPU time, all 13 about 25 minutes of it. On a machine with 16 cores:

    mkdir -p out
    python -m bench.honesty_slices --list | xargs -P 16 -L 1 sh -c \\
        'python -m bench.honesty_slices --cell "$0" --slices "$1" --out "out/$0-$1.json"'
    python -m bench.honesty_slices --add out/*.json

The last command writes the rows of these cells into docs/research/honesty.md, and exits with 1
if one exceeds its error. `--list` prints cells with four slices each; one such part by itself is

    python -m bench.honesty_slices --cell normal --slices 0:4 --out out/normal-0:4.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import honesty_metrics as metrics
from bench.honesty import line, part_of, row_of, write


def play_slices(name: str, first: int, last: int, out: Path) -> None:
    """Play slices of a cell, from the one to before the other, and write what was counted."""
    cell, since = metrics.named_cells(int)[name], time.process_time()
    tests = first * metrics.SLICE, min(last * metrics.SLICE, metrics.RUNS)
    wrong, loose = part_of(cell, *tests)
    used = round(time.process_time() - since, 1)
    found = {"cell": name, "tests": tests, "wrong": wrong, "loose": loose, "cpu_s": used}
    out.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(json.dumps(found))


def add_slices(files: Sequence[Path]) -> int:
    """Add the slices of whole cells up, write their rows, and return 1 if an error was exceeded."""
    cells, rows = metrics.named_cells(int), []
    read = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    for name in dict.fromkeys(one["cell"] for one in read):
        parts = sorted((one for one in read if one["cell"] == name), key=lambda one: one["tests"])
        edges = [0, *(one["tests"][1] for one in parts)]
        if [one["tests"][0] for one in parts] != edges[:-1] or edges[-1] != metrics.RUNS:
            sys.exit(f"{name}: slices must cover tests 0 to {metrics.RUNS} once (got {edges})")
        wrong, loose, used = (sum(one[key] for one in parts) for key in ("wrong", "loose", "cpu_s"))
        rows.append(row_of(cells[name], (wrong, loose)))
        print(f"{name}, {used:.0f} s of CPU: {line(rows[-1])}")
    write(rows)
    return 0 if all(row.kept for row in rows) else 1


def main(given: Sequence[str] | None = None) -> int:
    """Play slices, list them, or add them up."""
    parser = argparse.ArgumentParser(prog="python -m bench.honesty_slices")
    parser.add_argument("--list", action="store_true", help="print cells with their slices")
    parser.add_argument("--cell", choices=list(metrics.named_cells(int)), help="the cell to play")
    parser.add_argument(
        "--slices",
        default=f"0:{metrics.RUNS // metrics.SLICE}",
        help="which slices, as 0:4",
    )
    parser.add_argument("--out", type=Path, help="the file for what was counted")
    parser.add_argument("--add", type=Path, nargs="+", help="files of whole cells to add up")
    asked = parser.parse_args(given)
    if asked.add:
        return add_slices(asked.add)
    if asked.list:
        edges = range(0, metrics.RUNS // metrics.SLICE, metrics.TOGETHER)
        print(
            "\n".join(
                f"{name} {a}:{a + metrics.TOGETHER}"
                for name in metrics.named_cells(int)
                for a in edges
            )
        )
        return 0
    if asked.cell is None or asked.out is None:
        parser.error("give --cell and --out, or --list, or --add")
    first, last = map(int, asked.slices.split(":"))
    play_slices(asked.cell, first, last, asked.out)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
