"""The fields of a design, and the checks of single fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, get_args

from bascule.core.calendar import MIN_DAYS, WHOLE_WEEKS
from bascule.core.covariates import REACH, Covariate
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Decides, Goal, Metric
from bascule.core.options import Declared, Option
from bascule.core.outcomes import Bounded, Outcome
from bascule.core.procedures.base import Procedure
from bascule.core.rules import Rule

DEFAULT_ERROR = DEFAULT_HARM_ERROR = 0.05

INCREASE: Goal = "increase"

Overflow = Literal["control", "leader"]
"""Arm that units get if they arrive while the test enrols no units."""

Reports = Literal["always"]
"""Whether every unit of a live test reports an outcome, even if it is 0."""

ERROR = Option(
    "Largest false positive rate, however often you look; a worse arm wins at most half as often.",
    kind="probability",
    group="basics",
    default="5%",
    excludes=("delta",),
)
GOAL = Option(
    "Whether the highest or the lowest mean is the best.", group="outcome", default=INCREASE
)
CONTROL = Option("The arm that others are compared with.", unset="the first", metavar="ARM")
SIDES = Option(
    "2: the error is the false positive rate; 5% gives 95 % intervals. 1: it is the "
    "probability that a worse arm wins.",
    label="What the error bounds",
    kind="whole",
    limits=(1, 2),
    default="2",
    excludes=("delta",),
)
HARM_ERROR = Option(
    "Largest probability of removing an arm that is not harmful on any guardrail.",
    label="Error of removing an arm",
    kind="probability",
    default="5%",
)
"""The options from `ERROR` to `HARM_ERROR` are fields of a design and of the request for a plan."""


@dataclass(frozen=True, repr=False)
class DesignFields(Declared):
    """The declarations of the fields of `Design`, whose docstring says what they mean."""

    arms: Sequence[str]
    outcome: Outcome
    rule: Rule
    error: Annotated[float | None, ERROR] = None
    delta: Annotated[
        float | None,
        Option("The paper's nominal parameter, instead of an error.", kind="probability"),
    ] = None
    max_units: Annotated[
        int | None, Option("Units at which a test ends undecided.", kind="whole")
    ] = None
    min_effect: Annotated[
        float | None,
        Option(
            "The smallest difference that matters; a test also ends if all differences are smaller."
        ),
    ] = None
    deadline: datetime | None = None
    measure: Measure | None = None
    overflow: Annotated[
        Overflow,
        Option("The arm for units that arrive while the test enrols none."),
    ] = "control"
    min_days: Annotated[float | None, MIN_DAYS] = None
    whole_weeks: Annotated[bool, WHOLE_WEEKS] = False
    measure_on: Annotated[
        bool,
        Option(
            "After the decision, measure the enrolled units until their windows close, and report "
            "the results at both times.",
            label="Measure on",
            kind="switch",
            needs=("measure",),
        ),
    ] = False
    goal: Annotated[Goal, GOAL] = INCREASE
    control: Annotated[str | None, CONTROL] = None
    sides: Annotated[int | None, SIDES] = None
    reports: Annotated[
        Reports | None,
        Option("Every unit reports an outcome, including 0; no window.", excludes=("measure",)),
    ] = None
    metrics: Sequence[Metric] = ()
    harm_error: Annotated[float, HARM_ERROR] = DEFAULT_HARM_ERROR
    decides: Decides = "primary"
    covariates: Sequence[Covariate] | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}


MOST_ARMS = 1000

ONE_SIDED, TWO_SIDED = 1, 2
"""Values of `sides`: the error bounds how often a worse arm wins (1) or an equal arm does (2)."""


def checked_arms(arms: object) -> tuple[str, ...]:
    """Return the names of the arms; raise `InputError` unless they are valid and different."""
    if isinstance(arms, str) or not isinstance(arms, (list, tuple)):
        raise invalid(f"arms must be a list of names (got {arms!r})")
    for name in arms:
        if not isinstance(name, str) or not name.strip():
            raise invalid(f"arms must be named with text (got {name!r})")
    if len(arms) < 2:
        raise invalid(f"arms must be at least 2 names (got {len(arms)}): add another")
    if len(arms) > MOST_ARMS:
        raise invalid(f"arms must be at most {MOST_ARMS} (got {len(arms)})")
    twice = sorted({name for name in arms if arms.count(name) > 1})
    if twice:
        raise invalid(f"arms must have different names ({twice[0]!r} occurs twice): rename one")
    return tuple(arms)


def checked_sides(sides: object) -> int:
    """Return the number of sides of an error: 1, or 2, which is the default.

    >>> checked_sides(None), checked_sides(1)
    (2, 1)
    """
    if sides is None:
        return TWO_SIDED
    if isinstance(sides, bool) or sides not in (ONE_SIDED, TWO_SIDED):
        raise invalid(
            f"sides must be 1 or 2 (got {sides!r}): with 1 the error bounds how often a worse arm "
            "wins, with 2 the false positive rate (a two-sided test)"
        )
    return TWO_SIDED if sides == TWO_SIDED else ONE_SIDED


def checked_min_effect(field: str, min_effect: object, outcome: Outcome) -> float:
    """Return `min_effect`; raise `InputError` unless it is below the largest difference."""
    remedy = "it is the smallest difference that matters"
    accepted = checks.positive(field, min_effect, remedy)
    width = outcome.high - outcome.low
    if accepted >= width:
        raise invalid(
            f"{field} must be below {width:g}, the largest difference there can be "
            f"(got {accepted:g}): {remedy}",
        )
    return accepted


def check_goal(goal: object, outcome: Outcome) -> None:
    """Raise `InputError` unless the goal is valid for an outcome model."""
    checks.choice("goal", goal, get_args(Goal))
    if goal == "decrease" and math.isfinite(outcome.low) != math.isfinite(outcome.high):
        raise invalid(
            f'goal "decrease" needs outcomes with two limits or none, not {outcome!r}: '
            "state the other limit too"
        )


def check_control(control: object, arms: Sequence[str]) -> None:
    """Raise `InputError` unless the control is an arm, or is not given."""
    if control is not None and control not in arms:
        raise invalid(f"control must be one of the arms, {', '.join(arms)} (got {control!r:.60})")


def widened(outcome: Outcome) -> Outcome:
    """Return the outcome model with wider limits, which contain all adjusted outcomes."""
    if not outcome.limited:
        return outcome
    margin = REACH * outcome.scale / 2
    return Bounded(outcome.low - margin, outcome.high + margin)


def check_covariates(covariates: Sequence[Covariate], procedure: Procedure) -> None:
    """Raise `InputError` unless a procedure can compare outcomes adjusted by covariates."""
    outcome = procedure.outcome
    if procedure.counts != "blocks":
        raise invalid(
            f"covariates belong to rules that compare blocks, not to {procedure.label}: use "
            "Tilt(tilt)"
        )
    if not (outcome.limited or outcome.estimated):
        raise invalid(
            f"covariates change the spread of outcomes, and {outcome!r} states the spread without "
            "them: use Numeric(), or outcomes with limits"
        )
    for covariate in covariates:
        if outcome.limited and math.isinf(covariate.width):
            raise InputError(
                "covariates",
                f"covariate {covariate.name} needs low and high, because {outcome!r} has limits: "
                "values beyond low or high count as the nearer of the two",
            )


def check_deadline(deadline: object) -> None:
    """Raise `InputError` unless a deadline is a time with its zone."""
    example = "2026-12-01T00:00:00+00:00"
    if not isinstance(deadline, datetime):
        raise invalid(f"deadline must be a datetime (got {deadline!r})")
    if deadline.tzinfo is None:
        raise invalid(f"deadline needs a time zone (got {deadline.isoformat()}): as in {example}")


def check_signals(measure: Measure | None, reports: object, covariates: object) -> None:
    """Raise `InputError` unless a design can use early signals.

    Early signals need a window, an outcome that the first event sets to 1 permanently, and no
    covariates.
    """
    if measure is not None and measure.aggregate != "any":
        raise invalid(
            'early_signals need outcomes that an event makes 1 for good: use aggregate "any" '
            f"(got {measure.aggregate!r}), or leave them out"
        )
    if measure is not None and measure.missing_value != 0.0:
        raise invalid(
            "early_signals: a unit without an event must count as 0 (missing is "
            f"{measure.missing_value:g}): leave out missing or early_signals"
        )
    if reports is not None:
        raise invalid(
            "early_signals are events of units whose windows are open: give a measure with a "
            "window in place of reports, or leave them out"
        )
    if covariates is not None:
        raise invalid(
            "early_signals do not go together with covariates, which adjust outcomes when units "
            "count: leave one of the two out"
        )


def cost_unit(outcome: Outcome, goal: Goal) -> str:
    """Return the unit of the cost of a test, such as lost conversions or extra events.

    >>> import bascule as bs
    >>> cost_unit(bs.Bernoulli(), "increase"), cost_unit(bs.Bernoulli(), "decrease")
    ('conversions', 'extra events')
    """
    return "extra events" if goal == "decrease" and outcome.binary else outcome.cost_unit


def check_kind(field: str, value: object, accepted: Any, examples: str) -> None:
    """Raise `InputError` unless a value is of a class; the message shows the `examples`."""
    if not isinstance(value, accepted):
        raise invalid(f"{field} must be one of {examples} (got {value!r})")
