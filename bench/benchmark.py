"""`python -m bench.benchmark`: rules of this package and of others on published problems.

It writes bench/benchmark.json, docs/research/benchmark.md and its picture. With the name of a
table, and perhaps of a row, it only prints those: `python -m bench.benchmark sequential GAVI`.
Seeds are fixed, so that a row is the same wherever it is computed.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bascule as bs
from bascule.core.types import FloatArray
from bascule.research.rivals.boundaries import (
    Boundary,
    PairTest,
    first_passage,
    fixed,
    flat,
    gavi,
    group_sequential,
    msprt,
)
from bascule.research.rivals.group_sequential import performance, pocock, spending_bounds
from bascule.simulation import Estimate
from bascule.simulation.result import share_estimate
from bench.benchmark_archive import archive_rows
from bench.benchmark_arms import ERROR, SEED, Figures, best_arm_rows, chunks, trial_rows

RECORD = Path("bench/benchmark.json")
PAIRS, RUN_ON = 500, 700
"""Pairs that are planned, and those to which a test runs on that does not end in time."""

EFFECTS = (0.0, 0.1, 0.2, 0.3, 0.4)
RATE, RATE_PAIRS, LIFTS = 0.1, 4500, (0.0, 0.1, 0.2)
HORIZON_POWER = 0.9155
"""The power at which our boundary is planned for 500 pairs and an effect of 0.2."""


def normal_totals(effect: float, runs: int, pairs: int) -> Iterator[FloatArray]:
    """Yield totals of differences of normal pairs, whose spread is the square root of 2."""
    rng = np.random.default_rng((SEED, round(1000 * effect)))
    for part in chunks(runs, 2000):
        yield rng.normal(effect, math.sqrt(2.0), (part, pairs)).cumsum(axis=1)


def rate_totals(lift: float, runs: int, pairs: int) -> Iterator[FloatArray]:
    """Yield totals of differences of 0/1 outcomes at 10 % and at a rate lifted from there."""
    rng = np.random.default_rng((SEED, round(1000 * lift), 1))
    for part in chunks(runs, 400):
        treated = rng.random((part, pairs), np.float32) < RATE * (1.0 + lift)
        control = rng.random((part, pairs), np.float32) < RATE
        yield (treated.astype(np.int8) - control).cumsum(axis=1, dtype=np.float64)


Totals = Callable[[float, int, int], Iterator[FloatArray]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A row of a test of pairs: its boundary, and perhaps one that goes on beyond the plan."""

    totals: Totals
    test: PairTest
    effects: Sequence[float]
    make: Callable[[PairTest], Boundary]
    on: Callable[[Boundary], Boundary] | None = None


def positive(times: FloatArray) -> Estimate:
    """Return the share of runs that end with a winner."""
    return share_estimate(int(np.isfinite(times).sum()), times.size)


def play_pairs(rows: Mapping[str, Pairs], runs: int) -> dict[str, Figures]:
    """Return the positive rates of tests of pairs, and their mean units at an effect of 0.2.

    All of them see the same outcomes.
    """
    figures: dict[str, Figures] = {name: {} for name in rows}
    first = next(iter(rows.values()))
    bounds = {name: row.make(row.test) for name, row in rows.items()}
    for effect in first.effects:
        times = passages(first.totals(effect, runs, first.test.pairs), bounds)
        for name, column in times.items():
            figures[name][f"at {effect:g}"] = positive(column)
            if effect == 0.2:
                units = 2 * np.minimum(column, first.test.pairs)
                figures[name]["units"] = Estimate.of(units)
    longer = {name: row.on(bounds[name]) for name, row in rows.items() if row.on is not None}
    if longer:
        for name, column in passages(first.totals(0.0, runs, RUN_ON), longer).items():
            figures[name]["run on"] = positive(column)
    return figures


