"""Live tests with guardrails: recording, shipping, harm, and what can be read of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.api.exports import export
from bascule.live.reports.history import audit_words

pytestmark = pytest.mark.slow

LATENCY = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0)
SPEND = bs.Metric("spend", bs.Bounded(0, 10), role="secondary")


def design(arms: int = 2, **changes: Any) -> bs.Design:
    names = ["control", "green", "red"][:arms]
    given = {"metrics": [LATENCY, SPEND], "reports": "always", **changes}
    return bs.Design(names, bs.Gaussian(1), bs.Tilt(3), **given)


def run(made: bs.Design, gains: Sequence[float], delays: Sequence[float]) -> bs.Experiment:
    """A test up to its end: the arms' means on the primary metric, and their latency."""
    test = bs.open(":memory:").create("guarded", made)
    chance = random.Random(2)
    for i in range(600):
        arm = made.arms.index(test.assign(i))
        outcomes = [
            (i, chance.gauss(gains[arm], 1.0), None, f"{i}-p", None),
            (i, chance.gauss(delays[arm], 1.0), None, f"{i}-l", "latency"),
            (i, 5.0 + arm, None, f"{i}-s", "spend"),
        ]
        chance.shuffle(outcomes)
        assert all(receipt.accepted for receipt in test.record_many(outcomes))
        if test.state != "running":
            break
    return test


def test_an_arm_within_its_margins_ships(tmp_path: Path) -> None:
    test = run(design(), [0.0, 2.0], [0.0, 0.0])
    status = test.status()
    assert status.decision is not None
    assert status.decision.name == "green"
    latency, spend = status.metrics
    assert (latency.standings, spend.standings) == (("within margin",), ("open",))
    (contrast,) = latency.contrasts
    assert contrast.name == "green - control"
    assert contrast.low < 0.0 < contrast.high < 1.0
    assert spend.means == (5.0, 6.0)
    assert spend.contrasts[0].difference == pytest.approx(1.0)
    assert "worse by 1 or more on latency is shipped with probability at most 5 %" in status.promise
    assert status.to_dict()["metrics"][0]["name"] == "latency"
    assert test.verify().agrees
    files = export(test, tmp_path)
    assert [path.stem for path in files[1:]] == [
        "guarded-outcomes",
        "guarded-outcomes-latency",
        "guarded-outcomes-spend",
    ]
    rows = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    assert rows == [status.units + 1] * 4


def test_a_harmful_arm_ends_a_test_of_two() -> None:
    test = run(design(), [0.0, 2.0], [0.0, 4.0])
    status = test.status()
    assert status.decision is not None
    assert (status.decision.name, status.decision.harm) == ("control", ("latency",))
    assert status.headline.startswith("Keep control: every other arm was found harmful")
    assert test.verify().agrees
    words = [audit_words(entry) for entry in test.audit()[-2:]]
    assert words == ["Kept control: all else is harmful (latency)", "Released the winner, control"]
    # Nobody is left with the harmful arm, and the report says what the test says.
    assert {test.assign(i) for i in range(20)} == {"control"}
    test.assign("after the end")
    assert test.report().report().headline == status.headline


def test_a_harmful_arm_of_three_is_removed_by_itself_and_verified() -> None:
    test = run(design(3), [0.0, 2.0, 3.0], [0.0, 0.0, 5.0])
    entries = [entry for entry in test.audit() if entry["action"] == "harm"]
    assert [audit_words(entry) for entry in entries] == ["Removed red, which is harmful: latency"]
    status = test.status()
    assert status.decision is not None
    assert status.decision.name == "green"
    assert next(arm.part for arm in status.arms if arm.name == "red") == "harmful"
    assert test.verify().agrees


def test_a_winner_that_waits_for_its_guardrail_says_so() -> None:
    tight = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=0.01, harm="never")
    test = run(design(metrics=[tight, SPEND], max_units=150), [0.0, 3.0], [0.0, 0.0])
    assert test.state == "over"
    test = bs.open(":memory:").create("waits", design(metrics=[tight]))
    for i in range(60):
        arm = test.arms.index(test.assign(i))
        test.record(i, 5.0 * arm)
        assert test.record(i, 0.0, metric="latency").accepted
    assert test.status().headline == (
        "Keep running: green has won on the primary metric and is not shown yet to stay within "
        "the margin of latency"
    )
    with pytest.raises(bs.InputError, match="is the control, with which guardrails compare"):
        test.drop_arm("control")
    # Both arms go on getting units.
    assert {test.assign(f"more-{i}") for i in range(12)} == {"control", "green"}


