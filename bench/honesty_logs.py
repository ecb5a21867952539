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
from bascule.analysis.call import call_of
from bench.honesty_cells import Cell

DAYS, PER_DAY, ERROR = 20, 50, 0.3
"""A large error, of which 240 logs show an excess by a half."""

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
    guarantee: str = "proven"


def is_wrong(cell: LogCell, rng: np.random.Generator) -> bool:
    """Return whether the first arm lost although no arm is better.

    Arms are alike, so the first one stands for the best arm and any other as winner is wrong.
    """
    analysis = bs.analyze(**call_of(cell.draw(rng), error=ERROR, sides=1, **cell.options))
    assert analysis.guarantee == cell.guarantee, (cell, analysis.guarantee)
    decision = analysis.decision
    return decision is not None and decision.name != "arm00"


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


def with_covariate(draw: Draw) -> Draw:
    """Return logs with a number known beforehand, to which half of each value is due."""

    def drawn(rng: np.random.Generator) -> Log:
        log = draw(rng)
        known = rng.normal(10.0, 3.0, len(log["value"]))
        values = [value + float(x) for value, x in zip(log["value"], known, strict=True)]
        return {**log, "value": values, "before": known.tolist()}

    return drawn


def with_visits(draw: Draw) -> Draw:
    """Return logs of values that units give in one to five visits each."""

    def drawn(rng: np.random.Generator) -> Log:
        log = draw(rng)
        visits = rng.integers(1, 6, len(log["value"]))
        values = [value * float(n) for value, n in zip(log["value"], visits, strict=True)]
        return {**log, "value": values, "visits": visits.tolist()}

    return drawn


def summed(draw: Draw, cumulative: bool) -> Draw:
    """Return logs that have one row for each arm and day, of that day or of all until then."""

    def drawn(rng: np.random.Generator) -> Log:
        log = draw(rng)
        sums: dict[tuple[str, str], list[float]] = {}
        for arm, value, day in zip(log["arm"], log["value"], log["time"], strict=True):
            row = sums.setdefault((arm, day), [0.0, 0.0])
            row[0] += 1.0
            row[1] += value
        arms, days = sorted({arm for arm, _ in sums}), sorted({day for _, day in sums})
        rows: list[tuple[str, str, float, float]] = []
        for arm in arms:
            count = total = 0.0
            for day in days:
                more = sums.get((arm, day), [0.0, 0.0])
                count, total = (count + more[0], total + more[1]) if cumulative else (*more,)
                rows.append((arm, day, count, total))
        columns = list(zip(*rows, strict=True))
        names = ("arm", "time", "units", "value")
        return {name: list(column) for name, column in zip(names, columns, strict=True)}

    return drawn


def of_one_arm(shares: list[float]) -> Draw:
    """Return logs of three arms, the probabilities of all of which are logged for each unit."""

    def draw(rng: np.random.Generator) -> Log:
        ahead, sums, counts = 0, np.zeros(3), np.zeros(3)
        arms, values, chances = [], [], []
        for _ in range(DAYS):
            chance = np.roll(np.array(shares), ahead)
            today = rng.choice(3, PER_DAY, p=chance)
            seen = clicks(rng, PER_DAY)
            arms += today.tolist()
            values += seen.tolist()
            chances += [chance] * PER_DAY
            sums += np.bincount(today, seen, 3)
            counts += np.bincount(today, minlength=3)
            ahead = int(np.argmax(sums / np.maximum(counts, 1)))
        log = _log(np.array(arms), np.array(values))
        return {**log, **{f"p{arm}": [float(c[arm]) for c in chances] for arm in range(3)}}

    return draw


def log_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return a cell for each kind of log that `analyze` answers."""
    return [_cell(kind) for kind in kinds(times)]


def _cell(kind: LogCell) -> Cell:
    seed = [ord(letter) for letter in f"{kind.name}{kind.outcome}{kind.arms}"]

    def count(first: int, last: int) -> int:
        logs = range(first, last)
        return sum(is_wrong(kind, np.random.default_rng([*seed, log])) for log in logs)

    about = (kind.outcome, kind.arms, kind.name, kind.guarantee, ERROR, kind.runs)
    return Cell("analyze", *about, count)


def kinds(times: Callable[[int], int]) -> list[LogCell]:
    """Return all kinds of logs."""
    look, uneven = "looks every day", "looks every day, split 5:95"
    rare = [0.05, 0.95]
    late = "outcomes of one arm come later, window of 7 days"
    follow = "logged probabilities follow the leader, .99 and .01"
    three = "logged probabilities follow the leader, .98, .01 and .01"
    capped, chances = {"outcome": bs.Bounded(0, 500)}, {"probability": "p"}
    window = {"window": "7d", "outcome": bs.Bernoulli()}
    mapped = {"probability": {f"arm{arm:02}": f"p{arm}" for arm in range(3)}}
    even, totals = split([0.5, 0.5], clicks), {"count": "units", "outcome": bs.Bernoulli()}
    less, known = {"goal": "decrease"}, {"covariate": "before"}
    runs, about, start = times(240), "asymptotic", totals | {"cumulative": True}
    unequal, visits = split(rare, spending), {"per": "visits"}
    return [
        LogCell(look, "0/1", even, runs),
        LogCell(look, "0/1", split([0.1] * 10, clicks), runs, arms=10),
        LogCell(look, "0/1, lower is better", even, runs, less),
        LogCell(look, "0/1, sums of days", summed(even, cumulative=False), runs, totals),
        LogCell(look, "0/1, sums since the start", summed(even, True), runs, start, 2, about),
        LogCell(uneven, "0/1", split(rare, clicks), runs),
        LogCell(uneven, "spending, capped", unequal, runs, capped),
        LogCell(uneven, "spending", unequal, runs, {}, 2, about),
        LogCell(uneven, "spending, lower is better", unequal, runs, less, 2, about),
        LogCell(uneven, "spending, a covariate", with_covariate(unequal), runs, known, 2, about),
        LogCell(uneven, "spending a visit", with_visits(unequal), runs, visits, 2, about),
        LogCell(follow, "0/1", logged([0.01, 0.99]), runs, chances),
        LogCell(three, "0/1", of_one_arm([0.98, 0.01, 0.01]), runs, mapped, 3),
        LogCell(late, "0/1", delayed(0.5), runs, window),
    ]
