"""A claim of the paper with its measurements, and the pages that list all claims."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal, get_args

from bascule.research.paper.measure import FEWEST, Flags, Measurements
from bascule.simulation import Estimate

Verdict = Literal["holds", "not contradicted", "does not hold", "not shown"]
"""The verdict on a claim from the measurements.

- "holds": the measurements show it, or it was computed
- "not contradicted": they agree with it, but could not show it, because a probability of 1e-9, for
  example, needs more runs than are practical
- "does not hold": the measurements show the opposite
- "not shown": more runs could show it or its opposite
"""

Reading = Literal["printed", "corrected", "ours"]
"""The source of a claim: the paper as it is printed, the paper with the errata that are listed
in docs/research/slips.md, or our reading of an ambiguous sentence."""

READINGS: dict[Reading, str] = {
    "printed": "as printed",
    "corrected": "as corrected (see the errata)",
    "ours": "our reading of a sentence",
}

COMPUTED = "any alternative: the claim is computed, without chance"
"""The value of `Finding.detects` for a claim that is computed without simulation."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number on which a verdict is based; the standard error of an exact number is nan."""

    what: str
    value: float
    se: float = math.nan

    @classmethod
    def of(cls, title: str, estimate: Estimate) -> Measured:
        """Return the measured number for an estimate and its title."""
        return cls(title, estimate.mean, estimate.se)

    @classmethod
    def share(cls, title: str, flags: Flags) -> Measured:
        """Return the measured share of flagged runs, with a title."""
        return cls.of(title, Estimate.of(flags.astype(float)))

    @property
    def estimate(self) -> Estimate:
        """The value with its standard error, without the title."""
        return Estimate(self.value, self.se)


@dataclass(frozen=True, slots=True)
class Finding:
    """The measurements for a claim, and the verdict that follows from them.

    - `measured`: the numbers
    - `rule`: how they are judged
    - `verdict`: the result
    - `detects`: the alternative that this number of runs would have noticed
    - `runs`: the fewest runs behind any number that is judged; None if it is computed
    """

    measured: tuple[Measured, ...]
    rule: str
    verdict: Verdict
    detects: str = COMPUTED
    runs: int | None = None

    @property
    def sound(self) -> Finding:
        """The finding, whose verdict becomes "not shown" if there are too few runs."""
        if self.runs is None or self.runs >= FEWEST:
            return self
        return replace(self, verdict="not shown", rule=f"{self.rule}; {FEWEST} runs are needed")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, with the finding on it.

    - `id`: its name
    - `section`: the section of the paper that makes it
    - `statement`: the statement in a sentence
    - `finding`: the result of the measurements
    - `reading`: whether it is judged as printed, as corrected, or in our reading
    """

    id: str
    section: str
    statement: str
    finding: Finding
    reading: Reading = "printed"

    @property
    def verdict(self) -> Verdict:
        """The verdict of the finding."""
        return self.finding.verdict

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The numbers behind the verdict."""
        return self.finding.measured

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
            "reading": self.reading,
            "runs": self.finding.runs,
            "measured": [
                {"what": row.what, "value": _number(row.value), "se": _number(row.se)}
                for row in self.measured
            ],
            "rule": self.finding.rule,
            "detects": self.finding.detects,
            "verdict": self.verdict,
            "holds": self.holds,
        }


Judge = Callable[[Measurements], Finding]
"""Function that judges a claim from measurements."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement of the paper, and the function that judges it."""

    id: str
    section: str
    statement: str
    judge: Judge
    reading: Reading = "printed"

    def __call__(self, measurements: Measurements, /) -> Claim:
        """Judge the statement, and return it as a claim with the finding."""
        found = self.judge(measurements).sound
        return Claim(self.id, self.section, self.statement, found, self.reading)


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
        "Verdicts are computed by the rule under each claim; ± is one standard error. A claim "
        "holds if the runs show it, or it is computed. It is not contradicted if the runs agree "
        "with it and cannot show it. It is not shown if more runs could show it or its opposite, "
        f"or if fewer than {FEWEST} were played. Readings: {joined_readings()}.",
        "",
        "| claim | verdict | reading | runs | statement |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {claim.id} | {_verdict(claim)} | {claim.reading} | {_runs(claim)} | {claim.statement} |"
        for claim in claims
    ]
    for claim in claims:
        lines += ["", *_paragraph(claim)]
    return "\n".join(lines) + "\n"


def judged(holds: bool, denied: bool) -> Verdict:
    """Return the verdict: "does not hold" if denied, else "holds" or "not shown".

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
    """Say how many claims have each verdict.

    >>> tally([])
    '0 claims: 0 holds, 0 not contradicted, 0 does not hold, 0 not shown'
    """
    verdicts = Counter(claim.verdict for claim in claims)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in get_args(Verdict))
    return f"{len(claims)} claims: {counts}"


def _paragraph(claim: Claim) -> list[str]:
    return [
        f"## {claim.id}: {_verdict(claim)}",
        "",
        f"{claim.statement} (From the paper's {claim.section}, {READINGS[claim.reading]}.)",
        "",
        "| measured | |",
        "|---|---|",
        *(f"| {row.what} | {row.estimate} |" for row in claim.measured),
        "",
        f"Judged by: {claim.finding.rule}.",
        "",
        f"Would have noticed: {claim.finding.detects}.",
        "",
        f"Runs behind each number that is judged, at least: {_runs(claim)}.",
    ]


def _runs(claim: Claim) -> str:
    return "computed" if claim.finding.runs is None else f"{claim.finding.runs:,}"


def joined_readings() -> str:
    """Return one line that explains the readings.

    >>> joined_readings()[:27]
    'printed (as printed), corre'
    """
    return ", ".join(f"{name} ({words})" for name, words in READINGS.items())


def _verdict(claim: Claim) -> str:
    return f"**{claim.verdict}**" if claim.verdict == "does not hold" else claim.verdict


def _number(value: float) -> float | None:
    return float(f"{value:.8g}") if math.isfinite(value) else None
