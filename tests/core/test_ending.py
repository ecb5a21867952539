"""Ends other than a winner: no difference that matters, undecided, and arms taken out by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.core.evidence.normal import log_mixture

SOON, LATE = datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 2, tzinfo=UTC)


def last_step(design: bs.Design, means: list[float], seed: int = 0) -> bs.simulation.Step:
    *_, last = bs.trace(design, means, seed=seed)
    return last


@pytest.mark.parametrize(
    ("outcome", "rule", "margin"),
    [
        (bs.Gaussian(1), bs.Tilt(3), 0.3),
        (bs.Gaussian(1), bs.Tilt(3, effect=0.3), 0.3),
        (bs.Bernoulli(), bs.Tilt(3), 0.1),
        (bs.Gaussian(1), bs.UCB(2), 0.5),
        (bs.Gaussian(1), bs.UCB(2, stop="mixture"), 0.3),
        (bs.Gaussian(1), bs.ETC(stop="mixture"), 0.3),
    ],
    ids=str,
)
def test_equal_arms_are_found_equal_when_all_intervals_lie_within(
    outcome: Any, rule: Any, margin: float
) -> None:
    design = bs.Design(["a", "b"], outcome, rule, max_units=20_000, min_effect=margin, sides=1)
    before: bs.simulation.Step | None = None
    for step in bs.trace(design, [0.05, 0.05], seed=3):
        if step.decision is None:
            before = step
    assert step.decision is not None
    assert step.decision.arm is None
    assert step.decision.name == "no difference that matters"
    end = bs.progress.ending(design, step.statistics)
    assert end is not None
    assert end.kind == "no difference"
    assert f"at most 5 % ({design.guarantee_label})" in end.promise
    assert all(-margin <= effect.low < effect.high <= margin for effect in end.effects)
    assert before is not None
    assert bs.progress.ending(design, before.statistics) is None


def test_a_difference_that_matters_is_not_taken_for_none() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), min_effect=0.2, sides=1)
    names = [last_step(design, [0.0, 0.4], seed).decision for seed in range(12)]
    assert {decision.name for decision in names if decision is not None} == {"b"}


def test_a_cap_ends_a_test_undecided_with_its_intervals() -> None:
    for rule in (bs.Tilt(3), bs.UCB(2)):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, max_units=30, sides=1)
        step = last_step(design, [0.0, 0.0])
        end = bs.progress.ending(design, step.statistics)
        assert end is not None
        assert (end.kind, end.decision) == ("undecided", None)
        assert end.effects == bs.progress.effects(design, step.statistics)
        assert end.promise.startswith("nothing is decided; each bound of an interval fails")


def test_a_deadline_ends_a_test_undecided() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), deadline=SOON, sides=1)
    empty = bs.progress.Statistics.empty(2)
    assert bs.progress.ending(design, empty) is None
    assert bs.progress.ending(design, empty, now=datetime(2026, 11, 30, tzinfo=UTC)) is None
    end = bs.progress.ending(design, empty, now=LATE)
    assert end is not None
    assert end.kind == "undecided"
    assert bs.Design.from_dict(design.to_dict()) == design


def test_a_decision_in_time_stands_after_the_deadline() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), deadline=SOON, sides=1)
    end = bs.progress.ending(design, last_step(design, [0.0, 1.0]).statistics, now=LATE)
    assert end is not None
    assert end.kind == "winner"


def three_arms_where_c_has_beaten_b() -> tuple[bs.Design, bs.progress.Statistics]:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    block = tuple(bs.progress.ArmStatistics(1, mean, mean * mean) for mean in (0.0, -0.5, 0.5))
    seen = bs.progress.Statistics.empty(3)
    while not seen.dropped:
        seen = bs.progress.fold_block(design, seen, block)
    assert seen.dropped == {1}
    return design, seen


def test_arms_that_only_the_one_taken_out_had_beaten_come_back() -> None:
    design, seen = three_arms_where_c_has_beaten_b()
    without_c = bs.progress.remove_arm(design, seen, "c")
    assert (sorted(without_c.removed), sorted(without_c.dropped)) == ([2], [])
    assert bs.progress.decision(design, without_c) is None
    assert bs.progress.next_block(design, without_c).units[2] == 0


def test_after_a_removal_an_arm_that_too_little_evidence_has_beaten_comes_back() -> None:
    """With three arms a pair is then judged at 3 / p instead of 2 / p."""
    design, seen = three_arms_where_c_has_beaten_b()
    without_a = bs.progress.remove_arm(design, seen, "a")
    assert (sorted(without_a.removed), sorted(without_a.dropped)) == ([0], [])
    assert bs.progress.ending(design, without_a) is None
    block = tuple(bs.progress.ArmStatistics(1, mean, mean * mean) for mean in (-0.5, 0.5))
    while not without_a.dropped:
        before = without_a
        without_a = bs.progress.fold_block(design, without_a, (bs.progress.ArmStatistics(), *block))
    assert math.log(3 / 0.05) <= log_mixture(abs(without_a.pairs[2][0]), without_a.pairs[2][1])
    assert math.log(3 / 0.05) > log_mixture(abs(before.pairs[2][0]), before.pairs[2][1])
    end = bs.progress.ending(design, without_a)
    assert end is not None
    assert end.decision is not None
    # Outcomes may have decided that an arm is removed: p (2 - 2/K).
    assert end.decision.name == "c"
    assert end.decision.error == pytest.approx(0.05 * 4 / 3)
    assert "false positive rate among the arms that were not removed at most 13.4 %" in end.promise


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC()])
def test_an_arm_taken_out_gets_no_more_units(rule: Any) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), rule, sides=1)
    seen = bs.progress.remove_arm(design, bs.progress.Statistics.empty(3), "b")
    for _ in range(12):
        arm = bs.progress.next_arm(design, seen)
        seen = bs.progress.record(design, seen, arm, 1.0)
    assert seen.arms[1].units == 0
    assert seen.removed == {1}


def test_nonsense_is_refused() -> None:
    design, seen = three_arms_where_c_has_beaten_b()
    with pytest.raises(bs.InputError, match="arm must be one of a, b, c"):
        bs.progress.remove_arm(design, seen, "z")
    with pytest.raises(bs.InputError, match="nothing would be left to compare"):
        bs.progress.remove_arm(design, bs.progress.remove_arm(design, seen, "a"), "b")
    with pytest.raises(bs.InputError, match="min_effect must be below 1"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), min_effect=1.0)
    with pytest.raises(bs.InputError, match="deadline needs a time zone"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), deadline=datetime(2026, 12, 1))
    with pytest.raises(bs.InputError, match="deadline must be a datetime"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), deadline="soon")  # type: ignore[arg-type]


def test_a_live_test_judges_all_pairs_after_a_removal(tmp_path: Path) -> None:
    """The arm comes back in the store too, survives a restart, and is replayed from the log."""
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(1), error=0.05, sides=1)
    values = {"a": 0.0, "b": -0.5, "c": 0.5}
    path = tmp_path / "test.db"
    number = 0
    with bs.open(path) as store:
        test = store.create("test", design, reports="always")
        while test.status().effects[2].low < 0:
            units = [str(number + i) for i in range(3)]
            number += 3
            arms = test.assign_many(units)
            test.record_many([(u, values[arm]) for u, arm in zip(units, arms, strict=True)])
        test.drop_arm("a")
        assert test.status().effects[2].low < 0
        assert test.status().decision is None
    with bs.open(path) as store:
        test = store.get("test")
        while test.status().decision is None:
            units = [str(number), str(number + 1)]
            number += 2
            arms = test.assign_many(units)
            assert set(arms) == {"b", "c"}
            test.record_many([(u, values[arm]) for u, arm in zip(units, arms, strict=True)])
        reached = test.status().decision
        assert reached is not None
        assert reached.name == "c"
        assert reached.error == pytest.approx(0.05 * 4 / 3)
        assert test.verify().agrees
