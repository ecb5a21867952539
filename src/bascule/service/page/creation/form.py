"""The form for a new test: what was typed, the question it puts to the planner, and the design."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.enrolment.segments import Segments
from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import amount
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Metric
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Numeric, Outcome, Ratio
from bascule.core.rules import Tilt
from bascule.planning.ramp import ramp_of
from bascule.planning.request.metric_lines import metric_of
from bascule.planning.request.options import PLAN
from bascule.planning.request.read import plan_request
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.sample import Sample
from bascule.planning.result import Plan
from bascule.planning.search.choose import Point
from bascule.planning.segments import of_all, of_smallest
from bascule.service.api.schemas.requests import RolloutRequest

LABELS = {
    "name": "Name",
    "sigma": "Standard deviation",
    "low": "Lower limit",
    "high": "Upper limit",
    "at": "Expected ratio",
    "per": "Mean denominator",
    "ramp": "Rollout schedule",
    "segments": "Segments",
    "window": "Conversion window",
    "share": "Share of traffic",
    "aggregate": "Combine the events of a unit",
    "owner": "Owner",
    "hypothesis": "Hypothesis",
    "description": "Description",
    "links": "Links",
    "tags": "Tags",
    **{name: field.title for name, field in PLAN.items()},
}
"""What the form calls its fields."""

USUAL = {name: field.default for name, field in PLAN.items()}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields as they were typed; the defaults are the question that is shown first.

    >>> Form().request().means
    (0.05, 0.06)
    """

    name: str = ""
    arms: str = "control\nvariant"
    outcome: str = "bernoulli"
    goal: str = USUAL["goal"]
    sigma: str = "1"
    low: str = "0"
    high: str = "100"
    sample: str = ""
    cap: str = "99%"
    at: str = ""
    per: str = "1"
    control: str = USUAL["control"]
    metrics: str = USUAL["metrics"]
    harm_error: str = USUAL["harm_error"]
    ramp: str = ""
    segments: str = ""
    covariate: str = USUAL["covariate"]
    correlation: str = USUAL["correlation"]
    baseline: str = USUAL["baseline"]
    lift: str = USUAL["lift"]
    error: str = USUAL["error"]
    sides: str = USUAL["sides"]
    power: str = USUAL["power"]
    futility: str = USUAL["futility"]
    guarantee: str = USUAL["guarantee"]
    population: str = USUAL["population"]
    switch_cost: str = USUAL["switch_cost"]
    units_per_day: str = USUAL["units_per_day"]
    deadline_days: str = USUAL["deadline_days"]
    counts: str = "window"
    window: str = "7d"
    aggregate: str = "sum"
    share: str = "100%"
    rule: str = ""
    owner: str = ""
    hypothesis: str = ""
    description: str = ""
    links: str = ""
    tags: str = ""
    start: str = "yes"

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Form:
        """The fields that are there; a box that is not ticked is not sent."""
        known = {field.name for field in fields(cls)}
        typed = {
            name: value.replace("\r\n", "\n")
            for name, value in given.items()
            if name in known and isinstance(value, str)
        }
        return cls(**{"start": "", **typed})

    @property
    def names(self) -> list[str]:
        """The arms, a line each."""
        return [line.strip() for line in self.arms.splitlines() if line.strip()]

    def request(self) -> PlanRequest:
        """The question for the planner: of one segment, all of equal size, where there are any."""
        asked, segments = self._whole(), self._segments()
        if segments is None:
            return asked
        return of_smallest(asked, dict.fromkeys(segments.all, 1.0 / len(segments.all)))

    def _segments(self) -> Segments | None:
        """Return the segments, as typed: "country: fr, de; other: rest".

        >>> Form(segments="country: fr, de; other: rest")._segments().all
        ('fr', 'de', 'rest')
        """
        text = self.segments.strip()
        if not text:
            return None
        first, _, last = text.partition(";")
        attribute, colon, names = first.partition(":")
        word, _, other = last.partition(":")
        if not colon or (last and word.strip() != "other"):
            raise InputError(
                "segments",
                f"segments must be an attribute and its values, as country: fr, de; other: rest "
                f"(got {text!r:.60})",
            )
        listed = [name.strip() for name in names.split(",") if name.strip()]
        return Segments(attribute.strip(), listed, other.strip() or None)

    def _whole(self) -> PlanRequest:
        sample = self._sample()
        given: dict[str, Any] = {
            name: text
            for name, field in PLAN.items()
            if "form" not in field.absent
            # A field that has a usual value must not be empty.
            if (text := getattr(self, name).strip()) or field.default
        }
        given |= {"outcome": self._outcome(sample), "arms": self.names, "lift": self._lift()}
        given |= {"metrics": self._metrics(), "sides": {"1": 1, "2": 2}.get(self.sides, self.sides)}
        given |= {"sample": sample, "cap": None}
        if sample is not None and not given["baseline"]:
            del given["baseline"]
        # Names that no design could have are refused before any planning.
        Design(self.names, given["outcome"], Tilt(1), control=given.get("control"))
        return plan_request(**given)

    def _lift(self) -> str:
        """Return the minimum detectable effect, for the better if it has no sign."""
        text = self.lift.strip()
        return f"-{text}" if self.goal == "decrease" and text[:1] not in ("+", "-", "−") else text

    def rollout(self) -> RolloutRequest | None:
        """The question for the planner if a schedule is given: the test is then a guarded rollout.

        >>> Form(ramp="0d:1%, 1d:50%", metrics="failed; bernoulli; margin 1%").rollout().ramp
        [('0d', 0.01), ('1d', 0.5)]
        """
        if not self.ramp.strip():
            return None
        for name in ("control", "segments", "covariate", "futility", "population", "switch_cost"):
            if getattr(self, name).strip():
                raise InputError(name, f"{name} does not go with a rollout: leave it empty")
        if self.audience() is not None:
            raise InputError("share", "share does not go with a rollout, whose schedule has it")
        outcome, metrics = self._outcome(self._sample()), self._metrics()
        if not any(metric.is_guardrail for metric in metrics):
            raise InputError("metrics", "metrics need a guardrail for a rollout: give a margin")
        is_first = self.counts != "window"
        if not is_first:
            metrics = tuple(replace(one, measure=self._measure(one.outcome)) for one in metrics)
        return RolloutRequest(
            metrics=list(metrics),
            ramp=list(ramp_of(self.ramp)),
            units_per_day=self.units_per_day,
            deadline_days=self.deadline_days,
            harm_error=self.harm_error,
            arms=self.names,
            outcome=outcome,
            goal=self.goal,  # type: ignore[arg-type]
            measure=None if is_first else self._measure(outcome),
            reports="always" if is_first else None,
            seed=0,
        )

    def design(self, plan: Plan) -> Design:
        """The design that was chosen from the planner's answer."""
        design, segments = chosen(plan, self.rule).design, self._segments()
        if segments is not None:
            design = of_all(design, self._whole(), segments)
        if self.counts != "window":
            return replace(design, reports="always")
        metrics = [replace(one, measure=self._measure(one.outcome)) for one in design.metrics]
        return replace(design, measure=self._measure(design.outcome), metrics=metrics)

    def _measure(self, outcome: Outcome) -> Measure:
        """Return what events of a unit add up to: those of a ratio always to their sums."""
        aggregate = "any" if outcome.binary else "sum" if outcome.pairs else self.aggregate
        missing = "zero" if aggregate in ("mean", "last") else None
        return Measure(self.window, aggregate, missing)  # type: ignore[arg-type]

    def _metrics(self) -> tuple[Metric, ...]:
        return tuple(metric_of(line) for line in self.metrics.splitlines() if line.strip())

    def _sample(self) -> Sample | None:
        """Return what earlier outcomes show; they say where to cap money."""
        if self.outcome != "bounded" or not self.sample.strip():
            return None
        values = [_number("sample", text) for text in re.split(r"[\s;,]+", self.sample.strip())]
        return Sample.of(values, cap=self.cap.strip() or "99%")

    def audience(self) -> Audience | None:
        """Who gets in; None is everyone."""
        part = amount("share", self.share, "100% is everyone")
        return None if part == 1.0 else Audience(share=part)

    def words(self) -> dict[str, object]:
        """Words about the test: links are separated by spaces or lines, tags by commas or lines.

        >>> Form(owner="ann ", tags="q3, check out").words()
        {'owner': 'ann', 'tags': ['q3', 'check out']}
        """
        tags = self.tags.replace("\n", ",").split(",")
        found: dict[str, object] = {
            "owner": self.owner.strip(),
            "hypothesis": self.hypothesis.strip(),
            "description": self.description.strip(),
            "links": self.links.split(),
            "tags": [tag.strip() for tag in tags if tag.strip()],
        }
        return {name: given for name, given in found.items() if given}

    def _outcome(self, sample: Sample | None) -> Outcome:
        if sample is not None and sample.cap is not None:
            return Bounded(min(0.0, sample.low), sample.cap)
        if self.outcome == "ratio":
            expected = _number("at", self.at or self.baseline)
            return Ratio(expected, _number("per", self.per), _number("sigma", self.sigma))
        if self.outcome == "gaussian":
            return Gaussian(_number("sigma", self.sigma))
        if self.outcome == "numeric":
            return Numeric(_number("sigma", self.sigma))
        if self.outcome == "bounded":
            return Bounded(_number("low", self.low), _number("high", self.high))
        return Bernoulli()


def chosen(plan: Plan, label: str) -> Point:
    """The point of the frontier with this label; the recommended one where there is none."""
    return next((point for point in plan.points if point.rule.label == label), plan.chosen)


def problem_words(error: InputError) -> str:
    """What is wrong, with the field as the form calls it.

    >>> problem_words(InputError("baseline", "baseline must be a number (got 'x')"))
    "Baseline must be a number (got 'x')."
    """
    text = str(error)
    if error.field in LABELS and text.startswith(f"{error.field} "):
        text = LABELS[error.field] + text.removeprefix(error.field)
    return f"{text[:1].upper()}{text[1:]}."


def _number(field: str, text: str) -> float:
    return amount(field, text, "give it as a number")
