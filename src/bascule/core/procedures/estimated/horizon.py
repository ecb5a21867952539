"""A test in blocks with an estimated spread that ends at an information horizon.

A test is laid out as in `estimated.state`, followed by its plan. The horizon is a variance of a
pair's total: that at which the planned effect is `REACH` standard errors of its estimate, were all
blocks as uneven as they can be, with the fewest units of the arm that varies most. So it does not
depend on how units are divided, and the boundary is flat. docs/explanation/horizon.md has the
derivation.
"""

from __future__ import annotations

import math
from itertools import combinations

from bascule.core.procedures.base import Ends
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.blocks.steps import one_sided
from bascule.core.procedures.estimated.state import clear as clear_estimated
from bascule.core.procedures.estimated.state import pair_noise, pair_variances, spread_at_least
from bascule.core.procedures.estimated.state import width as width_of_estimated
from bascule.core.procedures.horizon.ending import end_by
from bascule.core.procedures.horizon.state import (
    CONSTANT,
    EFFECT,
    PLAN_SIZE,
    PRIOR,
    PRIOR_UNITS,
    REACH,
)
from bascule.core.types import FloatArray

LEADERS, BATCH = PRIOR, PRIOR_UNITS
"""Places in a plan: the units that a leader gets for each one of a challenger at the most, and how
many units of a challenger a block has."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2) == width_of_estimated(2) + PLAN_SIZE
    True
    """
    return width_of_estimated(arms) + PLAN_SIZE


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Reset the test that begins at `first`: no units yet, and every arm active."""
    clear_estimated(state, first, arms)
    for k in range(PLAN_SIZE):
        state[first + width_of_estimated(arms) + k] = 0.0


def prepare(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write the plan into a test."""
    for k in range(PLAN_SIZE):
        state[first + width_of_estimated(arms) + k] = plan[k]


def end_of_pair(
    state: FloatArray, first: int, arms: int, i: int, j: int
) -> tuple[float, float, float]:
    """The variance of a pair's total now and at the horizon, and how high the boundary is.

    All are infinite while nothing can be decided. A test whose skewness makes it wait beyond the
    horizon ends as soon as it need not, and the boundary is that of a horizon there.
    """
    own, other, average = pair_variances(state, first, arms, i, j)
    if own == math.inf:
        return math.inf, math.inf, math.inf
    plan = first + width_of_estimated(arms)
    leaders = state[plan + LEADERS]
    largest = (leaders * max(own, other) + average) / (leaders + 1.0)
    at_end = largest * state[plan + REACH] / state[plan + EFFECT]
    noise = pair_noise(state, first, arms, i, j, own, other)
    # The last block may end beyond the horizon, by less than a batch.
    last = max(at_end * at_end + state[plan + BATCH] * largest, noise)
    return noise, at_end * at_end, state[plan + CONSTANT] * math.sqrt(last)


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that another active one has beaten at the boundary."""
    totals = first + 4 * arms
    plan = first + width_of_estimated(arms)
    # No boundary is below that of the smallest variance: most looks end here.
    ratio = state[plan + REACH] / state[plan + EFFECT]
    least = state[plan + CONSTANT] * ratio * spread_at_least(state, first, arms)
    for i in range(arms):
        for j in range(i + 1, arms):
            total = state[totals + i * arms + j]
            if (
                abs(total) >= least
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
            ):
                _, _, line = end_of_pair(state, first, arms, i, j)
                if abs(total) >= line:
                    state[first + arms + (j if total > 0.0 else i)] = 0.0


def all_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether the boundary shows every difference between active arms below the margin."""
    totals = first + 4 * arms
    clocks = totals + arms * arms
    within = True
    for i in range(arms):
        for j in range(i + 1, arms):
            if within and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                _, _, line = end_of_pair(state, first, arms, i, j)
                room = margin * state[clocks + i * arms + j] - abs(state[totals + i * arms + j])
                within = room >= line
    return within


def outlook(
    state: FloatArray, first: int, arms: int, i: int, j: int, plan: FloatArray
) -> tuple[float, float]:
    """Return what is left until the horizon of a pair, and the way to its boundary.

    Both are in units of the planned effect, with blocks as they have been.
    """
    noise, at_end, line = end_of_pair(state, first, arms, i, j)
    if noise == math.inf:
        return math.inf, 0.0
    totals = first + 4 * arms
    scale = plan[EFFECT] * state[totals + arms * arms + i * arms + j] / noise
    room = scale * (line - state[totals + i * arms + j])
    return scale * scale * (at_end - noise), room


def reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test ends without a decision, or that it goes on."""
    return end_by(state, first, arms, plan, outlook, True)


def share_of_horizon(state: FloatArray, arms: int) -> float:
    """Which part of the way to the horizon the furthest pair of active arms has gone."""
    active = [arm for arm in range(arms) if state[arms + arm] > 0.0]
    ways = [end_of_pair(state, 0, arms, i, j) for i, j in combinations(active, 2)]
    return max((min(1.0, now / end) for now, end, _ in ways if now < math.inf), default=0.0)


def ends_of(state: FloatArray, arms: int) -> list[Ends]:
    """Return the interval of every difference; infinitely wide until it can be decided."""
    found: list[Ends] = []
    totals, clocks = 4 * arms, 4 * arms + arms * arms
    for i, j in combinations(range(arms), 2):
        total, clock = float(state[totals + i * arms + j]), float(state[clocks + i * arms + j])
        line = float(end_of_pair(state, 0, arms, i, j)[2])
        if math.isinf(line):
            found.append((total / clock if clock > 0.0 else 0.0, -math.inf, math.inf))
            continue
        low, high = (total - line) / clock, (total + line) / clock
        found.append(one_sided(total / clock, low, high, total >= line, total <= -line))
    return found
