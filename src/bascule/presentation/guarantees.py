"""What an error bounds and what it assumes, in the words that every text and page uses."""

from __future__ import annotations

from bascule.core.calibration import Calibration
from bascule.core.design import Design
from bascule.core.outcomes import Outcome
from bascule.presentation.numbers import percent


def error_words(error: float, arms: int = 2) -> str:
    """Say what an error bounds: one side, and therefore twice as much between equal arms.

    >>> error_words(0.05)
    'a worse arm is declared the winner with probability at most 5 %; if the arms are equal, \
either of them with at most 10 %'
    """
    equal = "either of them" if arms == 2 else "any of them"
    return (
        f"a worse arm is declared the winner with probability at most {percent(error)}; if the "
        f"arms are equal, {equal} with at most {percent(min(1.0, 2 * error))}"
    )


def promise_words(calibration: Calibration, arms: int = 2) -> str:
    """Say what a calibration promises and what kind of proof stands behind it.

    >>> promise_words(Calibration(0.05, 1.0, "as published"))
    'nothing is proven at delta = 0.05 (as published)'
    """
    if calibration.error >= 1.0:
        return f"nothing is proven at delta = {calibration.delta:.4g} ({calibration.guarantee})"
    return f"{error_words(calibration.error, arms)} ({calibration.guarantee})"


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
    return f"for outcomes that are sub-Gaussian with sigma {outcome.sigma:.4g} or less"


def guarantee(design: Design) -> str:
    """Say what is proven of a design, and that its forecasts are not."""
    promise = design.calibration
    if promise.error >= 1.0:
        return f"{promise_words(promise)[0].upper()}{promise_words(promise)[1:]}."
    words = error_words(promise.error, len(design.arms))
    return (
        f"Whatever the true means, and however often you look, {words} ({promise.guarantee}, "
        f"{assumption_words(design.outcome)}); when it decides and what it costs are forecasts for "
        "the lift that was asked about."
    )
