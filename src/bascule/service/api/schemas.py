"""Schemas of requests and responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.metrics import Goal
from bascule.core.outcomes import Outcome
from bascule.live.api import State
from bascule.planning.request import AcceptedGuarantee

NAME_PATTERN = r"^(?:\.{0,2}[A-Za-z0-9_-]|\.{3})[A-Za-z0-9._-]*$"
"""Letters, digits, dots, dashes and underscores, but neither `.` nor `..`."""

NAME_SCHEMA = {"type": "string", "pattern": NAME_PATTERN, "minLength": 1, "maxLength": 100}

UnitName = Annotated[str, Field(min_length=1, max_length=500, pattern="^[^\u0000]*$")]


class Model(BaseModel):
    """A body whose fields are known; others are refused."""

    model_config = ConfigDict(extra="forbid")


# What is sent


class Words(Model):
    """Words about a test; what is not given stays as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ann", "tags": ["q3"]}]})

    owner: Annotated[str, Field(max_length=200)] | None = None
    hypothesis: Annotated[str, Field(max_length=10_000)] | None = None
    description: Annotated[str, Field(max_length=10_000)] | None = None
    links: Annotated[list[str], Field(max_length=50)] | None = None
    tags: Annotated[list[str], Field(max_length=50)] | None = None


class NewExperiment(Model):
    """A test to create: its name, its design, words about it, and whether it starts at once.

    `audience` says who gets in, and `values` what each arm is worth to a program.
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=100, examples=["checkout-button"])]
    design: Design = Field(
        examples=[
            {
                "arms": ["control", "green"],
                "outcome": {"kind": "bernoulli"},
                "rule": {"kind": "tilt", "tilt": 3},
                "error": 0.05,
                "measure": {"window": "7d", "aggregate": "any"},
            }
        ]
    )
    start: bool = True
    description: Words | None = None
    audience: Audience | None = Field(None, examples=[{"share": 0.1}])
    values: dict[str, Any] | None = Field(None, examples=[{"control": False, "green": True}])


class Knob(Model):
    """A new setting of the knob: `alpha` for UCB, or `tilt` for tilted blocks."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tilt": 5.0}]})

    alpha: float | None = None
    tilt: float | None = None


class ArmChange(Model):
    """A change of an arm; `to` is what users of a dropped arm get, instead of the control."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arm": "green", "action": "pause"}]})

    arm: str
    action: Literal["drop", "pause", "resume"]
    to: str | None = None


class Unit(Model):
    """A unit to assign; with `strict`, 409 if it does not get in.

    `covariates` are those of the design, as far as they are known when the unit is assigned.
    `context` has attributes of the unit, for the targeting rule of the test.
    """

    unit: UnitName | int = Field(examples=["user-42"])
    strict: bool = False
    covariates: dict[str, float | None] | None = None
    context: dict[str, Any] | None = None


class Link(Model):
    """Two names of one person."""

    unit: UnitName | int = Field(examples=["visitor-7"])
    other: UnitName | int = Field(examples=["user-42"])


class Share(Model):
    """The share of the traffic that gets in from now on."""

    share: float = Field(ge=0, le=1, examples=[0.5])


class Stop(Model):
    """The end of a test; with `to`, everyone is served this arm from now on."""

    to: str | None = None


class UnitToErase(Model):
    """A unit to erase, in all experiments or in some."""

    unit: UnitName | int = Field(examples=["user-42"])
    experiments: list[str] | None = None


class NewOutcome(Model):
    """An outcome of a unit; `id` makes a retry harmless, and `at` is when it happened.

    `exposed` is false where the unit did not see its arm, as after a timeout. The outcome counts
    all the same, for the arm that the unit was given, and is listed. `metric` names the metric that
    the outcome belongs to; without it, that is the primary one.
    """

    unit: UnitName | int = Field(examples=["user-42"])
    value: float | tuple[float, float] = Field(
        examples=[1.0], description="A number, or [numerator, denominator] of a ratio."
    )
    at: str | None = Field(None, examples=["2026-01-31T12:00:00+00:00"])
    id: UnitName | None = Field(None, examples=["order-1001"])
    exposed: bool = True
    metric: str | None = Field(None, examples=["latency"])


class NewOutcomes(Model):
    """Outcomes, each of which gets a receipt."""

    outcomes: list[Any] = Field(
        json_schema_extra={"items": {"anyOf": [{"$ref": "#/components/schemas/NewOutcome"}, {}]}}
    )


class Wish(Model):
    """A request for a plan, in the terms of `bascule.plan`."""

    outcome: Outcome | None = Field(None, discriminator="kind")
    baseline: float | str | None = Field(None, examples=["5%"])
    lift: float | str | list[float | str] | None = Field(None, examples=["20%"])
    arms: int | list[str] | None = None
    error: float | str = Field(0.05, examples=["5%"])
    sides: int | None = Field(None, ge=1, le=2)
    power: float | str = Field(0.9, examples=["90%"])
    guarantee: AcceptedGuarantee = "proven"
    futility: float | str | None = None
    population: float | str | None = None
    switch_cost: float | str | None = None
    choose_error: bool = False
    units_per_day: float | str = Field(5000.0, examples=["5k"])
    deadline_days: float | str = 28.0
    waiting_cost: float | str | None = None
    spread: float | None = None
    outcomes_per_day: float | str | None = None
    goal: Goal = "increase"
    control: str | None = None
    seed: int = Field(0, ge=0, lt=2**63)


# What is answered


class ProblemDetails(BaseModel):
    """Why a request was refused; `field` names what to change, where it is one thing."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None


