"""Plans for the form, as `bascule plan` makes them; for two arms first by theory, at once.

Plans are kept, since the form asks again whenever something was typed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from hashlib import sha256

from starlette.concurrency import run_in_threadpool

from bascule.core.design import Design
from bascule.core.rules import Rule
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan
from bascule.planning.search.choose import Candidate
from bascule.planning.search.stages import stages
from bascule.presentation.plan import text as words
from bascule.presentation.report import Report
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.page.creation.form import Form, chosen
from bascule.service.page.creation.options import TITLES
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
            kept = await planner.make(new_plan(request, rules))
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


ROLES = {"fastest": "Fastest", "": "Recommended", "cheapest": "Cheapest"}
"""Designs that the form shows as cards, by what it sends for them."""


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """The planner's answer: what it has to say, and the designs to choose from."""

    plan: Plan
    report: Report
    picked: Candidate
    """The design that was chosen, or the recommended one."""
    cards: tuple[tuple[str, str, Candidate], ...]
    """Of the fastest design, the recommended one and the cheapest: value, roles, design."""
    origin: str
    """Where the figures come from."""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self.report.headline

    def name_of(self, point: Candidate) -> str:
        """The name of a design, with the rule's label where the name alone does not tell it."""
        name, label = rule_name(point.design), point.rule.label
        same = [other for other in self.plan.points if rule_name(other.design) == name]
        # A label has commas where the evidence is informed of an effect or ends at a horizon.
        return name if len(same) == 1 and "," not in label else f"{name} ({label})"

    def is_chosen(self, point: Candidate, in_table: bool = False) -> bool:
        """Whether a design is the chosen one; in the table only if no card has it."""
        on_card = any(point is one for _, _, one in self.cards)
        return point is self.picked and not (in_table and on_card)


def plan_view(plan: Plan, choice: str = "") -> PlannerAnswer:
    """The answer, with the design of this choice, or the recommended one."""
    points = {value: chosen(plan, value) for value in ROLES}
    cards = []
    for value, point in points.items():
        same = [other for other, one in points.items() if one is point]
        if value == ("" if "" in same else same[0]):
            roles = ", ".join(ROLES[other] for other in same).capitalize()
            cards.append((value, roles, point))
    said = plan.report({**TITLES, "measure": TITLES["aggregate"]})
    return PlannerAnswer(plan, said, chosen(plan, choice), tuple(cards), words.origin(plan))


def plan_mark(form: Form, plan: Plan) -> str:
    """Return the mark of a plan: of what was asked, and of the designs to choose from."""
    rules = [chosen(plan, role).rule for role in ROLES]
    parts = (form.request(), rules, [point.rule.label for point in plan.points])
    return sha256(repr(parts).encode()).hexdigest()[:16]


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
