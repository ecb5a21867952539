"""Schemas of request bodies, which validate requests and describe them in OpenAPI."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)

from bascule.core.design import Design
from bascule.core.design_parts import Reports
from bascule.core.enrolment.audience import Audience
from bascule.core.errors import InputError
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.options import NUMBERS, Option, Options
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule
from bascule.live.api import (
    EARLIEST,
    LATEST,
    LONGEST_DESCRIPTION,
    check_name,
    checked_text,
    checked_unit,
)
from bascule.planning.request.options import PLAN, Number

NAME_PATTERN = r"^(?:\.{0,2}[A-Za-z0-9_-]|\.{3})[A-Za-z0-9._-]*$"
"""Letters, digits, dots, dashes and underscores, but neither `.` nor `..`."""

NAME_SCHEMA = {"type": "string", "pattern": NAME_PATTERN, "minLength": 1, "maxLength": 100}

LARGEST_WHOLE = 2.0**53


class MalformedError(InputError):
    """Error for a field of the wrong type: the whole body is then refused with status 400."""


def whole(data: Any) -> Any:
    """Replace floats without a fraction by integers, such as 3.0 by 3: they are equal in JSON.

    >>> whole({"seed": 988.0, "error": 0.05})
    {'seed': 988, 'error': 0.05}
    """
    if isinstance(data, dict):
        return {key: whole(part) for key, part in data.items()}
    if isinstance(data, list):
        return [whole(part) for part in data]
    is_whole = isinstance(data, float) and data.is_integer() and abs(data) < LARGEST_WHOLE
    return int(data) if is_whole else data


def _by(check: Callable[[object, str], str]) -> Callable[[object, ValidationInfo], str]:
    """Return a validator of a text by a function that takes the text and the field's name."""

    def checked(text: object, about: ValidationInfo) -> str:
        try:
            return check(whole(text) if isinstance(text, float) else text, str(about.field_name))
        except InputError as problem:
            raise MalformedError(problem.field, str(problem)) from None

    return checked


