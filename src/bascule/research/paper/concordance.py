"""The concordance: for each result of the paper, its place in bascule.

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
"""File with the verdicts of `bascule paper` with `runs` runs at each of `seeds`; a verdict that
depends on the seed is "not shown". Written by `python -m bench.concordance`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the paper, with the functions, pages and claims about it.

    - `place`: section, theorem, equation, algorithm, figure or remark
    - `subject`: its subject in a few words
    - `functions`: dotted names of the functions that compute it
    - `page`: the page of the documentation with its proof, or with a remark on it
    - `claims`: names of the claims that are judged
    - `command`: the command that shows it
    """

    place: str
    subject: str
    functions: Sequence[str]
    page: str
    claims: Sequence[str] = ()
    command: str = "bascule paper --out results"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


ENTRIES = tuple(Entry(**row) for row in tomllib.loads(_text("concordance.toml"))["entries"])
"""The entries, in the order of the paper."""


@cache
def recorded() -> dict[str, str]:
    """Return the recorded verdicts by the name of the claim."""
    verdicts: dict[str, str] = json.loads(_text(RECORDED))["verdicts"]
    return verdicts


@cache
def readings() -> dict[str, str]:
    """Return the reading of each claim that is not judged as printed in the paper."""
    rows = [row for part in tomllib.loads(_text("claims.toml")).values() for row in part]
    return {row["id"]: row["reading"] for row in rows if "reading" in row}


def claims_with_verdicts(entry: Entry) -> str:
    """Return the claims of a place, each with its recorded verdict, if there is one."""
    return ", ".join(
        f"{name} ({', '.join(filter(None, (recorded().get(name), readings().get(name))))})"
        for name in entry.claims
    )


def plain_text() -> str:
    """Return the concordance as text, a paragraph for each place."""
    parts: list[str] = []
    for entry in ENTRIES:
        cells = {
            "function": ", ".join(entry.functions),
            "page": entry.page,
            "claims": claims_with_verdicts(entry),
            "command": entry.command,
        }
        parts.append(f"{entry.place}: {entry.subject}")
        parts += [f"  {title:<9} {cell}" for title, cell in cells.items() if cell]
    return "\n".join(parts)
