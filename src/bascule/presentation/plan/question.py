"""The question of a plan in words."""

from __future__ import annotations

import math

from bascule.core.calendar import DAY
from bascule.core.evidence.spread import units_needed
from bascule.core.outcomes import Outcome
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.sample import Sample
from bascule.presentation.guarantees import sides_words
from bascule.presentation.numbers import count, day_count, duration, percent

SKEWED = 2.0
"""Skewness above which a sample is probably of money, so that a cap is recommended."""


def conditions(request: PlanRequest) -> str:
    """Return the conditions of the test: outcome model, traffic, error and window.

    >>> conditions(PlanRequest())
    '0/1 outcomes; 5,000 units a day for 28 days; error 5 %, two-sided (false positive rate)'
    """
    parts = [
        outcome_words(request),
        f"{traffic_words(request.units_per_day)}{share_words(request)} for "
        f"{day_count(request.deadline_days)}",
        f"error {percent(request.error)}, {sides_words(request.sides)}",
    ]
    if request.window is not None:
        is_longer = request.window_days * DAY > float(request.window)
        longest = ", the longest window of its metrics" * is_longer
        parts.insert(1, f"known {duration(request.window_days)} after the assignment{longest}")
    if request.withholds:
        shortest = "" if request.min_days is None else f"at least {duration(request.min_days)}"
        weeks = "whole weeks" if request.whole_weeks else ""
        parts.append(f"the test lasts {' and '.join(filter(None, (shortest, weeks)))}")
    return "; ".join(parts)


def traffic_words(units_per_day: float) -> str:
    """Return the traffic in a few words.

    >>> traffic_words(5000.0)
    '5,000 units a day'
    """
    is_large = units_per_day >= 1000
    return f"{units_per_day:,.0f} units a day" if is_large else f"{units_per_day:.6g} units a day"


def share_words(request: PlanRequest) -> str:
    """Say which share of the traffic gets in, unless all of it does.

    >>> share_words(PlanRequest(share=0.3))
    ', of which 30 % get in,'
    """
    return "" if request.share == 1.0 else f", of which {percent(request.share)} get in,"


def outcome_words(request: PlanRequest) -> str:
    """Return the outcome model in words, and say what was assumed or taken from a sample."""
    words = request.outcome.words
    if request.spread is not None:
        is_assumed = request.sample is None and request.spread_is_usual and request.outcome.limited
        words += f" with {'an assumed' if is_assumed else 'a'} spread of {request.spread:.4g}"
    if request.outcomes_per_day is not None:
        words += f", {request.outcomes_per_day:g} a day of each unit"
    if request.covariates is not None:
        name = request.covariates[0].name
        words += f", adjusted for {name} (correlation {request.correlation:g})"
    if request.sample is not None:
        words += f", from a sample of {count(request.sample.outcomes)}"
        if request.sample.recurring:
            words += f" of {count(request.sample.units)} units"
        words += _shape_words(request.outcome, request.sample)
    return words


def _shape_words(outcome: Outcome, sample: Sample) -> str:
    """Say how many outcomes a cap cuts off, or how many units a test of skewed outcomes needs."""
    if sample.cap is not None:
        return f", of which {percent(sample.above_cap)} lie above the cap and count as the cap"
    if not outcome.estimated or not math.isfinite(sample.skewness):
        return ""
    waits = f"; no decision before each arm has about {count(units_needed(sample.skewness, 0.0))}"
    skewed = abs(sample.skewness) > SKEWED and sample.low >= 0.0
    cap = " (with a cap, such as cap=99%, nothing has to wait)" if skewed else ""
    return f"{waits} units, because the skewness is {sample.skewness:.2g}{cap}"


def measure_example(request: PlanRequest) -> tuple[str, str]:
    """Return the window of a request as text, and the usual way to aggregate a unit's events.

    >>> measure_example(PlanRequest(window="7d")), measure_example(PlanRequest(window="36h"))
    (('7d', 'any'), ('129600s', 'any'))
    """
    days = float(request.window or 0.0) / DAY
    window = f"{days:.0f}d" if days == int(days) else f"{request.window:.10g}s"
    return window, "any" if request.outcome.binary else "sum"
