"""Play the paper's claims, record their verdicts, and write the concordance of the documentation.

`python -m bench.concordance [RUNS]`; 1,000 runs take some minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bascule.research import paper
from bascule.research.paper import concordance

PAGE = Path(__file__).parent.parent / "docs" / "research" / "concordance.md"
SEED = 0


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


def verdicts_text(verdicts: Sequence[tuple[str, str]], runs: int, seed: int) -> str:
    """Return the file with the verdicts."""
    data = {"runs": runs, "seed": seed, "verdicts": dict(verdicts)}
    return json.dumps(data, indent=2) + "\n"


def main(runs: int = 1000) -> None:
    """Write both files."""
    with TemporaryDirectory() as folder:
        claims = paper.regenerate(folder, runs, SEED).claims
    verdicts = [(claim.id, claim.verdict) for claim in claims]
    record = Path(paper.__file__).parent / concordance.RECORDED
    record.write_text(verdicts_text(verdicts, runs, SEED), encoding="utf-8")
    concordance.recorded.cache_clear()
    PAGE.write_text(markdown_text(runs), encoding="utf-8")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
