"""Schemas of responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from bascule.live.api import State


class ProblemDetails(BaseModel):
    """Why a request was refused; `field` names what to change, where it is one thing."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None


class Assigned(BaseModel):
    """A unit and the arm to serve; `reason` and `enrolled` say whether it is in the test.

    `segment` is there where the test has segments.
    """

    experiment: str
    unit: str
    arm: str
    value: Any
    reason: Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
    enrolled: bool
    segment: str | None = None


class LinkedOut(BaseModel):
    """Two names of one person and the arm that both have; None before the first is assigned."""

    experiment: str
    unit: str
    other: str
    arm: str | None


class LinkedEverywhere(BaseModel):
    """Two names of one person, and in each open test the arm that both have, or None."""

    unit: str
    other: str
    arms: dict[str, str | None]


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


class ContrastOut(BaseModel):
    """A treatment minus the control, in outcome units and relative to the control's mean."""

    treatment: str
    control: str
    difference: float
    low: float | None
    high: float | None
    error: float
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    lift_error: float
    guarantee: str


class MetricOut(BaseModel):
    """A guardrail or a secondary metric; `standings` has one for each of its contrasts."""

    name: str
    role: Literal["guardrail", "secondary"]
    goal: Literal["increase", "decrease"]
    margin: float | None
    error: float
    guarantee: str
    means: list[float | None]
    contrasts: list[ContrastOut]
    standings: list[Literal["within margin", "harmed", "open"]]
    binary: bool = False


class VerdictOut(BaseModel):
    """A decision, which never changes; `meaning` says what its error bounds.

    `by` says whether the primary metric decided or the guardrails, and `harm` on which metrics all
    other arms were harmful.
    """

    arm: int | None
    name: str
    error: float
    guarantee: str
    units: int
    time: float
    harm: list[str] = []
    by: Literal["primary", "guardrails"] = "primary"
    meaning: str | None = None


class WaitingOut(BaseModel):
    """Units that have not counted, and since when the oldest of them waits."""

    units: int
    since: str
    days: float
    until: str | None
    is_held: bool
    metrics: list[str] = []


class CovariatesOut(BaseModel):
    """By what outcomes are adjusted, and how many units came without it or beyond its limits."""

    coefficients: dict[str, float]
    lacking: int
    beyond: int


class RolloutOut(BaseModel):
    """How far a guarded rollout is: the share of the traffic in it now, and the next step."""

    version: str
    traffic: float
    next_traffic: float | None
    next_days: float | None
    open: list[str]


class StatusOut(BaseModel):
    """The status of a test.

    With the `goal` "decrease" the arm with the lowest mean is best. Means of `binary` outcomes, 0
    or 1, are shares. `cost` is counted in `cost_unit`. `even_cost` is what an even split of as many
    units would have cost; it is no forecast of an even split's own test, which may end sooner.
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
    contrasts: list[ContrastOut] = []
    metrics: list[MetricOut] = []
    guarded: str | None = None
    rollout: RolloutOut | None = None
    ended_by: Literal["horizon", "futility"] | None = None
    futile: bool = False
    covariates: CovariatesOut | None = None
    links: int = 0
    relinked: int = 0
    goal: Literal["increase", "decrease"] = "increase"
    binary: bool = False
    cost_unit: str = "outcome units"


class Statuses(BaseModel):
    """Statuses of all tests, the oldest first, as they are stored.

    `settling` names those with units that have matured and are not counted in the status yet: they
    are within seconds. `unreadable` names those with damaged data.
    """

    experiments: list[StatusOut]
    settling: list[str] | None = None
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


class SegmentedOut(BaseModel):
    """A test with segments: what is decided, what the error bounds, and the status of each.

    The experiment of a segment is called NAME.SEGMENT.
    """

    name: str
    headline: str
    attribute: str
    error: float
    promise: str
    units: int
    decisions: dict[str, str]
    segments: dict[str, StatusOut]


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


class Evaluation(BaseModel):
    """A flag's value for a unit: the value of its arm, or the arm's name."""

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
