"""A report: the content of a result, for rendering as text, page or notebook output.

A result gives its report; a renderer decides how it looks. No sentence is written in a renderer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Protocol

from bascule.core.presenter import COLUMNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cells = tuple[str, ...]

SHORTEST = 20
"""Minimum number of characters per line beside the name of a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a report: a name with a value."""

    name: str
    value: str
    more: str = ""
    """A comparison of the value, or its uncertainty."""

    @property
    def words(self) -> str:
        """The value, followed by `more`."""
        return f"{self.value} {self.more}".rstrip()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first row has the headings, and a row of one cell heads those below it."""

    rows: tuple[Cells, ...]
    title: str = ""
    strong: tuple[int, ...] = ()
    """Indices of highlighted rows, counted from the first row below the headings."""


class Drawable(Protocol):
    """A figure as data, drawn by renderers that show pictures."""

    def plot(self) -> Figure:
        """Draw the figure."""


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report, the most important first."""

    headline: str
    """The recommendation, in one sentence."""
    question: str = ""
    """The question that the result answers."""
    facts: tuple[Fact, ...] = ()
    """Values, each with its name."""
    tables: tuple[Table, ...] = ()
    """Tables of values that are compared."""
    notes: tuple[str, ...] = ()
    """Sentences: the reason, the guarantee, and warnings."""
    figures: tuple[Drawable, ...] = ()
    """Drawings, for pages and notebooks."""
    parts: tuple[Report, ...] = ()
    """Reports below this one, such as those of segments."""
    details: Report | None = None
    """Further content, shown on request."""

    @property
    def whole(self) -> Report:
        """The report with all details, also those of its parts, merged into the main content."""
        further = self.details or Report("")
        return Report(
            self.headline,
            self.question,
            (*self.facts, *further.facts),
            (*self.tables, *further.tables),
            (*self.notes, *further.notes),
            (*self.figures, *further.figures),
            tuple(part.whole for part in (*self.parts, *further.parts)),
        )

    def spelled(self, names: Mapping[str, str]) -> Report:
        """Return the report with the options in its notes spelled as `names` says.

        Notes write an option in backticks, alone or as `option=value`. `names` has the spelling of
        an option, such as its flag on the command line, or of an option with its value. Other
        options only lose their backticks.

        >>> notes = ("Takes longer (`share`).", 'Give `missing="exclude"`.')
        >>> names = {"share": "--share", "missing": "--missing"}
        >>> Report("Plan", notes=notes).spelled(names).notes
        ('Takes longer (--share).', 'Give --missing exclude.')
        """

        def spelling(named: re.Match[str]) -> str:
            option, _, value = named[1].partition("=")
            if option not in names:
                return named[1]
            typed = f"{names[option]} {value}".replace('"', "").strip()
            return names.get(named[1], typed)

        def spell(text: str) -> str:
            return re.sub(r"`(\w+(?:=[^`]+)?)`", spelling, text)

        return replace(
            self,
            notes=tuple(map(spell, self.notes)),
            parts=tuple(part.spelled(names) for part in self.parts),
            details=None if self.details is None else self.details.spelled(names),
        )


def lines(report: Report, width: int = COLUMNS) -> list[str]:
    """Return a report as lines of text: headline, question, facts, tables, notes, parts.

    Sentences are wrapped at `width` characters; with a `width` of 0 each stays on one line.

    >>> lines(Report("Ship green: +5.0 points", notes=("Proven.",)))
    ['Ship green: +5.0 points', '', 'Proven.']
    """
    parts = [wrapped(text, width) for text in (report.headline, report.question)]
    if report.facts:
        longest = max(len(fact.name) for fact in report.facts)
        parts.append([line for fact in report.facts for line in _fact(fact, longest, width)])
    parts += [
        [*([table.title] if table.title else ()), *_fitting(table.rows, width)]
        for table in report.tables
    ]
    parts.append([line for note in report.notes for line in wrapped(note, width)])
    parts += [lines(part, width) for part in report.parts]
    printed: list[str] = []
    for part in parts:
        printed += ["", *part] if printed and part else part
    return printed


def _fact(fact: Fact, longest: int, width: int) -> list[str]:
    """Format a fact on one line after its name; on a narrow screen, on as many as needed."""
    name = f"  {fact.name:<{longest}}  "
    if not 0 < width < COLUMNS:
        return [name + fact.words]
    first, *rest = wrapped(fact.words, max(width - len(name), SHORTEST)) or [""]
    return [name + first, *(" " * len(name) + line for line in rest)]


def _fitting(rows: tuple[Cells, ...], width: int) -> list[str]:
    """Return rows as a table; on a screen that is too narrow, each row as a list of its cells."""
    table = text_table(rows)
    if not 0 < width < COLUMNS or max(map(len, table)) <= width:
        return table
    head, *body = rows
    longest = max(map(len, head))
    printed: list[str] = []
    for row in body:
        printed.append(f"  {row[0]}")
        cells = zip(head[1:], row[1:], strict=False)
        printed += [f"    {name:<{longest}}  {cell}".rstrip() for name, cell in cells if cell]
    return printed


def text_table(rows: tuple[Cells, ...] | list[Cells]) -> list[str]:
    """Format rows as lines: words and the first column aligned left, numbers aligned right.

    >>> text_table([("arm", "units", "state"), ("green", "1,200", "active")])
    ['  arm    units  state', '  green  1,200  active']
    """
    head, *body = (row for row in rows if len(row) > 1)
    aligned = []
    for place, column in enumerate(zip(head, *body, strict=True)):
        is_words = place == 0 or all(cell[:1].isalpha() for cell in column[1:])
        aligned.append(("<" if is_words else ">", max(map(len, column))))
    printed = []
    for row in rows:
        if len(row) == 1:
            printed += ["", f"  {row[0]}"]
            continue
        cells = zip(row, aligned, strict=True)
        line = "  ".join(f"{cell:{side}{width}}" for cell, (side, width) in cells)
        printed.append(f"  {line}".rstrip())
    return printed


def wrapped(text: str, width: int = COLUMNS) -> list[str]:
    """Wrap text into lines, keeping each number and its percent sign on the same line."""
    if not width or not text:
        return [text] if text else []
    kept = text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")
    return [line.replace("\u00a0", " ") for line in wrap(kept, width)]
