"""The report of a live test is its status and history, however it ended."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.live.transactions.test_change import Lean

import bascule as bs
from bascule.core.rules import RULES
from bascule.live.api import audit_words, export

pytestmark = pytest.mark.slow

LATENCY = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0)


def played(design: bs.Design, gains: list[float], delays: list[float], ending: str) -> Any:
    store = bs.open(":memory:", clock=bs.ManualClock(), shuffle=random.Random(4).shuffle)
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
def test_a_report_is_the_status_and_the_history_of_the_test(
    ending: str, metrics: tuple[bs.Metric, ...], gain: float, delay: float, cap: int | None
) -> None:
    arms = ["a", "b", "c"] if ending == "drop" else ["a", "b"]
    design = bs.Design(arms, bs.Gaussian(1), bs.Tilt(1), reports="always", max_units=cap)
    design = replace(design, metrics=metrics)
    test = played(design, [0.0, gain, 0.0], [0.0, delay, 0.0], ending)
    report = test.report()
    assert replace(report.status, diagnostics=None) == test.status()
    assert report.to_dict()["status"]["decision"] == test.status().to_dict()["decision"]
    (last,) = [one for one in report.to_rows() if one["contrast"] == "b - a"][-1:]
    (now,) = [one for one in report.history[-1].effects if one.name == "b - a"]
    assert (last["difference"], last["low"]) == pytest.approx((now.difference, now.low))
    assert list(report.to_frame().columns) == list(last)
    page = unescape(report.html())
    assert test.status().headline in page
    assert [what for _, what in report.changes] == [audit_words(one) for one in test.audit()]
    assert all(what in page for _, what in report.changes)
    assert page.count("<svg") == len(report.report().figures)


def test_the_report_of_a_decided_test_has_both_estimates() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), reports="always")
    report = played(design, [0.0, 1.5], [0.0, 0.0], "alone").report()
    (contrast,) = report.status.contrasts
    assert 0.0 < contrast.unbiased < contrast.difference
    assert len(report.report().figures) == 2
    for text in (report.html(), str(report)):
        assert "median-unbiased" in text


def test_an_exported_test_is_analysed_as_any_log_and_points_to_its_report(tmp_path: Path) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), reports="always")
    test = played(design, [0.0, 1.5], [0.0, 0.0], "alone")
    _, outcomes = export(test, tmp_path)
    found = bs.analyze(outcomes)
    assert found.reading.times == "dates"
    assert [arm.units for arm in found.arms] == [arm.units for arm in test.status().arms]
    assert any("its own report has the decision" in note for note in found.notes)


def test_a_rule_that_is_not_registered_is_refused_at_creation(tmp_path: Path) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), Lean(2), reports="always")
    with bs.open(tmp_path / "store.db") as store:
        with pytest.raises(bs.InputError, match="register a rule of your own with RULES"):
            store.create("eager", design)
        assert store.experiments() == []
        RULES.register(Lean)
        try:
            store.create("eager", design).assign("u")
        finally:
            RULES.forget("lean")
        store.create("sound", replace(design, rule=bs.Tilt(1)))
    # In a program that does not know the rule, the others are listed, and it can be deleted.
    code = """
import sys
import bascule as bs
from bascule.live.api.reads import readable_statuses

with bs.open(sys.argv[1]) as store:
    found, damaged = readable_statuses(store.search(""))
    print([status.name for status in found], [*damaged])
    store.delete("eager")
    print([test.name for test in store.experiments()])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['sound'] ['eager']", "['sound']"]
