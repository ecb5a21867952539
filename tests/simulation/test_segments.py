"""Designs with segments, played: any wrong decision, and regret beside one winner for everyone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs

NAMES = ["mobile", "desktop"]
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), segments=bs.Segments("device", NAMES), sides=2
)
CROSSED = {"mobile": [0.2, 0.4], "desktop": [0.4, 0.2]}
ALIKE = {"mobile": [0.2, 0.4], "desktop": [0.2, 0.4]}


def played(means: dict[str, list[float]], runs: int = 200) -> bs.SegmentedSimulation:
    return bs.simulate_segments(DESIGN, means, runs=runs, seed=3, population=20_000, engine="fast")


def test_one_winner_costs_where_effects_cross_and_saves_where_they_are_alike() -> None:
    crossed, alike = played(CROSSED), played(ALIKE)
    assert crossed.whole_regret is not None
    assert alike.whole_regret is not None
    # Half of all units get the worse arm of their segment, whichever wins.
    assert crossed.whole_regret.mean == pytest.approx(20_000 * 0.5 * 0.2)
    assert crossed.regret.mean < 0.1 * crossed.whole_regret.mean
    assert alike.whole_regret.mean < alike.regret.mean
    assert alike.whole is not None
    assert alike.whole.summary()["decision_time"].mean < alike.decision_time.mean


def test_any_wrong_decision_is_within_the_error_where_nothing_differs() -> None:
    capped = bs.Design(
        ["a", "b"],
        bs.Bernoulli(),
        bs.Tilt(3),
        segments=bs.Segments("device", [*NAMES, "tv"]),
        sides=2,
        max_units=1000,
    )
    means = {name: [0.3, 0.3] for name in capped.by_segment}
    found = bs.simulate_segments(capped, means, runs=800, engine="fast")
    assert found.any_wrong.mean <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)
    # The runs of different segments have nothing to do with each other.
    first, second, _ = (one.units[:, 0] for one in found.segments.values())
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(800)


def test_it_counts_each_segment_by_its_weight() -> None:
    weights = {"mobile": 3, "desktop": 1}
    found = bs.simulate_segments(DESIGN, ALIKE, weights, runs=50, seed=3, engine="fast")
    assert found.weights == {"mobile": 0.75, "desktop": 0.25}
    times = [one.decision_time for one in found.segments.values()]
    expected = np.maximum(times[0] / 0.75, times[1] / 0.25).mean()
    assert found.decision_time.mean == pytest.approx(expected)
    assert found.regret.mean == pytest.approx(
        sum(one.regret.mean() for one in found.segments.values())
    )
    assert found.whole_regret is None


def test_text_and_data_say_what_was_played() -> None:
    found = played(CROSSED, 20)
    assert found.to_dict()["any_wrong"] == found.any_wrong.mean
    assert set(found.to_dict()["segments"]) == set(NAMES)
    for word in ("any wrong", "one winner", "mobile", "at most 2.5 %"):
        assert word in repr(found)


def test_wrong_means_and_weights_are_refused() -> None:
    for means in ({"mobile": [0.2, 0.4]}, {**CROSSED, "tv": [0.1, 0.2]}, [0.2, 0.4]):
        with pytest.raises(bs.InputError, match="for each of mobile, desktop"):
            bs.simulate_segments(DESIGN, means)  # type: ignore[arg-type]
    with pytest.raises(bs.InputError, match="weights must be given for each"):
        bs.simulate_segments(DESIGN, CROSSED, {"mobile": 1.0})
    with pytest.raises(bs.InputError, match="simulate_segments"):
        bs.simulate(DESIGN, [0.2, 0.4])
    with pytest.raises(bs.InputError, match="no segments"):
        bs.simulate_segments(DESIGN.by_segment["mobile"], CROSSED)
