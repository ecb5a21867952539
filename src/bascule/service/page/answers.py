"""The planner's answer as the form shows it: what to run, what to expect, what else there is."""

from __future__ import annotations

from dataclasses import dataclass

from bascule.core.approximate import two_digits
from bascule.core.rules import UCB, AnyRule, Tilt
from bascule.planning.choose import Point
from bascule.planning.result import Plan
from bascule.presentation.guarantees import guarantee
from bascule.presentation.numbers import percent
from bascule.presentation.plan import text as words
from bascule.service.page.amounts import duration
from bascule.service.page.form import chosen


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
    limits: tuple[str, ...]
    choices: tuple[Choice, ...]
    cost_unit: str
    guarantee: str
    origin: str


def plan_view(plan: Plan, label: str = "") -> Answer:
    """The answer, with the design of this label chosen, or the recommended one."""
    point = chosen(plan, label)
    return Answer(
        plan.possible,
        _headline(plan),
        plan.request.words,
        _figures(plan, point),
        words.savings(plan) if point.rule == plan.rule else "",
        tuple(words.limits(plan)),
        tuple(_choice(plan, one, point) for one in plan.points),
        plan.wishes.cost_unit,
        guarantee(point.design),
        words.origin(plan),
    )


def rule_name(rule: AnyRule) -> str:
    """A rule as the form calls it.

    >>> import bascule as bs
    >>> rule_name(bs.Tilt(1)), rule_name(bs.Tilt(5)), rule_name(bs.UCB(4))
    ('Even split', 'Tilt 5', 'UCB, alpha 4')
    """
    if isinstance(rule, Tilt):
        told = "" if rule.effect is None else ", for this lift"
        return f"Even split{told}" if rule.tilt == 1 else f"Tilt {rule.tilt:g}{told}"
    return f"UCB, alpha {rule.alpha:g}" if isinstance(rule, UCB) else "Even split"


def _headline(plan: Plan) -> str:
    if not plan.possible:
        return f"No design decides this by day {plan.wishes.deadline_days:g}"
    days = duration(plan.expected_days.mean)
    return f"{rule_name(plan.rule)} decides this in about {days}"


def _figures(plan: Plan, point: Point) -> tuple[tuple[str, str, str], ...]:
    seen, wishes = point.outlook, plan.wishes
    nine = "later than the deadline" if seen.p90_days == float("inf") else duration(seen.p90_days)
    return (
        ("Until it ends", duration(seen.days.mean), f"nine of ten by {nine}"),
        (f"{wishes.cost_unit.capitalize()} lost", two_digits(seen.cost.mean), "on average"),
        (f"Decided by day {wishes.deadline_days:g}", percent(seen.decided.mean), ""),
        ("Wrong winner", f"≤ {percent(wishes.error)}", point.design.calibration.guarantee),
    )


def _choice(plan: Plan, point: Point, picked: Point) -> Choice:
    seen = point.outlook
    return Choice(
        point.rule.label,
        rule_name(point.rule),
        duration(seen.days.mean),
        two_digits(seen.cost.mean),
        percent(seen.decided.mean),
        point.rule == plan.rule,
        point.rule == picked.rule,
        point.in_time,
    )
