"""The question of a request in words: the means, and the lift in both ways of counting."""

from __future__ import annotations

from collections import Counter

from bascule.core.design_parts import cost_unit
from bascule.core.inputs.written_numbers import tidy
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import Outcome


class RequestWords:
    """What a request says of itself."""

    __slots__ = ()

    outcome: Outcome
    """The outcome model."""
    baseline: float
    """Mean of the first arm."""
    goal: Goal
    """Whether the highest mean is the best, or the lowest."""

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each arm if the lift is as requested."""
        raise NotImplementedError

    @property
    def main_lift(self) -> float:
        """The lift that a plan speaks of."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The question in words: the means, and the lift in both ways of counting."""
        return f"{self.means_words}: {self.size_words}"

    @property
    def means_words(self) -> str:
        """The means of the arms in words: "5 % against 6 %"; of many arms, equal ones together."""
        first, *others = (self.outcome_words(mean) for mean in self.means)
        if len(others) > 4:
            others = [f"{n} arms of {one}" if n > 1 else one for one, n in Counter(others).items()]
        return f"{first} against {', '.join(others)}"

    @property
    def size_words(self) -> str:
        """The lift in words: "a lift of 1 point, +20 % of the baseline"."""
        size = f"a lift of {self.lift_words(self.main_lift)}"
        if self.baseline != 0:
            size += f", {100 * self.main_lift / abs(self.baseline):+.3g} % of the baseline"
        if self.goal == "increase":
            return size
        return f"{size}; lower is better" + (", so this lift is a loss" * (self.main_lift > 0))

    def lift_words(self, lift: float) -> str:
        """A lift as people say it: that of 0/1 outcomes in points.

        >>> import bascule as bs
        >>> bs.PlanRequest().lift_words(0.005)
        '0.5 points'
        """
        if not self.outcome.binary:
            return f"{lift:.4g}"
        points = f"{tidy(100 * lift):.3g}"
        return f"{points} point" if points in ("1", "-1") else f"{points} points"

    def outcome_words(self, mean: float) -> str:
        """A mean as people say it: 0/1 outcomes in percent."""
        if self.outcome.binary:
            return f"{tidy(100 * mean):.4g} %"
        return f"{mean:.6g}"

    @property
    def cost_unit(self) -> str:
        """What cost is counted in."""
        return cost_unit(self.outcome, self.goal)
