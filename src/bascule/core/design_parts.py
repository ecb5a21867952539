"""Parts of a design: each checked on its own, with a line about what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

from bascule.core.covariates.adjustment import REACH
from bascule.core.covariates.model import Covariate
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import Bounded, Outcome
from bascule.core.procedures.base import Procedure

MOST_ARMS = 1000

ONE_SIDED, TWO_SIDED = 1, 2
"""1: an error bounds how often a worse arm wins; 2: how often one of two equal arms wins."""


def checked_arms(arms: object) -> tuple[str, ...]:
    """Return the names of the arms: at least two, and different."""
    if isinstance(arms, str) or not isinstance(arms, (list, tuple)):
        raise InputError("arms", f"arms must be a list of names (got {arms!r})")
    for name in arms:
        if not isinstance(name, str) or not name.strip():
            raise InputError("arms", f"arms must be named with text (got {name!r})")
    if len(arms) < 2:
        raise InputError("arms", f"arms must be at least 2 (got {len(arms)}): name what to compare")
    if len(arms) > MOST_ARMS:
        raise InputError("arms", f"arms must be at most {MOST_ARMS} (got {len(arms)})")
    twice = sorted({name for name in arms if arms.count(name) > 1})
    if twice:
        raise InputError("arms", f"arms must have different names ({twice[0]!r} occurs twice)")
    return tuple(arms)


def checked_sides(sides: object) -> int:
    """Return 2, the default, if an error bounds both sides, and 1 if it bounds one.

    >>> checked_sides(None), checked_sides(1)
    (2, 1)
    """
    if sides is None:
        return TWO_SIDED
    if isinstance(sides, bool) or sides not in (ONE_SIDED, TWO_SIDED):
        raise InputError(
            "sides",
            f"sides must be 1 or 2 (got {sides!r}): with 1 the error bounds how often a worse arm "
            "wins, with 2 how often either of two equal arms wins (a two-sided test)",
        )
    return TWO_SIDED if sides == TWO_SIDED else ONE_SIDED


def checked_min_effect(field: str, min_effect: object, outcome: Outcome) -> float:
    """Return the smallest difference that matters, below the largest there can be."""
    remedy = "it is the smallest difference that matters"
    accepted = checks.positive(field, min_effect, remedy)
    width = outcome.high - outcome.low
    if accepted >= width:
        raise InputError(
            field,
            f"{field} must be below {width:g}, the largest difference there can be "
            f"(got {accepted:g}): {remedy}",
        )
    return accepted


def check_goal(goal: object, outcome: Outcome) -> None:
    """Raise `InputError` unless outcomes of a model can have this goal."""
    checks.choice("goal", goal, get_args(Goal))
    if goal == "decrease" and math.isfinite(outcome.low) != math.isfinite(outcome.high):
        raise InputError(
            "goal",
            f'goal "decrease" needs outcomes with two limits or none, not {outcome!r}: '
            "state the other limit too",
        )


def check_control(control: object, arms: Sequence[str]) -> None:
    """Raise `InputError` unless the control is an arm, or is not given."""
    if control is not None and control not in arms:
        raise InputError(
            "control",
            f"control must be one of the arms, {', '.join(arms)} (got {control!r:.60})",
        )


def widened(outcome: Outcome) -> Outcome:
    """Return the model of adjusted outcomes, which covariates move by `REACH` widths at most."""
    if not outcome.limited:
        return outcome
    more = REACH * outcome.scale / 2
    return Bounded(outcome.low - more, outcome.high + more)


def check_covariates(covariates: Sequence[Covariate], procedure: Procedure) -> None:
    """Raise `InputError` unless a procedure can compare outcomes that covariates adjust."""
    outcome = procedure.outcome
    if procedure.counts != "blocks":
        raise InputError(
            "covariates",
            f"covariates belong to rules that compare blocks, not to {procedure.label}: use "
            "Tilt(tilt)",
        )
    if not (outcome.limited or outcome.estimated):
        raise InputError(
            "covariates",
            f"covariates change how much outcomes spread, and {outcome!r} states it for outcomes "
            "as they are: use Numeric(), or outcomes with limits",
        )
    for one in covariates:
        if outcome.limited and math.isinf(one.width):
            raise InputError(
                "covariates",
                f"covariate {one.name} needs low and high, because outcomes with limits are bet "
                "on: values beyond them count as the nearer one",
            )


def check_deadline(deadline: object) -> None:
    """Raise `InputError` unless a deadline is a time with its zone."""
    example = "2026-12-01T00:00:00+00:00"
    if not isinstance(deadline, datetime):
        raise InputError("deadline", f"deadline must be a datetime (got {deadline!r})")
    if deadline.tzinfo is None:
        raise InputError(
            "deadline", f"deadline needs a time zone (got {deadline.isoformat()}): as in {example}"
        )


def check_signals(measure: Measure | None, reports: object, covariates: object) -> None:
    """Raise `InputError` unless a design can use early signals.

    They need a window, an outcome that one event sets to 1 for good, and no covariates.
    """
    if measure is not None and measure.aggregate != "any":
        raise InputError(
            "early_signals",
            'early_signals need outcomes that an event makes 1 for good: use aggregate "any" '
            f"(got {measure.aggregate!r}), or leave them out",
        )
    if measure is not None and measure.missing_value != 0.0:
        raise InputError(
            "early_signals",
            "early_signals need units without an event to count as 0 (missing is "
            f"{measure.missing_value:g}): leave missing out, or the signals",
        )
    if reports is not None:
        raise InputError(
            "early_signals",
            "early_signals are events of units whose windows are open: give a measure with a "
            "window in place of reports, or leave them out",
        )
    if covariates is not None:
        raise InputError(
            "early_signals",
            "early_signals do not go together with covariates, which adjust outcomes when they "
            "count: leave one of them out",
        )


def cost_unit(outcome: Outcome, goal: Goal) -> str:
    """Return what the cost of a test is counted in: conversions that it lost, or extra events.

    >>> import bascule as bs
    >>> cost_unit(bs.Bernoulli(), "increase"), cost_unit(bs.Bernoulli(), "decrease")
    ('conversions', 'extra events')
    """
    return "extra events" if goal == "decrease" and outcome.binary else outcome.cost_unit


def check_kind(field: str, value: object, accepted: Any, examples: str) -> None:
    """Raise `InputError` unless a value is of the accepted class; `examples` say what is."""
    if not isinstance(value, accepted):
        raise InputError(field, f"{field} must be one of {examples} (got {value!r})")
