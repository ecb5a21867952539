"""The fields of the form for a new test: options of the plan, and those of the live test."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, TypedDict

from bascule.core.metrics.measure import Aggregate
from bascule.core.options import Option, Options, options_of, parameters
from bascule.core.outcomes import OUTCOMES
from bascule.core.registry import Registry
from bascule.core.rules import RULES
from bascule.planning.request.options import PLAN

Counts = Literal["window", "first"]


class LiveOptions(TypedDict, total=False):
    """Options of a live test that are not part of its plan."""

    name: Annotated[
        str,
        Option(
            "Letters, digits, dots, dashes and underscores.",
            label="Name",
            group="basics",
            metavar="checkout-button",
            required=True,
        ),
    ]
    arms: Annotated[
        str,
        Option(
            "One per line. The first is the control.",
            label="Arms",
            group="basics",
            default="control\nvariant",
            many=True,
        ),
    ]
    counts: Annotated[
        Counts, Option("What a unit's outcome is.", label="Outcome of a unit", default="window")
    ]
    aggregate: Annotated[
        Aggregate,
        Option(
            "How the events of a unit are combined.",
            label="Combine the events of a unit",
            default="sum",
            group="outcome",
        ),
    ]
    missing: Annotated[
        str,
        Option(
            "What a unit without any event counts as: a number, zero, or exclude (not for ratios).",
            label="A unit without events",
            unset="0",
            group="outcome",
        ),
    ]
    share: Annotated[
        str,
        Option(
            "The part of all units that gets in; the others see the control. It can be raised "
            "later.",
            label="Share of traffic",
            kind="number",
            default="100%",
        ),
    ]
    description: Annotated[
        str,
        Option(
            "Who runs it, what you expect and why, where to read more. It is shown with the test, "
            "and the search finds it.",
            label="Description",
            many=True,
        ),
    ]
    rule: Annotated[
        str,
        Option(
            "fastest, cheapest, or the label of a design; the recommended one if empty.",
            label="Design",
        ),
    ]
    start: Annotated[str, Option("Start the test now.", label="Start", default="yes")]


LIVE = options_of(LiveOptions)

PARAMETERS = parameters(OUTCOMES)
"""Parameters of the outcome models."""

NO_RULE, OF_RULE = "none", "rule-"
"""The choice that means no additional rule, and the prefix of fields for a rule's parameters."""


def _rule_fields() -> dict[str, Option]:
    """Return the fields for an additional rule: its choice, and the parameters of all rules."""
    choice = Option(
        "A rule with parameters of your choice, to plan beside the usual designs. It is chosen "
        "unless you choose another design.",
        label="Another rule",
        name="other_rule",
        kind="choice",
        choices=(NO_RULE, *RULES.kinds),
        default=NO_RULE,
    )
    parameters = {
        f"{OF_RULE}{option.flag or name}": replace(
            option, label=option.title, default="", unset=option.default, group="advanced"
        )
        for kind in RULES.kinds
        for name, option in options_of(RULES.get(kind)).items()
    }
    return {"other_rule": choice, **parameters}


def _has_option(registry: Registry[Any], kind: str, name: str) -> bool:
    """Return whether a rule or an outcome model has a parameter with a given name."""
    options = options_of(registry.get(kind))
    return any(name == (option.flag or at) for at, option in options.items())


OFFERED = tuple(kind for kind in OUTCOMES.kinds if OUTCOMES.get(kind).supports("form"))
"""Outcome models that the form offers: those in which each unit gives one outcome."""

FORM: Options = {
    **LIVE,
    **{
        name: option
        for name, option in PLAN.items()
        if name not in LIVE and "form" not in option.absent
    },
    **{
        name: replace(option, default="", unset=option.unset or option.default)
        for name, option in PARAMETERS.items()
        if any(_has_option(OUTCOMES, kind, name) for kind in OFFERED)
    },
    **_rule_fields(),
    "outcome": replace(PLAN["outcome"], default="bernoulli", choices=OFFERED, unset=""),
    "sample": replace(
        PLAN["sample"],
        kind="text",
        many=True,
        help="Empty, or numbers from before the test, one for each of some units (0 included). The "
        "cap and the spread of outcomes are then taken from them.",
    ),
    "whole_weeks": replace(PLAN["whole_weeks"], kind="choice", choices=("no", "yes"), default="no"),
    "cap": replace(PLAN["cap"], default="99%", excludes=()),
    "window": replace(
        PLAN["window"],
        default="7d",
        help="For example 12h or 7d. A unit counts when its window ends, as 0 without an event.",
    ),
    "metrics": replace(
        PLAN["metrics"],
        help="One per line: name; outcome; goal; margin, as latency; gaussian 30; decrease; margin "
        "5. With a margin it is a guardrail: an arm that is worse than the control by more is not "
        "shipped, and is removed. Without, it is only shown.",
    ),
}
"""Every field of the form."""

FIELD = {name: option.flag for name, option in PLAN.items() if option.flag in FORM}
"""Names of fields for options of a plan that are called differently in the form."""

TITLES = {name: option.title for name, option in FORM.items()}
TITLES |= {name: TITLES[field] for name, field in FIELD.items()}
"""The titles of the form's fields."""

CONVERSIONS = ("baseline", "lift")
"""Fields whose default value suits conversions (0/1 outcomes) only."""

BASICS = ("name", "arms", "window", "baseline", "lift", "units_per_day", "deadline_days")
"""Fields that are shown first."""

OF_OUTCOME = tuple(
    name for name, option in FORM.items() if option.group == "outcome" and name not in BASICS
)

ADVANCED = tuple(
    name
    for name in FORM
    if name not in (*BASICS, *OF_OUTCOME, "outcome", "counts", "rule", "start", "description")
)
"""The remaining fields of the form."""

NAMES = {
    "bernoulli": "Conversions: 0 or 1",
    "bounded": "A number within known limits, such as capped revenue",
    "gaussian": "A number with a known standard deviation",
    "numeric": "Any other number",
    "ratio": "A ratio of two sums, such as clicks per view",
}

ORDER = tuple(kind for kind in NAMES if kind in OFFERED)
OFFERED = (*ORDER, *(kind for kind in OFFERED if kind not in ORDER))


def outcome_name(kind: str) -> str:
    """Return the form's name for an outcome model; a user's own model has its class name."""
    return NAMES.get(kind) or OUTCOMES.get(kind).__name__


def outcomes_with(name: str) -> tuple[str, ...]:
    """Return the outcome models that use a field; all of them if it is not a model's parameter.

    >>> outcomes_with("low")
    ('bounded',)
    """
    if name in ("sample", "cap"):
        return ("bounded",)
    if name in ("aggregate", "missing"):
        return tuple(kind for kind in OFFERED if not OUTCOMES.get(kind).binary)
    if name not in PARAMETERS:
        return OFFERED
    return tuple(kind for kind in OFFERED if _has_option(OUTCOMES, kind, name))


def rules_with(name: str) -> tuple[str, ...]:
    """Return the rules that use a field; empty if it belongs to all designs."""
    if not name.startswith(OF_RULE):
        return ()
    return tuple(
        kind for kind in RULES.kinds if _has_option(RULES, kind, name.removeprefix(OF_RULE))
    )


OF_SOME_OUTCOMES = tuple(name for name in OF_OUTCOME if outcomes_with(name) != OFFERED)
"""Fields that apply to some outcome models only."""

ADVANCED = (*(name for name in OF_OUTCOME if name not in OF_SOME_OUTCOMES), *ADVANCED)