class Assigned(BaseModel):
    """A unit and the arm to serve; `reason` and `enrolled` say whether it is in the test."""

    experiment: str
    unit: str
    arm: str
    value: Any
    reason: Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
    enrolled: bool


class LinkedOut(BaseModel):
    """Two names of one person and the arm that both have; None before the first is assigned."""

    experiment: str
    unit: str
    other: str
    arm: str | None


class ReceiptOut(BaseModel):
    """The receipt of an outcome; `reason` says why it does not count."""

    accepted: bool
    reason: str | None
    detail: str


class Receipts(BaseModel):
    """The receipts of outcomes, in the order in which these were sent."""

    outcomes: list[ReceiptOut]


class ArmOut(BaseModel):
    """One arm: its units, those that are mature, their mean, and its interval."""

    name: str
    units: int
    matured: int
    mean: float | None
    low: float | None
    high: float | None
    part: str
    state: str


class EffectOut(BaseModel):
    """The mean of `first` minus that of `second`, and its interval (a confidence sequence).

    Each bound fails with probability at most `error`, at any time; `level` is that of both
    together. None is an infinite bound.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    error: float
    guarantee: str
    level: float | None = None
    meaning: str | None = None


class VerdictOut(BaseModel):
    """A decision, which never changes; `meaning` says what its error bounds."""

    arm: int | None
    name: str
    error: float
    guarantee: str
    units: int
    time: float
    meaning: str | None = None


class WaitingOut(BaseModel):
    """Units that have not counted, and since when the oldest of them waits."""

    units: int
    since: str
    days: float
    until: str | None
    is_held: bool


class CovariatesOut(BaseModel):
    """By what outcomes are adjusted, and how many units came without it or beyond its limits."""

    coefficients: dict[str, float]
    lacking: int
    beyond: int


class StatusOut(BaseModel):
    """The status of a test.

    `even_cost` is what an even split of as many units would have cost; it is no forecast of an
    even split's own test, which may end sooner.
    """

    name: str
    state: State
    headline: str
    rule: str
    units: int
    matured: int
    stage: int | None
    arms: list[ArmOut]
    effects: list[EffectOut]
    evidence: float
    leader: str | None
    decision: VerdictOut | None
    promise: str
    cost: float | None
    even_cost: float | None
    left: float | None
    days_left: float | None
    deadline: str | None
    waiting: WaitingOut | None = None
    everyone: str | None = None
    moved: list[tuple[str, str]] = []
    ended_by: Literal["horizon", "futility"] | None = None
    futile: bool = False
    covariates: CovariatesOut | None = None
    links: int = 0
    relinked: int = 0


class Statuses(BaseModel):
    """Statuses of all tests, the oldest first; `unreadable` names those with damaged data."""

    experiments: list[StatusOut]
    unreadable: list[str] | None = None


class WordsOut(BaseModel):
    """Words about a test."""

    owner: str
    hypothesis: str
    description: str
    links: list[str]
    tags: list[str]


class ExperimentOut(BaseModel):
    """A test: its design with the present setting of the knob, and its status."""

    name: str
    created: str
    design: dict[str, Any]
    status: StatusOut
    description: WordsOut
    audience: dict[str, Any] | None = None
    values: dict[str, Any] | None = None


class PointOut(BaseModel):
    """The status of a test after a number of mature units."""

    time: str
    matured: int
    means: list[float | None]
    units: list[int]
    effects: list[EffectOut]


class History(BaseModel):
    """The history of a test."""

    arms: list[str]
    points: list[PointOut]


class AuditEntry(BaseModel):
    """A change, or a decision: when, by whom, what."""

    experiment: str
    time: str
    actor: str
    action: str
    detail: dict[str, Any]


class AuditLog(BaseModel):
    """Every change and every decision, the oldest first."""

    audit: list[AuditEntry]


class DiagnosticOut(BaseModel):
    """A diagnostic; `flagged` is an alarm."""

    name: str
    statistic: float | None
    p_value: float | None
    level: float
    validity: str
    message: str
    flagged: bool


class Diagnostics(BaseModel):
    """The diagnostics of a test, which are no part of its decision."""

    diagnostics: list[DiagnosticOut]


class SetAsideEntry(BaseModel):
    """An excluded or changed outcome, with the reason."""

    unit: str
    value: str
    at: str | None
    received: str
    event: str | None
    reason: str
    detail: str


class SetAside(BaseModel):
    """Excluded or changed outcomes, in the order in which they came."""

    set_aside: list[SetAsideEntry]


class UnitInExperiment(BaseModel):
    """What is known of a unit in one experiment; `assignment` is None if it was never assigned.

    The assignment has the unit's covariates, where the design has any, and `linked` are other names
    of the same person.
    """

    experiment: str
    assignment: dict[str, Any] | None
    outcomes: list[dict[str, Any]]
    excluded: list[dict[str, Any]]
    linked: list[str] = []


class UnitData(BaseModel):
    """All that is known of a unit."""

    unit: str
    experiments: list[UnitInExperiment]


class Erased(BaseModel):
    """The experiments in which a unit was erased."""

    erased: list[str]


class Health(BaseModel):
    """The state of the service."""

    status: str


# OFREP


class EvaluationContext(BaseModel):
    """The context of an evaluation, with the unit."""

    model_config = ConfigDict(extra="allow")
    targetingKey: UnitName = Field(examples=["user-42"])  # noqa: N815


class EvaluationRequest(BaseModel):
    """A request for one flag, or for all."""

    model_config = ConfigDict(extra="allow")
    context: EvaluationContext


class Evaluation(BaseModel):
    """A flag's value for a unit: that of its arm, or the name of it."""

    key: str
    value: bool | float | str | dict[str, Any] | list[Any]
    reason: Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
    variant: str
    metadata: dict[str, str | bool | float]


class Evaluations(BaseModel):
    """The flags of all tests that a unit is in."""

    flags: list[Evaluation]
    metadata: dict[str, str | bool | float]


class EvaluationFailure(BaseModel):
    """The error of an evaluation."""

    key: str | None = None
    errorCode: Literal[  # noqa: N815
        "PARSE_ERROR",
        "TARGETING_KEY_MISSING",
        "INVALID_CONTEXT",
        "FLAG_NOT_FOUND",
        "GENERAL",
    ]
    errorDetails: str  # noqa: N815


class ServerFailure(BaseModel):
    """An error of the service."""

    errorDetails: str  # noqa: N815
