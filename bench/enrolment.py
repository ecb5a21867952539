"""The error of equal arms while the share of traffic ramps, through the public interface.

Live tests of equal arms, in which a tenth of the traffic gets in at first and all of it in the end;
and the same with a person who raises the share whenever one arm is ahead.
"""

from __future__ import annotations

import math
import random

import bascule as bs

RUNS, DAYS, PER_DAY = 300, 8, 60
ERROR, BUY = 0.2, 0.3
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=ERROR, measure=bs.Measure("1d", "any")
)
RAMP = bs.Audience(ramp=[("0d", 0.1), ("2d", 0.3), ("4d", 1)])
WAYS = {
    "everyone from the start": None,
    "a ramp from 10 % to 100 %": RAMP,
    "by hand, when b is ahead": bs.Audience(share=0.2),
}


def winner(audience: bs.Audience | None, seed: int) -> str | None:
    """Play one test of equal arms; return the arm that was declared the winner, if any."""
    clock, chance = bs.ManualClock(), random.Random(seed)
    with bs.open(":memory:", clock=clock, shuffle=random.Random(seed).shuffle) as store:
        test = store.create(f"null-{seed}", DESIGN, audience=audience)
        seen = {"a": [0, 0], "b": [0, 0]}
        for day in range(DAYS):
            units = [f"{day}-{i}" for i in range(PER_DAY)]
            bought = {unit for unit in units if chance.random() < BUY}
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                seen[arm][0] += 1
                seen[arm][1] += unit in bought
            test.record_many([(unit, 1.0) for unit in bought])
            clock.advance("1d")
            test.settle()
            if test.state == "decided":
                return test.status().decision.name  # type: ignore[union-attr]
            if audience is not None and not audience.ramp:
                a, b = (buys / max(1, units) for units, buys in seen.values())
                test.set_share(1.0 if b > a else 0.2)
    return None


def main(runs: int = RUNS) -> list[str]:
    """Return the table as lines of Markdown."""
    lines = ["| who gets in | a declared | b declared | bound for each |", "|---|---|---|---|"]
    for way, audience in WAYS.items():
        won = [winner(audience, seed) for seed in range(runs)]
        shares = [won.count(arm) / runs for arm in ("a", "b")]
        error = 100 * math.sqrt(ERROR * (1 - ERROR) / runs)
        shown = " | ".join(f"{100 * share:.1f} %" for share in shares)
        lines.append(f"| {way} | {shown} | {100 * ERROR:g} % ± {error:.1f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(main()))
