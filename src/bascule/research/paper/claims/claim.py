"""A claim of the paper beside what was measured, and the pages that list them all."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

from bascule.simulation import Estimate

Verdict = Literal["holds", "does not hold", "not shown"]
"""What the measurements say of a claim; "not shown" where they are too few to say either."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One number behind a verdict; its standard error is nan where the number is exact."""

    what: str
    value: float
    se: float = math.nan

    @classmethod
    def of(cls, what: str, estimate: Estimate) -> Measured:
        """Return an estimate with a name."""
        return cls(what, estimate.mean, estimate.se)

    @property
    def estimate(self) -> Estimate:
        """The number without its name."""
        return Estimate(self.value, self.se)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, what was measured, how that is judged, and the verdict."""

    id: str
    section: str
    statement: str
    measured: tuple[Measured, ...]
    rule: str
    verdict: Verdict

    @property
    def holds(self) -> bool:
        """Whether the measurements show the claim."""
        return self.verdict == "holds"

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {
            "id": self.id,
            "section": self.section,
            "statement": self.statement,
            "measured": [
                {"what": each.what, "value": _number(each.value), "se": _number(each.se)}
                for each in self.measured
            ],
            "rule": self.rule,
            "verdict": self.verdict,
            "holds": self.holds,
        }


def json_text(claims: Sequence[Claim], runs: int, seed: int) -> str:
    """Return all claims as a JSON object."""
    page = {
        "version": version("bascule"),
        "runs": runs,
        "seed": seed,
        "claims": [claim.to_dict() for claim in claims],
    }
    return json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def markdown_text(claims: Sequence[Claim], runs: int, seed: int) -> str:
    """Return all claims as a page: a table of verdicts, then a paragraph for each."""
    lines = [
        "# The paper's claims, measured",
        "",
        f"{tally(claims)} ({runs:,} runs a point, seed {seed}, bascule {version('bascule')}). "
        "Verdicts are computed by the rule under each claim; ± is one standard error. A claim that "
        "so many runs can neither show nor deny is not shown.",
        "",
        "| claim | verdict | statement |",
        "|---|---|---|",
    ]
    lines += [f"| {each.id} | {_verdict(each)} | {each.statement} |" for each in claims]
    for claim in claims:
        lines += ["", *_paragraph(claim)]
    return "\n".join(lines) + "\n"


def judged(holds: bool, denied: bool) -> Verdict:
    """Return the verdict on a claim that measurements show, deny, or leave open.

    >>> judged(holds=False, denied=False)
    'not shown'
    """
    if denied:
        return "does not hold"
    return "holds" if holds else "not shown"


def exactly(holds: bool) -> Verdict:
    """Return the verdict on a claim that is computed, not measured."""
    return judged(holds, not holds)


def tally(claims: Sequence[Claim]) -> str:
    """Say how many claims hold, and how many do not or are not shown.

    >>> tally([])
    '0 of 0 claims hold, 0 do not, 0 are not shown'
    """
    verdicts = [claim.verdict for claim in claims]
    return (
        f"{verdicts.count('holds')} of {len(claims)} claims hold, "
        f"{verdicts.count('does not hold')} do not, {verdicts.count('not shown')} are not shown"
    )


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
    return f"**{claim.verdict}**" if claim.verdict == "does not hold" else claim.verdict


def _number(value: float) -> float | None:
    return float(f"{value:.8g}") if math.isfinite(value) else None
