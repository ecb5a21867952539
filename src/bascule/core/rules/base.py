"""The contract of rules: parameters, calibration and procedure.

A rule is a frozen dataclass that derives from `Rule`, in a file of its own, and is registered once
(`RULES.register`). It states which outcomes it can be used with, what its error is, and how a test
proceeds. docs/research/add-a-rule.md shows how to add one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import Calibration, level_for, peel
from bascule.core.options import Declared
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Procedure, Setting
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.core.procedures.intervals.procedure import Shape
from bascule.core.registry import Registry

__all__ = ["Knob", "Rule", "Shape", "calibrate_intervals"]


@dataclass(frozen=True, slots=True)
class Knob:
    """The one setting that trades regret against decision time.

    >>> Knob("epsilon", 0.1, 0.01, regret_grows=True, most=0.5).soonest
    0.5
    """

    name: str
    """The name of the rule's field."""
    value: float
    """The current value of the field."""
    least: float
    """The smallest value that the rule accepts."""
    regret_grows: bool
    """Whether a larger value costs more regret and decides sooner, as with alpha, or the other way
    round, as with tilt."""
    most: float = math.inf
    """The largest value that the rule accepts."""

    @property
    def soonest(self) -> float:
        """The value that decides soonest, at which most rules split evenly."""
        return self.most if self.regret_grows else self.least


class Rule(Declared, ABC):
    """A rule for allocation and stopping: which arm gets the next unit, and when to decide."""

    __slots__ = ()

    kind: str
    """The name of the rule in a design file and on the command line."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let Pydantic read any registered rule by its kind."""
        return RULES.schema(source, handler)

    @property
    @abstractmethod
    def label(self) -> str:
        """The short name of the rule in tables and figures."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The rule in a few words: "tilted blocks, tilt 3"."""

    @property
    def family(self) -> str:
        """The name of the rule's family without the value of the knob: "tilted blocks"."""
        return self.words.split(",")[0]

    @property
    def knob(self) -> Knob | None:
        """The setting that trades regret against decision time; None if the rule has none."""
        return None

    @property
    def planned_effect(self) -> float | None:
        """The difference that the evidence is tuned for; None if the rule has none."""
        return None

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also depends on events in windows that are still open."""
        return False

    @property
    def curve_value(self) -> float | None:
        """The value of the family's knob that gives this rule; None if the family has no knob."""
        return None if self.knob is None else self.knob.value

    def explain(self, arms: int) -> str:
        """Return a sentence or two on how units get their arms and what ends a test."""
        return f"Units get their arms by {self.words}, until the rule declares a winner."

    def with_knob(self, value: float) -> Self:
        """Return the rule with its knob at another value.

        A value beyond the limits of the knob raises `InputError`, and so does a rule without one.
        """
        knob = self.knob
        if knob is None:
            raise InputError("rule", f"{self.label} has no knob")
        changed: Any = replace(self, **{knob.name: value})  # type: ignore[type-var]
        if not knob.least <= value <= knob.most:
            limits = f"from {knob.least:g} to {knob.most:g}" if knob.most < math.inf else ""
            raise invalid(
                f"{knob.name} of {self.label} must be {limits or f'at least {knob.least:g}'} "
                f"(got {value:g})",
            )
        return changed  # type: ignore[no-any-return]

    def without_futility(self) -> Rule:
        """Return the rule without futility, so that futile tests go on to their horizon."""
        return self

    def with_signals(
        self,
        early_signals: EarlySignals | None,
    ) -> Rule:
        """Return the rule with this use of early signals; the same rule if it supports none."""
        return self

    def for_metric(self) -> Rule:
        """Return the rule for another metric, without the settings for the primary metric."""
        return self

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` if the rule cannot be used with such outcomes.

        By default a rule needs a known sub-Gaussian spread, or limits.
        """
        if outcome.sigma == float("inf"):
            raise InputError(
                "outcome",
                f"{self.label} needs outcomes within limits or with a spread known for certain; "
                f"{outcome!r} has neither: use Bounded(low, high) with max_units, Gaussian(sigma), "
                "or the rule Tilt(tilt)",
            )

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise `InputError` if the rule must not run with this number of arms or this cap."""

    def check_design(self, design: Setting) -> None:
        """Raise `InputError` if the rule does not support these outcomes or this many arms."""

    def with_fixed_plan(self, design: Setting) -> Self:
        """Return the rule with its plan, such as the horizon, fixed for the error of a design.

        The plan then stays the same when pairs are later compared at another level.
        """
        return self

    @abstractmethod
    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Return the guarantee of a design with this rule, given one of `error` and `delta`.

        `error` is one-sided: half of the `error` of a design with two sides. The one that is not
        given is None.
        """

    @abstractmethod
    def procedure(self, design: Setting) -> Procedure:
        """Return the procedure of a test with this rule."""


RULES: Registry[Rule] = Registry("rule", Rule)  # type: ignore[type-abstract]
"""Every rule that a design file can name."""


@lru_cache(maxsize=1024)
def calibrate_intervals(shape: Shape, error: float | None, delta: float | None) -> Calibration:
    """Return the calibration, by peeling, of a rule that compares intervals.

    >>> round(calibrate_intervals(Shape(2.0, 3.0, 2), 0.05, None).delta, 3)
    0.017
    """
    if delta is not None:
        proven = min(1.0, shape.sequences * peel(delta / shape.count))
        return Calibration(delta, proven, "proven" if proven < 1 else "as published")
    assert error is not None
    return Calibration(shape.count * level_for(error / shape.sequences), error, "proven")


def refuse_delta(error: float | None, delta: float | None) -> None:
    """Raise `InputError` if `delta`, a parameter of the paper's rules, is given to another rule."""
    if delta is not None or error is None:
        raise invalid("delta belongs to the paper's rules: give error instead")
