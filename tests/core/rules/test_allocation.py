"""Whose claim a guarantee is: rules from outside are labelled, unless they only allocate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest
from tests.outside import Explore
from tests.outside import registered as outside_registered

import bascule as bs
from bascule.core.evidence.calibration import STATED, Calibration
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.rules import RULES, BlockAllocation, Rule
from bascule.core.rules.allocation import FINAL

ARMS = ["control", "green"]
OUTCOMES = [bs.Gaussian(2), bs.Bernoulli(), bs.Bounded(0, 5), bs.Numeric(1.5), bs.Ratio(0.5, 2, 1)]


def double_share(ahead: float, tilt: float) -> int:
    """Return twice the tilt once an arm is a standard deviation ahead."""
    return int(2 * tilt) if ahead > 1.0 else 1


@dataclass(frozen=True, slots=True)
class Double(BlockAllocation):
    """A rule from outside that only allocates."""

    tilt: float = 2.0
    effect: float | None = None
    power: float | None = None
    kind: Literal["test-double"] = field(default="test-double", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Double_{self.tilt:g}"

    @property
    def words(self) -> str:
        return f"double blocks, tilt {self.tilt:g}"

    @property
    def like(self) -> bs.Tilt:
        return bs.Tilt(self.tilt, self.effect, power=self.power)

    @property
    def share(self) -> Any:
        return double_share


@dataclass(frozen=True, slots=True)
class Bold(Rule):
    """A rule from outside that calls any error proven; its procedure asks for the calibration."""

    factor: float = 1.0
    kind: Literal["test-bold"] = field(default="test-bold", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Bold_{self.factor:g}"

    @property
    def words(self) -> str:
        return f"bold blocks, factor {self.factor:g}"

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        assert error is not None
        return Calibration(min(0.9, self.factor * error), error, "proven")

    def procedure(self, design: Setting) -> BlockProcedure:
        assert design.calibration.delta < 1.0
        return bs.Tilt(1).procedure(design)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    RULES.register(Double)
    RULES.register(Bold)
    with outside_registered():
        yield
    RULES.forget("test-double")
    RULES.forget("test-bold")


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
@pytest.mark.parametrize("arms", [2, 4])
def test_a_rule_that_only_allocates_has_the_guarantee_and_evidence_of_tilted_blocks(
    outcome: Outcome, arms: int
) -> None:
    mine = bs.Design([*"abcd"[:arms]], outcome, Double(3))
    ours = replace(mine, rule=bs.Tilt(3))
    assert mine.calibration == ours.calibration
    assert mine.procedure.label == "Double_3"
    made, expected = mine.procedure, ours.procedure
    assert isinstance(made, BlockProcedure)
    assert isinstance(expected, BlockProcedure)
    assert replace(made, design=ours, label="Tilt_3", share=expected.share) == expected


def test_a_rule_that_only_allocates_accepts_what_tilted_blocks_accept() -> None:
    with pytest.raises(bs.InputError, match="Recurrent"):
        bs.Design(ARMS, bs.Recurrent(1, 1), Double(2))
    with pytest.raises(bs.InputError, match="tilt must be at least 1"):
        bs.Design(ARMS, bs.Gaussian(1), Double(0.5))
    with pytest.raises(bs.InputError, match="arms must be at most 50"):
        bs.Design([f"arm-{i}" for i in range(60)], bs.Gaussian(1), Double(2))


def test_a_horizon_that_a_removal_would_move_is_for_two_arms() -> None:
    planned = Double(2, 0.5, 0.9)
    assert bs.Design(ARMS, bs.Gaussian(1), planned).calibration.guarantee == "proven"
    with pytest.raises(bs.InputError, match=r"for two arms \(got 3\): give `like` a reach"):
        bs.Design(["a", "b", "c"], bs.Gaussian(1), planned)


@pytest.mark.parametrize("name", FINAL)
def test_who_overrides_what_is_final_is_not_trusted(name: str) -> None:
    method = getattr(BlockAllocation, name)

    def again(self: Any, *given: Any) -> Any:
        return method(self, *given)

    changed = type("Changed", (Double,), {name: again})
    assert bs.Design(ARMS, bs.Gaussian(1), changed()).calibration.guarantee == STATED


def test_a_class_derived_from_one_of_ours_is_not_ours() -> None:
    changed = type("Changed", (bs.Tilt,), {})
    assert bs.Design(ARMS, bs.Gaussian(1), changed(3)).calibration.guarantee == STATED
    liked = type("Liked", (Double,), {"like": property(lambda self: changed(3))})
    assert bs.Design(ARMS, bs.Gaussian(1), liked()).calibration.guarantee == STATED


def test_what_claims_nothing_stays_as_published() -> None:
    bold = type("Bolder", (Bold,), {"calibrate": lambda *_: Calibration(0.1, 1.0, "as published")})
    assert bs.Design(ARMS, bs.Gaussian(1), bold()).calibration.guarantee == "as published"


def test_the_label_is_shown_wherever_a_guarantee_is() -> None:
    design = bs.Design(ARMS, bs.Gaussian(1), Bold(), reports="always")
    assert design.calibration.guarantee == STATED
    assert "(stated by its author)" in design._repr_html_()
    with bs.open(":memory:") as store:
        test = store.create("bold", design)
        for i in range(400):
            if test.state != "running":
                break
            test.record(i, 2.0 * (test.assign(i) == "green") + i % 3 / 2)
        status = test.status()
    assert status.decision is not None
    assert status.decision.guarantee == status.effects[0].guarantee == STATED
    assert status.promise.endswith("(stated by its author)")
    assert "(stated by its author)" in str(status)


def test_a_knob_can_be_a_fraction_with_an_upper_limit() -> None:
    rule = Explore(0.2)
    assert rule.with_knob(0.5) == Explore(0.5)
    with pytest.raises(bs.InputError, match=r"Explore_0.2 must be from 0.01 to 0.5 \(got 0.6\)"):
        rule.with_knob(0.6)
    with pytest.raises(bs.InputError, match="strictly between 0 and 1"):
        rule.with_knob(1.5)
    with bs.open(":memory:") as store:
        test = store.create("explore", bs.Design(ARMS, bs.Gaussian(1), rule, reports="always"))
        with pytest.raises(bs.InputError, match="must be from 0"):
            test.knob(epsilon=0.7)
        test.knob(epsilon=0.1)
        assert test.design.rule == Explore(0.1)
        test.assign("u")
        assert test.verify().agrees


def test_an_even_split_is_known_by_its_shares() -> None:
    made = bs.Design(ARMS, bs.Gaussian(1), Explore(0.5))
    assert made.procedure.even
    assert not replace(made, rule=Explore(0.1)).procedure.even
