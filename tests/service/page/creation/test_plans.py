"""Which plans are made at once, and which beside the service, where `bascule plan` makes them."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.planning.request.request import PlanRequest
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page.creation.form import Form
from bascule.service.page.creation.plans import Plans, first_stage, plan_view
from bascule.service.planner import Planner


class Asked:
    """A planner that says who asked."""

    def __init__(self) -> None:
        self.requests: list[NewPlan] = []

    async def make(self, request: NewPlan) -> str:
        self.requests.append(request)
        return f"plan {len(self.requests)}"


def test_more_than_two_arms_are_planned_by_the_planner_and_once() -> None:
    asked, plans = Asked(), Plans()

    async def ask(request: PlanRequest) -> Any:
        return await plans.plan(cast(Planner, asked), request)

    three = PlanRequest(arms=["a", "b", "c"])
    assert [asyncio.run(ask(three)) for _ in range(2)] == ["plan 1", "plan 1"]
    assert asked.requests[0].arms == ["a", "b", "c"]


def test_two_arms_are_answered_by_theory_until_they_have_been_simulated() -> None:
    asked, plans = Asked(), Plans()
    request = PlanRequest(bs.Gaussian(1), 0, 0.5, units_per_day=20)

    async def ask() -> list[Any]:
        planner = cast(Planner, asked)
        found: list[Any] = [await plans.first(planner, request)]
        found += [await plans.plan(planner, request), await plans.first(planner, request)]
        return found

    theory, *simulated = asyncio.run(ask())
    assert not theory.complete
    assert simulated == ["plan 1", "plan 1"]


def test_the_page_the_service_and_the_command_line_give_the_same_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The lift is so large that the simulation takes no time."""
    question = {"baseline": "50%", "lift": "0.25", "units_per_day": "1k", "deadline_days": "14"}
    question["window"] = "7d"

    async def ask() -> tuple[Any, Any]:
        planner, plans = Planner(), Plans()
        try:
            page = await plans.plan(planner, Form.read(question).request())
            return page, await planner.make(NewPlan.model_validate(question))
        finally:
            await planner.close()

    page, service = asyncio.run(ask())
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

    assert comparable(service.to_dict()) == comparable(command)
    assert comparable(page.to_dict())["design"] == comparable(command)["design"]


def test_hints_of_a_plan_are_spelled_as_the_fields_of_the_form() -> None:
    request = Form.read({"window": "7d", "lift": "20%", "delay": "1d"}).request()
    report = plan_view(first_stage(request)).report
    # One table by default; other shares of the traffic are among the details.
    assert len(report.tables) == 1
    said = " ".join(report.whole.notes)
    assert "(Share of traffic)" in said
    assert "(set Early signals to auto)" in said
    assert "--" not in said
