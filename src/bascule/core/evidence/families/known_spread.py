"""Evidence for a known spread: a pair's likelihood ratio, averaged over normal effects.

The mixture covers differences of any size, or is centred at a planned effect
(docs/research/evidence.md has the proofs). A test with a horizon has a flat boundary instead, which
is exact for normal outcomes (docs/research/horizon.md).
"""

from __future__ import annotations

import math

from bascule.core.evidence.families.rows import (
    ARM_OF_SUMS,
    CLOCK,
    TOTAL,
    Difference,
    Family,
    Params,
    Row,
    Update,
    add_block,
    fold_sum,
    observe_sum,
    one_sided,
    unit_spread,
)
from bascule.core.evidence.horizon import line_crossed, log_flat
from bascule.core.evidence.normal import (
    informed_boundary,
    log_informed,
    log_mixture,
    mixture_boundary,
)

OCTAVES, PARTS = 42, 16
"""Bins of the clock: number of octaves, and of bins in each; later clocks are in the last bin."""

SLOPE = 0.3
"""Slope of the line that rules out a shift beyond the margin.

If a shift exceeds the margin by x, the total drifts by x / variance per unit of the clock; the line
rises by `SLOPE` times that."""

HALVINGS = 24
"""Number of bisection steps in the search for the smallest shift that is ruled out."""

NO_FLOORS = (0.0,) * (OCTAVES * PARTS)
"""A floor of 0 for each bin of the clock, so that the evidence is always computed."""


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Add a complete block to the total and clock of a pair, unless it has reached its horizon."""
    if params.last == 0.0 or pair[CLOCK] < params.last - params.batch:
        add_block(pair, mine, theirs, params.precision)


def endless_update(
    pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params
) -> None:
    """Add a complete block to the total and clock of a pair, in a test without a horizon."""
    add_block(pair, mine, theirs, params.precision)


def update_for(intervals: bool, horizon: bool) -> Update:
    """Return the function that updates a pair, in tests with or without a horizon."""
    return update if horizon else endless_update


def log_evidence(total: float, clock: float, spread: float, params: Params) -> float:
    """Return the log evidence from a pair's total and clock, for outcomes with this spread."""
    standard = total / spread
    if params.last > 0.0:
        evidence = log_flat(standard, params.last)
    elif params.effect > 0.0:
        evidence = log_informed(standard, clock, params.effect / spread)
    else:
        evidence = log_mixture(standard, clock)
    return evidence


def boundary(clock: float, params: Params) -> float:
    """Return the total, in units of the known spread, at which the evidence is at the threshold."""
    return boundary_for(clock, 1.0, params)


def boundary_for(clock: float, spread: float, params: Params) -> float:
    """Return the total, in units of the spread, at which the evidence reaches the threshold."""
    if params.last > 0.0:
        boundary = params.constant * math.sqrt(params.last)
    elif params.effect > 0.0:
        boundary = informed_boundary(clock, params.threshold, params.effect / spread)
    else:
        boundary = mixture_boundary(clock, params.threshold)
    return boundary


def can_reach(total: float, clock: float, params: Params) -> bool:
    """Check quickly if the evidence can be at the threshold: False is certain, True is not.

    An average over effects never exceeds the evidence for the best of them, whose log is
    total^2 / (2 clock); a flat boundary is not bounded by the clock.
    """
    return params.last > 0.0 or total * total >= 2.0 * params.threshold * clock


def is_enough(total: float, clock: float, spread: float, params: Params) -> bool:
    """Return whether the evidence from a total decides, for outcomes with this spread."""
    return (
        can_reach(total / spread, clock, params)
        and log_evidence(total, clock, spread, params) >= params.threshold
    )


def part_of(clock: float) -> int:
    """Return the index of a clock's bin; each octave of clocks is divided into `PARTS` equal bins.

    >>> part_of(1.0), part_of(1.5), part_of(2.0)
    (16, 24, 32)
    """
    fraction, exponent = math.frexp(clock)
    part = PARTS * exponent + int((2.0 * fraction - 1.0) * PARTS)
    return min(max(part, 0), OCTAVES * PARTS - 1)


