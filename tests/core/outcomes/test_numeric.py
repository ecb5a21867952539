"""Outcomes whose spread is estimated: what the model states, and who accepts it."""

from __future__ import annotations

import math

import pytest

import bascule as bs
from bascule.planning.request.read import plan_request


def test_nothing_is_stated_but_that_the_spread_is_estimated() -> None:
    model = bs.Numeric()
    assert model.estimated
    assert not model.known_spread
    assert not model.limited
    assert model.sigma == math.inf
    assert bs.Numeric(3.0).variance(1.0) == 9.0


def test_tilted_blocks_take_it_and_call_their_error_asymptotic() -> None:
    design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(3), sides=1)
    assert design.calibration.guarantee == "asymptotic"
    assert bs.Design.from_dict(design.to_dict()) == design


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.ETCPrime(), bs.UCB(2, stop="mixture")])
def test_rules_that_need_a_known_spread_refuse_it_and_name_one_that_does_not(
    rule: bs.design.Rule,
) -> None:
    with pytest.raises(bs.InputError, match=r"or the rule Tilt\(tilt\)"):
        bs.Design(["a", "b"], bs.Numeric(), rule)


def test_more_arms_than_it_is_made_for_are_refused_when_the_design_is_made() -> None:
    with pytest.raises(bs.InputError, match="at most 50"):
        bs.Design([str(i) for i in range(51)], bs.Numeric(), bs.Tilt(3))


def test_a_simulation_does_not_guess_the_spread() -> None:
    design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(3), max_units=100, sides=1)
    with pytest.raises(bs.InputError, match="spread is missing"):
        bs.simulate(design, [0.0, 1.0], runs=2)


def test_a_plan_takes_the_spread_from_the_model_or_from_a_sample() -> None:
    sample = bs.planning.Sample.of([0.0, 10.0, 20.0, 30.0, 40.0] * 4)
    request = plan_request(bs.Numeric(), sample=sample, lift=5.0)
    assert (request.outcome, request.baseline) == (bs.Numeric(sample.sigma), 20.0)
    assert plan_request(bs.Numeric(3.0), sample=sample, lift=5.0).outcome == bs.Numeric(3.0)
    with pytest.raises(bs.InputError, match="spread is missing"):
        bs.plan(bs.Numeric(), baseline=20.0, lift=5.0)
