"""Rows of the benchmark with more than two arms: best arm identification, and a Bayesian trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import bascule as bs
from bascule.research.rivals import bayesian_trial, best_arm
from bascule.simulation import Estimate
from bascule.simulation.result import share_estimate
from bascule.simulation.runs import AnyArray

SEED = 20_26
ERROR = 0.05

Figures = dict[str, Estimate]
"""What was measured of a row, by the name of its column."""


def chunks(runs: int, size: int) -> Iterator[int]:
    """Yield the sizes of parts of the runs."""
    for first in range(0, runs, size):
        yield min(size, runs - first)


PROBLEMS: dict[str, tuple[float, ...]] = {
    "four arms": (0.5, 0.45, 0.43, 0.4),
    "five arms": (0.3, 0.21, 0.2, 0.19, 0.18),
}
"""The two problems of Garivier and Kaufmann, the best arm first."""

DELTA = 0.1
SLOW = 4
"""How many times fewer runs track-and-stop gets, whose shares take long to compute."""


def estimates(units: AnyArray, winner: AnyArray, rates: tuple[float, ...]) -> Figures:
    """Return units, regret and the share of wrong answers; the first arm is best."""
    gaps = rates[0] - np.array(rates)
    return {
        "units": Estimate.of(units.sum(axis=1)),
        "regret": Estimate.of(units @ gaps),
        "wrong": share_estimate(int((winner > 0).sum()), len(winner)),
    }


def identified(rule: int, slower: int, rates: tuple[float, ...], runs: int) -> Figures:
    """Return what a rule of Garivier and Kaufmann does."""
    found = best_arm.identify(rule, rates, DELTA, max(runs // slower, 2), SEED)
    return estimates(found.units, found.winner, rates)


def ours_identified(rule: bs.Tilt, rates: tuple[float, ...], runs: int) -> Figures:
    """Return what a rule of this package does."""
    arms = [f"arm {i + 1}" for i in range(len(rates))]
    design = bs.Design(arms, bs.Bernoulli(), rule, error=DELTA, sides=1)
    result = bs.simulate(design, rates, runs=runs, seed=SEED)
    return estimates(result.units, result.winner, rates)


def best_arm_rows() -> dict[str, Callable[[int], Figures]]:
    """Return the rows of fixed-confidence best arm identification."""
    rows: dict[str, Callable[[int], Figures]] = {}
    for name, rates in PROBLEMS.items():
        gap = round(rates[0] - rates[1], 6)
        rows[f"{name}: track-and-stop"] = partial(identified, best_arm.TRACKING, SLOW, rates)
        rows[f"{name}: Chernoff racing"] = partial(identified, best_arm.RACING, 1, rates)
        for rule in (bs.Tilt(1), bs.Tilt(3), bs.Tilt(3, effect=gap, baseline=rates[1])):
            rows[f"{name}: {rule.label}"] = partial(ours_identified, rule, rates)
    return rows


SCENARIOS: dict[str, tuple[float, ...]] = {
    "one best": (0.25, 0.20, 0.30),
    "all equal": (0.25, 0.25, 0.25),
    "two tied for best": (0.20, 0.20, 0.30),
}
"""Rates of an undesirable outcome: adaptr's two scenarios, and the least favourable one."""


def trial_figures(play: Callable[[tuple[float, ...], int], Any], runs: int) -> Figures:
    """Return how often a superior arm is named in each scenario, and patients and events lost."""
    figures: Figures = {}
    for name, rates in SCENARIOS.items():
        named, units = play(rates, runs)
        figures[name] = share_estimate(int(named.sum()), runs)
        figures[f"{name}: patients"] = Estimate.of(units.sum(axis=1))
        if name == "one best":
            figures["events lost"] = Estimate.of(units @ (np.array(rates) - min(rates)))
    return figures


def bayesian(rates: tuple[float, ...], runs: int) -> tuple[AnyArray, AnyArray]:
    """Return whether each of adaptr's trials named a superior arm, and its patients."""
    rng = np.random.default_rng((SEED, *(round(100 * rate) for rate in rates)))
    parts = [
        bayesian_trial.play(bayesian_trial.Trial(), rates, part, rng) for part in chunks(runs, 1000)
    ]
    ending = np.concatenate([part.ending for part in parts])
    return ending == bayesian_trial.SUPERIOR, np.concatenate([part.patients for part in parts])


def our_trial(
    rule: bs.Tilt, cap: int | None, rates: tuple[float, ...], runs: int
) -> tuple[AnyArray, AnyArray]:
    """Return the same of a rule of this package."""
    design = bs.Design(
        ["A", "B", "C"],
        bs.Bernoulli(),
        rule,
        error=ERROR,
        sides=1,
        goal="decrease",
        max_units=cap,
    )
    result = bs.simulate(design, rates, runs=runs, seed=SEED)
    return result.winner >= 0, result.units


OURS_TRIAL: dict[str, tuple[bs.Tilt, int | None]] = {
    "Tilt_1, effect 0.05": (bs.Tilt(1, effect=0.05, baseline=0.25), 2000),
    "Tilt_3, effect 0.05": (bs.Tilt(3, effect=0.05, baseline=0.25), 2000),
}
"""Our rules in that trial, and their cap."""


def trial_rows() -> dict[str, Callable[[int], Figures]]:
    """Return the rows of the Bayesian adaptive trial."""
    rows: dict[str, Callable[[int], Figures]] = {"adaptr": partial(trial_figures, bayesian)}
    for name, (rule, cap) in OURS_TRIAL.items():
        rows[name] = partial(trial_figures, partial(our_trial, rule, cap))
    return rows