def passages(parts: Iterator[FloatArray], bounds: Mapping[str, Boundary]) -> dict[str, FloatArray]:
    """Return the pairs at which runs are decided by each boundary; infinite where they are not."""
    found: dict[str, list[FloatArray]] = {name: [] for name in bounds}
    for totals in parts:
        for name, boundary in bounds.items():
            found[name].append(first_passage(totals, boundary))
    return {name: np.concatenate(times) for name, times in found.items()}


def going_on(looks: int) -> Callable[[Boundary], Boundary]:
    """Continue looks at the same distance, each with the last z score.

    With 0 looks the last boundary stays, at every pair.
    """

    def on(boundary: Boundary) -> Boundary:
        line = boundary(np.zeros((1, PAIRS))).copy()
        beyond = np.full(RUN_ON - PAIRS, math.inf)
        if looks:
            step = PAIRS // looks
            after = np.arange(PAIRS + step, RUN_ON + 1, step)
            beyond[after - PAIRS - 1] = line[-1] * np.sqrt(after / PAIRS)
        else:
            beyond[:] = line[-1]
        longer = np.concatenate([line, beyond])
        return lambda totals: longer  # noqa: ARG005

    return on


def anytime(make: Callable[[PairTest], Boundary]) -> Callable[[Boundary], Boundary]:
    """Continue a boundary that is defined for any number of pairs."""

    def on(boundary: Boundary) -> Boundary:  # noqa: ARG001
        return make(NORMAL._replace(pairs=RUN_ON))

    return on


Rows = dict[str, Pairs | Callable[[int], Figures]]
"""The rows of a table: tests of pairs, which are played together, and functions of runs."""


class Table(NamedTuple):
    """A published problem: the rows, and the runs that each of them gets."""

    runs: int
    rows: Rows


def ours(
    rule: bs.Tilt,
    outcome: Any,
    effects: Sequence[float],
    means: Callable[[float], Sequence[float]],
    cap: int | None,
    runs: int,
    run_on: bool = True,
) -> Figures:
    """Return the same figures of a rule of this package; a rule with a horizon needs no cap.

    Without a cap `most` is the largest number of units that any of the runs took.
    """
    figures: Figures = {}
    most = 0.0

    def played(effect: float, cap: int | None) -> Any:
        design = bs.Design(
            ["control", "treatment"], outcome, rule, error=ERROR, sides=1, max_units=cap
        )
        return bs.simulate(design, means(effect), runs=runs, seed=SEED)

    for effect in effects:
        result = played(effect, cap)
        figures[f"at {effect:g}"] = share_estimate(int((result.winner == 1).sum()), runs)
        most = max(most, float(result.decision_time.max()))
        if effect == 0.2:
            figures["units"] = Estimate.of(result.decision_time)
            figures["regret"] = Estimate.of(result.regret)
    if cap is None:
        figures["most"] = Estimate(most, 0.0)
    if run_on:
        result = played(0.0, None if cap is None else 2 * RUN_ON)
        figures["run on"] = share_estimate(int((result.winner == 1).sum()), runs)
    return figures


NORMAL = PairTest(PAIRS, 1.0, ERROR)
RATES = PairTest(RATE_PAIRS, RATE * (1 - RATE), ERROR)


def sequential_rows() -> Rows:
    """Return the rows of the comparison of sequential tests on normal outcomes."""
    pairs = partial(Pairs, normal_totals, NORMAL, EFFECTS)
    rows: Rows = {"fixed": pairs(fixed, going_on(10))}
    for looks in (10, 14):
        for name, power in (("linear", 1), ("quadratic", 2), ("cubic", 3)):
            make = partial(group_sequential, looks=looks, power=power)
            on = going_on(10) if looks == 10 else None
            rows[f"group sequential, {looks} looks, {name}"] = pairs(make, on)
    mixtures: dict[str, Callable[[PairTest], Boundary]] = {
        "GAVI": partial(gavi, narrowest=PAIRS),
        "mSPRT, effect 0.2": partial(msprt, effect=0.2),
        "mSPRT, effect as seen": partial(msprt, effect=None),
    }
    rows |= {name: pairs(make, anytime(make)) for name, make in mixtures.items()}
    rows["YEAST"] = pairs(flat, going_on(0))
    for name, (rule, cap) in OURS_NORMAL.items():
        rows[name] = partial(ours, rule, bs.Gaussian(1), EFFECTS, lambda effect: [0.0, effect], cap)
    return rows


