"""Text about the differences between arms in a live test, for every metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.core.metrics.metric import DIRECTION, Goal
from bascule.presentation.guarantees import (
    STANDINGS,
    UNBIASED,
    UNCORRECTED,
    bound_words,
    contrast_words,
    difference_words,
)
from bascule.presentation.numbers import BETTER, Amounts, count, known, percent

if TYPE_CHECKING:
    from bascule.core.metrics.effects import Contrast, Effect
    from bascule.live.reports.metric_status import MetricStatus
    from bascule.live.reports.status import Status

OF_BLOCKS = (
    "Differences compare units of the same block, so they can differ from the differences of the "
    "means"
)

OF_LIFTS = (
    "The interval of a lift has a lower level than that of its difference, because it also allows "
    "for the error of the mean of the control"
)

OF_BOUNDS = (
    "An estimate beyond the bounds of earlier looks is moved to the nearest bound, so differences "
    "can differ from those of the means"
)


def amounts_of(status: Status) -> Amounts:
    """Return the formatter for outcomes of the primary metric."""
    return Amounts(status.binary, status.cost_unit)


def effect_words(contrasts: Sequence[Contrast], winner: str, goal: Goal, amounts: Amounts) -> str:
    """Describe the winner minus the control or, if the control won, minus its nearest rival."""
    mine = [
        (contrast.difference, contrast.low, contrast.high, "")
        for contrast in contrasts
        if contrast.treatment == winner
    ]
    rivals = [
        (-contrast.difference, -contrast.high, -contrast.low, f" against {contrast.treatment}")
        for contrast in contrasts
        if contrast.control == winner
    ]
    shown = mine or sorted(rivals, key=lambda row: DIRECTION[goal] * row[0])
    if not shown:
        return ""
    difference, low, high, against = shown[0]
    text = f": {amounts.difference(difference, high - low)}{against}"
    bounds = amounts.bounds(low, high)
    return f"{text} ({bounds})" if bounds else text


def difference_lines(status: Status) -> list[str]:
    """Return lines with each treatment minus the control on every metric, and notes on intervals.

    On the primary metric, the differences between treatments follow. Before the first unit counts
    on the primary metric, only metrics that already have a mean are listed.
    """
    counted = [metric for metric in status.metrics if status.matured or set(metric.means) != {None}]
    if not status.matured and not counted:
        return []
    names = [arm.name for arm in status.arms]
    said = _primary_lines(status) if status.matured else []
    for metric in counted:
        said += _metric_lines(metric, names)
    others = [contrast for metric in counted for contrast in metric.contrasts]
    if OF_LIFTS not in said and any(map(has_lower_level, others)):
        said.append(OF_LIFTS)
    said += final_lines(status)
    if any(contrast.unbiased is not None for contrast in status.contrasts):
        said.append(UNBIASED)
    elif status.matured and status.state == "over" and status.contrasts:
        said.append(UNCORRECTED)
    return said + _promise_lines(status.effects if status.matured else (), counted)


def _promise_lines(effects: Sequence[Effect], metrics: Sequence[MetricStatus]) -> list[str]:
    """Say what the intervals guarantee, separately for metrics whose guarantees differ."""
    promised: dict[tuple[float, str], list[str]] = {}
    for effect in effects:
        promised[effect.error, effect.guarantee] = ["the primary metric"]
    for metric in metrics:
        for contrast in metric.contrasts:
            names = promised.setdefault((contrast.error, contrast.guarantee), [])
            names += [metric.name] * (metric.name not in names)
    said = []
    for (error, guarantee), names in promised.items():
        of = f" of {' and '.join(names)}" if len(promised) > 1 else ""
        said.append(f"Intervals{of}: {bound_words(error)} ({guarantee})")
    return said


def _primary_lines(status: Status) -> list[str]:
    amounts = amounts_of(status)
    said = [contrast_words(contrast, amounts) for contrast in status.contrasts]
    control = {contrast.control for contrast in status.contrasts}
    if any(has_lower_level(one) for one in status.contrasts):
        said.append(OF_LIFTS)
    said += [
        f"{effect.name}: {difference_words(effect, amounts)}"
        for effect in status.effects
        if control.isdisjoint((effect.first, effect.second))
    ]
    return said + mean_lines(status)


def has_lower_level(contrast: Contrast) -> bool:
    """Return whether a lift's interval has a lower level than that of its difference."""
    has_interval = known(contrast.lift_low) or known(contrast.lift_high)
    return has_interval and contrast.lift_error > contrast.error


