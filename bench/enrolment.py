"""The error of equal arms while the share of traffic ramps: `python -m bench.enrolment`.

Tests of equal arms in which a tenth of the traffic gets in at first and all of it in the end; and
the same with a person who raises the share whenever one arm is ahead. Units get in, are placed and
counted by the functions that live tests call, without a database, which would take most of the
time; `tests/live/transactions/test_enrol.py` shows that a store does the same.
"""

from __future__ import annotations

import math
import random
import sys

import bascule as bs
from bascule.live.steps.assignment import place
from bascule.live.steps.folding import fold_unit
from bascule.live.steps.maturity import Matured
from bascule.live.storage.deals import Deal
from bascule.live.storage.state import ExperimentState

RUNS, DAYS, PER_DAY, DAY = 400, 8, 60, 86400.0
ERROR, BUY = 0.2, 0.3
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=ERROR, measure=bs.Measure("1d", "any")
)
RAMP = bs.Audience(ramp=[("0d", 0.1), ("2d", 0.3), ("4d", 1)])
WAYS = {
    "everyone from the start": bs.Audience(),
    "a ramp from 10 % to 100 %": RAMP,
    "by hand, a larger share whenever b is ahead": bs.Audience(share=0.2),
}


def winner(audience: bs.Audience, seed: int) -> str | None:
    """Play one test of equal arms; return the arm that was declared the winner, if any."""
    chance = random.Random(seed)
    state, deals = ExperimentState.empty(DESIGN), dict[int, Deal]()
    by_hand = audience.share < 1.0
    for day in range(DAYS):
        names = [f"{day}-{i}" for i in range(PER_DAY)]
        # Every unit that comes is drawn, so that the arms cannot depend on who is enrolled.
        bought = {name: float(chance.random() < BUY) for name in names}
        share = next((s for at, s in reversed(audience.ramp) if float(at) <= day * DAY), None)
        inside = [
            name for name in names if audience.keeps_out(f"null-{seed}", name, {}, share) is None
        ]
        last = state.enrolment.deal
        placed = place(DESIGN, state, deals.get(last), chance.shuffle, len(inside), day * DAY)
        deals |= {last + 1 + i: Deal(last + 1 + i, parts) for i, parts in enumerate(placed.dealt)}
        state = placed.state
        # The conversion window of a day has ended.
        for name, arm, number in zip(inside, placed.arms, placed.deals, strict=True):
            deal = deals[number or 0]
            unit = Matured(arm, bought[name])
            state = fold_unit(DESIGN, state, deal, unit, (day + 1) * DAY)
            if state.ending.verdict is not None:
                return state.ending.verdict.name
        if by_hand:
            a, b = (arm.mean if arm.units else 0.0 for arm in state.once.arms)
            audience = audience.with_share(1.0 if b > a else 0.2)
    return None


def main(runs: int = RUNS) -> list[str]:
    """Return the table as lines of Markdown."""
    lines = ["| who gets in | a declared | b declared | bound for each |", "|---|---|---|---|"]
    for way, audience in WAYS.items():
        won = [winner(audience, seed) for seed in range(runs)]
        shares = [won.count(arm) / runs for arm in ("a", "b")]
        error = 100 * math.sqrt(ERROR * (1 - ERROR) / runs)
        shown = " | ".join(
            f"{100 * share:.1f} % ± {100 * math.sqrt(share * (1 - share) / runs):.1f}"
            for share in shares
        )
        lines.append(f"| {way} | {shown} | {100 * ERROR:g} % ± {error:.1f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(main(*map(int, sys.argv[1:]))))
