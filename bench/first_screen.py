"""`python -m bench.first_screen`: the table of the README, and how often its sentence is true.

The table has four ways to run the README's test, 5 % against 6 % with 5,000 visitors a day whose
outcomes are known after a day, and the same without a difference. `--plans` plans twenty problems
and counts in how many the recommended design is sooner and cheaper than the fixed-horizon test.
"""

from __future__ import annotations

import argparse
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
    """Simulate a design with the README's traffic and window."""
    world = bs.worlds.World(tuple(means), units_per_day=PER_DAY)
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
    both = 0
    print("| baseline, lift | a day | window | design | days | fixed | lost | fixed |")
    print("|---|---|---|---|---|---|---|---|")
    for baseline, lift, per_day, window in PROBLEMS:
        plan = bs.plan(
            baseline=baseline, lift=lift, units_per_day=per_day, window=window, deadline_days=90
        )
        both += is_better(plan)
        days, cost, fixed = plan.expected_days, plan.chosen.forecast.cost, plan.fixed_horizon
        print(
            f"| {100 * baseline:g} %, {lift} | {per_day:,} | {window} | {plan.design.rule.label} | "
            f"{days.mean:.1f} | {fixed.days:.1f} | {cost.mean:.0f} | {fixed.cost:.0f} |",
            flush=True,
        )
    print(f"sooner and cheaper than the fixed-horizon test: {both} of {len(PROBLEMS)}")


def is_better(plan: Plan) -> bool:
    """Return whether a plan is sooner on average, and cheaper, than a fixed-horizon test."""
    fixed = plan.fixed_horizon
    return plan.expected_days.mean <= fixed.days and plan.chosen.forecast.cost.mean < fixed.cost


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", action="store_true", help="plan twenty problems")
    if parser.parse_args().plans:
        print_plans()
    else:
        print_table()
