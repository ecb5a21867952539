"""The result of one rule in a comparison: regret, decision time, errors and dominance."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.evidence.calibration import STATED, Calibration, Guarantee
from bascule.research.comparison.contenders import RuleFamily
from bascule.simulation import Estimate
from bascule.simulation.result import wilson

STANDARD_ERRORS = 2.0
"""A difference is significant if it exceeds this multiple of its standard error."""

STRENGTHS: tuple[Guarantee, ...] = (STATED, "as published", "asymptotic", "gaussian", "proven")
"""Kinds of guarantees, the weakest first."""


@dataclass(frozen=True, slots=True)
class Point:
    """The result of one rule: its regret, decision time, information and errors.

    `family` is the name of its family, as in `Frontier.of`. `information` is that of the best arm
    and its nearest rival at the decision, as a multiple of the least that any rule needs, and
    `wrong` the number of runs with a wrong decision. `dominated_by` has the labels of the rules
    that both cost less and decide sooner, efficient ones first.
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
        """The position of the rule on the curve of its family; None if it is not on a curve."""
        return self.design.rule.curve_value

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return self.wrong / self.runs

    @property
    def error_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the probability of a wrong decision."""
        return wilson(self.wrong, self.runs)

    @property
    def broken(self) -> bool:
        """Whether wrong decisions are significantly more frequent than the rule's stated error."""
        return self.error_interval[0] > self.calibration.error

    @property
    def stated(self) -> bool:
        """Whether the error has no proof here, only a statement by the authors of the rule."""
        return self.calibration.guarantee == STATED

    @property
    def strength(self) -> int:
        """The strength of the guarantee: its index in `STRENGTHS`."""
        return STRENGTHS.index(self.calibration.guarantee)

    @property
    def efficient(self) -> bool:
        """Whether this package guarantees the error, and no other rule is known to dominate it."""
        return not self.stated and not self.dominated_by

    def dominates(self, rival: Point) -> bool:
        """Whether this rule costs significantly less and decides sooner, with no weaker guarantee.

        A rule whose error is only stated by its authors dominates no other.
        """
        is_less = _less(self.regret, rival.regret) and _less(
            self.decision_time, rival.decision_time
        )
        return is_less and not self.stated and self.strength >= rival.strength

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain data."""
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
