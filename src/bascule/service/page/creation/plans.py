"""Plans for the form, as `bascule plan` makes them; for two arms first by theory, at once.

Plans are kept, since the form asks again whenever something was typed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from math import isinf, isnan

from starlette.concurrency import run_in_threadpool

from bascule.core.approximate import two_digits
from bascule.core.design import Design
from bascule.core.rules import Rule
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan
from bascule.planning.rollout_result import DAYS, Rollout
from bascule.planning.search.choose import Candidate
from bascule.planning.search.stages import stages
from bascule.presentation.numbers import duration, percent
from bascule.presentation.plan import text as words
from bascule.presentation.report import Report
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page.creation.form import chosen
from bascule.service.page.creation.options import title_of
from bascule.service.planner import Planner

MOST_KEPT = 200

Rules = tuple[Rule, ...]
"""Rules that are planned beside the usual ones."""


class Plans:
    """A cache of plans."""

    def __init__(self) -> None:
        self._kept: dict[tuple[PlanRequest, Rules], Plan] = {}
        self.creating = asyncio.Lock()
        """Held while a test is created, so that a second click waits for the first."""
        self.created: dict[str, str] = {}
        """The test that was created from each form, by the form's token."""

    def remember(self, token: str, name: str) -> None:
        """Keep which test a form has created."""
        if len(self.created) >= MOST_KEPT:
            self.created.clear()
        self.created[token] = name

    async def first(self, planner: Planner, request: PlanRequest, rules: Rules = ()) -> Plan:
        """Return the plan if it is known, or else for two arms what theory says at once.

        Theory says nothing of covariates, which are simulated.
        """
        is_kept = (request, rules) in self._kept
        if is_kept or len(request.names) != 2 or request.covariate is not None:
            return await self.plan(planner, request, rules)
        return await run_in_threadpool(first_stage, request, rules)

    async def plan(self, planner: Planner, request: PlanRequest, rules: Rules = ()) -> Plan:
        """Return the plan for a request; it is simulated beside the process that serves."""
        kept = self._kept.get((request, rules))
        if kept is None:
            kept = await planner.plan(new_plan(request, rules))
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[request, rules] = kept
        return kept


def first_stage(request: PlanRequest, rules: Rules = ()) -> Plan:
    """The plan by theory, without simulation.

    >>> first_stage(PlanRequest()).chosen.forecast.simulated
    False
    """
    return next(stages(request, threads=1, rules=rules))


def new_plan(request: PlanRequest, rules: Rules = ()) -> NewPlan:
    """A request in the form that the planner of the service takes.

    >>> new_plan(PlanRequest()).lift
    [0.01]
    """
    # What a sample shows is in the baseline, the limits and the spread already.
    shared = ({field.name for field in fields(PlanRequest)} & set(NewPlan.model_fields)) - {
        "sample"
    }
    given = {name: getattr(request, name) for name in shared}
    given["rules"] = list(rules)
    return NewPlan(**{**given, "lift": list(request.lifts), "arms": list(request.names)})


@dataclass(frozen=True, slots=True)
class Choice:
    """A design to choose from: what it is called, and what is expected of it."""

    value: str
    """What the form sends for it: its role or its label; nothing for the recommended one."""
    name: str
    roles: tuple[str, ...]
    """What it is the best in."""
    days: str
    nine: str
    """When nine of ten tests have ended."""
    cost: str
    decided: str
    chosen: bool
    in_time: bool


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """The planner's answer: what it has to say, and the designs to choose from."""

    possible: bool
    report: Report
    cards: tuple[Choice, ...]
    """The fastest design, the recommended one and the cheapest."""
    designs: tuple[Choice, ...]
    """Every design that was considered."""
    cost_unit: str
    origin: str
    complete: bool
    """Whether all that is shown was simulated that can be."""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self.report.headline


ROLES = {"fastest": "Fastest", "": "Recommended", "cheapest": "Cheapest"}
"""Designs that the form shows as cards, by what it sends for them."""


def plan_view(plan: Plan, choice: str = "") -> PlannerAnswer:
    """The answer, with the design of this choice, or the recommended one."""
    picked = chosen(plan, choice)
    points: dict[str, Candidate] = {value: chosen(plan, value) for value in ROLES}
    cards = []
    for value, point in points.items():
        alike = tuple(ROLES[other] for other, one in points.items() if one is point)
        is_first = next(other for other, one in points.items() if one is point) == value
        if value == "" or (is_first and point is not points[""]):
            cards.append(_choice(plan, point, value, picked is point, alike))
    shown = [chosen(plan, one.value) for one in cards]
    designs = tuple(
        _choice(plan, one, one.rule.label, picked is one and one not in shown)
        for one in plan.points
    )
    return PlannerAnswer(
        plan.possible,
        words.report(plan).spelled(title_of),
        tuple(cards),
        designs,
        plan.request.cost_unit,
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


def _choice_name(plan: Plan, point: Candidate) -> str:
    """Return the name of a choice, with the rule's label where the name alone does not tell it."""
    name, label = rule_name(point.design), point.rule.label
    same = [other for other in plan.points if rule_name(other.design) == name]
    # A label has commas where the evidence is informed of an effect or ends at a horizon.
    return name if len(same) == 1 and "," not in label else f"{name} ({label})"


def _choice(
    plan: Plan, point: Candidate, value: str, is_chosen: bool, roles: tuple[str, ...] = ()
) -> Choice:
    forecast = point.forecast
    return Choice(
        value,
        _choice_name(plan, point),
        roles,
        duration(forecast.days.mean),
        "after the deadline" if isinf(forecast.p90_days) else duration(forecast.p90_days),
        two_digits(forecast.cost.mean),
        percent(forecast.decided.mean),
        is_chosen,
        point.in_time,
    )
