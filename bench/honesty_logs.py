"""Logs without a better arm, for `python -m bench.honesty`: how often `analyze` names a winner.

Each log is analysed day by day, so that a winner on any day counts, as for someone who looks every
evening and stops at the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bascule as bs

DAYS, PER_DAY, ERROR = 20, 50, 0.3
"""A large error, of which 90 logs show an excess by a half."""

Log = dict[str, list[Any]]
Draw = Callable[[np.random.Generator], Log]


@dataclass(frozen=True, slots=True)
class LogCell:
    """A kind of log, what is asked about it, and how often."""

    name: str
    outcome: str
    draw: Draw
    runs: int
    options: dict[str, Any] = field(default_factory=dict)
    arms: int = 2


def answered(cell: LogCell, rng: np.random.Generator) -> tuple[bool, str]:
    """Return whether the first arm lost although no arm is better, and the guarantee that is told.

    Arms are alike, so the first one stands for the best arm and any other as winner is wrong.
    """
    analysis = bs.analyze(cell.draw(rng), error=ERROR, **cell.options)
    decision = analysis.decision
    return decision is not None and decision.name != "arm00", analysis.guarantee


def split(shares: list[float], values: Callable[[np.random.Generator, int], Any]) -> Draw:
    """Return logs of units that are split at random by fixed shares."""

    def draw(rng: np.random.Generator) -> Log:
        units = DAYS * PER_DAY
        arms = rng.choice(len(shares), units, p=shares)
        return _log(arms, values(rng, units))

    return draw


def logged(shares: list[float]) -> Draw:
    """Return logs whose probabilities change from day to day with what was seen, and are logged.

    The share of the arm that looks worse falls to the smallest of the shares.
    """

    def draw(rng: np.random.Generator) -> Log:
        ahead, sums, counts = 0, np.zeros(2), np.zeros(2)
        arms, values, chances = [], [], []
        for _ in range(DAYS):
            chance = np.array([shares[1], shares[1]])
            chance[1 - ahead] = shares[0]
            chance[ahead] = 1.0 - shares[0]
            today = (rng.random(PER_DAY) < chance[1]).astype(int)
            seen = (rng.random(PER_DAY) < 0.3).astype(float)
            arms += today.tolist()
            values += seen.tolist()
            chances += chance[today].tolist()
            sums += np.bincount(today, seen, 2)
            counts += np.bincount(today, minlength=2)
            means = sums / np.maximum(counts, 1)
            ahead = int(means[1] > means[0])
        return {**_log(np.array(arms), np.array(values)), "p": chances}

    return draw


def delayed(share: float) -> Draw:
    """Return logs in which values of the first arm come later than those of the second.

    A unit's value is 0 until its event comes, up to five days later, within its window of seven.
    """

    def draw(rng: np.random.Generator) -> Log:
        units = DAYS * PER_DAY
        arms = rng.choice(2, units, p=[1.0 - share, share])
        day = np.arange(units) // PER_DAY
        buys = rng.random(units) < 0.3
        wait = np.where(arms == 0, 5.0, 0.0) * rng.random(units)
        # A row for the arrival of each unit, and one for each event.
        rows = [(i, a, 0.0, float(d)) for i, (a, d) in enumerate(zip(arms, day, strict=True))]
        rows += [(int(i), arms[i], 1.0, day[i] + wait[i]) for i in np.flatnonzero(buys)]
        columns = list(zip(*rows, strict=True))
        times = [f"2026-03-{1 + int(t):02} {int(24 * (t % 1)):02}:00:00" for t in columns[3]]
        return {
            "unit": list(columns[0]),
            "arm": [f"arm{arm:02}" for arm in columns[1]],
            "value": list(columns[2]),
            "time": times,
        }

    return draw


def _log(arms: Any, values: Any) -> Log:
    days = np.arange(len(arms)) // PER_DAY
    return {
        "unit": list(range(len(arms))),
        "arm": [f"arm{arm:02}" for arm in arms],
        "value": [float(value) for value in values],
        "time": [f"2026-03-{1 + day:02}" for day in days],
    }


def clicks(rng: np.random.Generator, units: int) -> Any:
    """Return outcomes of which 30 % are 1 and the others 0."""
    return (rng.random(units) < 0.3).astype(float)


def spending(rng: np.random.Generator, units: int) -> Any:
    """Return what units spend: one in ten buys, for a log-normal amount, 500 at the most."""
    return (rng.random(units) < 0.1) * np.minimum(rng.lognormal(3.0, 1.5, units), 500.0)


def log_cells(times: Callable[[int], int]) -> list[LogCell]:
    """Return all kinds of logs."""
    look, uneven = "looks every day", "looks every day, split 5:95"
    rare = [0.05, 0.95]
    late = "outcomes of one arm come later, window of 7 days"
    follow = "logged probabilities follow the leader, .99 and .01"
    capped, chances = {"outcome": bs.Bounded(0, 500)}, {"probability": "p"}
    window = {"window": "7d", "outcome": bs.Bernoulli()}
    runs = times(90)
    return [
        LogCell(look, "0/1", split([0.5, 0.5], clicks), runs),
        LogCell(look, "0/1", split([0.1] * 10, clicks), times(25), arms=10),
        LogCell(uneven, "0/1", split(rare, clicks), runs),
        LogCell(uneven, "spending, capped", split(rare, spending), runs, capped),
        LogCell(uneven, "spending", split(rare, spending), runs),
        LogCell(follow, "0/1", logged([0.01, 0.99]), runs, chances),
        LogCell(late, "0/1", delayed(0.5), runs, window),
    ]
