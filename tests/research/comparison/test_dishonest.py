"""A rule that states an error which it does not keep: compared apart, and named as such."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pytest
from tests.research.comparison.test_own_models import InTurns, Turns

import bascule as bs
from bascule.core.procedures.base import AnyStatistics, Setting
from bascule.core.rules import Rule
from bascule.core.statistics import Statistics
from bascule.core.types import NOBODY
from bascule.research.comparison import frontier_report
from bascule.research.comparison.contenders import RuleFamily
from bascule.research.comparison.frontier import Frontier

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class FirstThree(Turns):
    """The arm with the highest mean of three units wins."""

    counts: ClassVar[Literal["units"]] = "units"

    def winner(self, statistics: AnyStatistics) -> int:
        assert isinstance(statistics, Statistics)
        arms = statistics.arms
        if min(arm.units for arm in arms) < 3:
            return NOBODY
        means = [arm.mean for arm in arms]
        return means.index(max(means))


@dataclass(frozen=True, slots=True)
class Hasty(InTurns):
    """Decides after three units of each arm, and states the error that it was asked for."""

    kind: Literal["hasty"] = field(default="hasty", kw_only=True, repr=False)  # type: ignore[assignment]

    @property
    def label(self) -> str:
        return "Hasty"

    def procedure(self, design: Setting) -> FirstThree:
        return FirstThree(design, self.label, design.outcome.sigma)


@pytest.fixture(scope="module")
def compared() -> Frontier:
    rules: list[Rule | str] = ["published", "tilt", Hasty()]
    return bs.research.frontier([0.0, 1.0], alphas=[2.0], tilts=[3.0], runs=1000, rules=rules)


def test_a_dishonest_rule_is_cheap_and_early_and_still_dominates_nothing(
    compared: Frontier,
) -> None:
    *others, hasty = compared.points
    assert hasty.family is RuleFamily.STATED
    for point in others:
        assert hasty.regret.mean < point.regret.mean
        assert hasty.decision_time.mean < point.decision_time.mean
        assert "Hasty" not in point.dominated_by
    assert not hasty.efficient
    assert hasty not in compared.efficient
    assert hasty not in compared.beyond_the_paper


def test_frontier_says_that_it_is_dishonest(compared: Frontier) -> None:
    hasty = compared.points[-1]
    # The difference of two means of three: P(N(1, 2/3) < 0) = 0.1103.
    assert hasty.error_rate == pytest.approx(0.1103, abs=4 * (0.1103 * 0.8897 / 1000) ** 0.5)
    assert hasty.broken
    assert "Hasty" not in frontier_report.verdict(compared)
    assert "Tilt_3" in frontier_report.verdict(compared)
    words = repr(compared)
    assert f"! Hasty was wrong in {100 * hasty.error_rate:.3g} % of its runs" in words
    assert "more often than its author states (5 %)" in words
    assert "whose error their authors state, compared apart" in words
    data = compared.to_dict()["points"][-1]
    assert (data["broken"], data["efficient"], data["guarantee"]) == (
        True,
        False,
        "stated by its author",
    )
    assert not any(point.broken for point in compared.points[:-1])


def test_the_figure_draws_it_apart(compared: Frontier) -> None:
    (axis,) = compared.plot().axes
    named = [text.get_text() for text in axis.texts]
    assert any("Hasty" in name and "% wrong" in name for name in named)
    shaded = np.asarray(axis.collections[0].get_paths()[0].vertices)
    # What is dominated begins at the quickest rule that has a guarantee.
    assert shaded[:, 0].min() > 3 * compared.points[-1].decision_time.mean
    assert bs.research.frontier([0.0, 1.0], runs=20, rules=["peers"]).plot().axes


def test_audit_says_that_it_is_dishonest() -> None:
    report = bs.research.audit(Hasty(), [0.0, 1.0], runs=1000)
    assert repr(report).startswith(
        "Hasty is wrong more often than its author states in steady and null."
    )
    honest = bs.research.audit(InTurns(), [0.0, 1.0], runs=50)
    assert repr(honest).startswith("Turns_1 is wrong no more often than its author states in 2")


def test_a_weaker_guarantee_dominates_no_stronger_one() -> None:
    normal = bs.Tilt(3, effect=1.0, power=0.9, guarantee="gaussian")
    design = bs.Design(["a", "b"], bs.Gaussian(1), normal, sides=1)
    result = bs.research.frontier([0.0, 1.0], design, runs=400, rules=["published", "tilt"])
    given = result.points[-1]
    assert given.calibration.guarantee == "gaussian"
    assert given.decision_time.mean < result.of(RuleFamily.PUBLISHED)[0].decision_time.mean
    assert not any(given.label in point.dominated_by for point in result.points)
    assert given not in result.beyond_the_paper
