"""Notes on how a log was read and compared, as sentences for the reader."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.reduce.moments import UNITS, Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import ArmAnswer
from bascule.core.design import Design
from bascule.core.evidence.spread import FEWEST_UNITS, skewness, units_needed
from bascule.core.metrics.effects import Contrast, Effect
from bascule.core.types import FloatArray


def notes_on(
    request: Request, reduced: Reduced, sums: Sums, known: int, evidence: Evidence
) -> list[str]:
    """Return the notes on how the log was read and compared.

    `sums` are by block of arrival, and the outcomes of the first `known` blocks are final.
    """
    notes = [*reduced.reading.notes, *([evidence.note] if evidence.note else [])]
    waiting = int(sums.units[known:].sum())
    if waiting:
        notes.append(f"{waiting:,} units came too late for their outcomes to be final")
    clipped = reduced.table.clipped
    if any(clipped):
        counts = (f"{n:,} of {arm}" for arm, n in zip(reduced.arms, clipped, strict=True))
        notes.append(f"outcomes beyond the limits, counted as the nearest: {', '.join(counts)}")
    empty = [a for a, n in zip(reduced.arms, sums.units.sum(axis=0), strict=True) if n == 0]
    if empty:
        notes.append(f"nobody was in {', '.join(empty)}")
    without = sum(arm.without for arm in reduced.valueless.values())
    if without and request.exclude:
        notes.append(
            "units without any value are excluded, so arms are compared by the other units: that "
            "is fair only if the arm does not change who has a value"
        )
    elif without:
        units = "1 unit has" if without == 1 else f"{without:,} units have"
        notes.append(
            f"{units} rows without any value, and count as {request.missing:g}: that is right for "
            "amounts and counts of what happened; for measurements that were not taken, such as "
            'scores, give `missing="exclude"`'
        )
    notes += _skewed_arms(reduced, sums, known, evidence)
    spread = sums.squares.sum(axis=0) - sums.totals.sum(axis=0) ** 2 / np.maximum(
        sums.units.sum(axis=0), 1.0
    )
    alike = np.all(spread <= 1e-12 * np.maximum(sums.squares.sum(axis=0), 1e-300))
    if alike and not reduced.reading.per:
        notes.append("all outcomes of an arm are the same: is this the right column?")
    design = request.design
    if design is not None and design.procedure.counts == "units" and design.procedure.even:
        notes.append(f"the log is compared day by day, not in the rounds of {design.rule.label}")
    return notes


def narrowed(design: Design, moments: FloatArray | None, covariate: str | None) -> list[str]:
    """Return a note on how much the covariate narrows the intervals against the control."""
    if moments is None or covariate is None or not len(moments):
        return []
    by_arm = moments.sum(axis=0)
    control, words = design.arms.index(design.control_arm), []
    for place, name in enumerate(design.arms):
        pair = by_arm[[control, place]]
        if place == control or min(pair[:, UNITS]) < FEWEST_UNITS:
            continue
        common = Centre.within(pair)
        if not (common.per > 0.0 and all(Centre.of(arm).per > 0.0 for arm in pair)):
            continue
        plain = sum(Centre.of(arm).ratio_variance / Centre.of(arm).units for arm in pair)
        left = sum(adjusted_mean(Centre.of(arm), common)[1] / Centre.of(arm).units for arm in pair)
        if plain > 0.0:
            words.append(
                f"{name} - {design.control_arm} {100 * (1 - math.sqrt(left / plain)):.0f} %"
            )
    if not words:
        return []
    return [f"because of {covariate}, intervals are narrower by: {', '.join(words)}"]


def no_lift(arms: Sequence[ArmAnswer], control: str, contrasts: Sequence[Contrast]) -> list[str]:
    """Return a note on why no relative lift is shown, if the control's mean is not above 0."""
    (mean,) = (arm.mean for arm in arms if arm.name == control)
    if mean is None or mean > 0.0 or not contrasts:
        return []
    return [
        f"no relative lift is shown: the mean of {control} is {mean:.4g}, and a change relative to "
        "a mean that is not above 0 has no meaning"
    ]


def _skewed_arms(reduced: Reduced, sums: Sums, known: int, evidence: Evidence) -> list[str]:
    """Return notes on arms that have too few units for skewed outcomes with an estimated spread."""
    if evidence.guarantee != "asymptotic" or sums.cubes is None:
        return []
    parts = (sums.units, sums.totals, sums.squares, sums.cubes)
    now = [part[:known].sum(axis=0) for part in parts]
    common = skewness(*(float(part.sum()) for part in now))
    waiting = []
    for name, *arm in zip(reduced.arms, *now, strict=True):
        needed = units_needed(skewness(*map(float, arm)), common)
        if 0.0 < arm[0] < needed < math.inf:
            waiting.append(
                f"arm {name} has {arm[0]:,.0f} units, and its outcomes are so skewed that an "
                f"estimated spread needs about {needed:,.0f}: no interval and no decision before"
            )
    return waiting


def other_difference(
    arms: Sequence[ArmAnswer], effects: Sequence[Effect], covariate: str | None
) -> list[str]:
    """Return a note on why an effect is not the difference of the shown means; empty if it is."""
    means = {arm.name: arm.mean for arm in arms}
    for effect in effects:
        first, second = means.get(effect.first), means.get(effect.second)
        reach = 0.5 * (effect.high - effect.low)
        if first is None or second is None or not math.isfinite(reach):
            continue
        plain = first - second
        # A hundredth of the half-width is about the last digit that is shown.
        if abs(plain - effect.difference) > 0.01 * reach or plain * effect.difference < 0.0:
            reason = (
                "the arms did not have the same shares all the time, and units are compared with "
                "those that came at the same time"
                if covariate is None
                else f"outcomes are adjusted by {covariate}, and units are compared with those "
                "that came at the same time"
            )
            return [
                f"the difference {effect.second} - {effect.first} is {-effect.difference:.4g}, but "
                f"the means, from which the cost is computed, differ by {-plain:.4g}: {reason}"
            ]
    return []
