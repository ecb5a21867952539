from __future__ import annotations

import math
from typing import Any

import pytest

import bascule as bs
from bascule.core.evidence.radius import lg

pytestmark = pytest.mark.slow

SPREADS = (1.0, 3.0)


def design(rule: bs.research.Static, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([str(i) for i in range(arms)], bs.Recurrent(*SPREADS), rule, **given)


def test_the_population_that_a_horizon_needs() -> None:
    n, horizon, delta = 20_000, 30, 0.01
    test = design(bs.research.Static(n, horizon), delta=delta)
    gap = bs.research.smallest_gap(test)
    assert 32 * (1 + 9 / horizon) / gap**2 * math.log(1 / delta) == pytest.approx(n)
    assert bs.theory.bounds(test, 1.0001 * gap).decision_time == horizon
    assert bs.theory.bounds(test, 0.9999 * gap).decision_time == math.inf


@pytest.mark.parametrize("gap", [0.1, 0.2, 0.5])
def test_the_papers_adaptive_decision_time(gap: float) -> None:
    n, delta = 50_000, 0.01
    test = design(bs.research.Static(n), delta=delta)
    eta = gap - math.sqrt(32 / n * math.log(2 / delta))

    def enough(t: float) -> bool:
        return t >= 32 * 9 / (n * eta**2) * math.log(3 * lg(t) ** 2 / delta)

    for promise in (bs.theory.bounds(test, gap), bs.theory.published_bounds(test, gap)):
        assert enough(promise.decision_time)
        assert promise.decision_time == 1 or not enough(promise.decision_time - 1)
        assert promise.regret == n / 2 * gap


def test_a_population_that_is_too_small_never_decides_for_sure() -> None:
    test = design(bs.research.Static(1000))
    least = bs.research.smallest_gap(test)
    limit = 2 * math.sqrt(8 / 1000 * math.log(2 / test.calibration.delta))
    assert least == pytest.approx(limit, rel=1e-3)
    assert bs.theory.bounds(test, 0.99 * least).decision_time == math.inf
    assert bs.theory.bounds(test, 1.1 * least).decision_time < math.inf


@pytest.mark.parametrize("stop", ["intervals", "looks", "mixture"])
def test_the_smallest_gap_falls_with_stages_and_units(stop: Any) -> None:
    test = design(bs.research.Static(1000, 100, stop=stop))
    gaps = [bs.research.smallest_gap(test, stage) for stage in (1, 10, 100)]
    assert gaps[0] > gaps[1] > gaps[2] == bs.research.smallest_gap(test)
    more = design(bs.research.Static(4000, 100, stop=stop))
    assert bs.research.smallest_gap(more) == pytest.approx(gaps[2] / 2)
    for stage in (1, 10, 100):
        gap = 1.0001 * bs.research.smallest_gap(test, stage)
        assert bs.theory.bounds(test, gap).decision_time <= stage


def test_the_smallest_arms_count_for_all() -> None:
    uneven = design(bs.research.Static([100, 400, 200], 30), 3)
    pair = design(bs.research.Static([100, 200], 30), error=0.025)
    assert bs.research.smallest_gap(uneven) == pytest.approx(bs.research.smallest_gap(pair))


def test_static_populations_are_to_be_simulated() -> None:
    for ask in (bs.theory.predict, bs.theory.mean_path):
        with pytest.raises(bs.InputError, match="no prediction: simulate it"):
            ask(design(bs.research.Static(1000, 30)), 1.0)


@pytest.mark.parametrize("stop", ["looks", "mixture"])
def test_the_paper_says_nothing_about_the_sharper_stops(stop: Any) -> None:
    test = design(bs.research.Static(1000, stop=stop))
    with pytest.raises(bs.InputError, match="not in the paper"):
        bs.theory.published_bounds(test, 1.0)


def test_bad_stages_are_named() -> None:
    for stage in (0, 31):
        with pytest.raises(bs.InputError, match="stage must be") as caught:
            bs.research.smallest_gap(design(bs.research.Static(100, 30)), stage)
        assert caught.value.field == "stage"