OURS_NORMAL: dict[str, tuple[bs.Tilt, int | None]] = {
    "Tilt_1": (bs.Tilt(1), 2 * PAIRS),
    "Tilt_1, effect 0.2": (bs.Tilt(1, effect=0.2), 2 * PAIRS),
    "Tilt_1, effect 0.2, horizon": (bs.Tilt(1, effect=0.2, power=HORIZON_POWER), None),
    "Tilt_3, effect 0.2, horizon": (bs.Tilt(3, effect=0.2, power=HORIZON_POWER), None),
}
"""Our rules on normal outcomes, and the cap on units of those without a horizon."""

OURS_RATES: dict[str, tuple[bs.Tilt, int | None]] = {
    "Tilt_1": (bs.Tilt(1), 2 * RATE_PAIRS),
    "Tilt_1, effect 0.02": (bs.Tilt(1, effect=0.02, baseline=RATE), 2 * RATE_PAIRS),
    "Tilt_1, effect 0.02, horizon": (
        bs.Tilt(1, effect=0.02, baseline=RATE, power=HORIZON_POWER),
        None,
    ),
    "Tilt_3, effect 0.02, horizon": (
        bs.Tilt(3, effect=0.02, baseline=RATE, power=HORIZON_POWER),
        None,
    ),
}
"""Our rules on 0/1 outcomes."""


def rate_rows() -> Rows:
    """Return the rows of the comparison on 0/1 outcomes."""
    pairs = partial(Pairs, rate_totals, RATES, LIFTS)
    rows: Rows = {"fixed": pairs(fixed)}
    for name, power in (("linear", 1), ("quadratic", 2), ("cubic", 3)):
        make = partial(group_sequential, looks=10, power=power)
        rows[f"group sequential, 10 looks, {name}"] = pairs(make)
    rows["GAVI"] = pairs(partial(gavi, narrowest=RATE_PAIRS))
    rows["mSPRT, effect as seen"] = pairs(partial(msprt, effect=None))
    rows["YEAST"] = pairs(flat)
    for name, (rule, cap) in OURS_RATES.items():
        rows[name] = partial(
            ours,
            rule,
            bs.Bernoulli(),
            LIFTS,
            lambda lift: [RATE, RATE * (1 + lift)],
            cap,
            run_on=False,
        )
    return rows


def exactly(**figures: float) -> Figures:
    """Return figures that were computed, not simulated."""
    return {name: Estimate(value, 0.0) for name, value in figures.items()}


def pocock_figures(runs: int) -> Figures:  # noqa: ARG001
    """Return SAS's Pocock design in percent of the fixed test."""
    _, most, null, alternative = pocock(4, 0.05, 0.9)
    return exactly(most=100 * most, null=100 * null, alternative=100 * alternative)


def spending_figures(spent: Callable[[float], float], looks: int, runs: int) -> Figures:  # noqa: ARG001
    """Return a one-sided design at 5 % with a power of 0.9, in percent of the fixed test."""
    from bascule.core.evidence.horizon import quantile
    from bascule.core.numerics import turning_point

    times = [(look + 1) / looks for look in range(looks)]
    bounds = spending_bounds(times, spent)
    drift = turning_point(lambda at: performance(times, bounds, at).up < 0.9, 0.0, 10.0)
    most = 100 * (drift / (quantile(0.95) + quantile(0.9))) ** 2
    null, alternative = (most * performance(times, bounds, at).time for at in (0.0, drift))
    return exactly(most=most, null=null, alternative=alternative)


def obrien_fleming(time: float) -> float:
    """Return the error that an O'Brien-Fleming design spends by a time (Lan and DeMets)."""
    from bascule.core.evidence.horizon import quantile

    z = quantile(1 - ERROR / 2) / math.sqrt(time)
    return math.erfc(z / math.sqrt(2.0))


