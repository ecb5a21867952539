"""`python -m bench.peeking [LOGS]`: how often peeking every day finds a winner where there is none.

Logs are drawn as the table of daily sums that a real log is reduced to, and answered by the same
functions. Seeds are fixed, so the page changes only when the package does.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bascule as bs
from bascule.analysis.call import Asked
from bascule.analysis.evidence import pairs
from bascule.analysis.evidence.kinds import Evidence, chosen_evidence, course_by
from bascule.analysis.log.reading import Reading
from bascule.analysis.log.rows import Arms
from bascule.analysis.reduce.moments import Scores
from bascule.analysis.reduce.sums import Growth, ReducedTable, Sums
from bascule.analysis.request import Reduced, Request
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray
from bascule.simulation.kernels.compiled import used_functions
from bench.peeking_page import Row, page

OUT = Path("docs/research/peeking.md")

LOGS, DAYS = 2000, 200
ERROR = 0.05
ARMS = ("a", "b")

Draw = Callable[[np.random.Generator], Sums]


@dataclass(frozen=True, slots=True)
class World:
    """A kind of log without any effect: how it is drawn, and what is asked about it."""

    name: str
    draw: Draw
    asked: Request


def measure(world: World, logs: int = LOGS, seed: int = 0) -> Row:
    """How many logs have a winner, on any day, and on which side."""
    sides: Counter[str] = Counter()
    answer = None
    for log in range(logs):
        answer = answered(world.asked, world.draw(np.random.default_rng((seed, log))))
        if answer.winner is not None:
            sides[answer.winner] += 1
    assert answer is not None
    evidence, error = answer.evidence, world.asked.error
    counts = tuple(sorted(sides.values(), reverse=True))
    return Row(world.name, evidence.name, evidence.guarantee, error, logs, counts)


class Answer(NamedTuple):
    """By which evidence a log was answered, and the winner, if it had one on any day."""

    evidence: Evidence
    winner: str | None


def answered(asked: Request, sums: Sums) -> Answer:
    """What `analyze` answers once a log has been reduced, without all that it says besides."""
    arms = tuple("abcdefgh"[: sums.units.shape[1]])
    count = int(sums.units.sum())
    table = ReducedTable({"": sums}, {}, count)
    reduced = Reduced(Arms(arms, (), {}), table, Reading(arm="arm"), final=sums.growth is None)
    evidence = chosen_evidence(asked, reduced, sums)
    course = course_by(evidence, asked, reduced, sums, sums.days, asked.error)
    return Answer(evidence, None if course.decision is None else course.decision.name)


COMPILED = (
    (pairs, "mixture_boundary"),
    (pairs, "lines_boundary"),
    (pairs, "day_charges"),
    (pairs, "weighted_charges"),
)


@contextmanager
def quick_rules() -> Iterator[None]:
    """Let the analysis call the very functions that it always calls, compiled."""
    import numba
    from numba.extending import register_jitable

    plain = [(module, name, getattr(module, name)) for module, name in COMPILED]
    for module, name, function in plain:
        for used in used_functions(function):
            register_jitable(used)
        setattr(module, name, numba.njit(function))
    try:
        yield
    finally:
        for module, name, function in plain:
            setattr(module, name, function)


def coins(rate: float, units: int, days: int = DAYS, arms: int = 2) -> Draw:
    """0/1 outcomes, at a rate that swings with the day of the week."""

    def draw(rng: np.random.Generator) -> Sums:
        came = rng.poisson(units / arms, (days, arms)).astype(float)
        weekly = rate * (1.0 + 0.3 * np.sin(2.0 * np.pi * np.arange(days) / 7.0))[:, None]
        ones = rng.binomial(came.astype(int), np.broadcast_to(weekly, came.shape)).astype(float)
        return _sums(came, ones, ones, ones, np.zeros(came.shape), np.ones(came.shape))

    return draw


def outcomes(
    kind: Callable[[np.random.Generator, int], FloatArray],
    units: int,
    days: int = DAYS,
    share: float = 0.5,
) -> Draw:
    """Outcomes of any kind, as many a day on average; the first arm has its share of them."""

    def draw(rng: np.random.Generator) -> Sums:
        came = rng.poisson([units * share, units * (1.0 - share)], (days, 2))
        values = kind(rng, int(came.sum()))
        starts = np.r_[0, np.cumsum(came.ravel())[:-1]]
        empty = came.ravel() == 0
        # A sum over nothing would be the next value.
        padded = np.r_[values, 0.0]

        def added(some: FloatArray) -> FloatArray:
            found: FloatArray = np.where(empty, 0.0, np.add.reduceat(some, starts))
            return found.reshape(came.shape)

        lows = np.full(came.shape, float(values.min()))
        highs = np.full(came.shape, float(values.max()))
        first, second, third = (added(padded**power) for power in (1, 2, 3))
        return _sums(came.astype(float), first, second, third, lows, highs)

    return draw


def normal(rng: np.random.Generator, size: int) -> FloatArray:
    """Normal outcomes with a spread of 1."""
    return rng.normal(size=size)


def spending(rng: np.random.Generator, size: int) -> FloatArray:
    """One unit in twenty buys, for an amount with a long tail, cut at 100."""
    bought = rng.random(size) < 0.05
    found: FloatArray = np.where(bought, np.minimum(rng.lognormal(2.0, 1.0, size), 100.0), 0.0)
    return found


def two_arm_scores(units: FloatArray, ones: FloatArray, chances: FloatArray) -> Scores:
    """The scores of 0/1 outcomes in two arms whose probabilities are the same all day."""

    def paired(part: FloatArray) -> FloatArray:
        found = np.zeros((*part.shape, 2))
        found[:, 0, 1], found[:, 1, 0] = part[:, 0], part[:, 1]
        return found

    weight = chances[:, ::-1]
    clock = (units.sum(axis=1) * chances.prod(axis=1))[:, None]
    return Scores(
        weight=paired(weight * units),
        scored=paired(weight * ones),
        squares=paired(weight**2 * units),
        squares_scored=paired(weight**2 * ones),
        squares_scored_twice=paired(weight**2 * ones),
        heaviest=paired(np.where(units > 0, weight, 0.0)),
        clock=paired(np.repeat(clock, 2, axis=1)),
    )


def rare(units: int, chance: float, days: int = DAYS) -> Draw:
    """0/1 outcomes of two arms, the first of which is assigned with a small, logged probability."""

    def draw(rng: np.random.Generator) -> Sums:
        size = rng.poisson(units, days)
        first = rng.binomial(size, chance)
        came = np.column_stack([first, size - first])
        ones = rng.binomial(came, 0.1).astype(float)
        some = _sums(came.astype(float), ones, ones, ones, 0.0 * ones, 0.0 * ones + 1.0)
        chances = np.tile([chance, 1.0 - chance], (days, 1))
        return replace(some, scores=two_arm_scores(some.units, ones, chances))

    return draw


def scored(units: int, days: int = DAYS) -> Draw:
    """0/1 outcomes of a split that moves towards the arm that did better the day before."""

    def draw(rng: np.random.Generator) -> Sums:
        came, ones = np.zeros((days, 2)), np.zeros((days, 2))
        chances = np.zeros((days, 2))
        share = 0.5
        for day in range(days):
            chances[day] = share, 1.0 - share
            size = rng.poisson(units)
            first = rng.binomial(size, share)
            came[day] = first, size - first
            ones[day] = rng.binomial(came[day].astype(int), 0.1)
            rates = ones[day] / np.maximum(came[day], 1.0)
            share = 0.7 if rates[0] > rates[1] else 0.3
        some = _sums(came, ones, ones, ones, np.zeros(came.shape), np.ones(came.shape))
        return replace(some, scores=two_arm_scores(came, ones, chances))

    return draw


def growing(units: int, ages: int, arriving: int = DAYS, days: int = DAYS) -> Draw:
    """Units that differ by 1 and give normal outcomes on so many days from their first.

    They come on the first `arriving` days.
    """

    def draw(rng: np.random.Generator) -> Sums:
        came = rng.poisson(units / 2, (days, 2))
        came[arriving:] = 0
        totals, squares, cubes = (np.zeros((days, days, 2)) for _ in range(3))
        for first in range(arriving):
            for arm in range(2):
                size, last = int(came[first, arm]), min(ages, days - first)
                steps = rng.normal(size=(size, last)) + rng.normal(size=(size, 1))
                now = np.cumsum(steps, axis=1)
                later = slice(first, first + last)
                totals[first, later, arm] = steps.sum(axis=0)
                squares[first, later, arm] = np.diff((now**2).sum(axis=0), prepend=0.0)
                cubes[first, later, arm] = np.diff((now**3).sum(axis=0), prepend=0.0)
        ends = (part.sum(axis=1) for part in (totals, squares, cubes))
        first_power, second_power, third_power = ends
        return replace(
            _sums(came.astype(float), first_power, second_power, third_power, None, None),
            growth=Growth(totals, squares, cubes),
        )

    return draw


def worlds() -> list[World]:
    """Every kind of evidence, with the guarantee that it states."""
    paper = bs.Design(ARMS, bs.Gaussian(1), bs.UCB(2), error=ERROR, sides=1)
    few, tenth, twentieth = (
        outcomes(spending, units, share=share)
        for units, share in ((20, 0.2), (200, 0.1), (200, 0.05))
    )
    published = bs.Design(ARMS, bs.Gaussian(1), bs.UCB(2), delta=0.5)
    return [
        World("0/1 outcomes at 5 %, 1,000 units a day", coins(0.05, 1000), asked(bs.Bernoulli())),
        World("spending up to 100", outcomes(spending, 200), asked(bs.Bounded(0, 100))),
        World("normal outcomes", outcomes(normal, 200), asked(bs.Gaussian(1))),
        World("0/1 outcomes, a split that moves", scored(200), asked(bs.Bernoulli())),
        World("0/1 outcomes, probabilities .01 and .99", rare(50, 0.01), asked(bs.Bernoulli())),
        World("normal outcomes, UCB_2", outcomes(normal, 200), asked(design=paper)),
        World(
            "normal outcomes, UCB_2 at delta 0.5", outcomes(normal, 200), asked(design=published)
        ),
        World("normal outcomes", outcomes(normal, 200), asked(None)),
        World("normal outcomes, 6 units a day", outcomes(normal, 6), asked(None)),
        World("spending, 200 units a day", outcomes(spending, 200), asked(None)),
        World("spending, 20 units a day, one in five in a", few, asked(None)),
        World("spending, 200 units a day, one in ten in a", tenth, asked(None)),
        World("spending, 200 units a day, one in twenty in a", twentieth, asked(None)),
        World("outcomes that grow for a week", growing(40, 7), asked(None)),
    ]


def asked(outcome: Outcome | None = None, design: bs.Design | None = None) -> Request:
    """What `analyze` makes of its options."""
    metric = bs.LogMetric(outcome=outcome)
    error = ERROR if design is None else None
    sides = 1 if design is None else None
    asked = Asked(log=bs.Log(None), design=design, error=error, sides=sides)
    return Request.of(metric, asked)


def _sums(
    units: FloatArray,
    totals: FloatArray,
    squares: FloatArray,
    cubes: FloatArray,
    lows: FloatArray | None,
    highs: FloatArray | None,
) -> Sums:
    days = tuple(date(2026, 1, 1) + timedelta(days=i) for i in range(len(units)))
    wide = np.full(units.shape, 100.0)
    return Sums(
        days,
        units,
        totals,
        squares,
        -wide if lows is None else lows,
        wide if highs is None else highs,
        cubes=cubes,
    )


def main(logs: int = LOGS) -> None:
    """Measure every kind by so many logs and write the page."""
    rows = []
    for world in worlds():
        started = time.perf_counter()
        with quick_rules():
            rows.append(measure(world, logs))
        row = rows[-1]
        print(
            f"{row.guarantee:<13} {row.name:<42} {100 * row.share:5.2f} % "
            f"(sides {row.sides}, error {row.error:.3g}), {time.perf_counter() - started:.0f} s",
            flush=True,
        )
    OUT.write_text(page(rows, DAYS), encoding="utf-8")
    print(f"written to {OUT}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
