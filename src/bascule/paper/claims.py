"""A claim of the paper beside what was measured, and the pages that list them all."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from bascule.simulation import Estimate


@dataclass(frozen=True, slots=True)
class Measured:
    """One number behind a verdict; its standard error is nan where the number is exact."""

    what: str
    value: float
    se: float = math.nan

    @classmethod
    def of(cls, what: str, estimate: Estimate) -> Measured:
        """An estimate with a name."""
        return cls(what, estimate.mean, estimate.se)

    @property
    def estimate(self) -> Estimate:
        """The number without its name."""
        return Estimate(self.value, self.se)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, what was measured, how that is judged, and whether it holds."""

    id: str
    section: str
    statement: str
    measured: tuple[Measured, ...]
    rule: str
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """The claim as plain data."""
        return {
            "id": self.id,
            "section": self.section,
            "statement": self.statement,
            "measured": [
                {"what": each.what, "value": _number(each.value), "se": _number(each.se)}
                for each in self.measured
            ],
            "rule": self.rule,
            "holds": self.holds,
        }


def json_text(claims: Sequence[Claim], runs: int, seed: int) -> str:
    """All claims as a JSON object."""
    page = {
        "version": version("bascule"),
        "runs": runs,
        "seed": seed,
        "claims": [claim.to_dict() for claim in claims],
    }
    return json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def markdown_text(claims: Sequence[Claim], runs: int, seed: int) -> str:
    """All claims as a page: a table of verdicts, then a paragraph a claim."""
    held = sum(claim.holds for claim in claims)
    lines = [
        "# The paper's claims, measured",
        "",
        f"{held} of {len(claims)} claims hold ({runs:,} runs a point, seed {seed}, bascule "
        f"{version('bascule')}). Verdicts are computed by the rule under each claim; "
        "± is one standard error.",
        "",
        "| claim | verdict | statement |",
        "|---|---|---|",
    ]
    lines += [f"| {each.id} | {_verdict(each)} | {each.statement} |" for each in claims]
    for claim in claims:
        lines += ["", *_paragraph(claim)]
    return "\n".join(lines) + "\n"


def _paragraph(claim: Claim) -> list[str]:
    return [
        f"## {claim.id}: {_verdict(claim)}",
        "",
        f"{claim.statement} (From the paper's {claim.section}.)",
        "",
        "| measured | |",
        "|---|---|",
        *(f"| {each.what} | {each.estimate} |" for each in claim.measured),
        "",
        f"Judged by: {claim.rule}.",
    ]


def _verdict(claim: Claim) -> str:
    return "holds" if claim.holds else "**does not hold**"


def _number(value: float) -> float | None:
    return float(f"{value:.8g}") if math.isfinite(value) else None
