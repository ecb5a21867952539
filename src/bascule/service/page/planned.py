"""The planner's answer to the form for a new test, computed entirely in the planner's process.

Plans are cached in that process, because the form asks again after every change of a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.errors import InputError
from bascule.planning import plan
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan
from bascule.service.page.creation.form import (
    Form,
    Rules,
    first_stage,
    is_on_screen,
    plan_mark,
    plan_view,
    problem_words,
)
from bascule.service.page.render import render

MOST_KEPT = 50
"""Maximum number of plans that are kept; each takes about 10 kB."""

_KEPT: dict[tuple[PlanRequest, Rules], Plan] = {}


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """The part of the form that shows a plan, or the reason why there is none."""

    html: str = ""
    """The part of the form with the plan; empty while it is being planned."""
    said: str = ""
    """The plan in one sentence, or what is wrong, for screen readers."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Error messages, by field."""
    design: Design | None = None
    """The design that was chosen."""
    audience: Audience | None = None
    """Who is enrolled; None means everyone."""


def answer_form(
    typed: Mapping[str, str], whole: bool = False, tried: bool = False, shown: str = ""
) -> FormAnswer:
    """Return the plan of the test that was typed into the form, or what is wrong with the form.

    Parameters
    ----------
    typed
        The fields of the form.
    whole
        Simulate, where theory alone would answer at once.
    tried
        Check what only a test that is created needs.
    shown
        The mark of the plan on the screen, if a test is to be created: it is an error if this is
        not the plan of the form.

    """
    form = Form(typed)
    problems = form.problems(tried)
    words = problem_words(problems)
    if not problems.keys() <= {"name", "description"}:
        return _without_plan(form, words)
    try:
        request, rules = form.request(), form.rules()
        answer = _planned(request, rules, whole)
        if not is_on_screen(form, answer, shown):
            # The plan shown may have been simulated before a restart: simulate it again.
            answer = _planned(request, rules, whole=True)
    except InputError as error:
        return _without_plan(form, problem_words({error.field: error}))
    mark, choice = plan_mark(form, answer), form.choice
    if not is_on_screen(form, answer, shown):
        problem = InputError(
            "rule",
            "the plan on the screen was not the plan of this form: look at this one, and create "
            "the test again",
        )
        words = {**words, **problem_words({"rule": problem})}
    try:
        view, design = plan_view(answer, choice), form.design(answer)
    except InputError as error:
        view, design = plan_view(answer), None
        words = {**words, **problem_words({error.field: error})}
    html = render("parts/answer.html", form=form, plan=view, mark=mark, problems=words)
    return FormAnswer(html, view.headline, words, design, form.audience())


def no_plan(typed: Mapping[str, str], problem: str) -> FormAnswer:
    """Return the form without a plan, for a reason that concerns no single field."""
    return _without_plan(Form(typed), {"": problem})


def _without_plan(form: Form, words: Mapping[str, str]) -> FormAnswer:
    html = render("parts/answer.html", form=form, plan=None, mark="", problems=words)
    return FormAnswer(html, " ".join(words.values()), words)


def _planned(request: PlanRequest, rules: Rules, whole: bool) -> Plan:
    """Return the plan for a request: from the cache, by theory, or by simulation.

    Theory covers two arms without covariates. With `whole`, a plan that is not in the cache is
    simulated in any case.
    """
    known = _KEPT.get((request, rules))
    if known is not None:
        return known
    if not whole and len(request.names) == 2 and request.covariate is None:
        return first_stage(request, rules)
    if len(_KEPT) >= MOST_KEPT:
        del _KEPT[next(iter(_KEPT))]
    made = _KEPT[request, rules] = plan(request, rules=rules, threads=1, progress=False)
    return made
