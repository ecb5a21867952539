"""An archive of many tests in one file: what each method would have decided, when, at what cost.

The archive is simulated in the style of public ones: visitors and conversions of two arms by day.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

import bascule as bs
from bascule.core.evidence.horizon import quantile
from bascule.core.types import FloatArray
from bascule.research.rivals.boundaries import PairTest, flat, gavi
from bascule.research.rivals.group_sequential import spending_bounds
from bascule.simulation import Estimate
from bascule.simulation.result import share_estimate

DAYS, VISITORS, RATE = 28, 400, 0.1
"""Days of a test, visitors of an arm in a day, and the rate of the control."""

LIFTS = (0.0, 0.0, -0.1, 0.1, 0.2)
"""Relative lifts, in turn: two tests of five have none."""

ERROR = 0.05
FIRST_DAY = date(2026, 1, 1)


class Archive(NamedTuple):
    """Tests with the truth about them: lifts, and conversions by test, day and arm."""

    lifts: FloatArray
    conversions: FloatArray

    @property
    def z_scores(self) -> FloatArray:
        """The z score of treatment minus control by test and day, with a pooled variance."""
        sums = self.conversions.cumsum(axis=1)
        units = VISITORS * np.arange(1.0, DAYS + 1.0)
        pooled = sums.sum(axis=2) / (2 * units)
        spread = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-9) * 2 * units)
        z: FloatArray = (sums[:, :, 1] - sums[:, :, 0]) / spread
        return z

    def rows(self) -> dict[str, list[Any]]:
        """The archive as the columns of one log: a row for each test, day and arm."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("test", "day", "arm", "visitors", "conversions")
        }
        for test, by_day in enumerate(self.conversions.tolist()):
            for day, by_arm in enumerate(by_day):
                for arm, count in zip(("control", "treatment"), by_arm, strict=True):
                    at = FIRST_DAY + timedelta(days=day)
                    values = (f"{test:04d}", at.isoformat(), arm, VISITORS, int(count))
                    for name, value in zip(columns, values, strict=True):
                        columns[name].append(value)
        return columns


def archive(tests: int, seed: int) -> Archive:
    """Return an archive of so many tests."""
    lifts = np.resize(np.array(LIFTS), tests)
    rates = np.stack([np.full(tests, RATE), RATE * (1 + lifts)], axis=1)
    rng = np.random.default_rng((seed, tests))
    counts = rng.binomial(VISITORS, np.broadcast_to(rates[:, None, :], (tests, DAYS, 2)))
    return Archive(lifts, counts.astype(float))


class Decisions(NamedTuple):
    """The day of each decision, infinite without one, and 1 or -1 for treatment or control."""

    days: FloatArray
    sides: FloatArray


def crossed(z: FloatArray, bounds: FloatArray) -> Decisions:
    """Return the first days on which z scores lie beyond two-sided boundaries."""
    beyond = np.abs(z) > bounds
    first = beyond.argmax(axis=1)
    decided = beyond.any(axis=1)
    sides = np.sign(z[np.arange(len(z)), first])
    return Decisions(np.where(decided, first + 1.0, math.inf), np.where(decided, sides, 0.0))


def at_days(line: FloatArray, variance: float) -> FloatArray:
    """Return boundaries of totals of pairs as z scores at the end of each day."""
    pairs = VISITORS * np.arange(1, DAYS + 1)
    scores: FloatArray = line[pairs - 1] / np.sqrt(2 * variance * pairs)
    return scores


def boundaries() -> dict[str, FloatArray]:
    """Return the two-sided boundaries, as z scores, of every method by day."""
    once = np.full(DAYS, math.inf)
    once[-1] = quantile(1 - ERROR / 2)
    plan = PairTest(DAYS * VISITORS, RATE * (1 - RATE), ERROR / 2)
    nothing = np.zeros((1, plan.pairs))
    times = [(day + 1) / DAYS for day in range(DAYS)]
    spent = spending_bounds(times, lambda time: ERROR / 2 * time)
    return {
        "fixed, looked at once": once,
        "fixed, looked at every day": np.full(DAYS, quantile(1 - ERROR / 2)),
        "group sequential, daily, linear": np.array(spent),
        "GAVI": at_days(gavi(plan, plan.pairs)(nothing), plan.variance),
        "YEAST": at_days(flat(plan)(nothing), plan.variance),
    }


OURS = "bascule analyze --test"


def analysed(given: Archive) -> Decisions:
    """Return what `bascule analyze --test` decides."""
    log = bs.Log(given.rows(), count="visitors", time="day")
    metric = bs.LogMetric("conversions", outcome=bs.Bernoulli())
    found = bs.analyze_each(log, metric, test="test", arm="arm", error=ERROR).rows
    days = [
        math.inf if row.decided is None else (date.fromisoformat(row.decided[:10]) - FIRST_DAY).days
        for row in found
    ]
    sides = [{"treatment": 1.0, "control": -1.0}.get(row.decision or "", 0.0) for row in found]
    return Decisions(np.array(days) + 1.0, np.array(sides))


def figures(given: Archive, decisions: Decisions) -> dict[str, Estimate]:
    """Return how often decisions are right and wrong, when they come, and what tests cost."""
    right = (decisions.sides == np.sign(given.lifts)) & (given.lifts != 0)
    wrong = (decisions.sides != 0) & ~right
    real = given.lifts != 0
    days = np.minimum(decisions.days, DAYS)
    lost = days * VISITORS * RATE * np.abs(given.lifts)
    return {
        "found": share_estimate(int(right[real].sum()), int(real.sum())),
        "wrong": share_estimate(int(wrong[~real].sum()), int((~real).sum())),
        "days": Estimate.of(days[real]),
        "lost": Estimate.of(lost[real]),
    }


def archive_rows(seed: int) -> dict[str, Callable[[int], dict[str, Estimate]]]:
    """Return the rows of the table, by method; runs are the tests of the archive."""

    def by_boundary(bounds: FloatArray) -> Callable[[int], dict[str, Estimate]]:
        def row(tests: int) -> dict[str, Estimate]:
            given = archive(tests, seed)
            return figures(given, crossed(given.z_scores, bounds))

        return row

    def ours(tests: int) -> dict[str, Estimate]:
        given = archive(tests, seed)
        return figures(given, analysed(given))

    return {name: by_boundary(bounds) for name, bounds in boundaries().items()} | {OURS: ours}
