"""Claims beyond the figures: they hold on runs, and flip on runs made to break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bascule.research.paper import bounded_units
from bascule.research.paper.bounded_units import (
    BoundedRun,
    bounded_units_by_bernstein,
    interval,
    play,
)
from bascule.research.paper.claims.claim import Claim
from bascule.research.paper.claims.extensions import (
    EXTENSIONS,
    FOUR,
    MANY_ARMS_AGAINST_ETC,
    inflation_decides,
    many_arms_keep_the_corollary,
    points,
    static_any_time,
    static_horizon,
    static_sooner,
)
from bascule.research.paper.measure import Measurements, measure
from bascule.simulation import Simulation

Judge = Callable[[Measurements], Claim]


@pytest.fixture(scope="module")
def measured() -> Measurements:
    return measure(points(), 200, seed=3)


def changed(
    m: Measurements, label: str, change: Callable[[Simulation], Simulation]
) -> Measurements:
    """Measurements with the runs of one rule replaced."""
    return Measurements(
        {at: change(one) if at[0] == label else one for at, one in m.simulations.items()}
    )


def test_what_runs_say(measured: Measurements) -> None:
    verdicts = {judge(measured).id: judge(measured).verdict for judge in EXTENSIONS}
    assert verdicts == {
        "error-of-the-theorems": "holds",
        "many-arms-keep-the-corollary": "holds",
        "many-arms-against-etc": "does not hold",
        "static-horizon": "holds",
        "static-any-time": "holds",
        "static-sooner": "holds",
        # 20 runs of bounded units say nothing.
        "bounded-units-by-bernstein": "not shown",
        "inflation-decides": "holds",
    }


def wrong(one: Simulation) -> Simulation:
    return replace(one, winner=np.zeros_like(one.winner))


def late(one: Simulation) -> Simulation:
    return replace(one, decision_time=one.decision_time + 10**7)


def undecided(one: Simulation) -> Simulation:
    return replace(one, winner=np.full_like(one.winner, -1))


@pytest.mark.parametrize(
    ("judge", "label", "change"),
    [
        (many_arms_keep_the_corollary, f"UCB_4{FOUR}", late),
        (many_arms_keep_the_corollary, f"ETC{FOUR}", wrong),
        (static_horizon, "Static horizon", undecided),
        (static_any_time, "Static", wrong),
        (static_sooner, "Static", late),
        (inflation_decides, "UCB_1.05", undecided),
    ],
)
def test_runs_that_break_a_claim_deny_it(
    measured: Measurements, judge: Judge, label: str, change: Callable[[Simulation], Simulation]
) -> None:
    assert judge(changed(measured, label, change)).verdict == "does not hold"


def test_the_claim_on_many_arms_could_hold(measured: Measurements) -> None:
    assert MANY_ARMS_AGAINST_ETC(changed(measured, f"ETC{FOUR}", late)).verdict == "holds"


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (BoundedRun(1, 900, missed=False, width=0.5), "holds"),
        (BoundedRun(1, 900, missed=True, width=0.5), "does not hold"),
        (BoundedRun(-1, 4000, missed=False, width=0.5), "does not hold"),
        (BoundedRun(1, 900, missed=False, width=1.2), "not shown"),
    ],
)
def test_bounded_units_are_judged_by_what_was_played(
    measured: Measurements, monkeypatch: pytest.MonkeyPatch, run: BoundedRun, verdict: str
) -> None:
    monkeypatch.setattr(bounded_units, "PART", 2)
    monkeypatch.setattr(bounded_units, "play", lambda random: run)
    assert bounded_units_by_bernstein(measured).verdict == verdict


def test_a_test_of_bounded_units_decides_for_the_better_arm() -> None:
    runs = [play(np.random.default_rng(seed)) for seed in range(3)]
    assert all(run.winner == 1 and not run.missed and run.width < 1.0 for run in runs)


def test_the_radius_follows_the_spread_of_the_units() -> None:
    alike, unlike = np.full(400, 0.5), np.array([0.0, 1.0] * 200)
    assert interval(alike, 0.01)[1] < 0.5 * interval(unlike, 0.01)[1]
