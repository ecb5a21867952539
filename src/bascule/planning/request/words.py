"""The question of a request in words: the means, and the absolute and relative lift."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bascule.core.inputs.checks import tidy
from bascule.core.outcomes import Outcome

if TYPE_CHECKING:
    from bascule.planning.request.request import PlanRequest


def question_of(request: PlanRequest) -> str:
    """Return the question in words: the means, and the absolute and relative lift.

    >>> import bascule as bs
    >>> question_of(bs.PlanRequest())
    '5 % against 6 %: a lift of 1 point, +20 % of the baseline'
    """
    return f"{_means_words(request)}: {_size_words(request)}"


def lift_words(outcome: Outcome, lift: float) -> str:
    """Format a lift: in percentage points for 0/1 outcomes.

    >>> import bascule as bs
    >>> lift_words(bs.Bernoulli(), 0.005)
    '0.5 points'
    """
    if not outcome.binary:
        return f"{lift:.4g}"
    points = f"{tidy(100 * lift):.3g}"
    return f"{points} point" if points in ("1", "-1") else f"{points} points"


def _means_words(request: PlanRequest) -> str:
    """Format the means of the arms: "5 % against 6 %"; many arms are grouped by mean."""
    first, *rest = (
        f"{tidy(100 * mean):.4g} %" if request.outcome.binary else f"{mean:.6g}"
        for mean in request.means
    )
    if len(rest) > 4:
        rest = [f"{n} arms of {mean}" if n > 1 else mean for mean, n in Counter(rest).items()]
    return f"{first} against {', '.join(rest)}"


def _size_words(request: PlanRequest) -> str:
    """Format the lift: "a lift of 1 point, +20 % of the baseline"."""
    lift, baseline = request.main_lift, request.baseline
    size = f"a lift of {lift_words(request.outcome, lift)}"
    if baseline != 0:
        size += f", {100 * lift / abs(baseline):+.3g} % of the baseline"
    if request.goal == "increase":
        return size
    return f"{size}; lower is better" + (", so this lift is a loss" * (lift > 0))
