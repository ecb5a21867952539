"""The declaration of a design: its fields, each with what it means and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from bascule.core.calendar import MIN_DAYS, WHOLE_WEEKS
from bascule.core.covariates.model import Covariate
from bascule.core.enrolment.segments import Segments
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Decides, Goal, Metric
from bascule.core.options import Declared, Option
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule

DEFAULT_ERROR = DEFAULT_HARM_ERROR = 0.05

INCREASE: Goal = "increase"

Overflow = Literal["control", "leader"]
"""What units are served that arrive while enough others have not counted yet."""

Reports = Literal["always"]
"""That every unit of a live test reports an outcome, also one to whom nothing happened."""


@dataclass(frozen=True, repr=False)
class DesignFields(Declared):
    """The fields of a `Design`, which says what they do together."""

    arms: Sequence[str]
    outcome: Outcome
    rule: Rule
    error: Annotated[
        float | None,
        Option(
            "Probability, at most, that either of two equal arms wins, however often you look.",
            kind="probability",
            group="basics",
            default="5%",
            excludes=("delta",),
        ),
    ] = None
    delta: Annotated[
        float | None,
        Option("The paper's nominal parameter, instead of an error.", kind="probability"),
    ] = None
    max_units: Annotated[int | None, Option("End a test here, undecided.", kind="whole")] = None
    min_effect: Annotated[
        float | None,
        Option("The smallest difference that matters; a test also ends if all are smaller."),
    ] = None
    deadline: datetime | None = None
    measure: Measure | None = None
    max_pending: Annotated[
        int | None,
        Option("Enrol nobody while this many units have not counted yet.", kind="whole"),
    ] = None
    overflow: Annotated[
        Overflow,
        Option("What a unit is served that arrives while nobody is enrolled."),
    ] = "control"
    min_days: Annotated[float | None, MIN_DAYS] = None
    whole_weeks: Annotated[bool, WHOLE_WEEKS] = False
    measure_on: Annotated[
        bool,
        Option(
            "After the decision, measure the enrolled units until their windows close, and report "
            "both figures.",
            label="Measure on",
            kind="switch",
            needs=("measure",),
        ),
    ] = False
    goal: Annotated[
        Goal, Option("Whether the highest mean is the best or the lowest.", group="outcome")
    ] = INCREASE
    control: Annotated[
        str | None, Option("The arm that others are compared with.", unset="the first")
    ] = None
    sides: Annotated[
        int | None,
        Option(
            "2: the error bounds that either of two equal arms wins, a two-sided error, and 5% "
            "gives 95 % intervals. 1: that a worse arm wins.",
            kind="whole",
            limits=(1, 2),
            default="2",
            excludes=("delta",),
        ),
    ] = None
    reports: Annotated[
        Reports | None,
        Option("Every unit reports an outcome, also 0; no window.", excludes=("measure",)),
    ] = None
    metrics: Sequence[Metric] = ()
    harm_error: Annotated[
        float,
        Option("Probability that an arm without harm is removed as harmful.", kind="probability"),
    ] = DEFAULT_HARM_ERROR
    decides: Decides = "primary"
    covariates: Sequence[Covariate] | None = None
    segments: Segments | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