def test_outcomes_are_taken_by_their_metric() -> None:
    test = bs.open(":memory:").create("names", design())
    test.assign_many(["ann", "bob"])
    assert test.record("ann", 1.0, id="a").accepted
    assert test.record("ann", 2.0, id="b", metric="latency").accepted
    assert test.record("ann", 3.0, metric="primary").reason == "second outcome"
    assert test.record("ann", 3.0, metric="latency").reason == "second outcome"
    assert test.record("ann", 3.0, metric="speed").reason == "unknown metric"
    assert test.record("ann", 2.0, id="b", metric="latency").reason == "duplicate"
    assert test.record("ann", 3.0, id="b", metric="latency").reason == "id used before"
    assert test.record("bob", 2.0, id="b", metric="spend").reason == "id used before"
    # A unit counts once it has an outcome of every metric, and the status says of which.
    waiting = test.status().waiting
    assert waiting is not None
    assert "the oldest has not reported all of primary, latency, spend" in waiting.words
    assert test.status().matured == 0
    assert test.record("ann", 3.0, metric="spend").accepted
    assert test.status().matured == 1
    assert [row["metric"] for row in test.excluded()] == [
        None,
        "latency",
        "speed",
        "latency",
        "spend",
    ]
    assert test.verify().agrees


def test_windows_of_metrics_end_one_by_one_and_a_unit_counts_after_the_last() -> None:
    clock = bs.ManualClock()
    day = bs.Metric("latency", bs.Gaussian(1), margin=1.0, measure=bs.Measure("1d", "mean", "zero"))
    made = bs.Design(
        ["a", "b"],
        bs.Gaussian(1),
        bs.Tilt(3),
        metrics=[day],
        measure=bs.Measure("7d", "last", "zero"),
    )
    test = bs.open(":memory:", clock=clock).create("windows", made)
    test.assign_many(["ann", "bob"])
    test.record_many([("ann", 1.0, None, None, "latency"), ("ann", 3.0, None, None, "latency")])
    clock.advance(2 * 86400.0)
    assert test.record("bob", 1.0, metric="latency").reason == "late"
    assert test.record("bob", 1.0).accepted
    assert test.status().matured == 0
    clock.advance(5 * 86400.0)
    status = test.status()
    assert status.matured == 2
    ann = test.arms.index(test.assign("ann"))
    assert status.metrics[0].means[ann] == 2.0
    assert test.verify().agrees


def test_erased_units_keep_what_they_counted_as_on_every_metric() -> None:
    test = bs.open(":memory:").create("erased", design())
    for i in range(8):
        test.assign(i)
        test.record_many([(i, 1.0), (i, 2.0, None, None, "latency"), (i, 3.0, None, None, "spend")])
    before = test.status()
    test.store.erase(3)  # type: ignore[attr-defined]
    assert test.verify().agrees
    assert test.status().metrics == before.metrics


@pytest.mark.parametrize(("delay", "served"), [(0.0, "green"), (4.0, "control")])
def test_a_guarded_rollout_ends_with_one_version_for_everyone(delay: float, served: str) -> None:
    made = design(metrics=[LATENCY, SPEND], decides="guardrails")
    # The primary metric is far ahead, and does not decide.
    test = run(made, [0.0, 9.0], [0.0, delay])
    status = test.status()
    assert status.decision is not None
    assert (status.decision.name, status.decision.by) == (served, "guardrails")
    assert status.everyone == served
    assert {test.assign(i) for i in range(20)} == {served}
    assert test.verify().agrees
    assert bs.Design.from_dict(made.to_dict()) == made


def test_a_rollout_takes_in_as_much_traffic_as_its_ramp_says() -> None:
    window = bs.Measure("12h", "mean", "zero")
    guard = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0, measure=window)
    plan = bs.plan_rollout([guard], [("0d", 0.05), ("1d", 0.5)], 1000, runs=20)
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("ramp", plan.design, audience=plan.audience)
        first = [test.evaluate(f"first-{i}") for i in range(400)]
        enrolled = sum(one.enrolled for one in first)
        # A tenth of the traffic is in the test; four standard errors are 24.
        assert abs(enrolled - 40) <= 24
        assert sum(one.arm == "new" for one in first) <= enrolled / 2 + 1
        clock.advance(86400.0)
        second = [test.evaluate(f"second-{i}").enrolled for i in range(50)]
        # A place of the open block may wait for one of the tenth.
        assert all(second[second.index(True) :])
