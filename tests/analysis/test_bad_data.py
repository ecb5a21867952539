"""What is wrong with a log is said in one line, or counted and excluded with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.analysis.call import call_of


def log(**columns: Any) -> dict[str, list[Any]]:
    """Forty units in two arms over four days, a row each; `columns` change some."""
    data = {
        "unit": list(range(40)),
        "arm": ["a", "b"] * 20,
        "value": [float(i % 3) for i in range(40)],
        "time": [f"2026-01-0{1 + i // 10} 12:00:00" for i in range(40)],
    }
    return {**data, **columns}


def changed(column: list[Any], **at: Any) -> list[Any]:
    """A column with some of its entries replaced."""
    return [at.get(f"_{i}", entry) for i, entry in enumerate(column)]


@pytest.mark.parametrize(
    ("given", "options", "line"),
    [
        (log(), {"value": "valeu"}, "metric: there is no column 'valeu': did you mean 'value'?"),
        (log(), {"value": "price"}, "there is no column 'price': there are unit, arm, value, time"),
        (log(arm=["a"] * 40), {}, "the log has only 'a': a test compares at least two"),
        (log(arm=[None] * 40), {}, "the log has no arm at all"),
        (log(value=[[1.0]] * 40), {}, "column 'value' must have numbers"),
        (
            log(time=["soon"] * 40),
            {"time": "time"},
            "no row of the log can be used (40 rows: time not readable, as 'soon')",
        ),
        (log(), {"arm": "value", "value": "value"}, "'value' is also the column of the metric"),
        (log(), {"outcome": bs.Bernoulli(), "aggregate": "last"}, "not every outcome is 0 or 1"),
        (log(), {"outcome": "normal"}, "outcome must be one of"),
        (log(), {"weights": [1.0]}, "weights must be 2 numbers, one per arm: a, b"),
        (log(), {"weights": {"a": 1, "c": 1}}, "weights must name every arm: a, b"),
        (log(), {"until": "yesterday"}, "until must be a day or a time"),
        (log(), {"memory": "much"}, "memory must be an amount"),
        (log(), {"query": "SELECT price FROM log"}, "(the table is called log and has unit, arm,"),
        (log(), {"query": "SELECT 1; SELECT 2"}, "query must be one statement"),
        (log(p=[2.0] * 40), {"probability": "p"}, "probability must be above 0 and at most 1"),
        ({"unit": [], "arm": [], "value": [], "time": []}, {}, "the log has no arm at all"),
        (log(unit=[1e17 + i for i in range(40)]), {}, "several units look alike: store them as"),
        (42, {}, "events must be a file, a data frame, an Ibis table or a database URL (got int)"),
        ({"a": 1}, {}, "a file, a data frame, an Ibis table or a database URL (got dict)"),
        ("no-such-file.csv", {}, "there is no file no-such-file.csv"),
        ("log.xlsx", {}, "there is no file log.xlsx"),
        ("postgresql://u:secret@127.0.0.1:1/none", {"query": "x"}, "cannot connect"),
        ("postgresql://u@h/none", {}, "query is missing"),
    ],
)
def test_a_mistake_is_one_line(given: Any, options: dict[str, Any], line: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(**call_of(given, **options))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_files_that_are_empty_or_not_what_they_say(tmp_path: Path) -> None:
    for name, text in (("a.csv", ""), ("a.parquet", "not parquet"), ("a.jsonl", "{")):
        (tmp_path / name).write_text(text)
        with pytest.raises(bs.InputError) as caught:
            bs.analyze(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_rows_that_cannot_be_used_are_excluded_and_counted() -> None:
    data = log()
    odd = log(
        unit=changed(data["unit"], _0=None),
        arm=changed(data["arm"], _1=None),
        time=changed(data["time"], _2="noon", _3=None),
        value=changed(data["value"], _4=float("nan"), _5=float("inf"), _6=None),
    )
    found = bs.analyze(odd, looks="now")
    assert found.rows == 40
    assert found.excluded == {
        "no unit": 1,
        "no arm": 1,
        "no time": 1,
        "time not readable": 1,
        "value not a number": 1,
        "no value: the unit counts, the event does not": 2,
    }
    # A row without a value, null or NaN, is no mistake: its unit came, and gave nothing.
    assert found.units == 35
    assert found.to_dict()["excluded"] == found.excluded


def test_values_that_are_text_are_read_or_excluded() -> None:
    text = [str(value) for value in log()["value"]]
    same = bs.analyze(log(value=text))
    assert same.arms == bs.analyze(log()).arms
    found = bs.analyze(log(value=changed(text, _0="12,5", _1="n/a")))
    no_value = "no value: the unit counts, the event does not"
    assert found.excluded == {"value not a number": 1, no_value: 1}


def test_arms_that_the_design_does_not_know_are_excluded() -> None:
    design = bs.Design(["a", "b"], bs.Bounded(0, 2), bs.Tilt(1))
    found = bs.analyze(log(arm=["a", "b", "c", "b"] * 10), design=design)
    assert found.excluded == {"arm unknown to the design": 10}
    assert found.units == 30


def test_units_in_two_arms_are_excluded_and_flagged() -> None:
    twice = log(unit=[i // 2 for i in range(40)], arm=["a", "b", "b", "b", "a", "a", "b", "a"] * 5)
    found = bs.analyze(twice)
    assert found.excluded == {"unit in two arms": 10}
    assert found.units == 10
    assert "units in two arms" in {check.name for check in found.flagged}


def test_outcomes_beyond_the_limits_count_as_the_limit() -> None:
    found = bs.analyze(log(), bs.LogMetric(outcome=bs.Bounded(0, 1), window="1d"))
    assert found.excluded == {"outcome beyond the limits, counted as the nearest": 13}
    assert "capped: 13 (outcome beyond the limits" in str(found)
    assert "excluded: " not in str(found)
    assert found.arms[0].mean is not None
    assert found.arms[0].mean <= 1.0


def test_events_of_strangers_and_early_events_do_not_count() -> None:
    who = {"unit": [1, 2], "arm": ["a", "b"], "time": ["2026-01-02", "2026-01-02"]}
    events = {"unit": [1, 1, 2, 3], "value": [5.0, 1.0, 1.0, 9.0],
              "time": ["2026-01-01", "2026-01-02", "2026-01-02", "2026-01-02"]}  # fmt: skip
    found = bs.analyze(events, bs.LogMetric(window="1d"), until="2026-01-05", assignments=who)
    assert [arm.mean for arm in found.arms] == [1.0, 1.0]
    assert found.excluded == {
        "event of an unknown unit": 1,
        "event before its unit came": 1,
    }


def test_outcomes_that_are_all_the_same_are_noted() -> None:
    found = bs.analyze(log(value=[1.0] * 40), "value")
    assert found.decision is None
    assert any("all outcomes of an arm are the same" in note for note in found.notes)


def test_units_are_the_same_as_numbers_and_as_text() -> None:
    who = {"unit": [str(i) for i in range(40)], "arm": ["a", "b"] * 20, "time": log()["time"]}
    given = {name: column for name, column in log().items() if name != "arm"}
    found = bs.analyze(given, assignments=who, looks="now")
    assert [arm.mean for arm in found.arms] == [arm.mean for arm in bs.analyze(log()).arms]
