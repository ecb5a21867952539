"""Files in the layouts of public ones that differ from a table of units: what is asked and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.log.reading import Question

pytestmark = pytest.mark.slow


def asked(*given: Any, **options: Any) -> Question:
    with pytest.raises(Question) as caught:
        bs.analyze(*given, **options)
    return caught.value


def answer(question: Question) -> Any:
    """What the call of a question gives, as it stands."""
    return eval(str(question).split("for example: ")[1], {"bs": bs})


def by_day(path: Path, rate: float, seed: int) -> tuple[int, int]:
    """Write page views, clicks and payments of days, of which the last have no payments yet."""
    rng = np.random.default_rng(seed)
    lines, clicks, payments = ["Date,Pageviews,Clicks,Payments"], 0, 0
    for day in range(1, 31):
        views = int(rng.integers(700, 1000))
        clicked = int(rng.binomial(views, 0.1))
        paid = int(rng.binomial(clicked, rate)) if day <= 20 else ""
        lines.append(f'"Sat, Oct {day}",{views},{clicked},{paid}')
        if day <= 20:
            clicks, payments = clicks + clicked, payments + int(paid)
    path.write_text("\n".join(lines))
    return clicks, payments


def test_every_arm_may_have_a_file_and_sums_without_a_value_do_not_count(tmp_path: Path) -> None:
    sums = [
        by_day(tmp_path / f"{arm}_data.csv", rate, seed)
        for arm, rate, seed in (("control", 0.4, 1), ("experiment", 0.3, 2))
    ]
    question = asked(tmp_path / "control_data.csv")
    assert "if every arm has a file of its own" in str(question)
    assert [arm.name for arm in answer(question).arms] == ["control_data", "experiment_data"]
    paid = bs.LogMetric("Payments", outcome=bs.Bernoulli())
    log = bs.Log(tmp_path / "*_data.csv", count="Clicks")
    found = bs.analyze(log, paid, arm="file")
    for arm, (clicks, payments) in zip(found.arms, sums, strict=True):
        assert arm.units == clicks
        assert arm.mean == pytest.approx(payments / clicks)
    assert found.excluded == {"no value in a row of sums": 20}
    assert "unusable rows" in {check.name for check in found.flagged}


def test_names_of_files_keep_their_case_and_all_before_their_ending(tmp_path: Path) -> None:
    for arm in ("Control", "Test"):
        rows = [f"{i},{i % 3}" for i in range(90)]
        (tmp_path / f"Sales.v2-{arm}.csv").write_text("\n".join(["row_no,sales", *rows]))
    found = answer(asked(tmp_path / "Sales.v2-Control.csv"))
    assert [arm.name for arm in found.arms] == ["Sales.v2-Control", "Sales.v2-Test"]


def test_a_query_may_end_in_a_comment() -> None:
    log = {"unit": range(90), "arm": ["a", "b", "c"] * 30, "value": [0.0, 1.0, 2.0] * 30}
    query = "SELECT * FROM log WHERE arm != 'c' -- of an older test"
    assert bs.analyze(bs.Log(log, query=query)).units == 60


def test_rows_whose_page_is_that_of_the_other_arm_are_flagged() -> None:
    rng = np.random.default_rng(3)
    arm = rng.integers(2, size=2000)
    page = np.where(rng.random(2000) < 0.02, 1 - arm, arm)
    log = {
        "user_id": range(2000),
        "group": np.take(["control", "treatment"], arm),
        "landing_page": np.take(["old_page", "new_page"], page),
        "browser": np.take(["x", "y"], rng.integers(2, size=2000)),
        "converted": rng.integers(2, size=2000),
    }
    found = bs.analyze(log)
    (check,) = (check for check in found.flagged if check.name == "other arm")
    odd = int((page != arm).sum())
    assert f"but {odd} of 2,000 rows have another one" in check.message
    assert "browser" not in check.message
    kept = "SELECT * FROM log WHERE (\"group\" = 'control') = (landing_page = 'old_page')"
    assert bs.analyze(bs.Log(log, query=kept)).units == 2000 - odd
    assert not bs.analyze(bs.Log(log, query=kept)).flagged


def test_people_of_a_household_are_units_in_clusters(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    home = np.repeat(np.arange(400), rng.integers(1, 4, 400))
    arm = rng.integers(2, size=400)[home]
    voted = rng.random(len(home)) < 0.3 + 0.1 * arm
    lines = [
        f"{1950 + i % 40}, {'Self' if a else 'Control'},{'Yes' if v else 'No'},{h}"
        for i, (h, a, v) in enumerate(zip(home, arm, voted, strict=True))
    ]
    path = tmp_path / "social.csv"
    path.write_text("\n".join(["yob,treatment,voted,hh_id", *lines]))
    question = asked(path)
    assert question.options == {"row_is_unit": True, "cluster": "hh_id", "metric": "voted"}
    found = answer(question)
    assert [one.mean for one in found.arms] == [
        pytest.approx(voted[arm == code].mean()) for code in (0, 1)
    ]


def test_several_tests_in_the_assignments_are_asked_about(tmp_path: Path) -> None:
    units = [f"u{i}" for i in range(600)]
    path = tmp_path / "participants.csv"
    tests = ["men's test", "y_test"]
    rows = [f"{unit},{'AB'[i % 2]},{tests[i // 300]}" for i, unit in enumerate(units)]
    path.write_text("\n".join(["user_id,group,ab_test", *rows]))
    events = tmp_path / "events.csv"
    rows = [f"{unit},2026-03-0{1 + i % 9},{i % 5}" for i, unit in enumerate(units)]
    events.write_text("\n".join(["user_id,event_dt,amount", *rows]))
    question = asked(events, assignments=path)
    assert "ab_test of the assignments seems to name one of several tests" in str(question)
    assert answer(question).units == 300
    alone = asked(events)
    assert "no column looks like the arm" in str(alone)
    assert alone.options["assignments"] == "FILE"
    assert "give that one as the log, and this one as its assignments" in str(asked(path))


def test_blanks_are_asked_about_wherever_they_stand() -> None:
    n = 21_000
    log = {
        "user_id": range(n),
        "arm": ["a", "b"] * (n // 2),
        "score": [5.0 + i % 7 for i in range(n)],
    }
    log["score"] = [*log["score"][:-1], None]
    assert "1 row has no score, and no row has a score of 0" in str(asked(log))
    blank = {"user_id": range(40), "arm": ["a", "b"] * 20, "value": [None] * 40, "age": range(40)}
    assert "no row has a value in value" in str(asked(blank, "value"))


def test_codes_for_missing_values_hide_no_other_extreme_value() -> None:
    value = [-99.0, *np.random.default_rng(5).exponential(5.0, 398), 900.0]
    found = bs.analyze({"unit": range(400), "arm": ["a", "b"] * 200, "value": value})
    (check,) = (check for check in found.flagged if check.name == "extreme values")
    assert "the lowest outcome is -99" in check.message
    assert "one unit of b has an outcome of 900" in check.message
    high = [9999.0 if i % 50 == 0 else 5.0 + i % 7 for i in range(400)]
    found = bs.analyze({"unit": range(400), "arm": ["a", "b"] * 200, "value": high})
    assert "the highest outcome is 9999, which often stands for" in str(found.flagged)
    # A number that could be a code, and is not far from the others, is still an extreme value.
    value = [999.0, *np.random.default_rng(5).normal(150.0, 10.0, 399)]
    found = bs.analyze({"unit": range(400), "arm": ["a", "b"] * 200, "value": value})
    assert "one unit of a has an outcome of 999" in str(found.flagged)


def test_how_entries_are_written_is_asked_with_the_rest(tmp_path: Path) -> None:
    rows = [
        f"{i};{'ab'[i % 2]};0{1 + i % 9}/0{1 + i % 3}/2024;{i % 90};1,{100 + i}" for i in range(90)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["user_id;variant;date;visits;minutes", *rows]))
    question = str(asked(path, time="date"))
    assert "metric could be visits or minutes" in question
    assert "has a day or a month first" in question
    assert "time_format='FORM'" in question
