"""A program that assigns and records as fast as it can, and says what it was answered.

`python worker.py LOCATION FIRST LAST [STEP]`: units FIRST to LAST, each assigned and recorded, and
one line on standard output for each answer, written only after the answer.
"""

from __future__ import annotations

import sys

import bascule as bs


def main() -> None:
    location, first, last, step = sys.argv[1], *(int(text) for text in sys.argv[2:5])
    with bs.open(location) as store:
        test = store.get("test")
        for i in range(first, last, step):
            unit = f"unit {i}"
            arm = test.assign(unit)
            print("assigned", i, arm, flush=True)
            test.record(unit, float(i % 2), id=f"event {i}")
            print("recorded", i, float(i % 2), flush=True)


if __name__ == "__main__":
    main()
