"""`python -m bench.unknown_spread`: errors of tests whose spread is estimated, and what they cost.

Null worlds are chosen to break the estimate: skewed spending, arms of unlike spreads, and arms of
one mean whose tails differ. They are played by `simulate` and through a live store. The tables of
docs/research/unknown-spread.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np

import bascule as bs
from bascule.core.outcomes.noise import Discrete

RUNS, CAP, STORE_RUNS, STORE_UNITS, MONEY_RUNS = 4000, 20_000, 100, 4000, 1000
TILTS = (1.0, 3.0, 8.0)
ERROR = 0.05


def spending(share: float = 0.05, points: int = 60) -> dict[float, float]:
    """Money of units of which a share buys, log-normal amounts cut at 100."""
    middles = (np.arange(points) + 0.5) / points
    normal = np.array([_normal_quantile(float(p)) for p in middles])
    amounts = np.round(np.minimum(100.0, np.exp(3.0 + normal)), 2)
    weights = dict.fromkeys([0.0, *amounts.tolist()], 0.0)
    weights[0.0] = 1.0 - share
    for amount in amounts.tolist():
        weights[amount] += share / points
    return weights


def normal(sigma: float, points: int = 101) -> dict[float, float]:
    """A normal distribution as equally likely points."""
    middles = (np.arange(points) + 0.5) / points
    return {sigma * _normal_quantile(float(p)): 1.0 / points for p in middles}


def rare(amount: float, mean: float) -> dict[float, float]:
    """All or nothing: `amount` so rarely that its mean is as given."""
    return {0.0: 1.0 - mean / amount, amount: mean / amount}


def money(share: float, sigma: float, mean: float = 1.0, points: int = 480) -> dict[float, float]:
    """Money without a cap: a share buys, log-normal amounts up to one buyer in a million."""
    # Steps of the probability become finer towards the largest amounts.
    edges = np.concatenate([np.linspace(0.0, 0.9, points // 2), 1.0 - np.geomspace(0.1, 1e-6, 240)])
    middles, sizes = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges)
    amounts = np.exp(sigma * np.array([_normal_quantile(float(p)) for p in middles]))
    amounts *= mean / (share * float(amounts @ sizes) / float(sizes.sum()))
    chances = share * sizes / sizes.sum()
    return {0.0: 1.0 - share, **dict(zip(amounts.tolist(), chances.tolist(), strict=True))}


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def mean_of(weights: dict[float, float]) -> float:
    """The mean of a distribution."""
    return math.fsum(value * weight for value, weight in weights.items())


def noise(*arms: dict[float, float]) -> Discrete:
    """Noise with a distribution for each arm."""
    values = sorted({value for arm in arms for value in arm})
    return Discrete(values, [[arm.get(value, 0.0) for value in values] for arm in arms])


def largest_spread(world: Discrete) -> float:
    """The largest standard deviation of any arm."""
    values, chances = np.array(world.values), np.array(world.chances)
    return float(np.sqrt(chances @ values**2 - (chances @ values) ** 2).max())


def null_worlds() -> dict[str, Discrete]:
    """Worlds in which both arms have one mean."""
    bought = spending()
    mean = mean_of(bought)
    return {
        "normal": noise(normal(1.0), normal(1.0)),
        "spending, equal arms": noise(bought, bought),
        "normal, spreads 1 and 3": noise(normal(1.0), normal(3.0)),
        "spending against 100 or nothing": noise(bought, rare(100.0, mean)),
        "spending against 300 or nothing": noise(bought, rare(300.0, mean)),
    }


def money_worlds() -> dict[str, Discrete]:
    """Worlds of money without a cap in which both arms have one mean, 1, and unlike tails."""
    usual = money(0.05, 1.0)
    return {
        "money, equal arms": noise(usual, usual),
        "money, log-normal of sigma 1 against 1.5": noise(usual, money(0.05, 1.5)),
        "money, 5 % against 2.5 % buyers": noise(usual, money(0.025, 1.0)),
    }


def beyond() -> dict[str, Discrete]:
    """Worlds that no estimate can be right in: most of a mean is in outcomes nobody has seen yet.

    A cap names them beforehand, and is the remedy.
    """
    mean = mean_of(spending())
    return {"10 or nothing against 700 or nothing": noise(rare(10.0, mean), rare(700.0, mean))}


def null_cell(
    world: Discrete, tilt: float, effect: float | None = None, runs: int = RUNS, cap: int = CAP
) -> float:
    """The larger of the shares of tests in which either arm is declared the winner.

    With an `effect`, in standard deviations of the arm that spreads most, they have a horizon.
    """
    rule = bs.Tilt(tilt)
    if effect is not None:
        rule = bs.Tilt(tilt, effect=effect * largest_spread(world), power=0.9)
    design = bs.Design(["a", "b"], bs.Numeric(), rule, error=ERROR, sides=1, max_units=cap)
    # Equal but for rounding.
    means = [world.means[0]] * 2
    played = bs.simulate(design, world=bs.worlds.World(means, noise=world), runs=runs, seed=1)
    return max(float((played.winner == arm).mean()) for arm in (0, 1))


def money_cell(world: Discrete, tilt: float, runs: int = MONEY_RUNS) -> tuple[float, float]:
    """The shares of tests that each arm wins, with a horizon at 30 % of the mean."""
    rule = bs.Tilt(tilt, effect=0.3, power=0.9)
    design = bs.Design(["a", "b"], bs.Numeric(), rule, error=ERROR, sides=1)
    played = bs.simulate(design, world=bs.worlds.World([1.0, 1.0], noise=world), runs=runs, seed=1)
    first, second = (float((played.winner == arm).mean()) for arm in (0, 1))
    return first, second


def store_cell(world: Discrete, tilt: float, runs: int = STORE_RUNS) -> float:
    """As `null_cell`, with units assigned by a live store and outcomes recorded in it."""
    wins = np.zeros(2)
    rng = np.random.default_rng(1)
    design = bs.Design(
        ["a", "b"], bs.Numeric(), bs.Tilt(tilt), error=ERROR, sides=1, reports="always"
    )
    names = [str(i) for i in range(STORE_UNITS)]
    for _ in range(runs):
        values = [rng.choice(world.values, STORE_UNITS, p=chances) for chances in world.chances]
        with bs.open(":memory:") as store:
            test = store.create("null", design)
            for first in range(0, STORE_UNITS, 200):
                some = names[first : first + 200]
                arms = test.assign_many(some)
                test.record_many(
                    (unit, float(values["ab".index(arm)][int(unit)]))
                    for unit, arm in zip(some, arms, strict=True)
                )
                if test.state != "running":
                    break
            reached = test.status().decision
            if reached is not None and reached.arm is not None:
                wins[reached.arm] += 1
    return float(wins.max()) / runs


def units_ratio(tilt: float, runs: int = 20_000) -> tuple[float, float]:
    """Units with an estimated spread over those with a known one, and its standard error."""
    times = []
    for seed, outcome in enumerate((bs.Numeric(1.0), bs.Gaussian(1.0))):
        design = bs.Design(["a", "b"], outcome, bs.Tilt(tilt), error=ERROR, sides=1)
        times.append(bs.simulate(design, [0.0, 0.1], runs=runs, seed=seed).decision_time)
    ratio = float(times[0].mean() / times[1].mean())
    parts = [float(time.std() / time.mean()) / math.sqrt(runs) for time in times]
    return ratio, ratio * math.hypot(*parts)


def main() -> None:
    """Print both tables."""
    print("| null world | " + " | ".join(f"tilt {tilt:g}" for tilt in TILTS) + " |")
    for name, world in (null_worlds() | beyond()).items():
        cells = [f"{100 * null_cell(world, tilt):.1f} %" for tilt in TILTS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\nWith a horizon at 0.1 standard deviations\n")
    for name, world in null_worlds().items():
        cells = [f"{100 * null_cell(world, tilt, 0.1):.1f} %" for tilt in TILTS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for name, world in money_worlds().items():
        cells = [f"{100 * max(money_cell(world, tilt)):.1f} %" for tilt in TILTS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for name, world in null_worlds().items():
        print(f"store, {name}, tilt 8: {100 * store_cell(world, 8.0):.1f} %", flush=True)
    for tilt in TILTS:
        ratio, error = units_ratio(tilt)
        print(f"units, tilt {tilt:g}: {ratio:.3f} +- {error:.3f}")


if __name__ == "__main__":
    main()
