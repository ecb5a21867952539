"""The text of a status: percent and points for 0/1 outcomes, treatment minus control, lifts."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import bascule as bs


def status_of(test: bs.Experiment, outcomes: dict[str, Any]) -> bs.live.Status:
    """Return the status after 120 units of each arm, all with the outcomes given."""
    units = [str(i) for i in range(120 * len(test.arms))]
    test.record_many(
        (unit, value, None, None, metric)
        for unit, arm in zip(units, test.assign_many(units), strict=True)
        for metric, value in outcomes[arm]
    )
    return test.status()


def test_shares_are_in_percent_and_every_metric_is_in_its_own_unit() -> None:
    metrics = [
        bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5),
        bs.Metric("returned", bs.Bernoulli(), goal="decrease", margin=0.02),
    ]
    design = bs.Design(
        ["control", "green", "blue"],
        bs.Bernoulli(),
        bs.Tilt(1),
        metrics=metrics,
        reports="always",
    )
    same = [("latency", 300.0), ("returned", 0.0)]
    given = {arm: [(None, float(arm != "green")), *same] for arm in design.arms}
    status = status_of(bs.open(":memory:").create("test", design), given)
    lines = str(status).splitlines()
    assert [row[3:] for row in status.report().tables[0].rows[1:]] == [
        ("100 %", "active"),
        ("0 %", "beaten"),
        ("100 %", "active"),
    ]
    assert any(line.startswith("green - control: −100.0 points (97.5 % interval") for line in lines)
    assert any(
        line.startswith("latency (guardrail, lower is better, margin 5): ") for line in lines
    )
    assert any(
        line.startswith("returned (guardrail, lower is better, margin 2 points): ")
        for line in lines
    )
    assert (
        "worse by 2 points or more on returned is shipped with probability at most 5 %" in lines[-1]
    )
    assert "lower is better" not in lines


def test_differences_that_are_not_those_of_the_means_are_explained_once() -> None:
    note = "Differences compare units of the same block, so they can differ from"
    for tilt, times in ((1, 0), (3, 1)):
        design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(tilt), reports="always")
        test = bs.open(":memory:", shuffle=random.Random(1).shuffle).create("test", design)
        # b is a little better at first, and gets more units; all outcomes are higher later.
        for later in range(2):
            units = [f"{later}-{i}" for i in range(120)]
            pairs = list(zip(units, test.assign_many(units), strict=True))
            test.record_many(
                [
                    (unit, float(later or (arm == "b" and at % 8 == 0)))
                    for at, (unit, arm) in enumerate(pairs)
                ]
            )
        status = test.status()
        first, second = (arm.mean or 0.0 for arm in status.arms)
        is_same = status.contrasts[0].difference == pytest.approx(second - first)
        assert is_same == (tilt == 1)
        assert [line.startswith(note) for line in status.report().notes].count(True) == times
        assert (note in str(status).replace("\n", " ")) == (tilt == 3)
        assert test.report().status.cost == status.cost


def test_a_spread_that_is_not_known_yet_is_said() -> None:
    design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(1), reports="always")
    status = status_of(
        bs.open(":memory:").create("test", design), {arm: [(None, 5)] for arm in "ab"}
    )
    assert status.headline == "Keep running: too few outcomes to know their spread"
    assert "All outcomes so far are equal" in status.report().question
    assert "b - a: 0 (no interval yet); lift 0 %" in str(status)
    # One outcome of eight is 8: a skewness of 2.27, so that 103 units are needed.
    test, seen = bs.open(":memory:").create("test", design), {"a": 0, "b": 0}
    for unit in range(16):
        arm = test.assign(unit)
        seen[arm] += 1
        test.record(unit, 8.0 if seen[arm] == 8 else 0.0)
    skewed = test.status()
    assert [arm.needed for arm in skewed.arms] == [103, 103]
    words = "a needs 103 counted units and has 8, b needs 103 counted units and has 8"
    assert words in skewed.report().question
    assert all(math.isinf(end) for end in (skewed.effects[0].low, skewed.effects[0].high))


def test_without_outcomes_there_is_no_difference_and_pairs_without_an_interval_say_so() -> None:
    design = bs.Design(["a", "b", "c"], bs.Numeric(), bs.Tilt(1), reports="always")
    test = bs.open(":memory:").create("test", design)
    test.assign("first")
    assert "c - b" not in str(test.status())
    test.record("first", 5)
    status = status_of(test, {arm: [(None, 5)] for arm in design.arms})
    assert "c - b: 0 (no interval yet)" in str(status)


def test_money_is_in_its_own_unit_beside_the_control_that_was_named() -> None:
    arms = ["new", "newer", "present"]
    outcome = bs.Bounded(0, 100)
    design = bs.Design(
        arms, outcome, bs.Tilt(1), goal="decrease", control="present", reports="always"
    )
    given = {arm: [(None, value)] for arm, value in zip(arms, (38.0, 39.0, 40.0), strict=True)}
    status = status_of(bs.open(":memory:").create("test", design), given)
    lines = str(status).splitlines()
    (table,) = status.report().tables
    assert table.title == "lower is better"
    assert [row[3] for row in table.rows[1:]] == ["38.00", "39.00", "40.00"]
    first, second = (line for line in lines if line.startswith(("new - ", "newer - present: ")))
    assert first.startswith("new - present: −2.0 (97.5 % interval ")
    assert "; lift −5 % (97.2 % interval " in first
    assert second.startswith("newer - present: −1.0 (97.5")
    data = status.to_dict()
    assert (data["goal"], data["binary"], data["cost_unit"]) == ("decrease", False, "outcome units")
