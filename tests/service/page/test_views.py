"""What is shown is what the test's status says, in words and in the places of small plots."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import bascule as bs
from bascule.core.diagnostics import Diagnostic
from bascule.live.api.experiment import Experiment
from bascule.live.api.reads import read_summaries
from bascule.live.reports.diagnostics import raised
from bascule.live.reports.time_left import TimeLeft
from bascule.planning.forecast import played
from bascule.planning.request.read import plan_request
from bascule.planning.search.candidates import even_split
from bascule.presentation.numbers import Amounts
from bascule.presentation.pages import design_report
from bascule.presentation.status import has_evidence, report
from bascule.service.demo_shop import BUY, DESIGNS, PER_DAY, PER_HOUR
from bascule.service.page import views, words
from bascule.service.page.charts import allocation_chart, comparisons, effect_charts, points_for

THREE = bs.Design(
    ["a", "b", "c"],
    bs.Bernoulli(),
    bs.Tilt(3, effect=0.06, power=0.9, baseline=0.3),
    max_units=100_000,
    reports="always",
)


def filled(design: bs.Design, means: dict[str, float], batches: int, seed: int = 1) -> Experiment:
    """A test with outcomes, an hour a batch."""
    clock = bs.ManualClock()
    chance = random.Random(seed)
    store = bs.open(":memory:", clock=clock, shuffle=random.Random(seed).shuffle)
    test = store.create("button", design)
    for batch in range(batches):
        units = [f"{batch}-{i}" for i in range(60)]
        arms = test.assign_many(units)
        pairs = zip(units, arms, strict=True)
        test.record_many([(u, float(chance.random() < means[arm])) for u, arm in pairs])
        clock.advance("1h")
    return test


@pytest.fixture(scope="module")
def three() -> Experiment:
    return filled(THREE, {"a": 0.3, "b": 0.36, "c": 0.26}, 30)


@pytest.fixture(scope="module")
def decided() -> Experiment:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    return filled(design, {"a": 0.2, "b": 0.5}, 20)


def test_two_arms_are_compared_as_what_the_second_adds(decided: Experiment) -> None:
    status = decided.status()
    assert comparisons(status) == [("b", "a")]
    (chart,) = effect_charts(status, decided.history(), Amounts.of(decided.design.outcome))
    units, difference, low, high = chart.rows[-1].cells
    (effect,) = status.effects
    assert units.value == status.matured
    assert difference.value == pytest.approx(100 * effect.difference)
    assert (low.value, high.value) == pytest.approx((100 * effect.low, 100 * effect.high))


def test_a_chart_begins_with_the_first_outcomes_and_needs_two_moments() -> None:
    clock = bs.ManualClock()
    design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(1), reports="always")
    test = bs.open(":memory:", clock=clock).create("revenue", design)
    for unit in range(12):
        test.assign(unit)
        test.record(unit, float(unit))
        if unit == 5:
            (chart,) = effect_charts(test.status(), test.history(), Amounts.of(design.outcome))
            assert chart.rows
            assert not chart.is_drawn
            assert not allocation_chart(test.status(), test.history()).is_drawn
            clock.advance("1h")
    (chart,) = effect_charts(test.status(), test.history(), Amounts.of(design.outcome))
    assert chart.is_drawn
    for _, difference, low, high in (row.cells for row in chart.rows):
        assert difference.value is not None
        assert (low.value, high.value, low.text) == (None, None, "–")


def test_shares_make_a_hundred_and_follow_the_leader(decided: Experiment) -> None:
    chart = allocation_chart(decided.status(), decided.history())
    for row in chart.rows:
        assert sum(cell.value or 0.0 for cell in row.cells[1:]) == pytest.approx(100.0)
    before, after = (chart.rows[i].cells[2].value for i in (0, -1))
    assert before is not None
    assert after is not None
    assert after > before + 10.0


def test_a_history_is_thinned_and_keeps_its_end(three: Experiment) -> None:
    whole, some = three.history(), three.history(10)
    assert len(some) <= 10 < len(whole)
    assert some[-1] == whole[-1]
    assert points_for(2) > points_for(10)


def test_headlines_say_what_to_do(three: Experiment, decided: Experiment) -> None:
    status = three.status()
    assert status.time_left is not None
    ranged = replace(status, time_left=TimeLeft(900.0, 500.0, 2000.0, 5.0, 3.2, 8.4))
    assert ranged.headline == "Keep running: 3 to 9 days left"
    capped = replace(status, max_units=status.units + 10)
    late = capped.report()
    assert late.headline == "Keep running: a decision before the cap is unlikely"
    assert late.question.endswith("The test ends after 10 more units.")
    early = replace(capped, evidence=0.1, time_left=None)
    assert early.headline == "Keep running: too early to say how long"
    due = replace(status, time_left=TimeLeft(0.2, 0.0, 0.5, 0.05, 0.0, 0.1))
    assert due.headline == "Keep running: the decision may come at any time"
    ship = decided.status().report()
    assert ship.headline.startswith("Ship b: +")
    assert words.tone(decided.status()) == "good"
    assert "until you release the winner" in ship.question
    released = replace(decided.status(), everyone="b")
    assert "until you release" not in released.report().question


def test_cost_is_that_of_the_test_and_not_of_what_came_after(decided: Experiment) -> None:
    before = decided.status()
    decided.assign_many([f"later-{i}" for i in range(500)])
    after = decided.status()
    assert after.units == before.units + 500
    assert (after.cost, after.even_cost) == (before.cost, before.even_cost)


def test_savings_are_against_the_whole_test_of_an_even_split(decided: Experiment) -> None:
    status, even = decided.status(), decided.even_split()
    assert even is not None
    # An even split decides sooner than a tilted one, so it is no split of as many units.
    assert status.decision is not None
    assert even.decision_time < status.decision.units
    assert status.even_cost is not None
    assert even.regret < status.even_cost
    cost = views.cost_of(decided.design, status, (), even)
    assert cost is not None
    table, said = cost
    assert f"an even split {table.rows[2][2]} until its own decision" in said


def test_a_running_test_is_compared_by_what_it_is_expected_to_cost_in_all(
    three: Experiment,
) -> None:
    status, turns = three.status(), three.forecast([1.0, 3.0])
    cost = views.cost_of(three.design, status, turns, three.even_split())
    assert cost is not None
    assert "This test is expected to cost" in cost[1]


def test_no_savings_are_claimed_where_the_even_split_is_not_known(decided: Experiment) -> None:
    cost = views.cost_of(decided.design, decided.status(), (), None)
    assert cost is not None
    table, said = cost
    assert len(table.rows) == 2
    assert "in all" not in said
    assert f"would have cost {table.rows[1][2]} conversions" in said


def test_what_wants_doing_comes_first() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    with bs.open(":memory:") as store:
        for name in ("stopped", "older", "newer"):
            store.create(name, design)
        store.get("stopped").stop()
        entries, _ = read_summaries(store, {})
    assert [one.name for one in views.in_order(entries.values())] == ["newer", "older", "stopped"]


def test_only_what_holds_at_any_time_raises_an_alarm_while_a_test_runs() -> None:
    once = Diagnostic("trend", 9.0, 0.001, 0.01, "fixed time", "arms moved")
    always = Diagnostic("sample ratio", 900.0, 0.001, 0.01, "any time", "lost units")
    assert raised([once, always], is_open=True) == [always]
    assert raised([once, always], is_open=False) == [once, always]
    assert views.diagnostic_words([once]) == ["! trend: arms moved", views.NO_SAMPLE_RATIO]
    assert views.diagnostic_words([always]) == ["! sample ratio: lost units"]


def test_a_sample_ratio_mismatch_is_the_headline(decided: Experiment) -> None:
    said = report(decided.status(), mismatch=True)
    assert said.headline.startswith("Sample ratio mismatch")
    assert words.tone(decided.status(), mismatch=True) == "alarm"
    assert "Ship b" in said.question


def test_differences_are_later_arm_minus_first(three: Experiment) -> None:
    status = three.status()
    assert status.leader == "b"
    assert sorted(comparisons(status)) == [("b", "a"), ("c", "b")]
    for chart in effect_charts(status, three.history(5), Amounts.of(three.design.outcome)):
        assert "97.5 % interval" in chart.summary


def test_every_change_is_described_in_words() -> None:
    store = bs.open(":memory:")
    test = store.create("button", THREE, start=False)
    test.start()
    test.knob(tilt=8)
    test.drop_arm("c")
    test.pause()
    test.stop()
    words = [row[2] for row in views.audit_rows(test.audit())]
    assert words == [
        "Stopped for good",
        "Paused",
        "Dropped c; its users get a",
        "Turned tilt from 3 to 8",
        "Started",
        "Created, with the arms a, b, c",
    ]


def test_a_test_that_guardrails_end_claims_nothing_about_its_primary_metric() -> None:
    slow = bs.Metric("slow", bs.Gaussian(1), goal="decrease", margin=1.0)
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[slow], reports="always")
    test = bs.open(":memory:").create("button", design)
    while test.state == "running":
        arm = test.assign(unit := str(test.status().units))
        test.record_many([(unit, 1.0), (unit, 9.0 * (arm == "b"), None, None, "slow")])
    status = test.status()
    assert test.even_split() is None
    assert not has_evidence(status)
    assert any("nothing is claimed about the primary" in note for note in report(status).notes)
    assert "worse by 1 or more on slow is shipped" in status.promise
    said = [
        {fact.name: fact.value for fact in design_report(one).facts}["error"]
        for one in (design, replace(design, decides="guardrails"))
    ]
    assert said[0].startswith("false positive rate at most 5 %")
    assert said[1].startswith("the guardrails decide; an arm worse by 1 or more on slow")


@pytest.mark.slow
def test_an_even_split_is_forecast_as_it_is_planned_with_the_same_window() -> None:
    """Units that are enrolled while windows are open cost as much as those that decide."""
    design, request = (
        DESIGNS["adaptive"],
        plan_request(
            baseline="10%", lift="50%", units_per_day=PER_DAY, deadline_days=7, window="1d"
        ),
    )
    clock = bs.ManualClock()
    test = bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle).create("x", design)
    assigned = dict.fromkeys(BUY, 0)
    for hour in range(48):
        units = [f"{hour}-{i}" for i in range(PER_HOUR)]
        sold = []
        for unit, arm in zip(units, test.assign_many(units), strict=True):
            # Exactly as many of every arm buy as the plan expects.
            before, assigned[arm] = BUY[arm] * assigned[arm], assigned[arm] + 1
            if int(BUY[arm] * assigned[arm]) > int(before):
                sold.append((unit, 1.0))
        test.record_many(sold)
        clock.advance("1h")
        test.settle()
    even, planned = test.even_split(), played(request, even_split(request), request.world).cost
    assert even is not None
    # The means that the test shows differ a little from the truth.
    assert even.regret == pytest.approx(planned.mean, abs=4 * planned.se + 0.05 * planned.mean)
