"""The options of a plan, declared once: types, defaults, help, and what they need or exclude.

`plan` takes them as keywords, `PlanRequest` checks them, and the command line, the HTTP model, the
form and the reference page are made from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from bascule.core.calendar import MIN_DAYS, WHOLE_WEEKS
from bascule.core.covariates import Covariate
from bascule.core.design_parts import CONTROL, DEFAULT_ERROR, ERROR, GOAL, HARM_ERROR, SIDES
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.options import Declared, Option, options_of, parameters
from bascule.core.outcomes import OUTCOMES, Bernoulli, Outcome
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.planning.request.sample import Sample

Number = float | str
"""A number, or text such as "5%" or "5k"."""

Lift = float | str | Sequence[float | str]
"""A lift, or a list with a lift for each arm after the first."""

AcceptedGuarantee = Literal["proven", "gaussian", "asymptotic"]
"""Guarantees from the strongest to the weakest; accepting one includes all stronger ones."""


CONVERSION = Bernoulli()

BASELINE, LIFT = 0.05, "20%"
"""Defaults of the baseline and the lift: 5 % against 6 %."""


@dataclass(frozen=True, slots=True)
class PlanFields(Declared):
    """The fields of a `PlanRequest`, each with its default and its `Option`."""

    outcome: Annotated[
        Outcome,
        Option(
            "The kind of outcome: 0/1, numbers, a ratio of sums, or recurring outcomes.",
            label="What is counted",
            group="basics",
            kind="choice",
            choices=OUTCOMES.kinds,
            unset="as --sigma, limits or sample suggest, else bernoulli",
        ),
    ] = CONVERSION
    """The outcome model."""
    baseline: Annotated[
        float,
        Option(
            "Mean of the first arm, as 5% or 0.05.",
            group="basics",
            metavar="MEAN",
            kind="number",
            default="5%",
            unset="that of the sample, or 5% of 0/1 outcomes",
        ),
    ] = BASELINE
    """Mean of the first arm; 0.05 if not given, whatever the outcome model."""
    lift: Annotated[
        Lift | None,
        Option(
            "Minimum detectable effect (MDE) of a new arm: 20% is relative to the baseline, 0.01 "
            "is in outcome units.",
            label="Minimum detectable effect",
            group="basics",
            many=True,
            metavar="LIFT ...",
            default=LIFT,
            unset="20% of 0/1 outcomes, -20% where the goal is to decrease",
        ),
    ] = None
    """Difference of a new arm from the baseline, in outcome units or as text such as "10%"; with
    the goal "decrease" an improvement is below 0, as "-20%". A list has a lift for each arm after
    the first. A single lift is that of the second arm, and all further arms are like the first one;
    a single lift for the worse is that of all new arms.
    If it is None, 0/1 outcomes improve by 20 %; other outcomes need it."""
    arms: Annotated[
        int | Sequence[str] | None,
        Option(
            "How many arms; in Python and over HTTP also their names.",
            group="basics",
            kind="whole",
            unset="2",
        ),
    ] = None
    """Number of arms, or their names; None for "control" and "variant"."""
    units_per_day: Annotated[
        float,
        Option(
            "Traffic of the test, all arms together.",
            group="basics",
            kind="positive",
        ),
    ] = 5000.0
    """New units a day, of all arms together."""
    deadline_days: Annotated[
        float,
        Option(
            "Day on which the test ends at the latest, decided or not.",
            label="Maximum duration in days",
            group="basics",
            kind="days",
        ),
    ] = 28.0
    """Maximum duration in days; a decision is needed by then."""
    window: Annotated[
        float | str | None,
        Option(
            "How long a unit's events count, as 7d or 12h: its outcome is known when its window "
            "closes.",
            label="Conversion window",
            group="basics",
            unset="an outcome is known at once",
            metavar="DURATION",
        ),
    ] = None
    """How long a unit's events count, in seconds or as "7d"; its outcome is then known. No unit is
    enrolled whose window would close after the deadline."""
    share: Annotated[
        float,
        Option(
            "Share of the traffic that gets into the test, as 30%: a smaller one enrols fewer "
            "units before the first windows close, and takes longer to decide.",
            label="Share of traffic",
            kind="positive",
            limits=(0, 1),
        ),
    ] = 1.0
    """Share of the traffic that gets into the test."""
    min_days: Annotated[float | None, MIN_DAYS] = None
    """Minimum number of days before a decision is announced."""
    whole_weeks: Annotated[bool, WHOLE_WEEKS] = False
    """Whether a decision is announced only after a whole number of weeks."""
    delay: Annotated[
        float | str | None,
        Option(
            "How long after a unit arrives its conversion comes, on average, as 1d: the plan then "
            "says what early signals save.",
            label="Delay of conversions",
            needs=("window",),
            metavar="DURATION",
        ),
    ] = None
    """Mean time from a unit's arrival to its conversion, in seconds or as "1d"; needs `window`."""
    early_signals: Annotated[
        EarlySignals | None,
        Option(
            "Use events of open windows for the next block: auto checks that delays agree.",
            needs=("delay",),
            excludes=("covariate",),
            unset="off",
        ),
    ] = None
    """How conversions of open windows affect the next blocks: "auto" or "always", as in `Tilt`;
    needs `delay`. They do not if it is not given."""
    every: Annotated[
        float | str | None,
        Option(
            "For a test that bascule steer runs: how often it runs, as 1d. The plan then has the "
            "figures of such a test.",
            label="Steered every",
            needs=("window",),
            excludes=("covariate", "early_signals"),
            metavar="DURATION",
        ),
    ] = None
    """How often a steered test runs, in seconds or as "1d"; needs `window`."""
    error: Annotated[float, replace(ERROR, limits=(0, 0.499))] = DEFAULT_ERROR
    """Maximum false positive rate; with `sides=1`, maximum probability that a worse arm wins."""
    goal: Annotated[Goal, GOAL] = "increase"
    """Direction of improvement: with "decrease" the lowest mean is the best."""
    sample: Annotated[
        Sample | None,
        Option(
            "A CSV file of outcomes from before the test, for baseline and spread, with columns "
            "value and, if units come again, unit.",
            label="Earlier outcomes",
            group="outcome",
            kind="file",
        ),
    ] = None
    """Earlier outcomes, from which the baseline and the spread are taken."""
    spread: Annotated[
        float | None,
        Option(
            "Standard deviation to expect of outcomes within limits.",
            group="outcome",
            kind="positive",
            unset="that of the sample",
            flag="sigma",
            absent={"form": "earlier outcomes show it", "command": "it is sigma there"},
        ),
    ] = None
    """Standard deviation to expect of outcomes within limits."""
    outcomes_per_day: Annotated[
        float | None,
        Option(
            "For recurrent outcomes: number of outcomes of each unit per day.",
            group="outcome",
            kind="positive",
            unset="1",
            absent={"form": "it has no recurrent outcomes"},
        ),
    ] = None
    """Number of outcomes per unit and day, if outcomes recur."""
    covariate: Annotated[
        Covariate | str | None,
        Option(
            "A number known of each unit before its assignment: its name, or name:low:high, which "
            "conversions and limited outcomes need.",
            group="outcome",
            metavar="NAME",
        ),
    ] = None
    """A `Covariate` known of each unit before assignment, its name, or a text as name:low:high."""
    correlation: Annotated[
        float,
        Option(
            "Correlation of the covariate with the outcome: 0.7 halves the units.",
            group="outcome",
            kind="number",
            limits=(-0.999, 0.999),
        ),
    ] = 0.0
    """Correlation of the covariate with the outcome."""
    control: Annotated[str | None, CONTROL] = None
    """Name of the control; the first arm if not given."""
    sides: Annotated[int | None, SIDES] = None
    """2 if the error is two-sided (the default), 1 if it is one-sided."""
    power: Annotated[
        float,
        Option(
            "Probability of a decision by the deadline at this lift.",
            label="Decided in time",
            kind="probability",
            limits=(0.5, 0.999),
        ),
    ] = 0.9
    """Probability of a decision by the deadline if the lift is as requested."""
    guarantee: Annotated[
        AcceptedGuarantee,
        Option(
            "The weakest guarantee that is accepted: proven, gaussian (exact for normal outcomes) "
            "or asymptotic (approximate).",
        ),
    ] = "proven"
    """The weakest guarantee that is accepted: "proven", "gaussian" or "asymptotic"."""
    futility: Annotated[
        float | None,
        Option(
            "End a test with a horizon early once its probability to find the lift is below this.",
            label="Stop for futility",
            kind="probability",
            unset="never",
        ),
    ] = None
    """End designs with a horizon early, once the probability of finding the lift is below this."""
    metrics: Annotated[
        Sequence[Metric],
        Option(
            "A guardrail or secondary metric, as 'latency; gaussian 30; decrease; margin 5'.",
            label="Other metrics",
            many=True,
            flag="metric",
            metavar="LINE",
        ),
    ] = ()
    """Guardrails and secondary metrics of the design."""
    harm_error: Annotated[float, HARM_ERROR] = DEFAULT_ERROR
    """Bound on the probability that an arm without harm is removed."""


