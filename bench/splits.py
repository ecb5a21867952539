"""`python -m bench.splits [LOGS]`: logs of equal arms whose split is fixed, changes, or adapts.

For each kind: how many logs name a winner at a stated error, how many are refused an answer because
the split changed within a day, and how many are called mismatched. Then how often the check of the
split raises a false alarm, in many more logs of which only the arrivals are drawn.
"""

from __future__ import annotations

import sys

import numpy as np
from tests.analysis.test_split import KNOWN, LOGS, changed_at_noon

import bascule as bs
from bascule.analysis.split import within_blocks

ERROR = 0.2
UNITS, DAYS, ARRIVALS = 400, 5, 20_000


def main(logs: int) -> None:
    """Play the logs of each kind, and print a line for it."""
    print(f"{logs} logs of each kind, a winner is wrong, stated error {ERROR:.0%} in all")
    noon = bs.Assigned(weights=KNOWN)
    kinds = {kind: (draw, bs.Assigned()) for kind, draw in LOGS.items()}
    kinds |= {
        "a change at noon": (changed_at_noon, bs.Assigned()),
        "a change at noon, stated": (changed_at_noon, noon),
    }
    for kind, (draw, assigned) in kinds.items():
        seeds = map(np.random.default_rng, range(logs))
        found = [bs.analyze(draw(rng), error=ERROR, assigned=assigned) for rng in seeds]
        winners = sum(one.decision is not None for one in found)
        withheld = sum(bool(one.withheld) for one in found)
        mismatched = sum(one.ratio_mismatch for one in found)
        print(f"{kind}: {winners} winners, {withheld} no answer, {mismatched} mismatched")
    for kind in ("fixed", "daily"):
        rng, alarms = np.random.default_rng(11), 0
        for _ in range(ARRIVALS):
            low, high = (0.5, 0.5) if kind == "fixed" else (0.15, 0.85)
            alarms += within_blocks(arrivals(rng, rng.uniform(low, high, DAYS)), "day").flagged
        print(f"{kind}: {alarms / ARRIVALS:.2%} false alarms of the check in {ARRIVALS:,} logs")


def arrivals(rng: np.random.Generator, shares: np.ndarray) -> np.ndarray:
    """Units by day, hour and arm, of days with constant shares."""
    hours = np.arange(UNITS) * 24 // UNITS
    counts = np.zeros((len(shares), 24, 2))
    for day, share in enumerate(shares):
        arm = rng.random(UNITS) < share
        counts[day, :, 1] = np.bincount(hours[arm], minlength=24)
        counts[day, :, 0] = np.bincount(hours[~arm], minlength=24)
    return counts


if __name__ == "__main__":
    main(int((*sys.argv, "300")[1]))
