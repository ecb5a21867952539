"""The design of a test: everything that is fixed before the first unit."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bascule.core.calendar import DAY, WEEK, announced_after
from bascule.core.cohorts import ArmCohorts
from bascule.core.covariates import REACH, Adjustment, Covariate, checked_covariates
from bascule.core.design_parts import (
    DEFAULT_ERROR,
    ONE_SIDED,
    TWO_SIDED,
    DesignFields,
    check_control,
    check_covariates,
    check_deadline,
    check_goal,
    check_kind,
    check_signals,
    checked_arms,
    checked_min_effect,
    cost_unit,
    widened,
)
from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import STATED, Calibration
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.inputs import checks
from bascule.core.inputs.serialization import as_data, read, read_json
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Metric, check_metrics
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.core.presenter import presenter
from bascule.core.procedures.base import AnyStatistics, Procedure
from bascule.core.rules import RULES, Rule
from bascule.core.rules.allocation import is_ours
from bascule.core.statistics import ArmStatistics

if TYPE_CHECKING:
    from pydantic import TypeAdapter

RULE_EXAMPLES = "UCB(alpha), ETC(), ETCPrime() or Tilt(tilt)"
USUAL = {"sides": TWO_SIDED} | {
    field.name: field.default
    for field in fields(DesignFields)
    if field.default is not MISSING and field.default is not None
}
"""Usual values of fields, which `repr` leaves out. Files leave them out too, except
for `sides` and, if there are metrics, `harm_error`."""

MOST_UNITS = 10**12

Seen = TypeVar("Seen", bound=AnyStatistics)
Sums = TypeVar("Sums", ArmStatistics, ArmCohorts)


@dataclass(frozen=True, repr=False)
class Design(DesignFields):
    """Arms, outcome model, rule and error of a test; an immutable, serialisable value.

    - `arms`: names of the arms.
    - `outcome`: the outcome model, such as `Bernoulli()`.
    - `rule`: the rule, such as `Tilt(3)`.
    - `error`: the false positive rate is at most this, however often one looks, and a worse arm
      is shipped with probability at most half of it. The default, 0.05, gives 95 % intervals with
      two arms. See `sides`.
    - `delta`: instead of `error` and `sides`, the nominal parameter of `UCB` and `ETC`, the rules
      of Degenne et al. (2019).
    - `max_units`: number of units at which a test ends undecided, at least 3 for each arm.
    - `min_effect`: the smallest difference that matters; a test also ends when all differences are
      proven smaller.
    - `deadline`: a `datetime` with a time zone at which a live test ends undecided.
    - `measure`: how the events in a unit's conversion window are combined into its outcome. A live
      test needs `measure` or `reports`.
    - `overflow`: the arm of new units once enrolment is complete: "control" or "leader". While the
      test is paused they get the control.
    - `min_days`: a decision is withheld until the test has lasted this many days. This, and the two
      next fields, need a rule in blocks such as `Tilt`.
    - `whole_weeks`: a decision is withheld until the test has lasted a whole number of weeks.
    - `measure_on`: enrolled units are measured after the decision until their windows close.
    - `goal`: with "decrease" the arm with the lowest mean is the best, as for latency.
    - `control`: the arm that others are compared with; the first one if not given.
    - `sides`: 2 for a two-sided error, the default. With 1, `error` is the probability that a worse
      arm is declared the winner, and 0.05 gives 90 % intervals.
    - `reports`: with "always" every unit reports an outcome, 0 included, and there is no window.
    - `metrics`: guardrails and secondary metrics of the same units.
    - `harm_error`: bound on the probability of removing an arm that is not harmful on any
      guardrail.
    - `decides`: with "guardrails" the first new arm within all margins is shipped, whatever the
      primary metric says.
    - `covariates`: numbers known of a unit before its assignment, by which outcomes are adjusted;
      they need a rule in blocks such as `Tilt`, and outcomes within limits, `Numeric` or `Ratio`.

    >>> import bascule as bs
    >>> design = bs.Design(arms=["control", "green"], outcome=bs.Gaussian(1), rule=bs.UCB(2))
    >>> round(design.calibration.delta, 3)
    0.008
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", checked_arms(self.arms))
        models = ", ".join(model.example for model in OUTCOMES)
        check_kind("outcome", self.outcome, Outcome, models)
        check_kind("rule", self.rule, Rule, RULE_EXAMPLES)
        self.rule.check_outcome(self.outcome)
        DesignFields.__post_init__(self)
        if self.delta is not None:
            self.rule.calibrate(self.outcome, len(self.arms), None, self.delta)
        else:
            object.__setattr__(self, "error", self.error or DEFAULT_ERROR)
            object.__setattr__(self, "sides", self.sides or TWO_SIDED)
        if self.outcome.estimated:
            # Raise an error for more arms than an estimated spread supports.
            self.rule.calibrate(self.outcome, len(self.arms), self.error, self.delta)
        checks.accept_given(self, "min_effect", checked_min_effect, self.outcome)
        if self.deadline is not None:
            check_deadline(self.deadline)
        if self.measure is not None:
            if not isinstance(self.measure, Measure):
                raise invalid(f"measure must be Measure(window, aggregate) (got {self.measure!r})")
            self.measure.check_outcome(self.outcome)
        start = FIRST_UNITS * len(self.arms)
        remedy = f"each of the {len(self.arms)} arms needs {FIRST_UNITS} units to start"
        checks.accept_given(self, "max_units", checks.whole, start, remedy, MOST_UNITS)
        self.rule.check_size(len(self.arms), self.max_units)
        object.__setattr__(self, "covariates", checked_covariates(self.covariates))
        if self.rule.uses_signals:
            check_signals(self.measure, self.reports, self.covariates)
        if self.covariates is not None:
            self._check_covariates(self.covariates)
        check_goal(self.goal, self.outcome)
        check_control(self.control, self.arms)
        self.rule.check_design(self)
        object.__setattr__(self, "metrics", check_metrics(self.metrics, self.measure))
        if self.metrics:
            self._check_metrics()
        if self.decides == "guardrails" and not (self.guardrails and self.min_effect is None):
            raise invalid('decides "guardrails" needs at least one guardrail, and no min_effect')
        self._check_blocks()

    def _check_blocks(self) -> None:
        """Raise `InputError` for options of rules in blocks if the rule is not in blocks."""
        for name in ("min_days", "whole_weeks", "measure_on"):
            if getattr(self, name) and self.procedure.counts != "blocks":
                raise invalid(
                    f"{name} is for rules in blocks, not for {self.rule.label}: leave it out, "
                    "or use Tilt(tilt)"
                )

    def _check_covariates(self, covariates: Sequence[Covariate]) -> None:
        without = replace(self, covariates=None)
        check_covariates(covariates, without.procedure)
        try:
            # The rule must also support the adjusted outcomes.
            adjusted = replace(
                without, measure_on=False, decides="primary", measure=None, metrics=()
            )
            replace(adjusted, outcome=widened(self.outcome))
        except InputError as problem:
            raise invalid(
                f"covariates do not go together with {self.rule.label} ({problem}): leave baseline "
                "out, and effect too if there is no power, or leave the covariates out"
            ) from None

    def _check_metrics(self) -> None:
        if not self.outcome.supports("metrics"):
            raise invalid(
                f"metrics are measured once a unit, and units of {self.outcome!r} give several "
                "outcomes: leave metrics out"
            )
        for metric, metric_design in zip(self.metrics, self.metric_designs, strict=True):
            if metric.is_guardrail and metric_design.calibration.guarantee == "as published":
                raise InputError(
                    "metrics",
                    f"nothing is proven about guardrail {metric.name} with {self.rule.label}: use "
                    "Tilt(tilt)",
                )

    @property
    def guardrails(self) -> tuple[Metric, ...]:
        """The guardrails: the metrics that may keep an arm from being shipped."""
        return tuple(metric for metric in self.metrics if metric.is_guardrail)

    @cached_property
    def metric_designs(self) -> tuple[Design, ...]:
        """The design of each of `metrics`: the same arms, with the metric's outcome and error."""
        return tuple(self._design_of(metric, metric.error) for metric in self.metrics)

    @cached_property
    def harm_designs(self) -> tuple[Design | None, ...]:
        """For each metric, the design of its search for harmful arms; None if it has no search.

        The designs share `harm_error`.
        """
        searching = sum(metric.harm_line is not None for metric in self.metrics)
        return tuple(
            None
            if metric.harm_line is None
            else self._design_of(metric, self.harm_error / searching)
            for metric in self.metrics
        )

    def _design_of(self, metric: Metric, error: float) -> Design:
        # Errors of guardrails are one-sided: a harmful arm passes, or a harmless one is removed.
        sides = ONE_SIDED if metric.is_guardrail else TWO_SIDED
        return Design(
            self.arms,
            metric.outcome,
            self.rule.for_metric(),
            error=error,
            sides=sides,
            measure=metric.measure,
            goal=metric.goal,
            control=self.control,
            # Some rules need a cap, and the test's cap also ends its metrics.
            max_units=self.max_units,
        )

    def metric_design(self, name: str) -> Design:
        """Return the design of a metric, given its name."""
        for metric, design in zip(self.metrics, self.metric_designs, strict=True):
            if metric.name == name:
                return design
        names = ", ".join(metric.name for metric in self.metrics)
        known = f"its metrics are {names}" if names else "it has only the primary one"
        raise invalid(f"metric {name!r:.60} is not in the design: {known}")

    def matures(self, arrived: float) -> float | None:
        """Return when all outcomes of a unit that arrived at `arrived` are final, or None.

        It is None if the design has no conversion window.
        """
        if self.measure is None or self.measure.window is None:
            return None
        measures = (self.measure, *(metric.measure for metric in self.metrics))
        return max(measure.matures(arrived) for measure in measures if measure is not None)

    @cached_property
    def withholds(self) -> bool:
        """Whether a decision may be withheld for some time."""
        return self.min_days is not None or self.whole_weeks

    def announces(self, first: float, reached: float) -> float:
        """Return when a decision that is reached at the time `reached` is announced.

        `first` is the time of the first unit. The decision is announced no later than the deadline.

        >>> import bascule as bs
        >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), min_days=2)
        >>> design.announces(0.0, 3600.0) / 3600
        48.0
        """
        latest = math.inf if self.deadline is None else self.deadline.timestamp()
        least, week = DAY * (self.min_days or 0.0), WEEK if self.whole_weeks else 0.0
        return max(reached, min(first + announced_after(reached - first, least, week), latest))

    @cached_property
    def calibration(self) -> Calibration:
        """The nominal delta of this design and the error that this delta proves.

        The error is one-sided: with two sides, half of `Design.error`. The guarantee of a rule that
        is not part of bascule is labelled "stated by its author", unless the rule keeps the proof
        of its base class `BlockAllocation`.
        """
        error = None if self.error is None else self.error / (self.sides or 1)
        promise = self.rule.calibrate(self.outcome, len(self.arms), error, self.delta)
        if is_ours(self.rule) or promise.guarantee == "as published":
            return promise
        return replace(promise, guarantee=STATED)

    @property
    def guarantee_label(self) -> str:
        """The kind of guarantee, with its assumptions beyond the outcome model.

        >>> import bascule as bs
        >>> bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)).guarantee_label
        'proven, if means do not change in time'
        """
        kind, needs = self.calibration.guarantee, self.procedure.assumes
        return f"{kind}, {needs}" if needs else kind

    @cached_property
    def procedure(self) -> Procedure:
        """The procedure of the rule; it takes outcomes as `oriented` returns them."""
        if self.covariates is not None:
            return replace(self, outcome=widened(self.outcome), covariates=None).procedure
        procedure = self.rule.procedure(self.increasing)
        return procedure if self.goal == "increase" else procedure.on_reflected()

    @cached_property
    def adjustment(self) -> Adjustment | None:
        """The adjustment of outcomes by covariates; None without covariates."""
        if self.covariates is None:
            return None
        limit = REACH * self.outcome.scale if self.outcome.limited else 0.0
        return Adjustment(tuple(self.covariates), limit)

    @cached_property
    def increasing(self) -> Design:
        """The design with goal "increase", for outcomes as `oriented` returns them."""
        return self if self.goal == "increase" else replace(self, goal="increase")

    def oriented(self, value: float) -> float:
        """Return an outcome or a mean, or its mirror image if lower ones are better.

        >>> import bascule as bs
        >>> bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), goal="decrease").oriented(0.25)
        0.75
        """
        return value if self.goal == "increase" else self.outcome.reflected(value)

    def oriented_statistics(self, statistics: Seen) -> Seen:
        """Return the statistics as the procedure needs them, so that higher outcomes are better.

        The statistics of a test are for the user's original outcomes.
        """
        if self.goal == "increase":
            return statistics
        arms: Any = self.oriented_block(statistics.arms)
        return replace(statistics, arms=arms)

    def oriented_block(self, arms: Sequence[Sums]) -> tuple[Sums, ...]:
        """Return the sums of each arm, converted so that higher outcomes are better."""
        if self.goal == "increase":
            return tuple(arms)
        # Adjusted outcomes have wider limits than the original ones.
        centre = self.procedure.outcome.reflected(0.0)
        return tuple(arm.reflected(centre) for arm in arms)

    @property
    def control_arm(self) -> str:
        """The arm that others are compared with."""
        return self.arms[0] if self.control is None else self.control

    @cached_property
    def control_index(self) -> int:
        """The index of the control among the arms."""
        return self.arms.index(self.control_arm)

    @property
    def cost_unit(self) -> str:
        """The unit of the cost of a test."""
        return cost_unit(self.outcome, self.goal)

    @cached_property
    def stricter(self) -> Design:
        """The stricter design after an arm was removed: its error is for all pairs of arms.

        Removing arms after a look can change which of the others is the best, so every pair counts
        (docs/research/ends.md), unless there are only two arms.
        """
        if len(self.arms) == 2:
            return self
        if self.calibration.error < 1 and self.calibration.guarantee != "as published":
            rule, error = self.rule.with_fixed_plan(self), self.procedure.strict_error
            return replace(self, error=error, delta=None, sides=ONE_SIDED, rule=rule)
        # Nothing is proven for this delta, but it is reduced by the same factor as a proven error.
        share = self.procedure.strict_error / self.calibration.error
        return replace(self, error=None, delta=share * self.calibration.delta)

    def judging(self, statistics: Seen) -> tuple[Procedure, Seen]:
        """Return the procedure that decides, and the statistics in the form that it needs.

        Differences and intervals that the procedure returns say how much better an arm is.
        """
        procedure = self.stricter.procedure if statistics.removed else self.procedure
        return procedure, self.oriented_statistics(statistics)

    def __repr__(self) -> str:
        parts = [(field.name, getattr(self, field.name)) for field in fields(self)]
        stated = ", ".join(
            f"{name}={value!r}"
            for name, value in parts
            if value is not None and value != USUAL.get(name)
        )
        return f"Design({stated})"

    def _repr_html_(self) -> str:
        notebook = presenter("pages")
        return str(notebook.shown(notebook.design_report(self)))

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain data for JSON, from which `from_dict` restores it."""
        # Files always state `sides`, and with metrics also `harm_error`, even at their defaults.
        kept = ("sides", "harm_error") if self.metrics else ("sides",)
        return {
            name: part
            for name, part in as_data(self).items()
            if name in kept or getattr(self, name) != USUAL.get(name)
        }

    @classmethod
    def from_dict(cls, data: object) -> Design:
        """Return the design from plain data, as in a design file or from `to_dict`."""
        if not isinstance(data, dict):
            raise InputError("design", f"a design must be an object with fields (got {data!r:.60})")
        parts = _with_kind(dict(data))
        if isinstance(parts.get("metrics"), list):
            parts["metrics"] = [_with_kind(metric) for metric in parts["metrics"]]
        return read(_adapter(tuple(OUTCOMES), tuple(RULES)), parts, "design")

    def save(self, path: str | Path) -> None:
        """Write the design to a JSON file."""
        # Imported here, to keep the import of the package fast.
        from bascule.core.inputs.files import prepare_file, write_whole

        prepare_file("path", Path(path))
        write_whole(Path(path), (json.dumps(self.to_dict(), indent=2) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design from a JSON file."""
        return cls.from_dict(read_json(path, "design"))


def _with_kind(parts: Any) -> Any:
    """Return design data, with "gaussian" as the kind of the outcome model if no kind is given."""
    if not isinstance(parts, dict) or not isinstance(parts.get("outcome"), dict):
        return parts
    return {**parts, "outcome": {"kind": "gaussian", **parts["outcome"]}}


@lru_cache(maxsize=4)
def _adapter(
    outcomes: tuple[type[Outcome], ...],  # noqa: ARG001
    rules: tuple[type[Rule], ...],  # noqa: ARG001
) -> TypeAdapter[Design]:
    # Loaded at first use, since most programs never read a design file. Created again after a class
    # is registered, even if it replaces another one, as in a notebook that is run twice.
    from pydantic import TypeAdapter

    return TypeAdapter(Design)
