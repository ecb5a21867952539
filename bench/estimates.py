"""Medians of the estimates at the end of tests, as parts of the true difference.

    python -m bench.estimates [--runs RUNS] [--processes PROCESSES] [--only WORDS]

Each row is a design and a true difference. All endings count together: decided, futile, at the
horizon, or at a cap on units. The standard error of a median is taken from the estimates beside it,
since half of the planned effect gives two humps of them, decided and futile. A further column has
the share of estimates that are too small. docs/research/ends.md has the figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import bascule as bs
from bascule.core.ending import cap_met
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.theory.unbiased import unbiased_difference

PART = 100
"""Number of tests that a process plays at a time."""

Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(mean: float) -> Draw:
    """Normal outcomes with spread 1."""
    return lambda rng, units: rng.normal(mean, 1.0, units)


def coin(mean: float) -> Draw:
    """0/1 outcomes."""
    return lambda rng, units: (rng.random(units) < mean).astype(float)


def rows() -> list[tuple[str, bs.Design, float, Draw, Draw]]:
    """What is measured: a name, the design, the true difference, and outcomes of both arms."""
    arms, known, share, some = ["a", "b"], bs.Gaussian(1), bs.Bernoulli(), bs.Numeric()
    planned = bs.Tilt(3, effect=0.5, power=0.9, futility=0.2)
    bets = bs.Tilt(3, effect=0.2, power=0.9, baseline=0.3, futility=0.2)
    designs = {
        "known spread, futility": (known, planned, None),
        "known spread, futility, cap of 100 units": (known, planned, 100),
        "known spread, no horizon, cap of 150 units": (known, bs.Tilt(3), 150),
        "estimated spread, futility": (some, planned, None),
    }
    listed = [
        (
            name,
            bs.Design(arms, outcome, rule, error=0.05, sides=1, max_units=most),
            gap,
            normal(0.0),
            normal(gap),
        )
        for name, (outcome, rule, most) in designs.items()
        for gap in (0.5, 0.25)
    ]
    design = bs.Design(arms, share, bets, error=0.05, sides=1)
    listed += [
        ("bets, 30 %, futility", design, gap, coin(0.3), coin(0.3 + gap)) for gap in (0.2, 0.1)
    ]
    capped = bs.Design(arms, share, bs.Tilt(3), error=0.05, sides=1, max_units=300)
    listed.append(("bets, no horizon, cap of 300 units", capped, 0.2, coin(0.3), coin(0.5)))
    slow = bs.Tilt(3, effect=0.25, power=0.9, futility=0.2)
    larger = bs.Design(arms, some, slow, error=0.05, sides=1)
    listed += [
        ("estimated spread, futility, half the effect", larger, gap, normal(0.0), normal(gap))
        for gap in (0.25, 0.125)
    ]
    return listed


def ended(
    design: bs.Design, draws: tuple[Draw, Draw], rng: np.random.Generator
) -> tuple[Statistics, str]:
    """Return what a test has shown at its end, and why it has ended."""
    procedure = design.procedure
    assert isinstance(procedure, BlockProcedure)
    seen = procedure.empty()
    while True:
        if procedure.winner(seen) >= 0:
            return seen, "decided"
        reason = procedure.end_reason(seen)
        if reason is not None or cap_met(design, seen):
            return seen, reason or "cap"
        next_block = procedure.next_block(seen)
        for _ in range(next_block.repeat):
            block = []
            for draw, units in zip(draws, next_block.units, strict=True):
                values = draw(rng, units)
                total, squares, cubes = (float((values**power).sum()) for power in (1, 2, 3))
                block.append(ArmStatistics(units, total, squares, cubes))
            seen = procedure.fold_block(seen, block)


def median_of(estimates: np.ndarray) -> tuple[float, float]:
    """Return the median and its standard error, for any distribution."""
    beside = 0.5 / len(estimates) ** 0.5
    low, median, high = np.quantile(estimates, [0.5 - beside, 0.5, 0.5 + beside])
    return float(median), float(high - low) / 2


Ended = tuple[float, float, str]
"""The estimate at the end of a test, the plain difference, and why the test has ended."""


def some(at: int, part: int) -> list[Ended]:
    """Return the ends of some tests of a row."""
    _, design, _, mine, theirs = rows()[at]
    rng = np.random.default_rng([at, part])
    ends: list[Ended] = []
    for _ in range(PART):
        seen, reason = ended(design, (mine, theirs), rng)
        estimate = unbiased_difference(design, seen, 1, 0, is_over=True)
        plain = seen.arms[1].mean - seen.arms[0].mean
        ends.append((plain if estimate is None else estimate, plain, reason))
    return ends


def row_of(at: int, ends: list[Ended]) -> str:
    """Return a row of the table."""
    name, _, gap, *_ = rows()[at]
    unbiased, plain, reasons = zip(*ends, strict=True)
    shares = [reasons.count(one) / len(ends) for one in ("decided", "futility", "cap")]
    found = " | ".join(f"{100 * share:.0f} %" for share in shares)
    (median, doubt), (raw, _) = (median_of(np.array(some) / gap) for some in (unbiased, plain))
    small = float(np.mean(np.array(unbiased) < gap))
    error = (small * (1.0 - small) / len(ends)) ** 0.5
    return (
        f"| {name} | {gap:g} | {found} | {median:.3f} ± {doubt:.3f} | "
        f"{100 * small:.1f} ± {100 * error:.1f} % | {raw:.3f} |"
    )


def main() -> None:
    """Print a row for each design and true difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="rows in whose names these words are")
    asked = parser.parse_args()
    print("| design | true | decided | futile | cap | median-unbiased | too small | plain |")
    print("|---|---|---|---|---|---|---|---|")
    chosen = [at for at, (name, *_) in enumerate(rows()) if asked.only in name]
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = {
            at: [pool.submit(some, at, part) for part in range(asked.runs // PART)] for at in chosen
        }
        for at, parts in jobs.items():
            print(row_of(at, [end for part in parts for end in part.result()]), flush=True)


if __name__ == "__main__":
    main()
