"""Guardrails and secondary metrics, and how they are written in a line of text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.checks import amount
from bascule.core.metrics.measure import Aggregate, Measure, missing_of
from bascule.core.options import Declared, Option, Options, options_of
from bascule.core.outcomes import OUTCOMES, Outcome

Goal = Literal["increase", "decrease"]
"""Whether the arm with the highest mean is the best, or the arm with the lowest mean."""

DIRECTION: dict[Goal, float] = {"increase": 1.0, "decrease": -1.0}
"""Factor on outcomes that makes higher values better, for each goal."""

Role = Literal["guardrail", "secondary"]
"""Role of a metric: a guardrail affects what is shipped, a secondary metric is only shown."""

Harm = Literal["margin", "any", "never"]
"""Which arms a guardrail removes: those proven worse than its margin, worse at all, or none."""

Decides = Literal["primary", "guardrails"]
"""What ends a test with a winner: the primary metric, or in a guarded rollout the guardrails."""

PRIMARY = "primary"
"""Name of the primary metric when outcomes are recorded."""

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

METRIC_ERROR = 0.05

MOST_METRICS = 100
"""Maximum number of metrics of a design; each unit counts in all, and each status shows all."""


@dataclass(frozen=True, slots=True)
class Metric(Declared):
    """A guardrail or a secondary metric, measured on the same units as the primary one.

    - `name`: the name under which outcomes are recorded.
    - `outcome`: the outcome model.
    - `goal`: with "decrease" lower values are better.
    - `role`: "guardrail", or "secondary", which is shown only.
    - `margin`: how much worse than the control an arm may be, in outcome units and above 0; a
      guardrail needs it, and a secondary metric has none.
    - `error`: for a guardrail: bound on the probability that an arm is shipped that is worse by the
      margin or more. For a secondary metric 0.05 gives 95 % intervals.
    - `measure`: how a unit's events become its outcome; needed if the design has a measure.
    - `harm`: when an arm is removed: once it is proven worse by more than the margin ("margin"), or
      worse at all ("any"), or "never".
    - `baseline`: the mean of the control, for plans and simulations.

    >>> import bascule as bs
    >>> Metric("latency", bs.Gaussian(30), goal="decrease", margin=5).role
    'guardrail'
    """

    name: str
    outcome: Outcome
    goal: Goal = "increase"
    role: Role = "guardrail"
    margin: float | None = None
    error: Annotated[float, Option("Error of the metric.", kind="probability")] = METRIC_ERROR
    measure: Measure | None = None
    harm: Harm = "margin"
    baseline: float | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name) or self.name == PRIMARY:
            raise invalid(
                "name of a metric must be 1 to 100 letters, digits, dots, dashes or underscores, "
                f'and not "{PRIMARY}" (got {self.name!r:.60})'
            )
        if not isinstance(self.outcome, Outcome) or not self.outcome.supports("metric"):
            models = ", ".join(model.example for model in OUTCOMES if model.supports("metric"))
            raise invalid(
                f"outcome of metric {self.name} must be one of {models} (got {self.outcome!r})"
            )
        Declared.__post_init__(self)
        self._check_margin()
        if self.measure is not None:
            if not isinstance(self.measure, Measure):
                raise invalid(f"measure must be Measure(window, aggregate) (got {self.measure!r})")
            self.measure.check_outcome(self.outcome)
        if self.baseline is not None:
            self.outcome.check_mean(self.baseline)

    def _check_margin(self) -> None:
        if self.role == "secondary":
            if self.margin is not None:
                raise invalid(
                    f"margin belongs to guardrails, and {self.name} is secondary: leave it out"
                )
            return
        if self.margin is None:
            raise invalid(
                f"margin of guardrail {self.name} is missing: say by how much an arm may be worse "
                'than the control, in the units of this metric; or give role="secondary"'
            )
        checks.accept(self, "margin", checks.positive, "it is how much worse an arm may be")
        is_share = self.outcome.binary or bool(self.outcome.is_share)
        width = 1.0 if is_share else self.outcome.high - self.outcome.low
        if self.margin >= width:
            raise invalid(
                f"margin of guardrail {self.name} must be below {width:g}, the largest difference "
                f"there can be (got {self.margin:g})"
                f"{'; write 5 percentage points as 0.05 (5% on the command line)' * is_share}"
            )

    @property
    def is_guardrail(self) -> bool:
        """Whether the metric affects what is shipped."""
        return self.role == "guardrail"

    @property
    def harm_line(self) -> float | None:
        """Minimum proven loss against the control at which an arm is removed; None for never."""
        if not self.is_guardrail or self.harm == "never":
            return None
        assert self.margin is not None
        return self.margin if self.harm == "margin" else 0.0


def check_metrics(metrics: object, measure: Measure | None) -> tuple[Metric, ...]:
    """Return the metrics; raise `InputError` unless names differ and all or none have a measure."""
    if isinstance(metrics, Metric) or not isinstance(metrics, list | tuple):
        raise invalid(f"metrics must be a list of Metric(...) (got {metrics!r:.60})")
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise invalid(f"metrics must be Metric(...) values (got {metric!r:.60})")
        if (metric.measure is None) != (measure is None):
            owner, other_owner = ("the design", f"metric {metric.name}")
            owner_with, lacks = (
                (owner, other_owner) if metric.measure is None else (other_owner, owner)
            )
            raise InputError(
                "measure",
                f"{owner_with} has a measure and {lacks} has none: give each one, as in "
                'Measure("7d", "mean"), or none',
            )
    twice = sorted(name for name, n in Counter(metric.name for metric in metrics).items() if n > 1)
    if twice:
        raise invalid(f"metrics must have different names ({twice[0]} occurs twice)")
    if len(metrics) > MOST_METRICS:
        raise invalid(
            f"metrics must be {MOST_METRICS} at most (got {len(metrics):,}): every unit counts "
            "in each of them; analyse the others from a log"
        )
    return tuple(metrics)


EXAMPLE = "latency; gaussian 30; decrease; margin 5"

WORDS = ("goal", "aggregate")
"""Options of a metric that are written as a value without a name."""

PARTS: Options = {
    **{name: options_of(Metric)[name] for name in ("goal", "harm")},
    "window": Option("How long events count.", name="window"),
    "grace": Option("How much later events may come.", name="grace", needs=("window",)),
    "aggregate": Option("How events are combined.", name="aggregate", choices=get_args(Aggregate)),
    "missing": Option("The outcome of a unit without events.", name="missing"),
    **{name: options_of(Metric)[name] for name in ("margin", "error", "baseline")},
}
"""Options of a metric in addition to its name and its outcome model."""


def metric_of(line: str) -> Metric:
    """Return the metric that a line of text describes: its name, outcome model, goal, and more.

    The outcome model is followed by its numbers: "bernoulli", "gaussian 30", "bounded 0 100",
    "numeric", "ratio 0.1 4". A metric with a margin is a guardrail, one without is secondary.
    "window 1d" is how long events count, and "grace 6h" how much later they may arrive. How events
    are combined is a word: "any", the default for 0/1 outcomes, "sum", the default for others,
    "mean" or "last". "missing exclude", "missing zero" or "missing 5" says how a unit without
    events counts.

    >>> metric_of("latency; gaussian 30; margin 5; window 1h; mean; missing exclude").measure
    Measure(window=3600.0, aggregate='mean', missing='exclude', ...)
    >>> metric_of("latency; gaussian 30; decrease; margin 5; baseline 120").margin
    5.0
    >>> metric_of("spend; bounded 0 100").role
    'secondary'
    """
    name, parts = line_parts(line, PARTS, "metrics")
    if "outcome" not in parts:
        raise InputError(
            "metrics", f"metric {name:.60} has no outcome model: write it as in {EXAMPLE!r}"
        )
    for part in ("grace", "aggregate", "missing"):
        if part in parts and "window" not in parts:
            problem = f"metric {name:.60} has {part} without a window: give both"
            raise InputError("metrics", problem)
    parts.setdefault("role", "guardrail" if "margin" in parts else "secondary")
    try:
        if "window" in parts:
            usual = "any" if parts["outcome"].binary else "sum"
            parts["measure"] = Measure(
                parts.pop("window"),
                parts.pop("aggregate", usual),
                missing_of(parts.pop("missing", None)),
                grace=parts.pop("grace", 0.0),
            )
        return Metric(name, **parts)
    except InputError as error:
        raise InputError("metrics", f"metric {name:.60}: {error}") from None


def line_parts(line: str, options: Options, field: str) -> tuple[str, dict[str, Any]]:
    """Return the name at the start of a line, and the values of the options after it.

    A part is an outcome model with its numbers, a word, or the name of an option and its value.
    Errors are about `field`.

    >>> line_parts("clicks per views; decrease; margin 2%", PARTS, "metric")
    ('clicks per views', {'goal': 'decrease', 'margin': 0.02})
    """
    name, *parts = (part.strip() for part in line.split(";"))
    given: dict[str, Any] = {}
    for part in parts:
        try:
            option, value = _read_part(part, options)
        except InputError as error:
            raise InputError(field, f"metric {name:.60}: {error}") from None
        if option in given:
            raise InputError(field, f"metric {name:.60} has two parts for its {option}")
        given[option] = value
    return name, given


def _read_part(part: str, options: Options) -> tuple[str, Any]:
    word, *values = part.lower().split() or [""]
    if word in OUTCOMES.kinds and OUTCOMES.get(word).supports("metric"):
        return "outcome", _outcome(word, values)
    chosen = [
        word_option
        for word_option in WORDS
        if word_option in options and word in options[word_option].choices
    ]
    if chosen and not values:
        return chosen[0], word
    if word in options and len(values) == 1:
        return word, options[word].read(part.split()[1])
    named = ", ".join(option for option in options if option not in WORDS)
    raise InputError(
        "part",
        f"unknown part {part!r:.60}: write a metric as in {EXAMPLE!r}; parts that take a value: "
        f"{named}",
    )


def _outcome(kind: str, numbers: list[str]) -> Outcome:
    model = OUTCOMES.get(kind)
    try:
        sizes = [amount("outcome", text, "it is a number of the outcome model") for text in numbers]
        made: Outcome = model(*sizes)
        if sizes or made.binary or made.estimated:
            return made
        raise InputError("outcome", "its numbers are missing")
    except (InputError, TypeError) as error:
        raise InputError(
            "outcome",
            f"write {kind} with the numbers of {model.example}, as in {EXAMPLE!r} ({error})",
        ) from None
