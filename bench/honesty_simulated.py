"""Tests without a better arm that `simulate` plays, for `python -m bench.honesty`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.core.rules import Rule
from bench.honesty_cells import Cell, design_of, label_of
from bench.unknown_spread import money_worlds, null_worlds

ERROR, CAP, MARGIN = 0.05, 4000, 0.5
LOOKS = "looks at every step"


def simulated_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells of `simulate`; an excess by a half shows in 2,000 runs."""
    runs = times(4000)
    coin = bs.Bernoulli()
    planned: dict[str, Any] = {"effect": 0.1, "power": 0.9}
    bets = bs.Tilt(3, effect=0.1, baseline=0.3)
    ahead = bs.Tilt(3, effect=0.1, baseline=0.3, power=0.9, futility=0.2)
    covariate, limited = [bs.Covariate("x")], [bs.Covariate("x", 0, 6)]

    def equal(arms: int, rule: Rule, outcome: Any = None, mean: float = 0.3, **more: Any) -> Cell:
        design = replace(design_of(arms, rule, ERROR, outcome, **more), max_units=CAP)
        adversary = LOOKS if mean == 0.3 else f"{LOOKS}; means of {100 * mean:g} %"
        return _cell(design, adversary, runs, means=[mean] * arms)

    def in_world(name: str, world: bs.worlds.World, rule: Rule, outcome: Any, **more: Any) -> Cell:
        design = replace(design_of(2, rule, ERROR, outcome, **more), max_units=5 * CAP)
        return _cell(design, f"{LOOKS}; {name}", runs, world=world)

    def skewed(name: str, tilt: float) -> Cell:
        noise = null_worlds()[name]
        world = bs.worlds.World([noise.means[0]] * 2, noise=noise)
        return in_world(name, world, bs.Tilt(tilt), bs.Numeric())

    def money(name: str, tilt: float) -> Cell:
        design = design_of(2, bs.Tilt(tilt, effect=0.3, power=0.9), ERROR, bs.Numeric())
        noise = money_worlds()[name]
        # The arm with the longer tail comes first: the other one is more likely to win wrongly.
        turned = replace(noise, weights=noise.weights[::-1])
        return _cell(
            design, f"{LOOKS}; {name}", times(2000), world=bs.worlds.World([1.0, 1.0], noise=turned)
        )

    def signalled(arms: int, tilt: float, lags: tuple[float, ...], mode: EarlySignals) -> Cell:
        rule = bs.Tilt(tilt, effect=0.1, baseline=0.3, power=0.9, futility=0.2, early_signals=mode)
        delay = bs.worlds.Delay(600, events=lags)
        name = "the first arm converts later" if lags[0] > lags[1] else "it converts sooner"
        world = bs.worlds.World([0.3] * arms, delay=delay)
        design = design_of(arms, rule, ERROR, coin, reports=None, max_units=5 * CAP)
        return _cell(design, f"{LOOKS}; {name}", runs, world=world)

    related = bs.worlds.World([0.3, 0.3], correlation=0.7)
    trend = bs.worlds.World([0.0, 0.0], correlation=0.7, trend=bs.worlds.Trend("fading", -1, 500))
    return [
        equal(2, bs.Tilt(1)),
        equal(3, bs.Tilt(8, batch=10)),
        equal(2, bs.Tilt(3, effect=0.1)),
        equal(2, bs.Tilt(3, **planned, futility=0.2)),
        equal(2, bs.Tilt(3, **planned, guarantee="gaussian")),
        equal(5, bs.Tilt(3, **planned)),
        equal(5, bs.Tilt(3, **planned, guarantee="gaussian")),
        equal(20, bs.Tilt(3, effect=0.5, power=0.9)),
        equal(2, bs.Tilt(3), coin),
        equal(2, bs.Tilt(3), coin, mean=0.002),
        equal(20, bs.Tilt(3), coin),
        equal(2, bets, coin),
        equal(5, bets, coin),
        equal(2, bets, coin, mean=0.01),
        equal(2, ahead, coin),
        equal(5, ahead, coin),
        equal(2, bs.Tilt(3), bs.Numeric(1.0)),
        equal(2, bs.Tilt(3), goal="decrease"),
        equal(3, bs.Tilt(3), coin, goal="decrease"),
        equal(2, bs.Tilt(3), sides=2),
        equal(2, bs.UCB(2)),
        equal(2, bs.UCB(2, stop="mixture")),
        equal(5, bs.UCB(2, radius="mixture")),
        equal(2, bs.ETC()),
        equal(2, bs.ETC(stop="mixture")),
        equal(2, bs.ETCPrime()),
        skewed("spending, equal arms", 8.0),
        skewed("normal, spreads 1 and 3", 8.0),
        skewed("spending against 300 or nothing", 8.0),
        *[money(name, tilt) for tilt in (1.0, 8.0) for name in money_worlds()],
        in_world("related covariate", related, bs.Tilt(3), coin, covariates=limited),
        in_world(
            "related covariate, trend", trend, bs.Tilt(3), bs.Numeric(1), covariates=covariate
        ),
        *[_guarded(harmed, runs) for harmed in (True, False)],
        signalled(2, 8.0, (300.0, 30.0), "always"),
        signalled(2, 8.0, (30.0, 300.0), "always"),
        signalled(2, 8.0, (300.0, 30.0), "auto"),
        signalled(3, 8.0, (300.0, 30.0, 30.0), "always"),
    ]


def _cell(design: bs.Design, adversary: str, runs: int, **world: Any) -> Cell:
    promise = design.calibration
    stated = (design.sides or 1) * promise.error

    def count(first: int, last: int) -> int:
        played = bs.simulate(design, runs=last - first, seed=1, threads=1, **world)
        # Arms are equal: the first is beaten as often as a best arm would be at the most.
        return int(np.sum(played.winner > (-1 if design.sides == 2 else 0)))

    about = (label_of(design), len(design.arms), adversary, promise.guarantee, stated)
    return Cell("simulate", *about, runs, count, whole=True)


def _guarded(harmed: bool, runs: int) -> Cell:
    """Return how often an arm is shipped at its margin, or a harmless one removed as harmful."""
    guard = bs.Metric("guard", bs.Gaussian(1), margin=MARGIN, error=ERROR)
    design = design_of(2, bs.Tilt(3), ERROR, metrics=[guard], harm_error=ERROR, max_units=800)

    def count(first: int, last: int) -> int:
        means = {"guard": [0.0, -MARGIN if harmed else 0.0]}
        played = bs.simulate(
            design, [0.0, 0.5], runs=last - first, seed=7, threads=1, metrics=means
        )
        assert played.guarded is not None
        return int(np.sum(played.winner == 1 if harmed else played.guarded.by_harm))

    what = "an arm at its margin is shipped" if harmed else "a harmless arm is removed"
    about = (label_of(design), 2, f"{LOOKS}; {what}", design.calibration.guarantee, ERROR)
    return Cell("simulate", *about, runs, count, whole=True)
