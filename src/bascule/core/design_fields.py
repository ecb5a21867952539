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

ERROR = Option(
    "Largest probability that either of two equal arms wins, however often you look.",
    kind="probability",
    group="basics",
    default="5%",
    excludes=("delta",),
)
GOAL = Option(
    "Whether the highest mean is the best or the lowest.", group="outcome", default=INCREASE
)
CONTROL = Option("The arm that others are compared with.", unset="the first", metavar="ARM")
SIDES = Option(
    "2: the error bounds the probability that either of two equal arms wins; 5% gives 95 % "
    "intervals. 1: it bounds the probability that a worse arm wins.",
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
"""Fields of a design that the request of a plan has, too."""


@dataclass(frozen=True, repr=False)
class DesignFields(Declared):
    """The fields of a `Design`."""

    arms: Sequence[str]
    """Names of the arms."""
    outcome: Outcome
    """The outcome model, such as `Bernoulli()`."""
    rule: Rule
    """The rule, such as `Tilt(3)`."""
    error: Annotated[float | None, ERROR] = None
    """Bound on the probability that either of two equal arms is declared the winner; half of it for
    a worse arm, and 95 % intervals at 0.05, the default. See `sides`."""
    delta: Annotated[
        float | None,
        Option("The paper's nominal parameter, instead of an error.", kind="probability"),
    ] = None
    """The paper's nominal parameter, instead of `error`; `calibration` has the error that it
    proves."""
    max_units: Annotated[int | None, Option("End a test here, undecided.", kind="whole")] = None
    """Cap on the units, at which a test ends undecided."""
    min_effect: Annotated[
        float | None,
        Option("The smallest difference that matters; a test also ends if all are smaller."),
    ] = None
    """The smallest difference that matters: a test also ends when all differences are proven
    smaller."""
    deadline: datetime | None = None
    """When a live test ends undecided."""
    measure: Measure | None = None
    """What a unit's outcome is in a live test: how the events of its conversion window are
    combined."""
    max_pending: Annotated[
        int | None,
        Option("Enrol no unit while this many have not counted yet.", kind="whole"),
    ] = None
    """No unit is enrolled while this many have not counted yet. A test with a horizon also enrols
    none while its pending units suffice."""
    overflow: Annotated[
        Overflow,
        Option("The arm for units that arrive while none is enrolled."),
    ] = "control"
    """What units are served that arrive while none is enrolled: the control, or the leader."""
    min_days: Annotated[float | None, MIN_DAYS] = None
    """A decision is withheld until the test has lasted this many days since its first unit."""
    whole_weeks: Annotated[bool, WHOLE_WEEKS] = False
    """A decision is withheld until the test has lasted a whole number of weeks."""
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
    """After the decision, enrolled units are measured until their windows close."""
    goal: Annotated[Goal, GOAL] = INCREASE
    """With "decrease" the arm with the lowest mean is the best, as for latency or churn."""
    control: Annotated[str | None, CONTROL] = None
    """The arm that others are compared with; the first one if not given."""
    sides: Annotated[int | None, SIDES] = None
    """2 for a two-sided error, the default. With 1, `error` bounds the probability that a worse arm
    is declared the winner, and 0.05 gives 90 % intervals."""
    reports: Annotated[
        Reports | None,
        Option("Every unit reports an outcome, including 0; no window.", excludes=("measure",)),
    ] = None
    """With "always" a live test needs no window: the outcome of a unit is the first number
    recorded, and all later units wait for a unit that never reports."""
    metrics: Sequence[Metric] = ()
    """Guardrails and secondary metrics of the same units."""
    harm_error: Annotated[float, HARM_ERROR] = DEFAULT_HARM_ERROR
    """Bound on the probability that an arm is removed that is not harmful on any guardrail."""
    decides: Decides = "primary"
    """With "guardrails" the first new arm that every guardrail has shown to be within its margin is
    shipped, whatever the primary metric says."""
    covariates: Sequence[Covariate] | None = None
    """Numbers known of a unit before its assignment, by which outcomes are adjusted."""
    segments: Segments | None = None
    """Parts of the units that have a test and a winner each (`by_segment`). `error` bounds a wrong
    decision in any of them; `max_units` and `deadline` apply to each."""
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
