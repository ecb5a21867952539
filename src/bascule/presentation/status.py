"""The status of a live test as text: arms, differences, other metrics, each in its own unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.presentation.guarantees import (
    bound_words,
    contrast_words,
    interval_name,
)
from bascule.presentation.numbers import Amounts

if TYPE_CHECKING:
    from bascule.live.reports.metric_status import MetricStatus
    from bascule.live.reports.status import Status


def amounts_of(status: Status) -> Amounts:
    """Return how the outcomes of the primary metric are written."""
    return Amounts(status.binary, status.cost_unit)


def arm_lines(status: Status) -> list[str]:
    """Return the arms, a line each below a heading, and what means are."""
    amounts = amounts_of(status)
    lines = [f"{'arm':<20}{'units':>10}{'matured':>10}{'mean':>12}  part"]
    for arm in status.arms:
        counts = f"{arm.name:<20}{arm.units:>10,}{arm.matured:>10,}"
        lines.append(f"{counts}{amounts.mean(arm.mean):>12}  {arm.part}")
    if status.covariates is not None:
        lines.append(f"means {status.covariates.words}")
    return [*lines, "lower is better"] if status.goal == "decrease" else lines


def difference_lines(status: Status, all_pairs: bool = False) -> list[str]:
    """Return each treatment minus the control on every metric, and what intervals promise.

    `all_pairs` adds the differences of treatments on the primary metric.
    """
    amounts = amounts_of(status)
    lines = [contrast_words(contrast, amounts) for contrast in status.contrasts]
    control = {contrast.control for contrast in status.contrasts}
    for effect in status.effects if all_pairs else ():
        if control.isdisjoint((effect.first, effect.second)):
            later = effect.reversed
            interval = f"{interval_name(later.error)} {amounts.interval(later.low, later.high)}"
            difference = amounts.difference(later.difference, later.high - later.low)
            lines.append(f"{later.name}: {difference} ({interval})")
    for metric in status.metrics:
        lines += _metric_lines(metric)
    promised = dict.fromkeys((effect.error, effect.guarantee) for effect in status.effects)
    return lines + [
        f"intervals: {bound_words(error)} ({guarantee})" for error, guarantee in promised
    ]


def _metric_lines(metric: MetricStatus) -> list[str]:
    amounts = Amounts(metric.binary)
    about: list[str] = [metric.role]
    if metric.goal == "decrease":
        about.append("lower is better")
    if metric.margin is not None:
        about.append(f"margin {amounts.size(metric.margin)}")
    lines = [f"{metric.name} ({', '.join(about)}):"]
    for contrast, standing in zip(metric.contrasts, metric.standings, strict=True):
        said = f"; {standing}" if metric.role == "guardrail" else ""
        lines.append(f"  {contrast_words(contrast, amounts)}{said}")
    return lines


def status_text(status: Status) -> str:
    """Return what to do, the arms, and each treatment minus the control."""
    lines = [status.headline, "", *arm_lines(status), "", *difference_lines(status)]
    return "\n".join([*lines, f"guarantee: {status.promise}"])
