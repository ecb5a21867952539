"""The concordance: each place of the paper, and where bascule has it.

The table is `concordance.toml`. `bascule paper --list` prints it, and docs/research/concordance.md
is made from it. The numbers of theorems, lemmas and equations are those of the AISTATS text, in
which propositions, theorems, corollaries and lemmas share one sequence.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from bascule.research.paper.claims.claim import Stated
from bascule.research.paper.regenerate import SECTIONS

RECORDED = "verdicts.json"
"""The verdicts of `bascule paper` with `runs` runs, written by `python -m bench.concordance`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the paper and what there is for it.

    - `place`: section, theorem, equation, algorithm, figure or remark
    - `subject`: what it is about, in a few words
    - `functions`: dotted names of what computes it
    - `page`: the page of the documentation with its proof, or with what is said of it
    - `claims`: names of the claims that are judged
    - `command`: what shows it
    """

    place: str
    subject: str
    functions: tuple[str, ...]
    page: str
    claims: tuple[str, ...] = ()
    command: str = "bascule paper --out results"


def _entries() -> tuple[Entry, ...]:
    """Return the places of the paper in its order, as the table beside this module has them."""

    def entry(functions: list[str], claims: Sequence[str] = (), **words: str) -> Entry:
        return Entry(functions=tuple(functions), claims=tuple(claims), **words)

    return tuple(entry(**row) for row in tomllib.loads(_text("concordance.toml"))["entries"])


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


ENTRIES: tuple[Entry, ...] = _entries()


def judges() -> Iterator[Stated]:
    """Return every claim, in the order of the page."""
    return (judge for section in SECTIONS for judge in section.claims)


@cache
def recorded() -> dict[str, str]:
    """Return the recorded verdicts by the name of the claim."""
    verdicts: dict[str, str] = json.loads(_text(RECORDED))["verdicts"]
    return verdicts


def claims_with_verdicts(entry: Entry) -> str:
    """Return the claims of a place, each with its verdict; a new one has none on record."""
    return ", ".join(f"{name} ({recorded().get(name, 'not recorded')})" for name in entry.claims)


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return the table: place, subject, functions, page, claims with verdicts, command."""
    return [
        (
            entry.place,
            entry.subject,
            ", ".join(entry.functions),
            entry.page,
            claims_with_verdicts(entry),
            entry.command,
        )
        for entry in ENTRIES
    ]


def plain_text() -> str:
    """Return the concordance as text, a paragraph for each place."""
    titles = ("", "", "function", "page", "claims", "command")
    parts: list[str] = []
    for place, subject, *cells in rows():
        parts.append(f"{place}: {subject}")
        parts += [
            f"  {title:<9} {cell}" for title, cell in zip(titles[2:], cells, strict=True) if cell
        ]
    return "\n".join(parts)


def markdown_text(runs: int) -> str:
    """Return the concordance as a page of the documentation."""
    lines = [
        "# Concordance with the paper",
        "",
        "```{index} ! concordance, paper",
        "```",
        "",
        "Where each part of the paper is in bascule. `bascule paper --list` prints the same table. "
        f"Verdicts are those of `bascule paper` with {runs:,} runs; "
        "[what they mean](regenerate-the-paper.md). This page is written by `python -m "
        "bench.concordance`. Numbers of theorems, lemmas and equations are those of the AISTATS "
        "text.",
        "",
        "| paper | subject | function | proof, or what is said of it | claims | command |",
        "|---|---|---|---|---|---|",
    ]
    for entry in ENTRIES:
        functions = ", ".join(f"`{name.removeprefix('bascule.')}`" for name in entry.functions)
        claims = claims_with_verdicts(entry)
        cells = (
            entry.place,
            entry.subject,
            functions,
            f"[{entry.page.split('#')[0].removesuffix('.md')}]({entry.page})",
            claims,
            f"`{entry.command}`",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def verdicts_text(verdicts: Sequence[tuple[str, str]], runs: int, seed: int) -> str:
    """Return the file with the verdicts."""
    data = {"runs": runs, "seed": seed, "verdicts": dict(verdicts)}
    return json.dumps(data, indent=2) + "\n"
