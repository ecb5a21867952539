"""Many tests at once: one table, whatever became of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.cli.main import main


@pytest.fixture(scope="module")
def counts() -> Any:
    """Clicks and impressions of three tests with arms of their own; a fourth has one arm."""
    import pandas as pd

    return pd.DataFrame(
        {
            "test": ["one", "one", "two", "two", "two", "four"],
            "package": ["a", "b", "x", "y", "z", "p"],
            "impressions": [4000, 4000, 3000, 3000, 3000, 100],
            "clicks": [200, 320, 150, 155, 149, 10],
        }
    )


OPTIONS: dict[str, Any] = {
    "arm": "package",
    "value": "clicks",
    "count": "impressions",
    "outcome": bs.Bernoulli(),
}


def test_a_column_names_the_tests(counts: Any) -> None:
    found = bs.analyze_each(**call_of(counts, test="test", **OPTIONS))
    four, one, two = found.rows
    assert four.problem == "arm: the log has only 'p': a test compares at least two"
    assert (one.decision, one.units, one.rival) == ("b", 8000, "a")
    assert one.difference == pytest.approx(0.03)
    assert one.low is not None
    assert one.low > 0.0
    assert (two.decision, two.arms, two.leader) == (None, 3, "y")
    assert "3 tests, 1 decided, 1 could not be analysed" in str(found)
    assert "+3.00 points" in str(found)
    assert found.excluded == {}
    unnamed = counts.assign(test=counts.test.where(counts.test != "four"))
    left = bs.analyze_each(**call_of(unnamed, test="test", **OPTIONS))
    assert (left.rows, left.excluded) == ((one, two), {"no test": 1})
    assert "excluded: 1 (no test)" in str(left)
    part = counts[counts.test == "one"].drop(columns="test")
    (alone,) = bs.analyze(**call_of(part, **OPTIONS)).effects
    assert one.high == pytest.approx(alone.high)


def test_the_command_writes_one_table(
    counts: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts.to_csv(tmp_path / "tests.csv", index=False)
    asked = ["--arm", "package", "--metric", "clicks", "--count", "impressions"]
    arguments = [str(tmp_path / "tests.csv"), "--test", "test", *asked, "--outcome", "bernoulli"]
    with pytest.raises(SystemExit) as caught:
        main(["analyze", *arguments, "--csv", str(tmp_path / "all.txt")])
    assert caught.value.code == 0
    assert "3 tests, 1 decided" in capsys.readouterr().out
    assert len((tmp_path / "all.txt").read_text().splitlines()) == 4


def test_equal_arms_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(3)
    tests = 40
    log = {
        "test": np.repeat(np.arange(tests), 2).tolist(),
        "arm": ["a", "b"] * tests,
        "units": [2000] * (2 * tests),
        "value": rng.binomial(2000, 0.1, 2 * tests).tolist(),
    }
    found = bs.analyze_each(
        bs.Log(log, count="units"), bs.LogMetric(outcome=bs.Bernoulli()), test="test"
    )
    assert found.decided <= tests * 0.10 + 3 * np.sqrt(tests * 0.10 * 0.90)


def test_public_collections_are_read_as_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pandas as pd
    from bench.public_tests import asos, main, upworthy

    packages = pd.DataFrame(
        {
            "Unnamed: 0": [11, 12, 13, 14],
            "created_at": "2014-11-20 06:43:16.005",
            "updated_at": "2016-04-02 16:33:38.062",
            "clickability_test_id": ["t1", "t1", "t2", "t2"],
            "excerpt": "Things that matter.",
            "headline": ['They\'re here, "again"', "One", "Two\nlines", None],
            "eyecatcher_id": ["5461", "5461", None, "x"],
            "impressions": [3000, 3100, 2900, 3000],
            "clicks": [30, 95, 40, 42],
        }
    )
    first, second = upworthy(packages).rows
    assert (first.decision, second.decision) == ("package 2", None)
    snapshots = pd.DataFrame(
        {
            "experiment_id": "e",
            "variant_id": 1,
            "metric_id": 4,
            "time_since_start": [0.5, 1.0, 2.0],
            "count_c": [1000, 2000, 4000],
            "count_t": [1000, 2000, 4000],
            "mean_c": [1.0, 1.0, 1.0],
            "mean_t": [1.0, 1.2, 1.2],
            "variance_c": [4.0, 4.0, 4.0],
            "variance_t": [4.0, 4.0, 4.0],
        }
    )
    for kind, frame in (("upworthy", packages), ("asos", snapshots)):
        frame.to_csv(tmp_path / f"{kind}.csv", index=False)
        main(kind, str(tmp_path / f"{kind}.csv"))
    printed = capsys.readouterr().out
    assert "2 tests, 1 decided" in printed
    assert "1 tests, 1 decided" in printed
    (row,) = asos(snapshots).rows
    assert (row.test, row.decision, row.units) == ("e/1/4", "treatment", 8000)
    assert row.difference == pytest.approx(0.2)


def test_a_design_of_ratios_is_asked_of_a_log_with_a_row_for_each_request() -> None:
    day = bs.Measure("1d")
    good = bs.Metric("good", bs.Ratio(), margin=0.2, measure=day)
    cost = bs.Metric("cost", bs.Ratio(), goal="decrease", role="secondary", measure=day)
    design = bs.Design(
        *(["a", "b"], bs.Ratio(), bs.Tilt(1)),
        goal="decrease",
        measure=day,
        metrics=[good, cost],
        decides="guardrails",
    )
    rows = range(6000)
    log = {
        "user": [i // 3 for i in rows],
        "arm": ["ab"[i // 3 % 2] for i in rows],
        "day": [i // 600 for i in rows],
        "latency": [1.0 + i % 7 for i in rows],
        "cost": [0.005 - 0.003 * (i // 3 % 2) for i in rows],
        # Every fifth is not judged, and four of five others are good.
        "good": [None if i % 5 == 0 else i * 7919 % 25 >= 5 for i in rows],
    }
    found = bs.analyze(log, "latency", unit="user", design=design)
    quality, _ = found.metrics
    assert quality.standings == {"b": "within margin"}
    means = [arm.mean for arm in quality.arms]
    assert means == pytest.approx([0.75, 0.75], abs=0.06)
    assert any("good, cost: the mean of the rows that have a value" in note for note in found.notes)
    wanted = "Ship b: good per row at most 0.2 worse (asymptotic at 5 %); cost per row −60 %"
    assert found.headline == wanted
    assert found.decision == bs.progress.Decision(1, "b", 0.05, "asymptotic", by="guardrails")
    assert "All metrics (the guardrails decide)" in str(found)
    alone = bs.analyze(log, bs.LogMetric("good", outcome=bs.Bernoulli()), unit="user", looks="now")
    assert any("share of rows, such as judgements" in note for note in alone.notes)
    b_fails = {**log, "good": [i % 5 != 1 and i // 3 % 2 == 0 for i in rows]}
    found = bs.analyze(b_fails, "latency", unit="user", design=design)
    assert found.headline == "Keep a: every other arm was found harmful (good per row)"
    del log["good"], log["cost"]
    found = bs.analyze(log, "latency", unit="user", design=design)
    assert found.decision is None
    assert found.headline.startswith("No decision: the guardrails decide")