def our_percent(rule: bs.Tilt, sides: int, runs: int) -> Figures:
    """Return a rule of this package with a horizon in percent of the fixed test."""
    from bascule.core.evidence.horizon import quantile

    fixed_units = 4 * ((quantile(1 - ERROR / sides) + quantile(0.9)) / 0.1) ** 2
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=ERROR, sides=sides)
    figures: Figures = {}
    for name, effect in (("null", 0.0), ("alternative", 0.1)):
        result = bs.simulate(design, [0.0, effect], runs=runs, seed=SEED)
        figures[name] = Estimate.of(100 * result.decision_time / fixed_units)
        if effect == 0.0:
            figures["most"] = Estimate(100 * float(result.decision_time.max()) / fixed_units, 0.0)
        else:
            figures["power"] = share_estimate(int((result.winner == 1).sum()), runs)
    return figures


def reference_rows() -> Rows:
    """Return the rows of the group-sequential reference."""
    horizon = {sides: bs.Tilt(1, effect=0.1, power=0.9) for sides in (1, 2)}
    futile = bs.Tilt(1, effect=0.1, power=0.9, futility=0.2)
    return {
        "two-sided: Pocock, 4 looks": pocock_figures,
        "two-sided: Tilt_1, horizon": partial(our_percent, horizon[2], 2),
        "two-sided: Tilt_1, horizon, futility 0.2": partial(our_percent, futile, 2),
        "one-sided: O'Brien-Fleming, 10 looks": partial(spending_figures, obrien_fleming, 10),
        "one-sided: Tilt_1, horizon": partial(our_percent, horizon[1], 1),
        "one-sided: Tilt_1, horizon, futility 0.2": partial(our_percent, futile, 1),
    }


TABLES: dict[str, Table] = {
    "sequential": Table(20_000, sequential_rows()),
    "rates": Table(10_000, rate_rows()),
    "best-arm": Table(4_000, {**best_arm_rows()}),
    "trial": Table(10_000, {**trial_rows()}),
    "reference": Table(20_000, reference_rows()),
    "archive": Table(400, {**archive_rows(SEED)}),
}
"""Every table with the runs that its rows get."""


def measured(table: str, names: Iterable[str] | None = None, runs: int | None = None) -> Any:
    """Return the figures of a table, or of some of its rows."""
    entry = TABLES[table]
    runs = runs or entry.runs
    rows = entry.rows if names is None else {name: entry.rows[name] for name in names}
    pairs = {name: row for name, row in rows.items() if isinstance(row, Pairs)}
    together = play_pairs(pairs, runs) if pairs else {}
    return {
        name: together[name] if isinstance(row, Pairs) else row(runs) for name, row in rows.items()
    }


def rounded(value: Estimate) -> list[float]:
    """Return a mean and its standard error to the digits that every machine agrees on."""
    return [float(f"{number:.10g}") for number in (value.mean, value.se)]


def recorded() -> dict[str, dict[str, Figures]]:
    """Return the recorded figures by table, row and column."""
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    return {
        table: {
            row: {name: Estimate(*pair) for name, pair in figures.items()}
            for row, figures in rows.items()
        }
        for table, rows in data.items()
    }


def main(arguments: Sequence[str]) -> None:
    """Measure everything and write the page, or print one table or row."""
    started = time.perf_counter()
    if arguments:
        table, *names = arguments
        for name, figures in measured(table, names or None).items():
            print(name)
            for column, estimate in figures.items():
                print(f"  {column:<24} {estimate}")
        return
    from bench.benchmark_page import write_page

    data: dict[str, Any] = {}
    for table in TABLES:
        begun = time.perf_counter()
        data[table] = {
            row: {name: rounded(value) for name, value in figures.items()}
            for row, figures in measured(table).items()
        }
        print(f"{table}: {time.perf_counter() - begun:.0f} s", flush=True)
    RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    write_page(recorded())
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main(sys.argv[1:])
