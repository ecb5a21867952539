"""Checks whether the shares of the arms changed: within the compared blocks, and between them.

docs/research/analyse.md says why nothing is proven if the split changes within a block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bascule.analysis.checks import LEVEL, MANY_IN_TWO_ARMS, homogeneity, looks_words
from bascule.analysis.reduce.blocks import PERIOD, Block
from bascule.analysis.reduce.sums import IN_TWO_ARMS
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Check
from bascule.core.diagnostics.result import chi_square_tail, p_at_look, shown
from bascule.core.types import FloatArray

MOST_PARTS = 4
"""Maximum number of parts into which the units of a block are divided by time."""

FEWEST_EXPECTED = 10.0
"""Minimum expected number of units of the smallest arm in a part."""

WITHIN = "split within blocks"

BLOCK_WORDS = {
    **dict.fromkeys(("day", "week"), "a day"),
    "hour": "an hour",
    PERIOD: "a day or a period of constant weights",
}
"""Names of the periods within which a split is checked, by block."""


def within_blocks(arrivals: FloatArray, block: Block) -> Check:
    """Check that the shares of the arms are constant over time within each block.

    `arrivals` are units by block, hour and arm; weeks are checked day by day, since days of single
    arms within a week may be intended. If shares are constant, any order of the units is equally
    likely, given the number of units of each arm in a block. The p-value is the smallest over the
    ends of all blocks, each corrected for the number of blocks so far, so it holds however often
    one looks.
    """
    words = BLOCK_WORDS.get(block) or f"{block.removesuffix('h')} hours"
    statistic, free, p_value, once = 0.0, 0, 1.0, 1.0
    for number, counts in enumerate(arrivals, start=1):
        added, degrees = homogeneity(_in_parts(counts))
        if not degrees:
            continue
        statistic, free = statistic + added, free + degrees
        once = chi_square_tail(statistic, free)
        p_value = min(p_value, p_at_look(once, number))
    if not free:
        return Check(WITHIN, False, f"nothing is known of the split within {words}", made=False)
    if p_value > LEVEL:
        message = f"no change of the split within {words} ({looks_words(p_value, once)})"
        return Check(WITHIN, False, message, p_value)
    message = (
        f"the shares of the arms changed with the time within {words} ({shown(p_value)}), as "
        "if the split followed the outcomes: name the column with the probability of a unit's "
        'arm (`probability`), the period in which shares were constant (`block="hour"`), or the '
        'times from which on they held (`weights={"2026-03-09 12:00": [1, 9], ...}`)'
    )
    return Check(WITHIN, True, message, p_value)


def changed_between(units: FloatArray, looks: int) -> bool:
    """Return whether the shares of the arms changed between blocks, at 1 % over all `looks`."""
    found, free = homogeneity(units)
    return free > 0 and p_at_look(chi_square_tail(found, free), max(looks, 1)) <= LEVEL


def _in_parts(counts: FloatArray) -> FloatArray:
    """Return units by part of a block and arm; the smallest arm limits the number of parts."""
    arms = counts.sum(axis=0)
    rarest = float(arms[arms > 0].min(initial=np.inf))
    parts = min(MOST_PARTS, int(rarest // FEWEST_EXPECTED)) if np.isfinite(rarest) else 0
    if parts < 2:
        return counts[:0]
    # An hour belongs to the part of the block that contains the hour's median unit.
    sizes = counts.sum(axis=1)
    middle = (np.cumsum(sizes) - 0.5 * sizes) / sizes.sum()
    part = np.minimum((parts * middle).astype(int), parts - 1)
    return np.stack([counts[part == place].sum(axis=0) for place in range(parts)])


def withheld_reason(request: Request, reduced: Reduced, within: Check, between: bool) -> str:
    """Return why the split of the units rules out a decision; empty if it does not.

    - `within`: the check of the split within blocks
    - `between`: whether the shares changed between blocks
    """
    if within.flagged:
        return within.message
    if request.once and between:
        return (
            "the split changed from day to day, so that all units together cannot be compared at "
            "one look: leave `looks` out"
        )
    moved = reduced.table.excluded.get(IN_TWO_ARMS, 0)
    units = moved + sum(int(sums.units.sum()) for sums in reduced.table.segments.values())
    if request.exclude_moved and between and moved > MANY_IN_TWO_ARMS * units:
        return (
            "the split changed from day to day, and units that were seen in two arms are excluded, "
            "which removes returning units from the arm whose share fell: count them for their "
            'first arm (`two_arms="first"`)'
        )
    return ""


def between_note(arms: Sequence[str], units: FloatArray, *, stated: bool) -> str:
    """Return a note that the shares of the arms changed between blocks, and its consequences."""
    shares = units / np.maximum(units.sum(axis=1, keepdims=True), 1.0)
    last_shares = shares[units.sum(axis=1) > 0, -1]
    return (
        f"the split changed from day to day ({arms[-1]} had {100 * last_shares.min():.0f} to "
        f"{100 * last_shares.max():.0f} % of a day's units): units are compared within days"
        + ("" if stated else ", and the sample ratio was not checked: state the weights")
    )
