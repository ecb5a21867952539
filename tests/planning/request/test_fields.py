"""A field of a plan request exists in Python, over HTTP, in the form and on the command line."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

import pytest
import typer

from bascule import InputError, PlanRequest
from bascule.cli import plan as command
from bascule.cli.main import application
from bascule.core.metrics.metric import metric_of
from bascule.core.options import NUMBERS
from bascule.planning.request.options import PLAN, PlanOptions
from bascule.planning.request.read import plan_request
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page.creation.form import Form
from bascule.service.page.creation.options import FORM
from bascule.service.planner_process import arguments

GUARDRAIL = "latency; gaussian 30; decrease; margin 5"
METRIC = {"name": "latency", "outcome": {"kind": "gaussian", "sigma": 30}, "goal": "decrease"}

TYPED = {
    "baseline": "10%",
    "lift": "-30%",
    "goal": "decrease",
    "control": "variant",
    "error": "2%",
    "sides": "1",
    "power": "80%",
    "guarantee": "gaussian",
    "futility": "20%",
    "units_per_day": "4k",
    "share": "50%",
    "deadline_days": "30",
    "min_days": "5",
    "window": "3d",
    "delay": "12h",
    "covariate": "age:0:99",
    "correlation": "0.5",
    "metrics": GUARDRAIL,
    "harm_error": "1%",
}
"""Fields as text, each with another value than the default."""

OTHERS = {"outcome", "arms", "sample", "cap"}
"""Fields that each place writes in its own way; tests of the place have them."""


def parsed(*arguments: str) -> dict[str, Any]:
    """Options of `bascule plan` as its parser reads them."""
    parser = typer.main.get_command(application()).commands["plan"]  # type: ignore[attr-defined]
    found = parser.make_context("plan", [*arguments]).params.items()
    return {name: value for name, value in found if value not in (None, [], ())}


def test_the_table_has_the_fields_of_the_request() -> None:
    names = {field.name for field in dataclasses.fields(PlanRequest)}
    assert set(PLAN) == names | {"cap"}
    assert set(get_type_hints(PlanOptions)) == set(PLAN) - {"outcome", "baseline", "lift"}


@pytest.mark.parametrize("name", [name for name, field in PLAN.items() if field.default])
def test_the_usual_value_is_the_default_everywhere(name: str) -> None:
    usual = PLAN[name].default
    given: dict[str, Any] = {name: int(usual) if PLAN[name].kind == "whole" else usual}
    assert plan_request(**given) == plan_request()
    assert Form.read({})[name] == usual
    assert plan_request(**{name: getattr(NewPlan(), name)}) == plan_request()


def test_a_place_has_every_field_or_a_reason() -> None:
    for name, field in PLAN.items():
        assert (name in FORM) != bool(field.absent.get("form")), name
    assert set(NewPlan.model_fields) == {*PLAN, "rules", "seed"}


def test_early_signals_have_the_same_meaning_in_every_place() -> None:
    typed: dict[str, Any] = {"window": "3d", "delay": "12h", "early_signals": "auto"}
    asked = plan_request(**typed)
    assert asked.early_signals == "auto"
    assert Form.read(typed).request() == asked
    sent = arguments(NewPlan.model_validate(typed))
    given = {name: value for name, value in sent.items() if name in PLAN}
    assert plan_request(**given) == asked
    options = [f"{PLAN[name].typed}={text}" for name, text in typed.items()]
    assert command.requested(parsed(*options)) == asked
    with pytest.raises(InputError, match="covariate"):
        plan_request(**typed, covariate="age:0:99", correlation=0.5)


def test_a_field_has_the_same_meaning_in_every_place() -> None:
    shown = {name for name, field in PLAN.items() if not field.absent}
    # Early signals do not go with a covariate, which is among these fields.
    # Whole weeks are a switch, which has its test with the calendar; periods of steering go with
    # 0/1 outcomes alone.
    assert set(TYPED) == shown - OTHERS - {"early_signals", "whole_weeks", "every"}
    typed: dict[str, Any] = {**TYPED, "sides": 1, "metrics": [metric_of(GUARDRAIL)]}
    asked = plan_request(**typed)
    plain = PlanRequest()
    assert not [name for name in TYPED if getattr(asked, name) == getattr(plain, name)]
    assert Form.read(TYPED).request() == asked
    sent = {**TYPED, "sides": 1, "metrics": [{**METRIC, "margin": 5.0}]}
    given = arguments(NewPlan.model_validate(sent))
    assert (given.pop("seed"), given.pop("rules")) == (0, [])
    assert plan_request(**given) == asked
    options = [f"{PLAN[name].typed}={text}" for name, text in TYPED.items()]
    assert command.requested(parsed(*options)) == asked


@pytest.mark.parametrize("name", [name for name, field in PLAN.items() if field.kind in NUMBERS])
def test_a_number_that_cannot_be_read_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be a number .got 'many'") as caught:
        plan_request(**dict.fromkeys(PLAN[name].needs, 1000000.0), **{name: "many"})  # type: ignore[arg-type]
    assert caught.value.field == name