CAP = Option(
    "Count outcomes from 0 up to this amount: 500, or a quantile of the sample: 99%.",
    name="cap",
    type=Number | None,
    group="outcome",
    metavar="AMOUNT",
    excludes=("outcome", *parameters(OUTCOMES)),
)
"""The option of `plan` that is not a field: it sets the outcome model of the request."""

PLAN = {**options_of(PlanFields), "cap": CAP}
"""All options of a plan, by name."""

ROLLOUT = ("arms", "units_per_day", "deadline_days", "metrics", "harm_error")
"""Options of a plan that the plan of a guarded rollout has as well."""


class PlanOptions(TypedDict, total=False):
    """Types of the keywords of `plan`, in which numbers may be text."""

    arms: int | Sequence[str] | None
    units_per_day: Number
    deadline_days: Number
    window: Number | None
    share: Number
    min_days: Number | None
    whole_weeks: bool
    delay: Number | None
    early_signals: EarlySignals | None
    every: Number | None
    error: Number
    goal: Goal
    sample: Sample | str | Path | None
    cap: Number | None
    spread: Number | None
    outcomes_per_day: Number | None
    covariate: Covariate | str | None
    correlation: Number
    control: str | None
    sides: int | None
    power: Number
    guarantee: AcceptedGuarantee
    futility: Number | None
    metrics: Sequence[Metric]
    harm_error: Number
