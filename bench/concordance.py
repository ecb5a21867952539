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


def summary() -> list[str]:
    """Return a list of the claims that do not hold, are not shown, or are judged as corrected."""
    verdicts, readings = concordance.recorded(), concordance.readings()
    pages = {name: entry.page for entry in reversed(concordance.ENTRIES) for name in entry.claims}

    def linked(name: str) -> str:
        """Link a claim to the page of its first place."""
        return f"[{name}]({pages[name]})"

    def judged(verdict: str) -> str:
        """Link the claims with a verdict, each with its reading."""
        return ", ".join(
            linked(name) + (f" ({readings[name]})" if name in readings else "")
            for name, found in verdicts.items()
            if found == verdict
        )

    corrected = ", ".join(linked(name) for name in verdicts if readings.get(name) == "corrected")
    return [
        "Where each part of the paper is in bascule, and what became of its claims:",
        "",
        f"- **Does not hold:** {judged('does not hold')}",
        f"- **Not shown:** {judged(UNSETTLED)}",
        f"- **Judged as corrected:** {corrected}",
    ]


def markdown_text(runs: int) -> str:
    """Return the concordance as a page of the documentation."""
    lines = [
        "# Concordance with the paper",
        "",
        "<!-- index: ! concordance, paper -->",
        "",
        *summary(),
        "",
        "*Holds*: the runs show it, or it is computed. *Not contradicted*: the runs agree with "
        "it, and could not show it. *Does not hold*: the runs show the opposite. *Not shown*: "
        "more runs could show it or its opposite. Verdicts are those of "
        f"[`bascule paper`](regenerate-the-paper.md) with {runs:,} runs, at each of the seeds 0, "
        "1 and 2.",
        "",
        "A claim is judged as printed unless it says corrected ([errata](slips.md)) or ours (our "
        "reading of a sentence). Where the printed claim is judged beside a corrected one, it is "
        "listed too, as `...-as-printed`. `bascule paper --list` prints the table. This page is "
        "written by `python -m bench.concordance`. Numbers of theorems, lemmas and equations are "
        "those of the AISTATS text.",
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
