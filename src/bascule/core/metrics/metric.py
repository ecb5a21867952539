"""Metrics beside the primary one: guardrails, which must not get worse, and secondary metrics."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.metrics.measure import Measure
from bascule.core.options import Declared, Option
from bascule.core.outcomes import OUTCOMES, Outcome

Goal = Literal["increase", "decrease"]
"""Whether the arm with the highest mean is the best, or the one with the lowest."""

Role = Literal["guardrail", "secondary"]
"""A guardrail has a say in what is shipped; a secondary metric is shown and has none."""

Harm = Literal["margin", "any", "never"]
"""Which arms a guardrail removes: those proven worse than its margin, worse at all, or none."""

Decides = Literal["primary", "guardrails"]
"""What ends a test with a winner: the primary metric, or in a guarded rollout the guardrails."""

PRIMARY = "primary"
"""How outcomes may name the primary metric."""

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

METRIC_ERROR = 0.05

MOST_METRICS = 100
"""Metrics of a design: every unit is folded into each, and every status shows all."""


@dataclass(frozen=True, slots=True)
class Metric(Declared):
    """A guardrail or a secondary metric, measured on the same units as the primary one.

    - `name`: the name under which outcomes are recorded.
    - `outcome`: the outcome model.
    - `goal`: with "decrease" lower values are better.
    - `role`: "guardrail", or "secondary", which is shown only.
    - `margin`: for a guardrail: how much worse than the control an arm may be, in outcome units.
    - `error`: for a guardrail: bound on the probability that an arm is shipped that is worse by the
      margin or more. For a secondary metric 0.05 gives 95 % intervals.
    - `measure`: what a unit's outcome is, if the design has a measure.
    - `harm`: when an arm is removed: if it is proven worse than the "margin", by "any" amount, or
      "never".
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
            raise InputError(
                "name",
                "name of a metric must be 1 to 100 letters, digits, dots, dashes or underscores, "
                f'and not "{PRIMARY}" (got {self.name!r:.60})',
            )
        if not isinstance(self.outcome, Outcome) or self.outcome.recurring:
            models = ", ".join(model.example for model in OUTCOMES if not model.recurring)
            raise InputError(
                "outcome",
                f"outcome of metric {self.name} must be one of {models} (got {self.outcome!r})",
            )
        Declared.__post_init__(self)
        self._check_margin()
        if self.measure is not None:
            if not isinstance(self.measure, Measure):
                raise InputError(
                    "measure", f"measure must be Measure(window, aggregate) (got {self.measure!r})"
                )
            self.measure.check_outcome(self.outcome)
        if self.baseline is not None:
            self.outcome.check_mean(self.baseline)

    def _check_margin(self) -> None:
        if self.role == "secondary":
            if self.margin is not None:
                raise InputError(
                    "margin",
                    f"margin belongs to guardrails, and {self.name} is secondary: leave it out",
                )
            return
        if self.margin is None:
            raise InputError(
                "margin",
                f"margin of guardrail {self.name} is missing: say how much worse than the control "
                'an arm may be, in its own units; or give role="secondary"',
            )
        checks.accept(self, "margin", checks.positive, "it is how much worse an arm may be")
        is_share = self.outcome.binary or bool(self.outcome.is_share)
        width = 1.0 if is_share else self.outcome.high - self.outcome.low
        if self.margin >= width:
            raise InputError(
                "margin",
                f"margin of guardrail {self.name} must be below {width:g}, the largest difference "
                f"there can be (got {self.margin:g})"
                f"{'; write 5 percentage points as 0.05 (5% on the command line)' * is_share}",
            )

    @property
    def is_guardrail(self) -> bool:
        """Whether the metric has a say in what is shipped."""
        return self.role == "guardrail"

    @property
    def harm_line(self) -> float | None:
        """How much worse than the control an arm must be proven to be removed; None for never."""
        if not self.is_guardrail or self.harm == "never":
            return None
        assert self.margin is not None
        return self.margin if self.harm == "margin" else 0.0


def check_metrics(metrics: object, measure: Measure | None) -> tuple[Metric, ...]:
    """Accept metrics with different names that are measured as the primary one is."""
    if isinstance(metrics, Metric) or not isinstance(metrics, list | tuple):
        raise InputError("metrics", f"metrics must be a list of Metric(...) (got {metrics!r:.60})")
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise InputError("metrics", f"metrics must be Metric(...) values (got {metric!r:.60})")
        if (metric.measure is None) != (measure is None):
            who, other = ("the design", f"metric {metric.name}")
            has, lacks = (who, other) if metric.measure is None else (other, who)
            raise InputError(
                "measure",
                f"{has} has a measure and {lacks} has none: give each one, as in "
                'Measure("7d", "mean"), or none',
            )
    twice = sorted(name for name, n in Counter(one.name for one in metrics).items() if n > 1)
    if twice:
        raise InputError("metrics", f"metrics must have different names ({twice[0]} occurs twice)")
    if len(metrics) > MOST_METRICS:
        raise InputError(
            "metrics",
            f"metrics must be {MOST_METRICS} at most (got {len(metrics):,}): every unit is folded "
            "into each of them; analyse the others from a log",
        )
    return tuple(metrics)
