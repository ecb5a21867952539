"""`python -m bench.first_screen`: the table of the README, and how often its sentence is true.

The table has four ways to run the README's test, 5 % against 6 % with 5,000 visitors a day whose
outcomes are known after a day, and the same without a difference. `--plans` plans twenty problems
and counts in how many the recommended design is no slower than the fixed-horizon test at the lift
and without a difference, and in how many it is cheaper, too.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import bascule as bs
from bascule.planning import Plan
from bascule.research.rivals import Thompson
from bascule.simulation import Simulation

BASELINE, LIFT, PER_DAY, DEADLINE = 0.05, "20%", 5_000, 28
MEANS = (0.05, 0.06)
RUNS = 4_000

PROBLEMS = [
    (baseline, lift, per_day, window)
    for (baseline, lift), per_day, window in product(
        ((0.01, "30%"), (0.03, "20%"), (0.05, "20%"), (0.1, "10%"), (0.3, "10%")),
        (2_000, 20_000),
        ("1d", "7d"),
    )
]
"""Twenty problems: five baselines with their lifts, little and much traffic, two windows."""


class Row(NamedTuple):
    """A design: days and conversions lost at the lift; percentages of right and wrong winners.

    `found` are the tests at the lift that declare the better arm the winner, `wrong` those that
    declare the worse one, and `winners` the tests without a difference that declare one.
    """

    name: str
    days: float
    lost: float
    found: float
    winners: float
    wrong: float


def played(design: bs.Design, means: Sequence[float]) -> Simulation:
    """Simulate a design with the README's traffic, and outcomes that are known after a day."""
    day = bs.worlds.Delay(PER_DAY)
    world = bs.worlds.World(tuple(means), units_per_day=PER_DAY, delay=day)
    return bs.simulate(design, world=world, runs=RUNS, seed=1)


def row(name: str, design: bs.Design) -> Row:
    """Return what a design does at the lift and without a difference."""
    found, equal = played(design, MEANS), played(design, MEANS[:1] * 2)
    days, lost = found.decision_time.mean() / PER_DAY, found.regret.mean()
    right, winners = (100 * float(share.mean()) for share in (found.winner == 1, equal.winner >= 0))
    return Row(name, float(days), float(lost), right, winners, 100 * found.error_rate)


def rows() -> list[Row]:
    """Return the rows of the table, in its order."""
    plan = bs.plan(
        baseline=BASELINE, lift=LIFT, units_per_day=PER_DAY, window="1d", deadline_days=DEADLINE
    )
    fixed = plan.fixed_horizon
    bandit = bs.Design(
        ["control", "green"],
        bs.Bernoulli(),
        Thompson(0.01),
        error=0.05,
        sides=1,
        measure=bs.Measure("1d", "any"),
        max_units=DEADLINE * PER_DAY,
    )
    return [
        Row(
            *("fixed-horizon test", fixed.days, fixed.cost),
            *(100 * plan.request.power, 100 * plan.request.error, 0.0),
        ),
        row("bandit", bandit),
        row("even split with early stopping", plan.even_point.design),
        row("bascule", plan.design),
    ]


def print_table() -> None:
    """Print the table."""
    print("| | days | conversions lost | found | winners without a difference | worse winners |")
    print("|---|---|---|---|---|---|")
    for name, days, lost, *shares in rows():
        shown = " | ".join(f"{share:.1f} %" for share in shares)
        print(f"| {name} | {days:.2f} | {lost:.1f} | {shown} |")


def print_plans() -> None:
    """Print what is recommended for each problem beside the fixed-horizon test."""
    counts: Counter[str] = Counter()
    print("| baseline, lift | a day | window | design | days | no effect | fixed | lost | fixed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for baseline, lift, per_day, window in PROBLEMS:
        plan = bs.plan(
            baseline=baseline, lift=lift, units_per_day=per_day, window=window, deadline_days=90
        )
        counts.update(better(plan))
        days, cost, fixed = plan.expected_days, plan.chosen.forecast.cost, plan.fixed_horizon
        print(
            f"| {100 * baseline:g} %, {lift} | {per_day:,} | {window} | {plan.design.rule.label} | "
            f"{days.mean:.1f} | {days_at_zero(plan):.1f} | {fixed.days:.1f} | {cost.mean:.0f} | "
            f"{fixed.cost:.0f} |",
            flush=True,
        )
    for name in ("no slower at the lift", "no slower at both", "cheaper", "all three"):
        print(f"{name}: {counts[name]} of {len(PROBLEMS)}")


def days_at_zero(plan: Plan) -> float:
    """Return the mean days of the recommended design if no arm is better."""
    zero = plan.at_zero
    return plan.request.deadline_days if zero is None else zero.days.mean


def better(plan: Plan) -> list[str]:
    """Return in what the recommended design is at least as good as the fixed-horizon test."""
    fixed = plan.fixed_horizon
    at_lift = plan.expected_days.mean <= fixed.days
    at_both = at_lift and days_at_zero(plan) <= fixed.days
    cheaper = plan.chosen.forecast.cost.mean < fixed.cost
    marks = {
        "no slower at the lift": at_lift,
        "no slower at both": at_both,
        "cheaper": cheaper,
        "all three": at_both and cheaper,
    }
    return [name for name, holds in marks.items() if holds]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", action="store_true", help="plan twenty problems")
    if parser.parse_args().plans:
        print_plans()
    else:
        print_table()
