"""The analysis of a live test is the test's own answer, however it ended."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.live.transactions.test_change import Lean

import bascule as bs
from bascule.core.rules import RULES

LATENCY = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0)


def played(design: bs.Design, gains: list[float], delays: list[float], ending: str) -> Any:
    store = bs.open(":memory:", shuffle=random.Random(4).shuffle)
    test, chance = store.create("ending", design), random.Random(5)
    for i in range(240):
        arm = design.arms.index(test.assign(i))
        outcomes: list[tuple[Any, ...]] = [(i, chance.gauss(gains[arm], 1.0))]
        if design.metrics:
            outcomes.append((i, chance.gauss(delays[arm], 1.0), None, None, "latency"))
        test.record_many(outcomes)
        if test.state != "running":
            break
        if i == 4 and ending == "drop":
            test.drop_arm("c")
        if i == 60 and ending == "stop":
            test.stop()
    return test


@pytest.mark.parametrize(
    ("ending", "metrics", "gain", "delay", "cap"),
    [
        ("alone", (), 0.0, 0.0, None),
        ("alone", (), 1.5, 0.0, 90),
        ("drop", (), 1.5, 0.0, None),
        ("stop", (), 0.0, 0.0, 90),
        ("alone", (LATENCY,), 1.5, 0.0, None),
        ("alone", (LATENCY,), 0.0, 4.0, None),
        ("alone", (LATENCY,), 1.5, 1.0, 90),
        ("drop", (LATENCY,), 0.0, 0.0, 90),
        ("drop", (LATENCY,), 1.5, 4.0, None),
        ("stop", (LATENCY,), 1.5, 1.0, None),
        ("stop", (LATENCY,), 0.0, 4.0, 90),
    ],
)
def test_an_analysis_has_the_decision_of_the_test(
    ending: str, metrics: tuple[bs.Metric, ...], gain: float, delay: float, cap: int | None
) -> None:
    arms = ["a", "b", "c"] if ending == "drop" else ["a", "b"]
    design = bs.Design(arms, bs.Gaussian(1), bs.Tilt(1), reports="always", max_units=cap)
    design = replace(design, metrics=metrics)
    test = played(design, [0.0, gain, 0.0], [0.0, delay, 0.0], ending)
    status, report = test.status(), bs.analyze_experiment(test)
    decided, reported = status.decision, report.decision
    assert (decided and decided.name) == (reported and reported.name)
    if decided is not None and reported is not None:
        assert (decided.arm, decided.harm, decided.by) == (reported.arm, reported.harm, reported.by)
        assert report.decided is not None
    shown = {one.treatment: one.unbiased for one in status.contrasts}
    assert {one.treatment: one.unbiased for one in report.scores if one.metric == "value"} == shown


def test_a_decided_test_is_decided_in_its_table_and_has_both_estimates_on_its_page() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), reports="always")
    report = bs.analyze_experiment(played(design, [0.0, 1.5], [0.0, 0.0], "alone"))
    (row,) = report.to_rows()
    assert row["verdict"] == "better"
    assert 0.0 < row["unbiased"] < row["difference"]
    for text in (report.html(), str(report)):
        assert "median-unbiased" in text


def test_a_rule_that_is_not_registered_is_refused_at_creation(tmp_path: Path) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), Lean(2), reports="always")
    with bs.open(tmp_path / "store.db") as store:
        with pytest.raises(bs.InputError, match="register its rule with"):
            store.create("eager", design)
        assert store.experiments() == []
        RULES.register(Lean)
        try:
            store.create("eager", design).assign("u")
        finally:
            RULES.forget("lean")
        store.create("sound", replace(design, rule=bs.Tilt(1)))
    # In a program that does not know the rule, the others are listed, and it can be deleted.
    from bascule.live.api.reads import readable_statuses

    with bs.open(tmp_path / "store.db") as store:
        found, damaged = readable_statuses(store.search(""))
        assert ([one.name for one in found], [*damaged]) == (["sound"], ["eager"])
        store.delete("eager")
        assert [test.name for test in store.experiments()] == ["sound"]
