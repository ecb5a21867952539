"""Play the paper's claims, record their verdicts, and write the concordance of the documentation.

`python -m bench.concordance [RUNS]`; 1,000 runs at each of three seeds take some minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bascule.research import paper
from bascule.research.paper import concordance

PAGE = Path(__file__).parent.parent / "docs" / "research" / "concordance.md"
SEEDS = (0, 1, 2)
UNSETTLED = "not shown"
"""The verdict on record where it depends on the seed."""


def markdown_text(runs: int) -> str:
    """Return the concordance as a page of the documentation."""
    lines = [
        "# Concordance with the paper",
        "",
        "<!-- index: ! concordance, paper -->",
        "",
        "Where each part of the paper is in bascule. `bascule paper --list` prints the same table. "
        f"Verdicts are those of `bascule paper` with {runs:,} runs, at each of the seeds 0, 1 and "
        "2; [what they mean](regenerate-the-paper.md). A claim is judged as printed unless it says "
        "corrected ([errata](slips.md)) or ours (our reading of a sentence). This "
        "page is written by `python -m bench.concordance`. Numbers of theorems, lemmas and "
        "equations are those of the AISTATS text.",
        "",
        "| paper | subject | function | proof, or what is said of it | claims | command |",
        "|---|---|---|---|---|---|",
    ]
    for entry in concordance.ENTRIES:
        functions = ", ".join(f"`{name.removeprefix('bascule.')}`" for name in entry.functions)
        claims = concordance.claims_with_verdicts(entry)
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


def verdicts_text(verdicts: Mapping[str, str], runs: int, seeds: Sequence[int]) -> str:
    """Return the file with the verdicts."""
    data = {"runs": runs, "seeds": list(seeds), "verdicts": dict(verdicts)}
    return json.dumps(data, indent=2) + "\n"


def settled(played: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the verdicts on which all seeds agree, and `UNSETTLED` for the others."""
    return {
        name: verdict if all(one[name] == verdict for one in played) else UNSETTLED
        for name, verdict in played[0].items()
    }


def main(runs: int = 1000) -> None:
    """Write both files."""
    played = []
    for seed in SEEDS:
        with TemporaryDirectory() as folder:
            claims = paper.regenerate(folder, runs, seed).claims
        played.append({claim.id: str(claim.verdict) for claim in claims})
    verdicts = settled(played)
    for name, verdict in verdicts.items():
        if any(one[name] != verdict for one in played):
            print(f"{name} depends on the seed: {', '.join(one[name] for one in played)}")
    record = Path(paper.__file__).parent / concordance.RECORDED
    record.write_text(verdicts_text(verdicts, runs, SEEDS), encoding="utf-8")
    concordance.recorded.cache_clear()
    PAGE.write_text(markdown_text(runs), encoding="utf-8")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
