"""Wording of errors, intervals and differences, shared by all texts and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.approximate import ROUNDING, at_most, error_words
from bascule.core.design import Design
from bascule.core.design_parts import TWO_SIDED
from bascule.core.metrics.effects import Contrast, Effect
from bascule.core.outcomes import Outcome
from bascule.presentation.numbers import Amounts, bounds_words, known, relative

STANDINGS = {
    "within margin": "within its margin",
    "harmed": "harmful",
    "beyond margin": "worse than its margin allows",
    "open": "not shown yet to be within its margin",
}
"""Words for the result of a guardrail for an arm."""


def sides_words(sides: int | None) -> str:
    """Say whether an error is one-sided or two-sided, and what it bounds.

    >>> sides_words(2)
    'two-sided (false positive rate)'
    """
    if sides == TWO_SIDED:
        return "two-sided (false positive rate)"
    return "one-sided (to ship a worse arm)"


def interval_name(error: float) -> str:
    """Name an interval by its level, where each bound fails with probability at most `error`.

    >>> interval_name(0.05), interval_name(0.05 / 3), interval_name(0.5)
    ('90 % interval', '96.6 % interval', 'interval')
    """
    level = math.floor(1000.0 * (1.0 - 2.0 * error) + ROUNDING) / 10.0
    return f"{level:g} % interval" if level > 0.0 else "interval"


def interval_words(error: float, low: float, high: float, bounds: str) -> str:
    """Return an interval's name and bounds; if only one bound is finite, the bounds alone.

    >>> interval_words(0.05, 0.0, 0.08, "0 to +8 points")
    '90 % interval 0 to +8 points'
    """
    return f"{interval_name(error)} {bounds}" if known(high - low) else bounds


def bound_words(error: float) -> str:
    """Say what the bounds of an interval guarantee.

    >>> bound_words(0.05)
    'each bound fails with probability at most 5 %, at any time'
    """
    return f"each bound fails with probability at most {at_most(error)}, at any time"


def difference_words(effect: Effect | Contrast, amounts: Amounts) -> str:
    """Format a difference with its interval, or say that it has no interval yet.

    >>> from bascule.core.outcomes import Bernoulli
    >>> from dataclasses import replace
    >>> unknown = Effect("b", "a", 0.01, -math.inf, math.inf, 0.05, "proven")
    >>> difference_words(unknown, Amounts.of(Bernoulli()))
    '+1.00 points (no interval yet)'
    >>> difference_words(replace(unknown, low=0.0), Amounts.of(Bernoulli()))
    '+1.00 points (at least 0 points)'
    """
    shown = amounts.difference(effect.difference, effect.high - effect.low)
    words = interval_words(
        effect.error, effect.low, effect.high, amounts.interval(effect.low, effect.high)
    )
    return f"{shown} ({words or 'no interval yet'})"


def contrast_words(contrast: Contrast, amounts: Amounts) -> str:
    """Format a treatment minus the control, in outcome units and relative, each with its interval.

    >>> from bascule.core.outcomes import Bernoulli
    >>> ends = (0.043, 0.0, 0.087, 0.05, 0.43, 0.0, 1.05, 0.055, "proven")
    >>> contrast_words(Contrast("green", "control", *ends), Amounts.of(Bernoulli()))
    'green - control: +4.30 points (90 % interval 0 to +8.70 points); lift +43 % (89 % interval \
0 % to +105 %)'
    """
    text = f"{contrast.name}: {difference_words(contrast, amounts)}"
    if contrast.unbiased is not None:
        text += f"; {unbiased_words(contrast, amounts)}"
    if contrast.lift is not None:
        text += f"; lift {lift_words(contrast)}"
    return text


UNBIASED = (
    "A test that stops when a difference is large shows it too large on average; the "
    "median-unbiased estimate is as often too large as too small."
)
"""Explanation of why a decision comes with two estimates of a difference."""

UNCORRECTED = (
    "The difference is not corrected for how the test ended: one that stops when a difference is "
    "large shows it too large on average."
)
"""The note on an estimate that is not median-unbiased."""


def unbiased_words(contrast: Contrast, amounts: Amounts) -> str:
    """Return the median-unbiased estimate of a difference."""
    assert contrast.unbiased is not None
    width = contrast.high - contrast.low
    return f"median-unbiased {amounts.difference(contrast.unbiased, width)}"


def unbiased_lines(contrasts: Sequence[Contrast], amounts: Amounts) -> list[str]:
    """Return the median-unbiased estimates after a decision, and a note on why they differ."""
    lines = [
        f"{contrast.name}: {unbiased_words(contrast, amounts)}"
        for contrast in contrasts
        if contrast.unbiased is not None
    ]
    return [*lines, UNBIASED] if lines else []


def lift_words(contrast: Contrast) -> str:
    """Format a relative lift with its interval, or say that it has none."""
    if contrast.lift is None:
        return relative(contrast.lift)
    low, high = contrast.lift_low, contrast.lift_high
    words = interval_words(contrast.lift_error, low, high, bounds_words(low, high, relative))
    return f"{relative(contrast.lift)} ({words or 'no interval'})"


def margin_words(name: str, size: str, guarantee: str, error: float) -> str:
    """Say that an arm is shown to be within the margin of a guardrail.

    >>> margin_words("quality", "2 points", "proven", 0.05)
    'quality at most 2 points worse (proven at 5 %)'
    """
    return f"{name} at most {size} worse ({guarantee} at {at_most(error)})"


def harm_words(kept: str, metrics: Sequence[str]) -> str:
    """Say that guardrails have ruled out every arm but one.

    >>> harm_words("control", ["latency"])
    'Keep control: every other arm was found harmful (latency)'
    """
    return f"Keep {kept}: every other arm was found harmful ({', '.join(metrics)})"


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop.

    >>> sentence("no arm is ahead")
    'No arm is ahead.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def promise_words(design: Design) -> str:
    """State the error bound of a design, its kind of proof, and the assumptions it needs.

    >>> import bascule as bs
    >>> rule = bs.UCB(2, radius="mixture")
    >>> promise_words(bs.Design(["a", "b"], bs.Recurrent(1, 1), rule))  # doctest: +ELLIPSIS
    'false positive rate at most 5 %, ... (gaussian, if means do not change in time)'
    """
    promised = design.calibration
    if promised.error >= 1.0:
        return f"nothing is proven at delta = {promised.delta:.4g} ({promised.guarantee})"
    return f"{error_words(promised.error, len(design.arms))} ({design.guarantee_label})"


LARGE = "right once each arm has many units, because the spread is estimated"


def assumption_words(outcome: Outcome) -> str:
    """Say for which outcomes a guarantee holds.

    >>> import bascule as bs
    >>> assumption_words(bs.Bounded(0, 10))
    'for any outcomes between 0 and 10'
    """
    if outcome.binary:
        return "for 0/1 outcomes of units that do not influence each other"
    if outcome.limited:
        return f"for any outcomes between {outcome.low:g} and {outcome.high:g}"
    if outcome.recurring:
        between, within = outcome.unit_spreads
        return (
            f"exact if units and their outcomes are normal and differ by {between:.4g} and "
            f"{within:.4g}"
        )
    if outcome.estimated:
        return LARGE
    return f"for outcomes that are sub-Gaussian with sigma {outcome.sigma:.4g} or less"


def promise(error: float, arms: int, kind: str, outcome: Outcome) -> str:
    """Say what an error bounds, what kind of proof stands behind it, and for which outcomes."""
    words = error_words(error, arms)
    # In the analysis of a log, a spread that is treated as known may be an estimate from the log.
    assumed = LARGE if kind == "asymptotic" else assumption_words(outcome)
    return f"However often you look, {words} ({kind}, {assumed})"


def guarantee(design: Design) -> str:
    """State the guarantee of a design, and that its forecasts are not guaranteed."""
    stated = design.calibration
    if stated.error >= 1.0:
        return sentence(promise_words(design))
    words = promise(stated.error, len(design.arms), stated.guarantee, design.outcome)
    if design.procedure.assumes:
        words += f", {design.procedure.assumes}"
    return f"{words}. Days and cost are forecasts for this lift."