def decides(total: float, clock: float, params: Params) -> bool:
    """Return whether the evidence decides a pair, in favour of its first arm if `total` > 0."""
    return (
        can_reach(total, clock, params)
        and abs(total) >= params.floors[part_of(clock)]
        and log_evidence(abs(total), clock, 1.0, params) >= params.threshold
    )


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return the pair's total, whose sign names the better arm, if the evidence decides; else 0."""
    total: float = pair[TOTAL]
    return total if decides(total, pair[CLOCK], params) else 0.0


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether there is enough evidence that the difference is smaller than the margin."""
    # Of the differences +margin and -margin, the one nearer to the estimate is harder to rule out.
    room = margin * pair[CLOCK] - abs(pair[TOTAL])
    return room > 0.0 and is_enough(room, pair[CLOCK], 1.0, params)


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the difference and its interval."""
    total, clock = pair[TOTAL], pair[CLOCK]
    if clock == 0.0:
        return 0.0, -math.inf, math.inf
    if params.last == 0.0:
        return scaled_interval(total, clock, 1.0, params)
    line, decided = boundary(clock, params), decides(total, clock, params)
    low = 0.0 - shift_left(total, clock, clock, 1.0, line, params)
    high = shift_left(-total, clock, clock, 1.0, line, params)
    beats, beaten = decided and total > 0.0, decided and total < 0.0
    return one_sided(total / clock, low, high, beats, beaten)


def shift_left(
    total: float, clock: float, noise: float, variance: float, line: float, params: Params
) -> float:
    """Return the smallest shift that a pair's total rules out; at most 0 once the pair is decided.

    `noise` is the variance of the total, `variance` that of an outcome, `line` the flat boundary.
    Beyond the margin the boundary of a shift is a line with a slope, which is lower early on.
    """
    flat = (line - total) / clock
    if flat <= params.margin:
        return flat
    horizon, from_margin = line / params.constant, total + params.margin * clock
    # A line is reached by the horizon at most as often as in unlimited time: this bounds `high`.
    gained = SLOPE / variance * from_margin
    half = SLOPE / variance * (clock - SLOPE * noise / variance)
    root = math.sqrt(gained * gained + 2.0 * half * params.threshold)
    low, high = 0.0, params.threshold / (gained + root)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        slope = SLOPE / variance * middle
        start = from_margin + middle * clock - slope * noise
        if line_crossed(start, slope, horizon) <= math.exp(-params.threshold):
            high = middle
        else:
            low = middle
    return params.margin + high


def scaled_interval(total: float, clock: float, spread: float, params: Params) -> Difference:
    """Return the difference and its interval, for outcomes with this spread."""
    decided = is_enough(abs(total), clock, spread, params)
    reach = boundary_for(clock, spread, params)
    standard = total / spread
    middle, low, high = one_sided(
        standard / clock,
        (standard - reach) / clock,
        (standard + reach) / clock,
        decided and total > 0.0,
        decided and total < 0.0,
    )
    return spread * middle, spread * low, spread * high


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return the information left until the horizon, and the distance to the flat boundary."""
    left = params.reach * params.reach - params.effect * params.effect * pair[CLOCK]
    return left, params.constant * params.reach - params.effect * sign * pair[TOTAL]


def remaining(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return how much the clock has to grow until the horizon, beyond what pending units add."""
    ratio = params.reach / params.effect
    return ratio * ratio - pair[CLOCK] - pending  # type: ignore[no-any-return]


KNOWN_SPREAD = Family(
    "known spread",
    CLOCK + 1,
    arm_columns=ARM_OF_SUMS,
    split=False,
    first_ends=True,
    observe=observe_sum,
    count_ones=observe_sum,
    fold_arm=fold_sum,
    spread=unit_spread,
    update=update,
    verdict=verdict,
    within=within,
    interval=interval,
    outlook=outlook,
    remaining=remaining,
    boundary=boundary,
    update_for=update_for,
    in_theory=True,
)
"""Evidence for outcomes with a known spread."""
