"""Whether the shares of the arms changed: within the blocks that are compared, and between them.

docs/research/analyse.md says why a split that changes within a block leaves nothing proven.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bascule.analysis.checks import LEVEL, MANY_IN_TWO_ARMS, looks_words
from bascule.analysis.reduce.blocks import PERIOD, Block
from bascule.analysis.reduce.sums import IN_TWO_ARMS
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Check
from bascule.core.diagnostics.result import chi_square_tail, p_at_look, shown
from bascule.core.types import FloatArray

MOST_PARTS = 4
"""Parts into which the units of a block are divided by their time."""

FEWEST_EXPECTED = 10.0
"""Units of the smallest arm that a part must be expected to have."""

WITHIN = "split within blocks"

BLOCK_WORDS = {
    **dict.fromkeys(("day", "week"), "a day"),
    "hour": "an hour",
    PERIOD: "a day or a period of constant weights",
}
"""What a split is checked within, by the block that units are compared within."""


def within_blocks(arrivals: FloatArray, block: Block) -> Check:
    """Check that the shares of the arms do not change with the time within a block.

    `arrivals` are units by block, hour and arm; weeks are checked day by day, since who compares
    within weeks may have days of single arms on purpose.
    Given how many units of each arm a block has, any order of them is as likely as any other if
    shares were constant. The p-value is the smallest at the end of any block, each corrected for
    the number of blocks until then, so it holds however often one looks.
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
        "where the split followed the outcomes: name the column with the probability of a unit's "
        'arm (`probability`), the period in which shares were constant (`block="hour"`), or the '
        'times from which on they held (`weights={"2026-03-09 12:00": [1, 9], ...}`)'
    )
    return Check(WITHIN, True, message, p_value)


def changed_between(units: FloatArray, looks: int) -> bool:
    """Whether the shares of the arms changed between blocks, by their units; at any look."""
    found, free = homogeneity(units[units.sum(axis=1) > 0])
    return free > 0 and p_at_look(chi_square_tail(found, free), max(looks, 1)) <= LEVEL


def homogeneity(counts: FloatArray) -> tuple[float, int]:
    """Pearson's statistic for equal shares in all rows of a table, and its degrees of freedom.

    Its mean is exactly the degrees of freedom where every order of the units is as likely.

    >>> homogeneity(np.array([[10.0, 10.0], [10.0, 10.0]]))
    (0.0, 1)
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    rows, arms = counts.shape
    total = float(counts.sum())
    if rows < 2 or arms < 2:
        return 0.0, 0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic * (total - 1.0) / total, (rows - 1) * (arms - 1)


def _in_parts(counts: FloatArray) -> FloatArray:
    """Units by part of a block and arm: as many parts as the smallest arm allows, of like size."""
    arms = counts.sum(axis=0)
    rarest = float(arms[arms > 0].min(initial=np.inf))
    parts = min(MOST_PARTS, int(rarest // FEWEST_EXPECTED)) if np.isfinite(rarest) else 0
    if parts < 2:
        return counts[:0]
    # The middle of an hour's units says which part the hour belongs to.
    sizes = counts.sum(axis=1)
    middle = (np.cumsum(sizes) - 0.5 * sizes) / sizes.sum()
    part = np.minimum((parts * middle).astype(int), parts - 1)
    table = np.stack([counts[part == place].sum(axis=0) for place in range(parts)])
    return np.asarray(table[table.sum(axis=1) > 0])


def withheld_reason(request: Request, reduced: Reduced, within: Check, between: bool) -> str:
    """Say why a log allows no decision because of its split; empty if it allows one.

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
    """Say that the shares of the arms changed between blocks, and what follows."""
    shares = units / np.maximum(units.sum(axis=1, keepdims=True), 1.0)
    last_shares = shares[units.sum(axis=1) > 0, -1]
    return (
        f"the split changed from day to day ({arms[-1]} had {100 * last_shares.min():.0f} to "
        f"{100 * last_shares.max():.0f} % of a day's units): units are compared within days"
        + ("" if stated else ", and the sample ratio was not checked: state the weights")
    )
