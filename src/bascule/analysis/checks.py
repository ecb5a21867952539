"""What may be wrong with a log: things that no evidence can see in itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bascule.analysis.reduce.sums import Sums, Table
from bascule.analysis.result import Check
from bascule.core.diagnostics import AllocationStatistics, Diagnostic
from bascule.core.diagnostics.allocation import allocation_once
from bascule.core.diagnostics.shift import shift
from bascule.core.diagnostics.trend import trend
from bascule.core.effects import Effect
from bascule.core.errors import InputError
from bascule.core.statistics import ArmStatistics, Statistics

LEVEL = 0.01
NEARLY_EVEN = 0.9
"""Without weights, a split is compared with an even one if no arm has less than this part of it."""

MANY_IN_TWO_ARMS = 0.001
MUCH_LATE = 0.05

ENOUGH_TO_MISS = 10
"""Where so many are expected, nobody came by chance about once in 20,000 days."""


def sample_ratio(
    arms: Sequence[str], counts: Sequence[int], weights: Sequence[float] | None
) -> Check:
    """Units per arm against the stated weights, or an even split if it looks like one.

    >>> sample_ratio(["a", "b"], [5000, 5400], [0.5, 0.5]).flagged
    True
    """
    assumed = ""
    if weights is None:
        even = sum(counts) / len(counts)
        if min(counts) < NEARLY_EVEN * even:
            message = "the split is not even and none was stated: give weights to have it checked"
            return Check("sample ratio", False, message)
        weights, assumed = [1.0] * len(arms), "; an even split was assumed"
    whole = sum(weights)
    found = allocation_once(
        AllocationStatistics.of_counts(counts, [weight / whole for weight in weights]), LEVEL
    )
    message = found.named(arms).message.replace("the logged probabilities", "the weights")
    message = message.replace("its logged probabilities add up to", "its weight makes")
    return Check("sample ratio", found.flagged, message + assumed, found.p_value)


def checked_weights(arms: Sequence[str], given: object) -> list[float] | None:
    """Weights by name or in the order of the arms, as numbers above 0."""
    if given is None:
        return None
    if isinstance(given, dict):
        unknown = set(map(str, given)) - set(arms)
        if unknown or len(given) != len(arms):
            raise InputError("weights", f"weights must name every arm: {', '.join(arms)}")
        given = [given[arm] for arm in arms]
    if not isinstance(given, (list, tuple)) or len(given) != len(arms):
        raise InputError(
            "weights", f"weights must be {len(arms)} numbers, one an arm: {', '.join(arms)}"
        )
    try:
        weights = [float(weight) for weight in given]
    except (TypeError, ValueError):
        raise InputError("weights", f"weights must be numbers (got {given!r})") from None
    if not all(0.0 < weight < np.inf for weight in weights):
        raise InputError("weights", "weights must be above 0: they say how the units were split")
    return weights


def two_arms(table: Table, units: int) -> Check:
    """Units that were seen in more than one arm."""
    count = table.aside.get("unit in two arms", 0)
    if count == 0:
        return Check("units in two arms", False, "none")
    share = count / (units + count)
    message = f"{count:,} units ({100 * share:.2g} %) were seen in two arms and are set aside"
    if share > MANY_IN_TWO_ARMS:
        message += ": find out how they changed before you trust the rest"
    return Check("units in two arms", share > MANY_IN_TWO_ARMS, message)


def drift(sums: Sums, arms: Sequence[str], mature: int) -> list[Check]:
    """Trend of the outcomes over the arrivals, and whether it passes for a difference.

    Outcomes that still grow are compared as they stood on the day of arrival.
    """
    periods = sums.periods()[:mature]
    if sums.growth is not None:
        at = np.arange(len(sums.days))
        first = (sums.units, sums.growth[0][at, at], sums.growth[1][at, at])
        periods = [
            Statistics(
                tuple(
                    ArmStatistics(int(n), float(t), float(q)) for n, t, q in zip(*day, strict=True)
                )
            )
            for day in zip(*first, strict=True)
        ]
    if not periods:
        return []
    return [_check(found, arms) for found in (trend(periods, LEVEL), shift(periods, LEVEL))]


def gaps(sums: Sums) -> Check:
    """Days on which nobody arrived, hardly anybody, or nobody in some arm, where many should have.

    What a day should have is what the days around it have.
    """
    sizes = sums.units.sum(axis=1)
    empty, thin, switched = [], [], []
    # Once the last unit has come, nobody is missed any more.
    until = int(np.flatnonzero(sizes)[-1]) + 1 if sizes.any() else 0
    for place, day in enumerate(sums.days[:until]):
        near = np.r_[sizes[max(0, place - 3) : place], sizes[place + 1 : place + 4]]
        usual = float(near.mean()) if len(near) else 0.0
        # The log may begin and end within a day.
        inside = 0 < place < len(sums.days) - 1
        if sizes[place] == 0 and usual >= ENOUGH_TO_MISS:
            empty.append(day)
        elif inside and usual >= 5 * ENOUGH_TO_MISS and sizes[place] < 0.1 * usual:
            thin.append(day)
        elif (
            sizes[place] >= ENOUGH_TO_MISS * len(sums.units[place]) and not sums.units[place].all()
        ):
            switched.append(day)
    if empty:
        return Check("gaps", True, f"nobody arrived on {_days(empty)}: is a part of the log lost?")
    if switched:
        return Check("gaps", True, f"an arm got nobody on {_days(switched)}: was it switched off?")
    if thin:
        return Check("gaps", True, f"hardly anybody arrived on {_days(thin)}: is the log complete?")
    return Check("gaps", False, "none")


def extremes(sums: Sums, arms: Sequence[str], effects: Sequence[Effect]) -> Check:
    """Single outcomes that are large enough to carry a difference."""
    widths = [0.5 * (effect.high - effect.low) for effect in effects]
    width = min((w for w in widths if np.isfinite(w)), default=np.inf)
    worst, where, value = 0.0, "", 0.0
    for i, arm in enumerate(arms):
        units = float(sums.units[:, i].sum())
        if units < 2:
            continue
        mean = float(sums.totals[:, i].sum()) / units
        for end in (float(sums.highs[:, i].max()), float(sums.lows[:, i].min())):
            moved = abs(end - mean) / units
            if moved > worst:
                worst, where, value = moved, arm, end
    if worst > 0.25 * width:
        message = (
            f"one unit of {where} has an outcome of {value:.4g}, which moves its mean by "
            f"{worst:.3g}: look at it, or set limits that cap such outcomes"
        )
        return Check("extreme values", True, message)
    return Check("extreme values", False, "no single outcome carries a difference")


def late_events(table: Table, total: float) -> Check:
    """How much of what units gave came after their windows had closed."""
    if table.late == 0:
        return Check("late outcomes", False, "no events after the windows of their units")
    share = abs(table.outside) / max(abs(table.outside) + abs(total), 1e-300)
    message = (
        f"{table.late:,} events, {100 * share:.2g} % of all that was given, came after the windows "
        "of their units and do not count"
    )
    if share > MUCH_LATE:
        message += ": a longer window would count them"
    return Check("late outcomes", share > MUCH_LATE, message)


def _check(found: Diagnostic, arms: Sequence[str]) -> Check:
    return Check(found.name, found.flagged, found.named(arms).message, found.p_value)


def _days(days: Sequence[object]) -> str:
    shown = ", ".join(str(day) for day in days[:3])
    return shown + (f" and {len(days) - 3} more days" if len(days) > 3 else "")
