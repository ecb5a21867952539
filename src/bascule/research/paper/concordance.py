"""The concordance: each place of the paper, and where bascule has it.

The table is `concordance.toml`. `bascule paper --list` prints it, and docs/research/concordance.md
is made from it. The numbers of theorems, lemmas and equations are those of the AISTATS text, in
which propositions, theorems, corollaries and lemmas share one sequence.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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
