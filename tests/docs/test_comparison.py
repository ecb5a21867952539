"""Half-widths of intervals on the page that compares bascule with other tools."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import bascule as bs

UNITS, RATES, ALPHA = 90_189, (0.190, 0.182), 0.1
PAGE = Path(__file__).parents[2] / "docs" / "using" / "comparison.md"


def growthbook(standard_error: float, tuned_for: float) -> float:
    """Return the half-width of the asymptotic confidence sequence in GrowthBook's documentation."""
    spread = -2.0 * math.log(ALPHA)
    tuned = UNITS * (spread + math.log(spread + 1.0)) / tuned_for
    width = 2.0 * (tuned + 1.0) / tuned * math.log(math.sqrt(tuned + 1.0) / ALPHA)
    return standard_error * math.sqrt(width)


def test_half_widths_are_those_of_the_page() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(2, size=UNITS)
    log = {
        "unit": range(UNITS),
        "arm": np.array(["gate_30", "gate_40"])[arm],
        "stayed": (rng.random(UNITS) < np.array(RATES)[arm]).astype(int),
    }
    answer = bs.analyze(log, "stayed", control="gate_30", sides=1)
    (contrast,), (single,) = answer.contrasts, answer.once
    ours, once = (contrast.high - contrast.low) / 2, (single.high - single.low) / 2
    error = math.sqrt(sum(rate * (1 - rate) for rate in RATES) / (UNITS / 2))
    theirs = [growthbook(error, tuned_for) for tuned_for in (UNITS, 5_000)]
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert (
        f"is {ours:.4f} with bascule, {theirs[0]:.4f} to {theirs[1]:.4f} with GrowthBook's formula"
    ) in text
    assert f"and {once:.4f} for a single look" in text
