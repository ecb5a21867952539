"""The options of a plan, declared once.

`plan` takes them as keywords, `PlanRequest` checks them, and the command line, the HTTP model, the
form and the reference page are made from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from bascule.core.calendar import MIN_DAYS, WHOLE_WEEKS
from bascule.core.covariates import Covariate
from bascule.core.design_parts import CONTROL, ERROR, GOAL, HARM_ERROR, SIDES
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.options import Option, options_of, parameters
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.planning.request.sample import Sample

Number = float | str
"""A number, or text such as "5%" or "5k"."""

Lift = float | str | Sequence[float | str]
"""A lift, or one for each arm after the first."""

AcceptedGuarantee = Literal["proven", "gaussian", "asymptotic"]
"""Guarantees from the strongest to the weakest; who accepts one accepts those before it."""


class PlanQuestion(TypedDict, total=False):
    """What a plan is asked first: `plan` takes these by position."""

    outcome: Annotated[
        Outcome | None,
        Option(
            "What one unit gives.",
            label="What is counted",
            group="basics",
            kind="choice",
            choices=OUTCOMES.kinds,
            unset="as --sigma, limits or sample suggest, else bernoulli",
        ),
    ]
    baseline: Annotated[
        Number | None,
        Option(
            "Mean of the first arm, as 5% or 0.05.",
            group="basics",
            metavar="MEAN",
            kind="number",
            default="5%",
            unset="that of the sample, or 5% of 0/1 outcomes",
        ),
    ]
    lift: Annotated[
        Lift | None,
        Option(
            "Minimum detectable effect (MDE) of a new arm: 20% is relative to the baseline, 0.01 "
            "is in outcome units.",
            label="Minimum detectable effect",
            group="basics",
            many=True,
            metavar="LIFT ...",
            default="20%",
            unset="20% of 0/1 outcomes, -20% where the goal is to decrease",
        ),
    ]


class PlanOptions(TypedDict, total=False):
    """Further options of a plan, as keyword arguments."""

    arms: Annotated[
        int | Sequence[str] | None,
        Option(
            "How many arms; in Python and over HTTP also their names.",
            group="basics",
            kind="whole",
            unset="2",
        ),
    ]
    units_per_day: Annotated[
        Number,
        Option(
            "Traffic of the test, all arms together.",
            group="basics",
            kind="positive",
            default="5000",
        ),
    ]
    deadline_days: Annotated[
        Number,
        Option(
            "When the test ends at the latest, undecided.",
            label="Maximum duration in days",
            group="basics",
            kind="positive",
            default="28",
        ),
    ]
    window: Annotated[
        Number | None,
        Option(
            "How long a unit's events count, as 7d or 12h: its outcome is known when its window "
            "closes.",
            label="Conversion window",
            group="basics",
            unset="an outcome is known at once",
            metavar="DURATION",
        ),
    ]
    share: Annotated[
        Number,
        Option(
            "Share of the traffic that gets into the test, as 30%: fewer units are enrolled before "
            "the first windows close, and a decision takes longer.",
            label="Share of traffic",
            kind="positive",
            limits=(0, 1),
            default="100%",
        ),
    ]
    min_days: Annotated[Number | None, MIN_DAYS]
    whole_weeks: Annotated[bool, WHOLE_WEEKS]
    delay: Annotated[
        Number | None,
        Option(
            "How long after a unit arrives its conversion comes, on average, as 1d: the plan then "
            "says what early signals save.",
            label="Delay of conversions",
            needs=("window",),
            metavar="DURATION",
        ),
    ]
    early_signals: Annotated[
        EarlySignals | None,
        Option(
            "Use events of open windows for the next block: auto checks that delays agree.",
            needs=("delay",),
            excludes=("covariate",),
            unset="off",
        ),
    ]
    every: Annotated[
        Number | None,
        Option(
            "For a test that bascule steer runs: how often it runs, as 1d. The plan then has the "
            "figures of such a test.",
            label="Steered every",
            needs=("window",),
            excludes=("covariate", "early_signals"),
            metavar="DURATION",
        ),
    ]
    error: Annotated[Number, replace(ERROR, limits=(0, 0.499))]
    goal: Annotated[Goal, GOAL]
    sample: Annotated[
        Sample | str | Path | None,
        Option(
            "A CSV file of outcomes from before the test, for baseline and spread, with columns "
            "value and, if units come again, unit.",
            label="Earlier outcomes",
            group="outcome",
            kind="file",
        ),
    ]
    cap: Annotated[
        Number | None,
        Option(
            "Count outcomes from 0 up to this amount: 500, or a quantile of the sample: 99%.",
            group="outcome",
            metavar="AMOUNT",
            excludes=("outcome", *parameters(OUTCOMES)),
        ),
    ]
    spread: Annotated[
        Number | None,
        Option(
            "Standard deviation to expect of outcomes within limits.",
            group="outcome",
            kind="positive",
            unset="that of the sample",
            flag="sigma",
            absent={"form": "earlier outcomes show it", "command": "it is sigma there"},
        ),
    ]
    outcomes_per_day: Annotated[
        Number | None,
        Option(
            "For recurrent outcomes: how many each unit gives a day.",
            group="outcome",
            kind="positive",
            unset="1",
            absent={"form": "it has no recurrent outcomes"},
        ),
    ]
    covariate: Annotated[
        Covariate | str | None,
        Option(
            "A number known of each unit before its assignment: its name, or name:low:high, which "
            "conversions and limited outcomes need.",
            group="outcome",
            metavar="NAME",
        ),
    ]
    correlation: Annotated[
        Number,
        Option(
            "Of the covariate with the outcome: 0.7 halves the units.",
            group="outcome",
            kind="number",
            limits=(-0.999, 0.999),
            default="0",
        ),
    ]
    control: Annotated[str | None, CONTROL]
    sides: Annotated[int | None, SIDES]
    power: Annotated[
        Number,
        Option(
            "Probability of a decision by the deadline at this lift.",
            label="Decided in time",
            kind="probability",
            limits=(0.5, 0.999),
            default="90%",
        ),
    ]
    guarantee: Annotated[
        AcceptedGuarantee,
        Option(
            "The weakest guarantee that is accepted: proven, gaussian (exact for normal outcomes) "
            "or asymptotic (approximate).",
            default="proven",
        ),
    ]
    futility: Annotated[
        Number | None,
        Option(
            "End a test with a horizon early once its probability to find the lift is below this.",
            label="Stop for futility",
            kind="probability",
            unset="never",
        ),
    ]
    metrics: Annotated[
        Sequence[Metric],
        Option(
            "A guardrail or secondary metric, as 'latency; gaussian 30; decrease; margin 5'.",
            label="Other metrics",
            many=True,
            flag="metric",
            metavar="LINE",
        ),
    ]
    harm_error: Annotated[Number, HARM_ERROR]


PLAN = {**options_of(PlanQuestion), **options_of(PlanOptions)}
"""Every option of a plan."""

ROLLOUT = ("arms", "units_per_day", "deadline_days", "metrics", "harm_error")
"""Those that a guarded rollout has, too."""
