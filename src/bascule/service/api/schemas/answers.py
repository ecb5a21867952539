"""Schemas of responses, for the OpenAPI description; most fields come from result dataclasses."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, Field, create_model

from bascule.core.diagnostics import Diagnostic
from bascule.core.metrics.effects import Contrast, Effect
from bascule.live.api import (
    ArmStatus,
    HistoryPoint,
    MetricStatus,
    Receipt,
    Status,
    Verdict,
)


def fields_of(source: type, but: str = "") -> Callable[[type[BaseModel]], Any]:
    """Return a decorator that adds a dataclass's fields to a schema, except `but` and its own."""
    hints = get_type_hints(source)
    texts = field_docs(source)

    def complete(model: type[BaseModel]) -> Any:
        declared = {*model.model_fields, but}
        declared_fields: Any = {
            field.name: (
                hints[field.name],
                Field(
                    ... if field.default is MISSING else field.default,
                    description=texts.get(field.name),
                ),
            )
            for field in fields(source)
            if field.name not in declared
        }
        module = model.__module__
        return create_model(
            model.__name__,
            __base__=model,
            __doc__=model.__doc__,
            __module__=module,
            **declared_fields,
        )

    return complete


def field_docs(source: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class.

    >>> field_docs(Status)["units"]
    'Number of units that were assigned.'
    """
    try:
        (definition,) = ast.parse(inspect.getsource(source)).body
    except OSError:
        # Installed without source files: the description has no texts for these fields.
        return {}
    assert isinstance(definition, ast.ClassDef)
    return {
        ast.unparse(field.target): inspect.cleandoc(text.value.value)
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
        if isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


class ProblemDetails(BaseModel):
    """Why a request was refused; `field` names the field to change, if it is a single one."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None


class AssignedArm(BaseModel):
    """A unit and the arm to serve; `reason` and `enrolled` say whether it is in the test."""

    experiment: str
    unit: str
    arm: str
    value: Any
    reason: Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
    enrolled: bool


class Linked(BaseModel):
    """Two names of one person, and the arm of both in each open test; None if not assigned yet."""

    unit: str
    other: str
    arms: dict[str, str | None]


class Receipts(BaseModel):
    """The number of outcomes that count, and a receipt for each outcome that was sent, in order.

    `duplicates` is the number of outcomes that were accepted before. `reasons` counts the rejected
    outcomes by their reason.
    """

    accepted: int
    rejected: int
    duplicates: int
    reasons: dict[str, int]
    outcomes: list[Receipt]


@fields_of(ArmStatus)
class ArmOut(BaseModel):
    """One arm: its units, those that are mature, their mean, and its interval."""


@fields_of(Effect)
class EffectOut(BaseModel):
    """The mean of `first` minus that of `second`, and its interval (a confidence sequence).

    The difference is treatment minus control, as in `contrasts`; of two treatments it is the later
    minus the earlier. Each bound fails with probability at most `error`, at any time, and `level`
    is the level of the interval, 1 - 2 `error`. A bound of None is infinite.
    """

    low: float | None
    high: float | None
    level: float | None = None
    meaning: str | None = None


@fields_of(Contrast)
class ContrastOut(BaseModel):
    """A treatment minus the control, in outcome units and relative to the control's mean."""

    low: float | None
    high: float | None
    lift_low: float | None
    lift_high: float | None


@fields_of(MetricStatus)
class MetricOut(BaseModel):
    """A guardrail or a secondary metric; `standings` has one entry for each of its contrasts."""

    contrasts: list[ContrastOut]


@fields_of(Verdict)
class VerdictOut(BaseModel):
    """A decision, which never changes; `meaning` says what its error bounds.

    `by` says whether the primary metric decided or the guardrails. `harm` names the metrics on
    which all other arms were harmful, if that was the reason. `keep` is the arm to keep if no
    difference matters.
    """

    by: Literal["primary", "guardrails"] = "primary"
    meaning: str | None = None


@fields_of(Status, but="diagnostics")
class StatusOut(BaseModel):
    """The status of a test.

    With the `goal` "decrease" the arm with the lowest mean is best. Means of `binary` outcomes, 0
    or 1, are shares. `cost` is counted in `cost_unit`. `even_cost` is what an even split of as many
    units would have cost; it is not a forecast of a whole test with an even split, which may end
    sooner.
    """

    headline: str
    arms: list[ArmOut]
    effects: list[EffectOut]
    contrasts: list[ContrastOut] = []
    metrics: list[MetricOut] = []
    decision: VerdictOut | None


class Statuses(BaseModel):
    """Statuses of tests, the oldest first, as they are stored.

    `total` is the number of tests on all pages; if more pages follow, `next` is the number of the
    next one.

    `settling` names the tests with units that have matured and are not counted in the status yet:
    they will be counted within seconds. `unreadable` names the tests with damaged data.
    """

    experiments: list[StatusOut]
    total: int
    next: int | None = None
    settling: list[str] | None = None
    unreadable: list[str] | None = None


class ExperimentOut(BaseModel):
    """A test: its design with the present setting of the knob, and its status."""

    name: str
    created: str
    design: dict[str, Any]
    status: StatusOut
    description: str
    audience: dict[str, Any] | None = None
    values: dict[str, Any] | None = None


@fields_of(HistoryPoint)
class PointOut(BaseModel):
    """The status of a test after a number of mature units."""

    effects: list[EffectOut]


class History(BaseModel):
    """The history of a test, the oldest point first."""

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


@fields_of(Diagnostic)
class DiagnosticOut(BaseModel):
    """A diagnostic; `flagged` is an alarm."""

    statistic: float | None
    p_value: float | None
    flagged: bool


class Diagnostics(BaseModel):
    """The diagnostics of a test, which do not affect its decision."""

    diagnostics: list[DiagnosticOut]


class ExcludedOutcome(BaseModel):
    """An excluded or changed outcome, with the reason."""

    unit: str
    value: str
    at: str | None
    received: str
    event: str | None
    reason: str
    detail: str
    metric: str | None


class Excluded(BaseModel):
    """Excluded or changed outcomes, in the order in which they came."""

    excluded: list[ExcludedOutcome]
    unlisted: int
    """Outcomes that were excluded after the list was full."""


class UnitInExperiment(BaseModel):
    """The stored data of a unit in one experiment; `assignment` is None if it was never assigned.

    The assignment has the unit's covariates, if the design has any, and `linked` has the other
    names of the same person.
    """

    experiment: str
    assignment: dict[str, Any] | None
    outcomes: list[dict[str, Any]]
    excluded: list[dict[str, Any]]
    linked: list[str] = []


class UnitData(BaseModel):
    """All stored data of a unit."""

    unit: str
    experiments: list[UnitInExperiment]


class Erased(BaseModel):
    """The experiments in which a unit was erased; `note` says what stays."""

    erased: list[str]
    note: str


class Health(BaseModel):
    """The state of the service: `status` is "ok"."""

    status: str


# OFREP


class FlagEvaluation(BaseModel):
    """A flag's value for a unit: the value of its arm, or the arm's name if arms have no values."""

    key: str
    value: bool | float | str | dict[str, Any] | list[Any]
    reason: Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
    variant: str
    metadata: dict[str, str | bool | float]


class Evaluations(BaseModel):
    """The flags of all tests that a unit is in."""

    flags: list[FlagEvaluation]
    metadata: dict[str, str | bool | float]


class EvaluationFailure(BaseModel):
    """Why a flag was not evaluated, with the error code of OFREP."""

    key: str | None = None
    errorCode: Literal[  # noqa: N815
        "PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"
    ]
    errorDetails: str  # noqa: N815


class ServerFailure(BaseModel):
    """An error of the service."""

    errorDetails: str  # noqa: N815
