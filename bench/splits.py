"""`python -m bench.splits [LOGS]`: logs of equal arms whose split is fixed, changes, or adapts.

For each kind: how many logs name a winner at a stated error, how many are refused an answer because
the split changed within a day, and how many are called mismatched.
"""

from __future__ import annotations

import sys

import numpy as np
from tests.analysis.test_split import LOGS

import bascule as bs

ERROR = 0.2


def main(logs: int) -> None:
    """Play the logs of each kind, and print a line for it."""
    print(f"{logs} logs of each kind, a winner is wrong, stated error {ERROR:.0%} in all")
    for kind, draw in LOGS.items():
        found = [bs.analyze(draw(np.random.default_rng(seed)), error=ERROR) for seed in range(logs)]
        winners = sum(one.decision is not None for one in found)
        withheld = sum(bool(one.withheld) for one in found)
        mismatched = sum(one.ratio_mismatch for one in found)
        print(f"{kind}: {winners} winners, {withheld} no answer, {mismatched} mismatched")


if __name__ == "__main__":
    main(int((*sys.argv, "300")[1]))
