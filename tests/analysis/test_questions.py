"""What a log leaves open is asked once, and what has no meaning is not shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.log.reading import Question

DAYS = [f"2026-03-{day:02}" for day in range(1, 15) for _ in "ab"]
BY_DAY: dict[str, Any] = {"day": DAYS, "variant": ["control", "green"] * 14}


def test_a_row_for_each_day_and_arm_is_no_unit() -> None:
    log = BY_DAY | {
        "cost": [100.0 + i for i in range(28)],
        "revenue": [300.0 + 7 * i % 50 for i in range(28)],
    }
    for metric in (None, "cost"):
        with pytest.raises(Question, match="one row for each variant and day") as caught:
            bs.analyze(log, metric)
        assert "count='COLUMN', squares='COLUMN'" in str(caught.value)
    with pytest.raises(Question, match="one row for each variant and day"):
        bs.analyze({name: column[1:] for name, column in log.items()}, "cost")
    assert bs.analyze(bs.Log(log, row_is_unit=True), "revenue", looks="now").units == 28
    assert bs.analyze({name: column * 2 for name, column in log.items()}, "cost").units == 56


def test_arms_in_columns_are_put_below_each_other_by_a_query() -> None:
    rng = np.random.default_rng(1)
    log: dict[str, Any] = {"day": DAYS[::2]}
    log |= {arm: rng.normal(95, 9, 14).round(2) for arm in ("control", "treatment")}
    with pytest.raises(Question, match="the arms stand beside each other") as caught:
        bs.analyze(log)
    found = eval(str(caught.value).split("for example: ")[1], {"bs": bs, "log": log})
    assert [arm.mean for arm in found.arms] == [
        pytest.approx(log[arm].mean()) for arm in ("control", "treatment")
    ]
    # Counts, means and variances so far, of several tests: the last ones are those of the test.
    sums: dict[str, Any] = {"experiment_id": ["x"] * 6 + ["y"] * 6, "metric_id": [1] * 12}
    sums["time_since_start"] = [0.5 * (1 + i % 6) for i in range(12)]
    for arm in "ct":
        sums[f"count_{arm}"] = [1000 * (1 + i % 6) + i for i in range(12)]
        sums[f"mean_{arm}"] = rng.normal(2.0 if arm == "c" else 2.5, 0.01, 12)
        sums[f"variance_{arm}"] = [4.0] * 12
    with pytest.raises(Question) as caught:
        bs.analyze(sums)
    each = eval(str(caught.value).split("for example: ")[1], {"bs": bs, "log": sums})
    assert [(row.test, row.decision) for row in each.rows] == [("x 1", "t"), ("y 1", "t")]
    assert each.rows[0].difference == pytest.approx(sums["mean_t"][5] - sums["mean_c"][5])
    # Where a column has the arms, numbers with such names are what they are.
    numbered = {"treatment": [i % 12 for i in range(240)], "spent": [float(i) for i in range(240)]}
    assert len(bs.analyze(numbered, looks="now").arms) == 12
    tests = {"variant": ["x", "y"] * 120, "a": range(240), "b": range(240)}
    with pytest.raises(Question, match="metric could be a or b"):
        bs.analyze(tests)


def test_percentages_are_read_as_they_stand() -> None:
    found = bs.analyze({"variant": ["a", "b"] * 20, "scrolled": ["45%", "12.5 %"] * 20})
    assert [arm.mean for arm in found.arms] == [45.0, 12.5]
    assert "value scrolled (in %)" in str(found)


def test_counts_up_to_a_time_are_asked_about_with_their_column() -> None:
    log = BY_DAY | {
        "visitors": [100 * (1 + i // 2) + i % 2 * 3 for i in range(28)],
        "conversions": [10 * (1 + i // 2) + i % 3 for i in range(28)],
    }
    with pytest.raises(Question, match="the counts of all arms rise from day to day") as caught:
        bs.analyze(log)
    call = "bs.analyze(bs.Log(log, count='visitors', cumulative=True), "
    assert call in str(caught.value)
    answered = eval(str(caught.value).split("for example: ")[1], {"bs": bs, "log": log})
    assert answered.units == 1400 + 1403
    per_day = log | {"visitors": [100 + i % 5 for i in range(28)]}
    as_text = log | {"visitors": [f"1,{i:03}" for i in range(28)]}
    for other in (per_day, as_text):
        with pytest.raises(Question, match="visitors seems to count the units") as caught:
            bs.analyze(other)
        assert "cumulative" not in str(caught.value)


def test_no_lift_is_shown_relative_to_a_mean_below_0() -> None:
    log = {
        "unit": list(range(400)),
        "variant": ["a", "b"] * 200,
        "profit": [-5.0 + i % 7 + i % 2 for i in range(400)],
    }
    found = bs.analyze(log)
    assert found.contrasts[0].lift is None
    assert found.to_rows()[0]["lift"] is None
    assert any("no relative lift is shown: the mean of a is -2" in note for note in found.notes)
    above = bs.analyze(log | {"profit": [i % 7 + i % 2 for i in range(400)]})
    assert above.contrasts[0].lift == pytest.approx(0.33, abs=0.01)
    assert not any("no relative lift" in note for note in above.notes)


def test_groups_assigned_as_a_whole_are_flagged_also_where_rows_are_units() -> None:
    log = {
        "school": [f"school {i // 20}" for i in range(400)],
        "treatment": [i // 20 % 2 for i in range(400)],
        "score": [50.0 + i % 7 + i // 20 for i in range(400)],
    }
    with pytest.raises(Question, match=r"also cluster='school', --cluster school\)"):
        bs.analyze(log)
    found = bs.analyze(bs.Log(log, row_is_unit=True))
    assert "! whole groups: all units of one school" in str(found)
    clustered = bs.analyze(bs.Log(log, row_is_unit=True), assigned=bs.Assigned(cluster="school"))
    assert "whole groups" not in str(clustered)


@pytest.mark.parametrize(
    ("values", "flagged"),
    [((0.0, 9.99), False), ((1.0, 2.0), True), ((1234567.0, 1234568.0), True)],
)
def test_two_numbers_that_may_be_codes_are_flagged_and_a_single_price_is_not(
    values: tuple[float, float], flagged: bool
) -> None:
    log = {"variant": ["a", "b"] * 100, "spent": [values[i // 3 % 2] for i in range(200)]}
    text = str(bs.analyze(log))
    assert ("! two values" in text) is flagged
    assert not flagged or f"take the metric 'spent={values[1]:.0f}'" in text


def test_a_text_that_may_be_the_unit_is_asked_about_with_the_other_possibility() -> None:
    log = {
        "code": [f"x{i * 7919 % 990:04x}" for i in range(1000)],
        "variant": ["a", "b"] * 500,
        "clicked": [0, 0, 1, 0] * 250,
    }
    with pytest.raises(Question, match=r"unit could be code \(if every row is a unit of its"):
        bs.analyze(log)
    assert bs.analyze(bs.Log(log, row_is_unit=True)).units == 1000
