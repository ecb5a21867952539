"""A program that assigns and records as fast as it can, and says what it was answered.

`python worker.py LOCATION FIRST LAST STEP GROUP`: units FIRST to LAST, assigned and recorded in
groups, and one line on standard output for each answer, written only after the answer.
"""

from __future__ import annotations

import sys

import bascule as bs


def main() -> None:
    location, first, last, step, group = sys.argv[1], *(int(text) for text in sys.argv[2:6])
    units = range(first, last, step)
    with bs.open(location) as store:
        test = store.get("test")
        for start in range(0, len(units), group):
            some = units[start : start + group]
            arms = test.assign_many([f"unit {i}" for i in some])
            told = zip(some, arms, strict=True)
            print("".join(f"assigned {i} {arm}\n" for i, arm in told), end="", flush=True)
            test.record_many([(f"unit {i}", float(i % 2), None, f"event {i}") for i in some])
            print("".join(f"recorded {i} {i % 2}\n" for i in some), end="", flush=True)


if __name__ == "__main__":
    main()