def _moment(at: object) -> float:
    try:
        moment = datetime.fromisoformat(at)  # type: ignore[arg-type]
        seconds = moment.timestamp()
    except (TypeError, ValueError, OverflowError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise MalformedError(
            "at", f"at must be a time with its zone, as 2026-01-31T12:00:00+00:00 (got {at!r:.60})"
        )
    if not EARLIEST <= seconds <= LATEST:
        raise MalformedError("at", f"at must lie in the years 1900 to 9998 (got {at!r:.60})")
    return seconds


def _test_name(name: object, _field: str) -> str:
    check_name(name)
    return str(name)


TestName = Annotated[str, BeforeValidator(_by(_test_name)), WithJsonSchema(NAME_SCHEMA)]
"""The name of an experiment."""

TEXT_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[^\u0000]*$"}

NAME_OR_NUMBER = WithJsonSchema({"anyOf": [TEXT_SCHEMA, {"type": "integer"}]})

UnitName = Annotated[str, BeforeValidator(_by(checked_unit)), NAME_OR_NUMBER]
"""The name of a unit: text, or a whole number."""

EventId = Annotated[str, BeforeValidator(_by(checked_text)), NAME_OR_NUMBER]
"""The id of an outcome: text, or a whole number."""

Moment = Annotated[
    float, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A time with its zone, as seconds since 1970."""


MOST_SAMPLED = 100_000
MOST_RULES = 20
"""Maximum numbers of outcomes of a sample, and of rules, in a request for a plan."""


class Model(BaseModel):
    """Base class of request bodies: unknown fields are refused."""

    long_lists: ClassVar[tuple[str, ...]] = ()
    """Names of fields whose lists may be longer than the usual limit on entries."""

    model_config = ConfigDict(extra="forbid")


class PlainModel(Model):
    """Base class of bodies of frequent calls: strict, since JSON has the types of their fields."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


# What is sent


Text = Annotated[str, Field(max_length=LONGEST_DESCRIPTION, examples=["Green sells more. Ann, q3"])]


class Description(Model):
    """What a test is about: who runs it, what is expected, where to read more."""

    description: Text


class NewExperiment(Model):
    """A test to create: its name, its design, what it is about, and whether it starts at once.

    `audience` says which units get in, and `values` has the value of each arm for programs.
    """

    name: Annotated[TestName, Field(examples=["checkout-button"])]
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
    description: Text = ""
    audience: Audience | None = Field(None, examples=[{"share": 0.1}])
    values: dict[str, Any] | None = Field(None, examples=[{"control": False, "green": True}])


class KnobChange(Model):
    """A new setting of the knob, by its name: `tilt` for tilted blocks, `alpha` for UCB."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"tilt": 5.0}]})
    __pydantic_extra__: dict[str, float]


class DroppedArm(Model):
    """An arm to drop, and the arm `to` that its users get; the control if `to` is omitted."""

    arm: str = Field(examples=["green"])
    to: str | None = None


class OneUnit(PlainModel):
    """A unit, by its name."""

    unit: UnitName = Field(examples=["user-42"])


class Unit(OneUnit):
    """A unit to assign; with `strict`, the answer is 409 if the unit does not get in.

    `covariates` has the design's covariates that are known when the unit is assigned.
    `context` has attributes of the unit, for the targeting rule of the test.
    """

    strict: bool = False
    covariates: dict[str, float | None] | None = None
    context: dict[str, Any] | None = None


class Link(PlainModel):
    """Two names of one person."""

    unit: UnitName = Field(examples=["visitor-7"])
    other: UnitName = Field(examples=["user-42"])


class Share(Model):
    """The share of the traffic that gets in from now on."""

    share: float = Field(ge=0, le=1, examples=[0.5])


class Stop(Model):
    """The end of a test; with `to`, everyone is served this arm from now on."""

    to: str | None = None


class UnitToErase(OneUnit):
    """A unit to erase, in all experiments or in some."""

    experiments: list[str] | None = None


class NewOutcome(PlainModel):
    """An outcome of a unit; `id` makes a retry harmless, and `at` is when it happened.

    Outcomes of different metrics may share an id, for example the cost, the latency and the quality
    of one request. If an earlier outcome with the id has named the unit, later ones need not name
    it.

    `exposed` is false if the unit did not see its arm, as after a timeout. The outcome counts
    nevertheless, for the arm that the unit was given, and is listed with the excluded outcomes.
    `metric` names the metric of the outcome; without it, the outcome is one of the primary metric.
    """

    unit: UnitName | None = Field(None, examples=["user-42"])
    value: float | bool | Annotated[list[float | bool], Field(min_length=2, max_length=2)] = Field(
        examples=[1.0],
        description="A number, true or false, or [numerator, denominator] of a ratio.",
    )
    at: Moment | None = Field(None, examples=["2026-01-31T12:00:00+00:00"])
    id: EventId | None = Field(None, examples=["order-1001"])
    exposed: bool = True
    metric: Annotated[str, AfterValidator(_by(checked_text))] | None = Field(
        None, examples=["latency"]
    )


class NewOutcomes(PlainModel):
    """Outcomes, each of which gets a receipt."""

    long_lists = ("outcomes",)

    outcomes: list[Any] = Field(
        json_schema_extra={"items": {"anyOf": [{"$ref": "#/components/schemas/NewOutcome"}, {}]}}
    )


def declared_fields(options: Options) -> dict[str, Any]:
    """Return the definitions of a model's fields, by name, for some options."""
    return {name: (_type(option), _field(option)) for name, option in options.items()}


def _type(option: Option) -> Any:
    """Return the type of a field: numbers may be given as text, and optional values as null."""
    accepted = option.type | str if option.kind in NUMBERS else option.type
    return accepted | None if option.unset else accepted


def _field(option: Option) -> Any:
    """Return an option as a Pydantic field; options that may be unset default to None."""
    default: Any = False if option.kind == "switch" else None
    if option.default and not option.unset:
        default = option.read(option.default)
    # Limits of other numbers are checked by the option, since these may be given as text.
    lowest, highest = (option.kind == "whole" and option.limits) or (None, None)
    examples = [option.default] if option.default and option.kind != "whole" else None
    return Field(default, description=option.help, examples=examples, ge=lowest, le=highest)


_Plan = create_model("_Plan", __base__=Model, **declared_fields(PLAN))


class NewPlan(_Plan):  # type: ignore[misc, valid-type]
    """A request for a plan, in the terms of `bascule.plan`.

    `sample` has outcomes from before the test, one for each unit, and `cap` an amount up to which
    outcomes count, or a quantile of the sample. `rules` are considered beside the usual ones.
    """

    long_lists = ("sample",)

    rules: list[Rule] = Field([], max_length=MOST_RULES)
    outcome: Outcome | None = Field(None, discriminator="kind")
    metrics: list[Metric] = Field([], max_length=50)
    sample: list[float] | None = Field(None, max_length=MOST_SAMPLED, fail_fast=True)
    seed: int = Field(0, ge=0, lt=2**63)


class RolloutRequest(Model):
    """A request for the plan of a guarded rollout, in the terms of `bascule.plan_rollout`.

    `ramp` has pairs of a time since the start and the share of the traffic that gets a new version
    from then on (all new versions together). `arms` has the names of all versions, the present one
    first, or their number (2 by default). The answer has the `design` and the `audience` to create
    the test with.
    """

    metrics: list[Metric] = Field(
        min_length=1,
        max_length=50,
        examples=[
            [
                {
                    "name": "latency",
                    "outcome": {"kind": "gaussian", "sigma": 30},
                    "goal": "decrease",
                    "margin": 3,
                }
            ]
        ],
    )
    ramp: list[tuple[float | str, float]] = Field(
        min_length=1, max_length=50, examples=[[["0d", 0.01], ["1d", 0.1], ["3d", 0.5]]]
    )
    units_per_day: Number = _field(PLAN["units_per_day"])
    deadline_days: Number = _field(PLAN["deadline_days"])
    harm_error: Number = _field(PLAN["harm_error"])
    arms: int | list[str] | None = None
    outcome: Outcome | None = Field(None, discriminator="kind")
    goal: Goal | None = None
    measure: Measure | None = None
    reports: Reports | None = None
    seed: int = Field(0, ge=0, lt=2**63)


# OFREP


def _targeting_key(key: object) -> str:
    if not isinstance(key, str):
        raise MalformedError("targetingKey", f"targetingKey must be text (got {key!r:.60})")
    return checked_unit(key, "targetingKey")


class EvaluationContext(BaseModel):
    """The context of an evaluation: `targetingKey` is the unit, and other fields its attributes."""

    model_config = ConfigDict(extra="allow")
    targetingKey: Annotated[  # noqa: N815
        str, BeforeValidator(_targeting_key), WithJsonSchema(TEXT_SCHEMA)
    ] = Field(examples=["user-42"])


class EvaluationRequest(Model):
    """A request for one flag, or for all."""

    model_config = ConfigDict(extra="allow", strict=True)
    context: EvaluationContext
