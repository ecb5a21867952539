"""`python -m bench.honesty`: whether errors stay below what is stated when someone tries to cheat.

Each cell plays many tests through the public interface: pure functions, `simulate`, a live store or
`analyze`. The adversary knows the truth and acts on all outcomes seen so far. Every test has a seed
of its own, so the page changes only when the package does. Modes that are named are measured alone,
as in `python -m bench.honesty simulate "live store"`: the other rows of the page stay.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import honesty_meetings_page
from bench.honesty_cells import Cell
from bench.honesty_live import live_cells
from bench.honesty_logs import log_cells
from bench.honesty_meetings import MODE as MEETINGS
from bench.honesty_meetings import meeting_cells
from bench.honesty_metrics import metric_cells
from bench.honesty_pure import pure_cells
from bench.honesty_simulated import simulated_cells

OUT = Path("docs/research/honesty.md")

MODES = {
    "pure functions": pure_cells,
    "live store": live_cells,
    "live metrics": metric_cells,
    "analyze": log_cells,
    "simulate": simulated_cells,
}

ALL = {**MODES, MEETINGS: meeting_cells}
"""All modes; the meetings have a page of their own."""

CHUNK = 20
"""Tests that a process plays before it takes others."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: how often something wrong was said, against what is stated."""

    mode: str
    rule: str
    arms: int
    adversary: str
    guarantee: str
    stated: float
    runs: int
    wrong: int
    loose: int | None = None
    """How many of these tests are wrong if the rule stops at 1.5 times its error."""

    @property
    def measured(self) -> float:
        """The share of tests in which something wrong was said."""
        return self.wrong / self.runs

    @property
    def deviation(self) -> float:
        """The standard error if the true share equals the stated error."""
        return math.sqrt(self.stated * (1.0 - self.stated) / self.runs)

    @property
    def kept(self) -> bool:
        """Whether the share is compatible with the stated error."""
        return self.measured <= self.stated + 3.0 * self.deviation


@cache
def cells_of(mode: str, scale: float) -> list[Cell]:
    """Return the cells of a mode; `scale` multiplies how often each is played."""
    return ALL[mode](lambda runs: max(6, int(scale * runs)))


def play(cell: Cell) -> Row:
    """Play all tests of a cell."""
    return row_of(cell, part_of(cell, 0, cell.runs))


Count = tuple[int, int]
"""How many tests said something wrong, and how many would by a rule at 1.5 times its error."""


def row_of(cell: Cell, wrong: Count) -> Row:
    """Return the row of a cell in which so many tests said something wrong."""
    about = (cell.mode, cell.label, cell.arms, cell.adversary, cell.guarantee, cell.stated)
    return Row(*about, cell.runs, wrong[0], None if cell.loose is None else wrong[1])


def part_of(cell: Cell, first: int, last: int) -> Count:
    """Play some tests of a cell."""
    return cell.play(first, last), 0 if cell.loose is None else cell.loose(first, last)


def _part(mode: str, scale: float, number: int, first: int, last: int) -> Count:
    return part_of(cells_of(mode, scale)[number], first, last)


def measured(mode: str, scale: float = 1.0) -> list[Row]:
    """Play all cells of a mode, on every core, and return their rows."""
    cells = cells_of(mode, scale)
    jobs = []
    with ProcessPoolExecutor() as workers:
        for number, cell in enumerate(cells):
            size = cell.runs if cell.whole else CHUNK
            for first in range(0, cell.runs, size):
                last = min(cell.runs, first + size)
                jobs.append((number, workers.submit(_part, mode, scale, number, first, last)))
        wrong = [(0, 0)] * len(cells)
        for number, job in jobs:
            (before, loose), (more, more_loose) = wrong[number], job.result()
            wrong[number] = before + more, loose + more_loose
    return [row_of(cell, found) for cell, found in zip(cells, wrong, strict=True)]


HEAD = """# Honesty

*`make honesty` measures this page anew: SECONDS.*

Errors are stated for whoever looks at every moment and acts on what was seen. Here adversaries
try to get more wrong statements out of a test than are stated. They know the truth, act on all
outcomes so far, and play through the public interface: the pure functions, `simulate`, a
live test in a store, or `analyze` on a log, where a winner on any of 20 days counts. Arms are
equal, or a billionth apart, the first one best. A test is wrong if it declares a worse arm the
winner (of the arms that were not removed); for pauses, if the lower end of one difference was ever
above the truth; for `sides=2`, if it has any winner; and for guardrails and rollouts, as
the row says. In the live metrics nobody acts: their worlds are hard for an estimate, and a test is
wrong if it declares the second of two equal arms, which looks better at first, the winner. ± is one
standard error if the true share equals the stated error. A cell fails if it is more than three
standard errors above it. Every cell has enough tests that an error 1.5 times the stated one would
be about five standard errors above. Slow tests use a stated error of 20 or 30 %, so that few runs
are enough. Bounds that hold at any time are conservative in a test that ends. So for the live
metrics the last column has the share of wrong tests if the rule stops at 1.5 times its error, on
the same outcomes: a cell in which this is no more than the measured share could not detect an
excess.

"""

TIMES = "eight minutes on 16 cores, about an hour on two"

COLUMNS = [
    "| mode | rule | arms | adversary | guarantee | stated | measured | tests | at 1.5 times |",
    "|---|---|---|---|---|---|---|---|---|",
]


def line(row: Row) -> str:
    """Return a row of the table."""
    verdict = "" if row.kept else " **too many**"
    loose = "" if row.loose is None else f"{100 * row.loose / row.runs:.1f} %"
    return (
        f"| {row.mode} | {row.rule} | {row.arms} | {row.adversary} | {row.guarantee} | "
        f"{100 * row.stated:.3g} % | {100 * row.measured:.1f} ± {100 * row.deviation:.1f} %"
        f"{verdict} | {row.runs:,} | {loose} |"
    )


def page(lines: Sequence[str]) -> str:
    """Return the page with these lines of its table."""
    return HEAD.replace("SECONDS", TIMES) + "\n".join([*COLUMNS, *lines]) + "\n"


def write(rows: Sequence[Row]) -> None:
    """Write the pages with new rows, and the old ones of all other cells."""
    meetings = {
        (row.rule, row.adversary): (row.wrong, row.runs) for row in rows if row.mode == MEETINGS
    }
    honesty_meetings_page.write(meetings)
    rows = [row for row in rows if row.mode != MEETINGS]
    cells = [cell for mode in MODES for cell in cells_of(mode, 1.0)]
    old = [text for text in OUT.read_text(encoding="utf-8").splitlines() if text.startswith("| ")]
    known = {text.split(" % | ")[0]: text for text in [*old, *map(line, rows)]}
    places = [line(row_of(cell, (0, 0))).split(" % | ")[0] for cell in cells]
    lines = [known.get(place, f"{place} % | not yet | | |") for place in places]
    OUT.write_text(page(lines), encoding="utf-8")


def main(*modes: str) -> int:
    """Measure the cells, write the page, and return 1 if an error was exceeded."""
    started = time.perf_counter()
    chosen = modes or tuple(ALL)
    # Adversaries play short tests of small arrays, for which threads are of no use.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows: list[Row] = []
    for mode in chosen:
        since = time.perf_counter()
        rows += measured(mode)
        print(f"{mode}: {time.perf_counter() - since:.0f} s", flush=True)
    write(rows)
    print("\n".join(map(line, rows)))
    print(f"{time.perf_counter() - started:.0f} s, written to {OUT}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