def mean_lines(status: Status) -> list[str]:
    """Say why the differences are not those between the means shown; empty if they are."""
    amounts, means = amounts_of(status), {arm.name: arm.mean for arm in status.arms}
    for effect in status.effects:
        first, second = means[effect.first], means[effect.second]
        if first is None or second is None:
            continue
        width = effect.high - effect.low
        shown = amounts.difference(effect.difference, width)
        if shown != amounts.difference(first - second, width):
            # Arms without intervals mean a test in blocks, which compares pairs of arms.
            return [OF_BLOCKS if status.arms[0].low is None else OF_BOUNDS]
    return []


def final_lines(status: Status) -> list[str]:
    """Return the differences with all units that were enrolled, also those that counted later.

    The list is empty if `status.final` is None.
    """
    final = status.final
    if final is None:
        return []
    pending = "every window is closed" if final.is_complete else f"{count(final.pending)} pending"
    amounts = amounts_of(status)
    return [
        f"with all {count(final.matured)} units that were enrolled ({pending}):",
        *(f"  {contrast_words(contrast, amounts)}" for contrast in final.contrasts),
    ]


def coverage_words(arms: Sequence[str], shares: Sequence[float | None]) -> str:
    """Return the share of each arm's units that have a value; empty if no value can be missing.

    >>> coverage_words(["a", "b"], [1.0, 0.5]), coverage_words(["a"], [None])
    ('values of 100 % of the units of a, 50 % of b', '')
    """
    pairs = [(arm, share) for arm, share in zip(arms, shares, strict=False) if share is not None]
    if not pairs:
        return ""
    (first, share), *rest = pairs
    shown = [f"values of {percent(share)} of the units of {first}"]
    return ", ".join(shown + [f"{percent(share)} of {arm}" for arm, share in rest])


def _metric_lines(metric: MetricStatus, arms: Sequence[str]) -> list[str]:
    amounts = Amounts(metric.binary)
    about: list[str] = [metric.role, *BETTER[metric.goal]]
    if metric.margin is not None:
        about.append(f"margin {amounts.size(metric.margin)}")
    if values := coverage_words(arms, metric.coverage):
        about.append(values)
    pairs = zip(arms, metric.means, strict=True)
    means = ", ".join(f"{arm} {amounts.mean(mean)}" for arm, mean in pairs if mean is not None)
    said = [f"{metric.name} ({', '.join(about)}): {means or 'no values yet'}"]
    for contrast, standing in zip(metric.contrasts, metric.standings, strict=True):
        place = f"; {STANDINGS[standing]}" if metric.role == "guardrail" else ""
        said.append(f"  {contrast_words(contrast, amounts)}{place}")
    return said


def has_no_spread(status: Status) -> bool:
    """Return whether no difference has an interval because the spread is not known yet."""
    return bool(status.matured and status.effects) and all(map(_is_unknown, status.effects))


def spread_words(status: Status) -> str:
    """Say why no interval holds yet, and how many units each arm needs, judged by its outcomes."""
    wanted = [
        f"{arm.name} needs {count(arm.needed)} counted units and has {count(arm.matured)}"
        for arm in status.arms
        if arm.needed is not None and arm.part == "active"
    ]
    if not wanted:
        return "All outcomes so far are equal: no interval holds before they differ."
    rule = "20, or 20 times the squared skewness of its outcomes if that is more"
    return f"No interval holds before the spread is known: {', '.join(wanted)} ({rule})."


def _is_unknown(effect: Effect) -> bool:
    """Whether a difference has no interval because the spread cannot be estimated yet."""
    return effect.guarantee == "asymptotic" and math.isinf(effect.low) and math.isinf(effect.high)
