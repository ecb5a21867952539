"""Which plans are made at once, and which beside the service, where `bascule plan` makes them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bascule.cli.main import main
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page import planned
from bascule.service.page.creation.form import Form, first_stage, plan_view
from bascule.service.page.creation.options import TITLES
from bascule.service.page.planned import answer_form
from bascule.service.planner_process import plan_json


def test_two_arms_are_answered_by_theory_until_they_have_been_simulated() -> None:
    form = Form.read({"baseline": "50%", "lift": "0.25", "units_per_day": "1k", "window": "7d"})
    theory = answer_form(form.typed)
    assert 'hx-trigger="load' in theory.html
    simulated = answer_form(form.typed, whole=True)
    assert 'hx-trigger="load' not in simulated.html
    assert answer_form(form.typed) == simulated


def test_a_plan_on_the_screen_is_made_again_after_a_restart() -> None:
    """The process that kept the simulated plan is gone: it is simulated again to be compared."""
    typed = Form.read({"baseline": "50%", "lift": "0.3", "units_per_day": "1k", "name": "a"}).typed
    marks = re.findall(r'name="shown" value="([-\w]+)"', answer_form(typed, whole=True).html)
    planned._KEPT.clear()
    again = answer_form(typed, tried=True, shown=marks[0])
    assert not again.problems
    assert again.design is not None
    other = answer_form(typed, tried=True, shown="another")
    assert "was not the plan of this form" in other.problems["rule"]


def test_the_page_the_service_and_the_command_line_give_the_same_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The lift is so large that the simulation takes no time."""
    question = {"baseline": "50%", "lift": "0.25", "units_per_day": "1k", "deadline_days": "14"}
    question["window"] = "7d"

    page = answer_form(Form.read({**question, "counts": "window"}).typed, whole=True)
    service = json.loads(plan_json(NewPlan.model_validate(question)))
    with pytest.raises(SystemExit):
        main(["plan", "--json", *(f"--{k.replace('_', '-')}={v}" for k, v in question.items())])
    command = json.loads(capsys.readouterr().out)
    assert command["possible"]

    def comparable(plan: dict[str, Any]) -> dict[str, Any]:
        """A plan without its times, and without the names of the arms, which the form has."""
        plan = json.loads(json.dumps(plan))
        for part in (plan, plan["design"], plan["request"], *plan["frontier"]):
            for field in ("seconds", "compile_seconds", "arms", "names"):
                part.pop(field, None)
        return plan

    assert comparable(service) == comparable(command)
    assert page.design is not None
    rule = command["design"]["rule"]
    assert {**page.design.to_dict()["rule"], **rule} == page.design.to_dict()["rule"]


@pytest.mark.slow
def test_hints_of_a_plan_are_spelled_as_the_fields_of_the_form() -> None:
    request = Form.read({"window": "7d", "lift": "20%", "delay": "1d"}).request()
    plan = first_stage(request)
    report = plan_view(plan).report
    # One table by default; other shares of the traffic are among the details.
    assert (len(report.tables), report.details) == (1, None)
    assert "(Share of traffic)" in " ".join(plan.report(TITLES, details=True).whole.notes)
    said = " ".join(report.notes)
    assert "(set Early signals to auto)" in said
    assert "--" not in said
