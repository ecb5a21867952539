"""The form: from what is typed to a design, with the field named where something is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bascule as bs
from bascule.core.errors import InputError
from bascule.service.page.creation.form import Form, first_stage, plan_view, problem_words

TYPED = {"name": "button", "arms": "control\r\n green \r\n\r\n", "lift": "50%", "start": "yes"}


@pytest.fixture(scope="module")
def plan() -> bs.planning.Plan:
    return first_stage(Form.read(TYPED).request())


def test_arms_are_lines(plan: bs.planning.Plan) -> None:
    assert plan.design.arms == ("control", "green")


def test_the_recommended_design_is_taken_unless_another_is_chosen(plan: bs.planning.Plan) -> None:
    week = bs.Measure("7d", "any")
    assert Form.read(TYPED).design(plan) == replace(plan.design, measure=week)
    other = next(point for point in plan.points if point.rule != plan.rule)
    assert Form.read({**TYPED, "rule": other.rule.label}).design(plan).rule == other.rule
    cheapest = Form.read({**TYPED, "rule": "cheapest"}).design(plan)
    assert cheapest.rule in [point.rule for point in plan.points]
    with pytest.raises(InputError, match="not among the designs"):
        Form.read({**TYPED, "rule": "no such"}).design(plan)


def test_without_a_window_every_unit_reports_and_an_error_of_one_side_reaches_the_design() -> None:
    form = Form.read({**TYPED, "counts": "first", "sides": "1"})
    plan = first_stage(form.request())
    assert plan.design.measure is None
    design = form.design(plan)
    assert design == replace(plan.design, reports="always")
    assert design.calibration.error == 0.05
    said = plan_view(plan).report.notes[-1]
    assert "false positive rate at most 10 %, at most 5 % to ship the worse arm" in said


def test_a_window_makes_a_measure_that_suits_the_outcome(plan: bs.planning.Plan) -> None:
    form = Form.read({**TYPED, "counts": "window", "window": "3d", "aggregate": "sum"})
    assert form.design(plan).measure == bs.Measure("3d", "any")


def test_numbers_are_read_as_on_the_command_line() -> None:
    typed = [("5%", "20%", "5k"), ("0.05", "20 %", "5,000"), ("0.05", "0.01", "5000")]
    names = ("baseline", "lift", "units_per_day")
    read = [Form.read(dict(zip(names, one, strict=True))).request() for one in typed]
    assert {(one.means, one.units_per_day) for one in read} == {((0.05, 0.06), 5000.0)}


def test_what_is_not_ticked_is_not_started() -> None:
    assert not Form.read({"name": "x"})["start"]
    assert Form.read({})["start"]


def test_a_description_that_is_too_long_is_not_cut_off() -> None:
    # What is too long is refused by those who know the limit, and never cut off.
    assert len(Form.read({"description": "x" * 20_000})["description"]) == 20_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("baseline", "many"),
        ("lift", "0"),
        ("error", "7"),
        ("units_per_day", "-5"),
        ("deadline_days", ""),
        ("arms", "only one"),
    ],
)
def test_what_is_wrong_is_named(field: str, value: str) -> None:
    with pytest.raises(InputError) as problem:
        Form.read({**TYPED, field: value}).request()
    assert problem.value.field == field


def test_limits_and_spread_are_read_where_they_count() -> None:
    bounded = {"outcome": "bounded", "low": "0", "high": "50", "baseline": "20", "lift": "5%"}
    assert Form.read(bounded).request().outcome == bs.Bounded(0, 50)
    known = {"outcome": "gaussian", "sigma": "4", "baseline": "20", "lift": "1"}
    assert Form.read(known).request().outcome == bs.Gaussian(4)
    assert Form.read({**known, "outcome": "numeric"}).request().outcome == bs.Numeric(4)
    with pytest.raises(InputError, match="sigma must be a number"):
        Form.read({**known, "sigma": "wide"}).request()
    said = problem_words(Form.read({**known, "outcome": "numeric", "sigma": ""}).problems())
    assert [*said] == ["sigma"]
    assert said["sigma"].startswith("Standard deviation is missing")
    wide = problem_words(Form.read({**bounded, "high": "", "low": ""}).problems())
    assert [*wide] == ["baseline"]
    assert "the largest value (Upper limit)" in wide["baseline"]


def test_the_answer_has_cards_and_every_design(plan: bs.planning.Plan) -> None:
    shown = plan_view(plan)
    roles = [role.capitalize() for _, some, _ in shown.cards for role in some.split(", ")]
    assert sorted(roles) == ["Cheapest", "Fastest", "Recommended"]
    assert [value for value, _, point in shown.cards if shown.is_chosen(point)] == [""]
    assert not any(shown.is_chosen(point, in_table=True) for point in plan.points)
    on_cards = [point.rule.label for _, _, point in shown.cards]
    other = next(one for one in plan.points if one.rule.label not in on_cards)
    again = plan_view(plan, other.rule.label)
    assert [one for one in plan.points if again.is_chosen(one, in_table=True)] == [other]
    assert not any(again.is_chosen(point) for _, _, point in again.cards)


def test_an_impossible_wish_says_what_would_do() -> None:
    answer = plan_view(first_stage(Form.read({"lift": "2%", "deadline_days": "9"}).request()))
    assert not answer.plan.possible
    assert answer.headline.startswith("No design whose error is proven decides this by day 9")
    assert any("would make it possible" in note for note in answer.report.notes)


def test_everything_that_is_wrong_is_named_at_once_in_the_words_of_the_form() -> None:
    wrong = {"baseline": "x", "units_per_day": "-4", "window": "soon"}
    wrong |= {"arms": "a\na", "lift": "much", "correlation": "3", "covariate": "spend"}
    said = problem_words(Form.read({**TYPED, **wrong}).problems())
    assert set(said) == set(wrong)
    about = {"name": "a b", "description": "a\0b"}
    assert set(Form.read({**TYPED, **about, "lift": "y"}).problems(True)) == {*about, "lift"}
    assert said["baseline"].startswith("Baseline must be a number (got 'x')")


def test_another_outcome_has_no_usual_values_of_conversions() -> None:
    assert set(Form.read({"outcome": "bounded"}).problems()) == {"baseline", "lift"}


def test_nothing_is_replaced_in_silence() -> None:
    for wrong, field in (({"outcome": "magic"}, "outcome"), ({"error": "60%"}, "error")):
        with pytest.raises(InputError) as caught:
            Form.read({**TYPED, **wrong}).request()
        assert caught.value.field == field


def test_metrics_covariate_control_and_ratio_reach_the_design() -> None:
    lines = "latency; gaussian 30; decrease; margin 5\r\n\r\nspend; bounded 0 100"
    form = Form.read({**TYPED, "metrics": lines, "control": "green", "window": "3d", "lift": "80%"})
    plan = first_stage(form.request())
    design = form.design(plan)
    latency, spend = design.metrics
    assert (latency.role, latency.goal, latency.margin) == ("guardrail", "decrease", 5.0)
    assert (spend.role, spend.measure) == ("secondary", bs.Measure("3d", "sum"))
    assert design.control == "green"
    known = Form({**form.typed, "covariate": "age:0:99"})
    assert known.request().covariate == bs.Covariate("age", 0, 99)
    assert any("Guardrail latency" in note for note in plan_view(plan).report.notes)
    clicks = {**TYPED, "outcome": "ratio", "at": "0.1", "per": "4", "baseline": "0.1"}
    form = Form.read({**clicks, "sigma": "0.3", "guarantee": "asymptotic", "aggregate": "last"})
    design = form.design(first_stage(form.request()))
    assert design.outcome == bs.Ratio(0.1, 4, 0.3)
    assert design.measure == bs.Measure("7d", "sum")


def test_a_cap_is_chosen_from_earlier_outcomes_and_the_plan_says_what_is_compared() -> None:
    earlier = " ".join(str(amount) for amount in range(101))
    money = {**TYPED, "outcome": "bounded", "sample": earlier, "baseline": "", "lift": "20%"}
    request = Form.read({**money, "cap": "90%"}).request()
    assert request.outcome == bs.Bounded(0, 90)
    assert request.baseline == pytest.approx(49.455, abs=0.01)
    shown = plan_view(first_stage(request))
    assert any("within these limits are compared" in note for note in shown.report.notes)
    free = {**TYPED, "outcome": "numeric", "sigma": "30", "baseline": "50", "lift": "20%"}
    shown = plan_view(first_stage(Form.read({**free, "guarantee": "asymptotic"}).request()))
    assert any(note.startswith("For money choose a cap") for note in shown.report.notes)
    with pytest.raises(InputError, match="sample must be a number"):
        Form.read({**money, "sample": "12 many"}).request()
    quantile = {**money, "sample": "", "baseline": "30", "high": "100", "cap": "90%"}
    assert set(Form.read(quantile).problems()) == {"cap"}
    far = {**money, "sample": "", "baseline": "30", "lift": "10%"}
    assert set(Form.read(far).problems()) == {"baseline"}
    amount = {**money, "sample": "", "baseline": "30", "cap": "500"}
    assert Form.read(amount).request().outcome == bs.Bounded(0, 500)
    for both in ({**money, "high": "50"}, {**amount, "low": "1"}, {**amount, "sigma": "40"}):
        with pytest.raises(InputError, match="does not go with"):
            Form.read(both).request()


def test_a_rule_of_the_package_is_planned_beside_the_usual_ones() -> None:
    form = Form.read({"other_rule": "ucb", "rule-alpha": "3"})
    assert form.rules() == (bs.UCB(3),)
    problems = problem_words(Form.read({"other_rule": "ucb", "rule-alpha": "x"}).problems())
    assert list(problems) == ["rule-alpha"]
    assert list(Form.read({"other_rule": "etc", "rule-alpha": "3"}).problems()) == ["rule-alpha"]


STARS = {"outcome": "bounded", "low": "1", "high": "5", "baseline": "3", "lift": "0.2"}


@pytest.mark.parametrize(
    ("missing", "expected"), [("3", 3.0), ("exclude", "exclude"), ("", None), ("0", None)]
)
def test_limits_without_0_need_an_outcome_of_units_without_events(
    missing: str, expected: float | str | None
) -> None:
    form = Form.read({**STARS, "aggregate": "mean", "missing": missing})
    plan = first_stage(form.request())
    if expected is None:
        with pytest.raises(InputError, match="missing") as refused:
            form.design(plan)
        assert refused.value.field == "missing"
    else:
        measure = form.design(plan).measure
        assert measure is not None
        assert measure.missing == expected


def test_an_empty_field_is_not_quoted() -> None:
    for field in ("units_per_day", "window", "error", "name"):
        words = problem_words(Form.read({field: ""}).problems(is_to_be_created=True))
        assert field in words, (field, words)
        assert "got" not in words[field]
