"""A rule and an outcome model of one's own go through planning, comparison, text and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar, Literal

import pytest

import bascule as bs
from bascule.core.evidence.calibration import Calibration
from bascule.core.evidence.families.rows import Difference
from bascule.core.outcomes import Discrete, Noise, Outcome
from bascule.core.procedures.base import AnyStatistics, Procedure, Setting
from bascule.core.rules import Knob, Rule
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Stars(Outcome):
    """Ratings from 1 to 5 stars, which a simulation draws at the two ends only."""

    kind: Literal["stars"] = field(default="stars", kw_only=True, repr=False)
    low: ClassVar[float] = 1.0
    high: ClassVar[float] = 5.0
    sigma: ClassVar[float] = 2.0
    integer: ClassVar[bool] = True
    example: ClassVar[str] = "Stars()"

    @property
    def words(self) -> str:
        return "1 to 5 stars"

    def noise(self, means: tuple[float, ...]) -> Noise:
        return Discrete([1.0, 5.0], [[(5.0 - mean) / 4, (mean - 1.0) / 4] for mean in means])


@dataclass(frozen=True, slots=True)
class Turns(Procedure):
    """Arms take turns; each look has a part of the error, and an arm wins that is clearly ahead."""

    sigma: float
    counts: ClassVar[Literal["units"]] = "units"
    assigns: ClassVar[Literal["units"]] = "units"

    @property
    def even(self) -> bool:
        return True

    @property
    def end_error(self) -> float:
        return self.design.calibration.error / (self.arms - 1)

    def empty(self) -> Statistics:
        return Statistics.empty(self.arms)

    def next_arm(self, statistics: AnyStatistics) -> int:
        units = [arm.units for arm in statistics.arms]
        return units.index(min(units))

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        new = ArmStatistics(1, value, value * value)
        arms = [each + new if place == arm else each for place, each in enumerate(statistics.arms)]
        return Statistics(tuple(arms))

    def differences(self, statistics: AnyStatistics) -> list[Difference]:
        assert isinstance(statistics, Statistics)
        found: list[Difference] = []
        for one, other in combinations(statistics.arms, 2):
            n = min(one.units, other.units)
            if n == 0:
                found.append((0.0, -math.inf, math.inf))
                continue
            level = self.end_error / (n * (n + 1))
            wide = self.sigma * math.sqrt(-4.0 * math.log(level) / n)
            gap = one.mean - other.mean
            found.append((gap, gap - wide, gap + wide))
        return found

    def winner(self, statistics: AnyStatistics) -> int:
        pairs = list(combinations(range(self.arms), 2))
        lows = dict(zip(pairs, self.differences(statistics), strict=True))
        for arm in range(self.arms):
            beaten = [
                lows[pair][1] > 0 if pair[0] == arm else lows[pair][2] < 0
                for pair in pairs
                if arm in pair
            ]
            if all(beaten):
                return arm
        return NOBODY


@dataclass(frozen=True, slots=True)
class InTurns(Rule):
    """Arms take turns; `caution` widens the intervals."""

    caution: float = 1.0
    kind: Literal["in-turns"] = field(default="in-turns", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Turns_{self.caution:g}"

    @property
    def words(self) -> str:
        return f"arms in turn, caution {self.caution:g}"

    @property
    def knob(self) -> Knob:
        return Knob("caution", self.caution, 1.0, regret_grows=True)

    def check_outcome(self, outcome: Outcome) -> None:
        """Accept every outcome."""

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        assert error is not None
        return Calibration(error / (arms - 1), error, "proven")

    def procedure(self, design: Setting) -> Turns:
        return Turns(design, self.label, self.caution * design.outcome.sigma)


class Broken(InTurns):
    """A rule that refuses what it is asked for, as one with a mistake in it may."""

    def procedure(self, design: Setting) -> Turns:
        raise bs.InputError("caution", "caution is not what it should be")


@pytest.fixture(scope="module")
def planned() -> bs.planning.Plan:
    return bs.plan(bs.Gaussian(1), 0, 1, units_per_day=20, runs=30, rules=[InTurns(), InTurns(1.5)])


def test_a_rule_of_ones_own_is_planned_with_and_shown(planned: bs.planning.Plan) -> None:
    point = planned.point_of(InTurns())
    assert point.expected.simulated
    assert point.to_dict(chosen=False)["caution"] == 1.0
    assert list(planned.to_frame()["caution"])[-2:] == [1.0, 1.5]
    assert "Turns_1.5" in planned.html()
    assert "<svg" in planned._repr_html_()


def test_an_outcome_of_ones_own_is_planned_with_its_own_noise() -> None:
    request = bs.PlanRequest(Stars(), 3, 1, units_per_day=20)
    assert request.spread == pytest.approx(2.0)
    assert request.world.noise is None
    answer = bs.plan(request, runs=50)
    assert "1 to 5 stars" in repr(answer)
    assert answer.chosen.forecast.simulated
    with pytest.raises(bs.InputError, match="leave it out"):
        bs.PlanRequest(Stars(), 3, 1, spread=0.5)


def test_a_rule_of_ones_own_is_compared() -> None:
    result = bs.research.frontier([0.0, 1.0], runs=20, rules=["tilt", InTurns()])
    assert [point.label for point in result.points][-1] == "Turns_1"
    assert "Turns_1" in repr(result)
    assert result.plot().axes


def test_a_rule_and_an_outcome_of_ones_own_are_audited_and_what_is_not_played_is_said() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), InTurns(), sides=1)
    report = bs.research.audit(design, [0.0, 1.0], runs=20)
    assert {row.name for row in report.rows} == {"steady", "null"}
    assert "rising" in dict(report.left_out)
    assert "Not played" in repr(report)
    stars = bs.research.audit(bs.Tilt(3), [3.0, 3.8], Stars(), runs=20, worlds=["steady"])
    assert not stars.rows[0].broken


def test_a_mistake_in_a_rule_is_raised_and_not_taken_for_a_hopeless_test() -> None:
    with pytest.raises(bs.InputError, match="not what it should be"):
        bs.plan(bs.Gaussian(1), 0, 1, units_per_day=20, runs=30, rules=[Broken()])


def test_a_hopeless_test_is_still_said_to_be_one() -> None:
    answer = bs.plan(bs.Gaussian(1), 0, 0.001, arms=3, units_per_day=20, runs=30)
    assert not answer.possible
    # A horizon would end the planned design; this one ends at its cap, long before it can decide.
    capped = bs.Design(answer.design.arms, bs.Gaussian(1), bs.Tilt(3), max_units=20 * 365, sides=1)
    with pytest.raises(bs.design.InfeasibleError):
        bs.simulate(capped, answer.request.means, runs=5)
