"""Logs with assignment probabilities: false winners, what is proven, and what is shown."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from bench.peeking import World, asked, measure, rare

import bascule as bs
from bascule.analysis.call import call_of
from bascule.analysis.evidence.course import DecisionTerms
from bascule.analysis.evidence.pairs import scored_days
from bascule.analysis.reduce.blocks import days_between
from bascule.analysis.reduce.moments import Scores
from bascule.analysis.reduce.sums import Sums

pytestmark = pytest.mark.slow

ARMS = np.array(["a", "b", "c", "d"])


def log(
    chances: np.ndarray, rates: list[float], seed: int, days: int = 10, scale: float = 1.0
) -> dict[str, Any]:
    """Units that get arm i with the probability in column i; 0/1 outcomes times `scale`."""
    rng = np.random.default_rng(seed)
    arm = (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    value = rng.random(len(arm)) < np.array(rates)[arm]
    day = np.arange(len(arm)) * days // len(arm)
    return {
        "unit": list(range(len(arm))),
        "arm": ARMS[arm].tolist(),
        "value": (scale * value).tolist(),
        "time": [f"2026-01-{1 + d:02}" for d in day],
        "p": chances[np.arange(len(arm)), arm].tolist(),
        **{f"p_{ARMS[i]}": chances[:, i].tolist() for i in range(chances.shape[1])},
    }


def steady(*chances: float, units: int) -> np.ndarray:
    return np.tile(chances, (units, 1))


def test_equal_arms_with_a_rare_one_have_no_false_winner() -> None:
    # Before: 35 of 60 logs of 20 days with 50 units a day had a winner, and called it proven.
    for seed in range(4):
        found = bs.analyze(
            log(steady(0.99, 0.01, units=1000), [0.1, 0.1], seed, 20),
            assigned=bs.Assigned(probability="p"),
        )
        assert found.guarantee == "proven"
        assert found.decision is None
    row = measure(World("rare", rare(50, 0.01, 20), asked(bs.Bernoulli())), 30)
    # Either arm may win with probability 5 %; three standard errors more.
    assert row.guarantee == "proven"
    assert row.larger <= 0.05 + 3 * (0.05 * 0.95 / 30) ** 0.5


def test_a_real_difference_is_found_all_the_same() -> None:
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3, 0.8], 4000)
    found = bs.analyze(
        log(np.column_stack([p, 1 - p]), [0.1, 0.3], 1), assigned=bs.Assigned(probability="p")
    )
    assert found.decision is not None
    assert (found.decision.name, found.guarantee) == ("b", "proven")


def test_columns_for_every_arm_say_the_same_as_one_for_two_arms() -> None:
    data = log(steady(0.3, 0.7, units=1000), [0.1, 0.3], 2)
    one = bs.analyze(data, assigned=bs.Assigned(probability="p"))
    both = bs.analyze(data, assigned=bs.Assigned(probability={"a": "p_a", "b": "p_b"}))
    for mine, theirs in zip(one.effects, both.effects, strict=True):
        assert mine.low == pytest.approx(theirs.low, rel=1e-9)
        assert mine.difference == pytest.approx(theirs.difference, rel=1e-9)


def test_more_arms_need_the_probabilities_of_all() -> None:
    data = log(steady(0.5, 0.3, 0.2, units=3000), [0.1, 0.1, 0.3], 3)
    with pytest.raises(bs.InputError, match="has 3 arms, so a column for each of them is needed"):
        bs.analyze(data, assigned=bs.Assigned(probability="p"))
    known = bs.analyze(data, assigned=bs.Assigned(probability={arm: f"p_{arm}" for arm in "abc"}))
    assert known.guarantee == "proven"
    assert known.decision is not None
    assert known.decision.name == "c"


def test_a_rare_third_arm_does_not_widen_the_others() -> None:
    data = log(steady(0.495, 0.495, 0.01, units=3000), [0.1, 0.1, 0.1], 4)
    pair = bs.analyze(
        data, assigned=bs.Assigned(probability={arm: f"p_{arm}" for arm in "abc"})
    ).effects[0]
    assert pair.high - pair.low < 0.15


def test_two_arms_of_a_larger_test_need_the_columns_of_both() -> None:
    # A third arm was left out of the log, so 1 - p is not the probability of the other one.
    data = log(steady(0.2, 0.3, 0.5, units=9000), [0.2, 0.5, 0.3], 8)
    kept = [i for i, arm in enumerate(data["arm"]) if arm != "c"]
    data = {name: [column[i] for i in kept] for name, column in data.items()}
    found = bs.analyze(data, assigned=bs.Assigned(probability={"a": "p_a", "b": "p_b"}))
    (effect,) = found.effects
    assert found.guarantee == "proven"
    assert effect.difference == pytest.approx(0.3, abs=0.04)
    assert effect.low < 0.3 < effect.high


def test_intervals_stay_within_what_is_possible_and_hold_their_estimate() -> None:
    found = bs.analyze(
        log(steady(0.98, 0.02, units=100), [0.5, 0.5], 5), assigned=bs.Assigned(probability="p")
    )
    for day in found.days:
        (effect,) = day.effects
        assert -1.0 <= effect.low <= effect.difference <= effect.high <= 1.0


def test_the_estimate_of_the_first_day_is_that_of_inverse_weighting() -> None:
    # One day: outcomes were centred on 0.5, which made .033 of .019.
    for seed in range(5):
        data = log(steady(0.2, 0.8, units=2000), [0.02, 0.04], seed, days=1)
        (effect,) = bs.analyze(data, assigned=bs.Assigned(probability="p")).effects
        arm, value, p = (np.array(data[name]) for name in ("arm", "value", "p"))
        mean = [(value / p)[arm == name].sum() / (1 / p)[arm == name].sum() for name in ("a", "b")]
        assert effect.difference == pytest.approx(mean[1] - mean[0], abs=0.004)


def test_the_interval_covers_the_truth_under_an_allocation_that_follows_the_outcomes() -> None:
    rng = np.random.default_rng(6)
    logs, ever_missed = 200, np.zeros(2)
    for _ in range(logs):
        p, rows = 0.5, []
        for day in range(10):
            for _ in range(40):
                arm = int(rng.random() < p)
                value = float(rng.random() < (0.3, 0.4)[arm])
                rows.append((day, arm, value, p if arm else 1 - p))
                # Greedy within the day: the other arm after every failure, with little chance left.
                p = 0.95 if value == arm else 0.05
        terms = DecisionTerms(("a", "b"), 0.05, "proven", widest=1.0)
        effects = [
            terms.effects_of(pairs)[0] for pairs in scored_days(sums_of(rows), bs.Bernoulli())
        ]
        ever_missed += [
            any(effect.low > -0.1 for effect in effects),
            any(effect.high < -0.1 for effect in effects),
        ]
    # Each end fails, on any day, with probability at most 5 %; three standard errors more.
    assert ever_missed.max() <= logs * 0.05 + 3 * (logs * 0.05 * 0.95) ** 0.5


def sums_of(rows: list[tuple[int, int, float, float]]) -> Sums:
    """The reduced table of units with day, arm, outcome and probability, added up one by one."""
    days = max(row[0] for row in rows) + 1
    units, totals = np.zeros((days, 2)), np.zeros((days, 2))
    parts: dict[str, Any] = {name: np.zeros((days, 2, 2)) for name in Scores.__dataclass_fields__}
    for day, arm, value, p in rows:
        units[day, arm] += 1
        totals[day, arm] += value
        weight, at = 1 - p, (day, arm, 1 - arm)
        parts["weight"][at] += weight
        parts["scored"][at] += weight * value
        parts["squares"][at] += weight**2
        parts["squares_scored"][at] += weight**2 * value
        parts["squares_scored_twice"][at] += weight**2 * value**2
        parts["heaviest"][at] = max(parts["heaviest"][at], weight)
        parts["clock"][day] += p * (1 - p)
    dates = days_between(date(2026, 1, 1), date(2026, 1, days))
    scores = Scores(**parts)
    return Sums(dates, units, totals, totals, 0 * units, 0 * units + 1, scores=scores, cubes=totals)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"probability": {"a": "p_a"}}, "probability must name every arm, a, b, c"),
        ({"probability": {"a": "p_a", "b": "p_a", "c": "p_a"}}, "together at most 1"),
        ({"probability": {"a": "q", "b": "q", "c": "q"}}, "there is no column 'q'"),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, Any], line: str) -> None:
    data = log(steady(0.5, 0.3, 0.2, units=200), [0.1, 0.1, 0.3], 3)
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(**call_of(data, **options))
    assert line in str(caught.value)


def test_spending_with_probabilities_needs_limits() -> None:
    data = log(steady(0.3, 0.7, units=2000), [0.2, 0.5], 7, scale=12.0)
    with pytest.raises(bs.InputError, match="has no limits, which logged probabilities need"):
        bs.analyze(data, assigned=bs.Assigned(probability="p"))
    capped, whole = (
        bs.analyze(
            data, bs.LogMetric(outcome=bs.Bounded(0, high)), assigned=bs.Assigned(probability="p")
        )
        for high in (10, 12)
    )
    assert capped.guarantee == "proven"
    assert capped.effects[0].difference == pytest.approx(
        whole.effects[0].difference * 10 / 12, rel=1e-6
    )
