"""`regenerate`: every figure and claim of the paper, from simulations made here and now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bascule.core.inputs import checks
from bascule.core.inputs.files import csv_text, prepare_folder, writable, write_whole
from bascule.presentation.figures import save_figure
from bascule.research.paper import iid, units
from bascule.research.paper.claims import conclusion, many_arms, static_populations
from bascule.research.paper.claims.claim import Claim, Stated, json_text, markdown_text, tally
from bascule.research.paper.claims.conclusion import CONCLUSIONS
from bascule.research.paper.claims.iid import IID_CLAIMS
from bascule.research.paper.claims.many_arms import MANY_ARMS
from bascule.research.paper.claims.static_populations import STATIC_CLAIMS
from bascule.research.paper.claims.unit_radii import UNIT_RADII
from bascule.research.paper.claims.units import MEASURED, TOTAL_MEAN
from bascule.research.paper.figures.curves import figure1, figure4
from bascule.research.paper.figures.figure2 import figure2
from bascule.research.paper.figures.figure3 import figure3
from bascule.research.paper.measure import FigureCell, Measurements, Sheet, measure
from bascule.simulation.engines.backends.threads import Stages

PAGES = ("claims.md", "claims.json")
"""Written last: where they are, everything else is."""


@dataclass(frozen=True, slots=True)
class Section:
    """What is simulated for a part of the paper, and the figures and claims that come of it.

    A figure is made from the measurements and the seed, a claim from the measurements alone.
    """

    points: tuple[FigureCell, ...]
    figures: Mapping[str, Callable[[Measurements, int], Sheet]]
    claims: tuple[Stated, ...]


SECTIONS: tuple[Section, ...] = (
    Section(iid.points(), {"figure1": figure1, "figure2": figure2}, IID_CLAIMS),
    Section(
        units.points(),
        {"figure3": figure3, "figure4": figure4},
        MEASURED + UNIT_RADII + TOTAL_MEAN,
    ),
    Section(many_arms.points(), {}, MANY_ARMS),
    Section(static_populations.points(), {}, STATIC_CLAIMS),
    Section(conclusion.points(), {}, CONCLUSIONS),
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

    `progress` is called with what is being done and how many runs of how many are finished. The
    claims are written last and those of an earlier time are removed first, so that a folder with
    claims is a complete one.
    """
    runs = checks.whole("runs", runs, 2, "standard errors need two; the paper has 1000")
    seed = checks.whole("seed", seed, 0, "any whole number from 0 on")
    folder = Path(out)
    _prepare(folder)
    total = sum(_runs(section, runs) for section in SECTIONS)
    report = progress or (lambda *_: None)
    paths: list[Path] = []
    claims: list[Claim] = []
    done = 0
    for section in SECTIONS:
        measurements = _measured(section, (runs, seed, threads), report, done, total)
        done += _runs(section, runs)
        for name, make in section.figures.items():
            report(f"drawing {name}", done, total)
            paths += _write_sheet(folder / name, make(measurements, seed))
        claims += [judge(measurements) for judge in section.claims]
    report("writing the claims", done, total)
    paths += _write_claims(folder, tuple(claims), runs, seed)
    return Regenerated(tuple(paths), tuple(claims))


def _runs(section: Section, runs: int) -> int:
    return sum(point.runs(runs) for point in section.points)


def _measured(
    section: Section,
    how: tuple[int, int, int | None],
    report: Stages,
    before: int,
    total: int,
) -> Measurements:
    def forward(rule: str, done: int) -> None:
        report(f"simulating {rule}", before + done, total)

    return measure(section.points, *how, forward)


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
