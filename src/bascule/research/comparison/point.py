"""What one rule of a comparison costs, when it decides, and which others it dominates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.evidence.calibration import STATED, Calibration, Guarantee
from bascule.research.comparison.contenders import RuleFamily
from bascule.simulation import Estimate
from bascule.simulation.shares import wilson

STANDARD_ERRORS = 2.0
"""A difference counts when it is this many times its standard error."""

STRENGTHS: tuple[Guarantee, ...] = (STATED, "as published", "asymptotic", "gaussian", "proven")
"""Kinds of guarantees, the weakest first."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one rule costs, when it decides, and what it had to learn for that.

    `information` is that of the best arm and its nearest rival at the decision, as a multiple of
    the least that any rule needs, and `wrong` the number of runs with a wrong decision.
    `dominated_by` has the labels of the rules that both cost less and decide sooner, efficient
    ones first.
    """

    design: Design
    family: RuleFamily
    label: str
    calibration: Calibration
    runs: int
    regret: Estimate
    decision_time: Estimate
    information: Estimate
    wrong: int
    undecided: int
    dominated_by: tuple[str, ...] = ()

    @property
    def along_curve(self) -> float | None:
        """Where the rule lies along the curve of its family; None if it lies beside it."""
        return self.design.rule.curve_value

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return self.wrong / self.runs

    @property
    def error_interval(self) -> tuple[float, float]:
        """Where the probability of a wrong decision lies, at 95 % (Wilson's interval)."""
        return wilson(self.wrong, self.runs)

    @property
    def broken(self) -> bool:
        """Whether wrong decisions are significantly more frequent than the rule allows itself."""
        return self.error_interval[0] > self.calibration.error

    @property
    def stated(self) -> bool:
        """Whether only the author of the rule states its error, so that it is compared apart."""
        return self.calibration.guarantee == STATED

    @property
    def strength(self) -> int:
        """How strong the guarantee is: its place among `STRENGTHS`."""
        return STRENGTHS.index(self.calibration.guarantee)

    @property
    def efficient(self) -> bool:
        """Whether the package itself guarantees the error, and no rule is known to dominate."""
        return not self.stated and not self.dominated_by

    def dominates(self, rival: Point) -> bool:
        """Whether this rule costs less and decides sooner with as strong a guarantee."""
        is_less = _less(self.regret, rival.regret) and _less(
            self.decision_time, rival.decision_time
        )
        return is_less and not self.stated and self.strength >= rival.strength

    def to_dict(self) -> dict[str, Any]:
        """The point as plain data."""
        return {
            "label": self.label,
            "family": self.family.value,
            "rule": self.design.to_dict()["rule"],
            "delta": self.calibration.delta,
            "error": self.calibration.error,
            "guarantee": self.calibration.guarantee,
            "runs": self.runs,
            "regret": asdict(self.regret),
            "decision_time": asdict(self.decision_time),
            "information": asdict(self.information),
            "error_rate": self.error_rate,
            "error_interval": list(self.error_interval),
            "broken": self.broken,
            "undecided": self.undecided,
            "efficient": self.efficient,
            "dominated_by": list(self.dominated_by),
        }


def _less(estimate: Estimate, limit: Estimate) -> bool:
    return estimate.mean + STANDARD_ERRORS * math.hypot(estimate.se, limit.se) < limit.mean
