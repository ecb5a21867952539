"""Plans as the form shows them: cards, names of designs, and hashes to recognise a plan."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import sha256

from bascule.core.design import Design
from bascule.core.rules import Rule
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan
from bascule.planning.search.choose import Candidate
from bascule.planning.search.stages import stages
from bascule.presentation.plan import text as words
from bascule.presentation.report import Report
from bascule.service.page.creation.form import Form, chosen
from bascule.service.page.creation.options import TITLES

MOST_KEPT = 200

Rules = tuple[Rule, ...]
"""Rules that are planned in addition to the usual ones."""


class Creations:
    """Remembers which test each form created, so that a form sent twice creates one test."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while a test is created, so that a second click waits for the first."""
        self.names: dict[str, str] = {}
        """The test that was created from each form, by the form's token."""

    def remember(self, token: str, name: str) -> None:
        """Record which test a form has created."""
        if len(self.names) >= MOST_KEPT:
            del self.names[next(iter(self.names))]
        self.names[token] = name


def first_stage(request: PlanRequest, rules: Rules = ()) -> Plan:
    """Return a plan that is computed from theory, without simulation.

    >>> first_stage(PlanRequest()).chosen.forecast.simulated
    False
    """
    return next(stages(request, threads=1, rules=rules))


ROLES = {"fastest": "Fastest", "": "Recommended", "cheapest": "Cheapest"}
"""Titles of the design cards, keyed by the value that the form submits."""


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """The planner's answer: the plan, its report, and the designs to choose from."""

    plan: Plan
    report: Report
    picked: Candidate
    """The chosen design, or the recommended one if none was chosen."""
    cards: tuple[tuple[str, str, Candidate], ...]
    """Value, titles and design of each card: fastest, recommended and cheapest design."""
    origin: str
    """Where the figures come from."""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self.report.headline

    def name_of(self, point: Candidate) -> str:
        """The name of a design, with its rule's label if the name alone is ambiguous."""
        name, label = rule_name(point.design), point.rule.label
        points = [point for point in self.plan.points if rule_name(point.design) == name]
        # A comma in the label precedes an option that the name does not show, such as an effect.
        return name if len(points) == 1 and "," not in label else f"{name} ({label})"

    def is_chosen(self, point: Candidate, in_table: bool = False) -> bool:
        """Whether a design is the chosen one; with `in_table`, only if it is on no card."""
        on_card = any(point is shown for _, _, shown in self.cards)
        return point is self.picked and not (in_table and on_card)


def plan_view(plan: Plan, choice: str = "") -> PlannerAnswer:
    """Return the planner's answer with the chosen design, or else the recommended one."""
    points = {value: chosen(plan, value) for value in ROLES}
    cards = []
    for value, point in points.items():
        names = [name for name, one in points.items() if one is point]
        if value == ("" if "" in names else names[0]):
            roles = ", ".join(ROLES[name] for name in names).capitalize()
            cards.append((value, roles, point))
    said = plan.report({**TITLES, "measure": TITLES["aggregate"]})
    return PlannerAnswer(plan, said, chosen(plan, choice), tuple(cards), words.origin(plan))


def plan_mark(form: Form, plan: Plan) -> str:
    """Return two hashes that identify a plan: of its request, and of the rules on its cards."""
    rules = [chosen(plan, role).rule for role in ROLES]
    return "-".join(
        sha256(repr(part).encode()).hexdigest()[:16] for part in (form.request(), rules)
    )


def is_on_screen(form: Form, plan: Plan, shown: str) -> bool:
    """Return whether the chosen design is the one that was shown on the screen.

    A simulated plan can recommend another design than its first stage. A design that was chosen by
    its name is the same in both.
    """
    mark = plan_mark(form, plan)
    if form.choice in ROLES:
        return shown in ("", mark)
    return shown == "" or shown.partition("-")[0] == mark.partition("-")[0]


def rule_name(design: Design) -> str:
    """Return the name of a design's rule as a title, which says if it is an even split.

    >>> import bascule as bs
    >>> arms, outcome = ["a", "b"], bs.Bernoulli()
    >>> [rule_name(bs.Design(arms, outcome, rule)) for rule in (bs.Tilt(5), bs.Tilt(1), bs.ETC())]
    ['Tilted blocks, tilt 5', 'Even split, tilted blocks', 'Even split, ETC']
    """
    rule = design.rule
    if design.procedure.even and not rule.words.startswith("even split"):
        return f"Even split, {rule.family}"
    return f"{rule.words[:1].upper()}{rule.words[1:]}"
