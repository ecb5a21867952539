"""Plans for the form, as `bascule plan` makes them; for two arms first by theory, at once.

Plans are kept, since the form asks again whenever something was typed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isnan

from starlette.concurrency import run_in_threadpool

from bascule.core.approximate import two_digits
from bascule.core.design import Design
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan
from bascule.planning.rollout import DAYS, Rollout
from bascule.planning.search.choose import Point
from bascule.planning.search.stages import stages
from bascule.presentation.guarantees import guarantee
from bascule.presentation.numbers import duration, percent
from bascule.presentation.plan import text as words
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page.creation.form import chosen
from bascule.service.server.planner import Planner

MOST_KEPT = 200


class Plans:
    """A cache of plans."""

    def __init__(self) -> None:
        self._kept: dict[PlanRequest, Plan] = {}

    async def first(self, planner: Planner, request: PlanRequest) -> Plan:
        """Return the plan if it is known, or else for two arms what theory says at once.

        Theory says nothing of covariates, which are simulated.
        """
        if request in self._kept or len(request.names) != 2 or request.covariate is not None:
            return await self.plan(planner, request)
        return await run_in_threadpool(first_stage, request)

    async def plan(self, planner: Planner, request: PlanRequest) -> Plan:
        """Return the plan for a request; it is simulated beside the process that serves."""
        found = self._kept.get(request)
        if found is None:
            found = await planner.plan(new_plan(request))
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[request] = found
        return found


def first_stage(request: PlanRequest) -> Plan:
    """The plan by theory, without simulation.

    >>> first_stage(PlanRequest()).chosen.forecast.simulated
    False
    """
    return next(stages(request, threads=1))


def new_plan(request: PlanRequest) -> NewPlan:
    """A request in the form that the planner of the service takes.

    >>> new_plan(PlanRequest()).lift
    [0.01]
    """
    # What a sample shows is in the baseline, the limits and the spread already.
    shared = ({field.name for field in fields(PlanRequest)} & set(NewPlan.model_fields)) - {
        "sample"
    }
    given = {name: getattr(request, name) for name in shared}
    return NewPlan(**{**given, "lift": list(request.lifts), "arms": list(request.names)})


@dataclass(frozen=True, slots=True)
class Choice:
    """A design to choose from: what it is called, and what is expected of it."""

    label: str
    name: str
    days: str
    cost: str
    decided: str
    recommended: bool
    chosen: bool
    in_time: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The planner's answer."""

    possible: bool
    headline: str
    question: str
    figures: tuple[tuple[str, str, str], ...]
    savings: str
    why: str
    notes: tuple[str, ...]
    limits: tuple[str, ...]
    choices: tuple[Choice, ...]
    cost_unit: str
    guarantee: str
    origin: str
    complete: bool
    """Whether all that is shown was simulated that can be."""


def plan_view(plan: Plan, label: str = "") -> Answer:
    """The answer, with the design of this label chosen, or the recommended one."""
    point = chosen(plan, label)
    return Answer(
        plan.possible,
        _headline(plan),
        plan.request.words,
        _figures(plan, point),
        words.savings(plan) if point.rule == plan.rule else "",
        words.why(plan) if point.rule == plan.rule else "",
        tuple(line for line in (words.cap_words(plan), *words.guardrail_lines(plan)) if line),
        tuple(words.limits(plan)),
        tuple(_choice(plan, one, point) for one in plan.points),
        plan.request.cost_unit,
        guarantee(point.design),
        words.origin(plan),
        plan.complete,
    )


@dataclass(frozen=True, slots=True)
class RolloutAnswer:
    """The planner's answer about a guarded rollout: what is promised, and a row for each case."""

    headline: str
    lines: tuple[str, ...]
    rows: tuple[tuple[str, str, str, str, str], ...]


def rollout_view(plan: Rollout) -> RolloutAnswer:
    """The answer about a rollout: each case with how often it is out or back, days and users."""
    unchanged = plan.cases[0]
    end = f"in about {duration(unchanged.shown_days)}"
    if isnan(unchanged.shown_days):
        end = "by the deadline in fewer than half of the cases"
    headline = f"Guarded rollout: {plan.design.arms[1]} is out {end} if it is unchanged"
    rows = tuple(
        (
            case.name,
            percent(case.shipped),
            percent(case.rolled_back),
            duration(case.shown_days),
            two_digits(case.exposed),
        )
        for case in plan.cases
    )
    return RolloutAnswer(headline, (*plan.promises, DAYS, plan.origin), rows)


def rule_name(design: Design) -> str:
    """Return the words of a design's rule as a title; an even split is called so.

    >>> import bascule as bs
    >>> arms, outcome = ["a", "b"], bs.Bernoulli()
    >>> [rule_name(bs.Design(arms, outcome, rule)) for rule in (bs.Tilt(5), bs.Tilt(1), bs.ETC())]
    ['Tilted blocks, tilt 5', 'Even split, tilted blocks', 'Even split, ETC']
    """
    rule = design.rule
    if design.procedure.even and not rule.words.startswith("even split"):
        return f"Even split, {rule.family}"
    return f"{rule.words[:1].upper()}{rule.words[1:]}"


def _choice_name(plan: Plan, point: Point) -> str:
    """Return the name of a choice, with the rule's label where the name alone does not tell it."""
    name, label = rule_name(point.design), point.rule.label
    same = [other for other in plan.points if rule_name(other.design) == name]
    # A label has commas where the evidence is informed of an effect or ends at a horizon.
    return name if len(same) == 1 and "," not in label else f"{name} ({label})"


def _headline(plan: Plan) -> str:
    if not plan.possible:
        return f"No design decides within {plan.request.deadline_days:g} days"
    days = duration(plan.expected_days.mean)
    return f"{rule_name(plan.chosen.design)}: a decision in about {days}"


def _figures(plan: Plan, point: Point) -> tuple[tuple[str, str, str], ...]:
    seen, request = point.forecast, plan.request
    nine = "later than the deadline" if seen.p90_days == float("inf") else duration(seen.p90_days)
    return (
        ("Duration", duration(seen.days.mean), f"90 % of tests end by {nine}"),
        (f"{request.cost_unit.capitalize()} lost", two_digits(seen.cost.mean), "on average"),
        (f"Decided by day {request.deadline_days:g}", percent(seen.decided.mean), ""),
        (
            "Worse arm declared the winner",
            f"≤ {percent(request.side_error)}",
            f"{point.design.calibration.guarantee}; either of two equal arms "
            f"≤ {percent(min(1.0, 2 * request.side_error))}",
        ),
    )


def _choice(plan: Plan, point: Point, picked: Point) -> Choice:
    seen = point.forecast
    return Choice(
        point.rule.label,
        _choice_name(plan, point),
        duration(seen.days.mean),
        two_digits(seen.cost.mean),
        percent(seen.decided.mean),
        point.rule == plan.rule,
        point.rule == picked.rule,
        point.in_time,
    )
