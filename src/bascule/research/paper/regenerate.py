"""`regenerate`: reproduce all figures of the paper and judge all its claims by new simulations."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from bascule.core.inputs import checks
from bascule.core.inputs.files import csv_text, prepare_folder, writable, write_whole
from bascule.presentation.figures import save_figure
from bascule.research.paper import iid, units
from bascule.research.paper.claims import bounded, conclusion, many_arms, static_populations
from bascule.research.paper.claims.claim import (
    Claim,
    Judge,
    Stated,
    json_text,
    markdown_text,
    tally,
)
from bascule.research.paper.claims.judging import factor, ordered
from bascule.research.paper.figures.curves import figure1, figure4
from bascule.research.paper.figures.figure2 import figure2
from bascule.research.paper.figures.figure3 import figure3
from bascule.research.paper.measure import FigureCell, Measurements, Quantity, Sheet, measure
from bascule.simulation.engines.backends.threads import Stages

PAGES = ("claims.md", "claims.json")
"""Files that are written last, so that a folder with them is complete."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the paper: its simulations, and the figures and claims that are based on them.

    A figure is made from the measurements and the seed, a claim from the measurements alone.
    """

    points: tuple[FigureCell, ...]
    figures: Mapping[str, Callable[[Measurements, int], Sheet]]
    claims: tuple[Stated, ...]


def claims_of(part: str, grid: Sequence[float] = ()) -> tuple[Stated, ...]:
    """Return the claims of one part of `claims.toml`, in the order of the page.

    A claim is judged by a function of the package `claims`, or by how rules compare:

    - `judge`: the function, as module.function
    - `regret_rises`, `regret_falls`, `decision_time_rises`, `decision_time_falls`: lists of rules;
      along each list the regret (or the decision time) must rise, or fall
    - `regret_ratio`, `ratio`: two rules, and the claimed regret of the first divided by that of the
      second
    - `grid`: the points at which they are compared, if not the whole `grid` of the part
    - `reading`: "corrected" or "ours" if the claim is not judged as printed
    """
    text = files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(_stated(row, grid) for row in tomllib.loads(text)[part])


def _stated(row: dict[str, Any], grid: Sequence[float]) -> Stated:
    levels = tuple(row.get("grid", grid))
    judge: Judge
    if "judge" in row:
        module, _, name = row["judge"].partition(".")
        judge = getattr(import_module(f"{__package__}.claims.{module}"), name)
    elif "ratio" in row:
        judge = partial(factor, pair=row["regret_ratio"], target=row["ratio"], grid=levels)
    else:
        judge = partial(ordered, grid=levels, pairs=_pairs(row))
    reading = row.get("reading", "printed")
    return Stated(row["id"], row["section"], row["statement"], judge, reading)


def _pairs(row: Mapping[str, list[list[str]]]) -> list[tuple[Quantity, str, str]]:
    """Return claimed orders: quantity, rule with the lower value, rule with the higher value."""
    pairs: list[tuple[Quantity, str, str]] = []
    for quantity in get_args(Quantity):
        for rules in row.get(f"{quantity}_rises", ()):
            pairs += [(quantity, rule, following) for rule, following in pairwise(rules)]
        for rules in row.get(f"{quantity}_falls", ()):
            pairs += [(quantity, following, rule) for rule, following in pairwise(rules)]
    return pairs


SECTIONS: tuple[Section, ...] = (
    Section(iid.points(), {"figure1": figure1, "figure2": figure2}, claims_of("iid", iid.GRID)),
    Section(
        units.points(), {"figure3": figure3, "figure4": figure4}, claims_of("units", units.GRID)
    ),
    Section(many_arms.points(), {}, claims_of("many_arms", many_arms.LEVELS)),
    Section(static_populations.points(), {}, claims_of("static_populations")),
    Section(bounded.points(), {}, claims_of("bounded", bounded.LEVELS)),
    Section(conclusion.points(), {}, claims_of("conclusion")),
)
"""Every section, in the order of the paper."""


@dataclass(frozen=True, slots=True, repr=False)
class Regenerated:
    """The files that were written, and the verdicts on the claims."""

    paths: tuple[Path, ...]
    claims: tuple[Claim, ...]

    def __repr__(self) -> str:
        lines = [f"{len(self.paths)} files, {tally(self.claims)}"]
        lines += [f"  {claim.verdict:<18}{claim.id}" for claim in self.claims]
        return "\n".join(lines)


def regenerate(
    out: Path | str,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
) -> Regenerated:
    """Write the paper's figures, their tables and the verdicts on its claims into a folder.

    `progress` is called with the title of the step, the number of finished runs and their total.
    The claims are written last and earlier ones are removed first, so that a folder with claims is
    complete.
    """
    runs = checks.whole("runs", runs, 2, "standard errors need two; the paper has 1000")
    seed = checks.whole("seed", seed, 0, "any whole number from 0 on")
    folder = Path(out)
    _prepare(folder)
    total = sum(_runs(section, runs) for section in SECTIONS)
    report = progress or (lambda *_: None)
    paths: list[Path] = []
    claims: list[Claim] = []
    played = 0
    for section in SECTIONS:
        measurements = measure(section.points, runs, seed, threads, report, played, total)
        played += _runs(section, runs)
        for name, make in section.figures.items():
            report(f"drawing {name}", played, total)
            paths += _write_sheet(folder / name, make(measurements, seed))
        claims += [judge(measurements) for judge in section.claims]
    report("writing the claims", played, total)
    paths += _write_claims(folder, tuple(claims), runs, seed)
    return Regenerated(tuple(paths), tuple(claims))


def _runs(section: Section, runs: int) -> int:
    return sum(point.runs(runs) for point in section.points)


def _prepare(folder: Path) -> None:
    prepare_folder(folder)
    with writable(folder):
        for page in PAGES:
            (folder / page).unlink(missing_ok=True)


def _write_sheet(path: Path, sheet: Sheet) -> list[Path]:
    with writable(path.parent):
        table = write_whole(path.with_name(f"{path.name}.csv"), csv_text(sheet.rows).encode())
        return [*save_figure(sheet.figure, path), table]


def _write_claims(folder: Path, claims: tuple[Claim, ...], runs: int, seed: int) -> list[Path]:
    texts = (markdown_text(claims, runs, seed), json_text(claims, runs, seed))
    with writable(folder):
        return [
            write_whole(folder / page, text.encode())
            for page, text in zip(PAGES, texts, strict=True)
        ]
