"""Every registered rule and outcome model keeps the contract, and so do those a user brings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

import bascule as bs
from bascule.contract import CHECKS, check_contract
from bascule.core.outcomes import OUTCOMES, Discrete, Noise, Outcome
from bascule.core.procedures.base import Problem
from bascule.core.procedures.block_steps import BlockSteps
from bascule.core.procedures.blocks import BlockProcedure
from bascule.core.rules import RULES, Rule

ARMS = ["control", "green"]


@dataclass(frozen=True, slots=True)
class Poisson(Outcome):
    """Counts from a Poisson distribution, cut at `most`."""

    most: int = 20
    kind: Literal["poisson"] = field(default="poisson", kw_only=True, repr=False)
    integer: ClassVar[bool] = True
    low: ClassVar[float] = 0.0
    cost_unit: ClassVar[str] = "events"
    example: ClassVar[str] = "Poisson(most)"

    @property
    def high(self) -> float:
        return float(self.most)

    @property
    def sigma(self) -> float:
        return self.most / 2

    @property
    def words(self) -> str:
        return f"counts up to {self.most}"

    def noise(self, means: tuple[float, ...]) -> Noise:
        counts = range(self.most + 1)
        return Discrete(
            [float(k) for k in counts],
            [[math.exp(-mean) * mean**k / math.factorial(k) for k in counts] for mean in means],
        )


def eager_share(ahead: float, tilt: float) -> int:
    """The leader gets its full share as soon as it is ahead at all."""
    return math.floor(tilt + 0.5) if ahead > 0.0 else 1


@dataclass(frozen=True, slots=True)
class Eager(Rule):
    """Tilted blocks that tilt fully from the second block on."""

    tilt: float = 3.0
    kind: Literal["eager"] = field(default="eager", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Eager_{self.tilt:g}"

    @property
    def words(self) -> str:
        return f"eager blocks, tilt {self.tilt:g}"

    def check_outcome(self, outcome: Outcome) -> None:
        bs.Tilt(self.tilt).check_outcome(outcome)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> bs.Calibration:
        return bs.Tilt(self.tilt).calibrate(outcome, arms, error, delta)

    def procedure(self, design: Problem) -> BlockProcedure:
        steps: BlockSteps = bs.Tilt(self.tilt).steps(design.outcome)._replace(share=eager_share)
        return BlockProcedure(design, self.label, steps, self.tilt)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Any:
    """A user's own rule and outcome model, registered as a user would."""
    OUTCOMES.register(Poisson)
    RULES.register(Eager)
    yield
    OUTCOMES.forget("poisson")
    RULES.forget("eager")


OWN = [
    (bs.Tilt(3), bs.Gaussian(1), [0.0, 0.7]),
    (bs.Tilt(2, effect=0.5), bs.Gaussian(2), [0.0, 1.5]),
    (bs.Tilt(4, batch=2), bs.Bernoulli(), [0.2, 0.6]),
    (bs.Tilt(1), bs.Bounded(0, 5), [1.0, 3.0]),
    (bs.UCB(2), bs.Gaussian(1), [0.0, 1.0]),
    (bs.UCB(2, radius="bernstein"), bs.Bernoulli(), [0.2, 0.8]),
    (bs.UCB(3, radius="mixture", stop="mixture"), bs.Bounded(0, 2), [0.5, 1.5]),
    (bs.ETC(stop="mixture"), bs.Gaussian(1), [0.0, 0.8]),
    (bs.ETCPrime(), bs.Bernoulli(), [0.1, 0.9]),
    (bs.UCB(2, radius="mixture"), bs.Recurrent(1, 1), [0.0, 1.5]),
    (bs.ETC(), bs.Recurrent(1, 1), [0.0, 1.5]),
    (bs.Static(200, horizon=10, stop="mixture"), bs.Recurrent(1, 1), [0.0, 1.0]),
]
BROUGHT = [
    (Eager(3), bs.Gaussian(1), [0.0, 0.7]),
    (Eager(3), bs.Bernoulli(), [0.2, 0.6]),
    (bs.Tilt(3), Poisson(20), [1.0, 3.0]),
    (bs.UCB(2, radius="mixture"), Poisson(6), [1.0, 3.5]),
    (Eager(2), Poisson(20), [1.0, 3.0]),
]


@pytest.mark.parametrize(("rule", "outcome", "means"), OWN + BROUGHT, ids=repr)
def test_the_contract_holds(rule: Any, outcome: Any, means: list[float]) -> None:
    design = bs.Design(ARMS, outcome=outcome, rule=rule, error=0.05)
    passed = check_contract(design, means)
    expected = set(CHECKS)
    if outcome.recurring:
        expected -= {
            "halves of the data add up",
            "intervals agree with decisions",
            "live test agrees with verify",
        }
    if isinstance(rule, bs.Static):
        expected -= {"trace agrees with simulate"}
    assert set(passed) == expected


def test_every_registered_kind_is_in_the_list() -> None:
    assert {type(rule) for rule, _, _ in OWN + BROUGHT} == set(RULES)
    assert {type(outcome) for _, outcome, _ in OWN + BROUGHT} == set(OUTCOMES)


@dataclass(frozen=True, slots=True)
class Unbounded(Outcome):
    """Counts without a limit: neither a spread nor limits are stated."""

    kind: Literal["unbounded"] = field(default="unbounded", kw_only=True, repr=False)
    low: ClassVar[float] = 0.0
    example: ClassVar[str] = "Unbounded()"

    @property
    def words(self) -> str:
        return "counts without a limit"

    def noise(self, means: tuple[float, ...]) -> Noise:
        return Poisson(20).noise(means)


@pytest.mark.parametrize("rule", [bs.Tilt(3), bs.UCB(2), bs.ETC(), bs.ETCPrime(), Eager(2)])
def test_what_is_not_stated_is_refused_loudly(rule: Any) -> None:
    with pytest.raises(bs.InputError, match="known spread or within limits"):
        bs.Design(ARMS, outcome=Unbounded(), rule=rule)


def test_a_plan_for_outcomes_that_are_not_stated_says_so() -> None:
    with pytest.raises(bs.InputError, match="known spread or within limits"):
        bs.plan(Unbounded(), baseline=1.0, lift=1.0)


def test_outcomes_of_a_users_model_are_checked_when_they_are_recorded() -> None:
    with bs.open(":memory:") as store:
        test = store.create("counts", bs.Design(ARMS, outcome=Poisson(5), rule=bs.Tilt(2)))
        test.assign("u")
        assert not test.record("u", 2.5).accepted
        assert not test.record("u", 6).accepted
        assert test.record("u", 5).accepted


def test_registering_refuses_what_is_no_rule_and_a_kind_that_is_taken() -> None:
    with pytest.raises(bs.InputError, match="cannot be registered"):
        RULES.register(int)
    with pytest.raises(bs.InputError, match="belongs to Tilt already"):

        @RULES.register
        @dataclass(frozen=True)
        class Mine(bs.Tilt):
            pass
