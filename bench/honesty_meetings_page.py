"""The generated parts of docs/research/meetings.md: the table of meetings with its counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.honesty_meetings_table import COLUMNS, ROWS, Column, Row, stated

OUT = Path("docs/research/meetings.md")

Counts = Mapping[tuple[str, str], tuple[int, int]]
"""Wrong tests and tests of a cell, by the names of its row and column."""

MARKS = {"proven": "P", "gaussian": "N", "asymptotic": "A"}
REFUSED = "–"
ABOVE = " **too many**"


def counts_of(text: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Read the counts of a page."""
    counts = {}
    names = [column.name for column in COLUMNS]
    for line in text.splitlines():
        row, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for name, cell in zip(names, cells, strict=False):
            if match := re.match(r"[PNA] (\d+)/(\d+)", cell):
                counts[row, name] = int(match[1]), int(match[2])
    return counts


def cell(row: Row, column: Column, counts: Counts) -> str:
    """Return a cell of the table: what is stated, and how many tests were wrong."""
    if column.refusal(row) is not None:
        return REFUSED
    error, guarantee = stated(row, column)
    wrong, tests = counts.get((row.name, column.name), (0, 0))
    deviation = math.sqrt(tests * error * (1.0 - error))
    above = ABOVE if wrong > tests * error + 3.0 * deviation else ""
    return f"{MARKS[guarantee]} {wrong}/{tests}{above}"


def parts(counts: Counts) -> dict[str, list[str]]:
    """Return the generated parts of the page, by their names."""
    table = [[cell(row, column, counts) for column in COLUMNS] for row in ROWS]
    kinds = Counter(one[0] for cells in table for one in cells)
    wrong, tests = (sum(both[place] for both in counts.values()) for place in (0, 1))
    summary = (
        f"{len(ROWS) * len(COLUMNS)} cells: {kinds['P']} proven, {kinds['N']} exact for normal "
        f"outcomes, {kinds['A']} asymptotic, {kinds[REFUSED]} refused. There were {wrong:,} wrong "
        f"winners in {tests:,} tests."
    )
    names = [column.name for column in COLUMNS]
    lines = [[row.name, *cells] for row, cells in zip(ROWS, table, strict=True)]
    about = [
        [column.name, column.about, f"[{column.page.removesuffix('.md')}]({column.page})"]
        for column in COLUMNS
    ]
    refusals = [
        [column.name, ", ".join(rows) or "all", message]
        for column in COLUMNS
        for rows, message in column.refused
    ]
    return {
        "table": [*_table(["", *names], lines), "", summary],
        "columns": _table(["column", "the operator", "page"], about),
        "refusals": _table(["column", "rows", "message"], refusals),
    }


def page(text: str, counts: Counts) -> str:
    """Return the page with its generated parts made anew."""
    for name, lines in parts(counts).items():
        first, last = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(first)
        _, after = rest.split(last)
        text = "\n".join([f"{before}{first}", "", *lines, "", f"{last}{after}"])
    return text


def write(new: Counts) -> None:
    """Write the page with new counts, and the old ones of all other cells."""
    text = OUT.read_text(encoding="utf-8")
    known = {(row.name, column.name) for row in ROWS for column in COLUMNS}
    counts = {key: both for key, both in (counts_of(text) | dict(new)).items() if key in known}
    OUT.write_text(page(text, counts), encoding="utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
