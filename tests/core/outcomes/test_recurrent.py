"""Outcomes that keep coming, and what a design makes of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.outside import Rating

import bascule as bs


def design(rule: Any, outcome: bs.Recurrent | None = None, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design(["a", "b"], outcome or bs.Recurrent(1, 1), rule, **given)


def test_a_model_that_states_what_it_lacks_still_gives_one_outcome_per_unit() -> None:
    class Alone(Rating):
        lacks = ("metric",)

    assert not Alone.supports("metric")
    assert not Alone.supports("several outcomes")
    assert bs.Recurrent.supports("several outcomes")


@pytest.mark.parametrize(
    ("spreads", "words"),
    [
        ((-1, 1), "sigma_unit must be above 0"),
        ((1, math.inf), "sigma_noise must be finite"),
        ((1, "one"), "sigma_noise must be a number"),
        ((0, 0), "cannot both be 0"),
    ],
)
def test_a_spread_is_a_number_from_0_on(spreads: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        bs.Recurrent(*spreads)


def test_evidence_is_counted_in_the_larger_spread() -> None:
    assert bs.Recurrent(2, 0).sigma == 2
    assert bs.Recurrent(0, 3).sigma == 3


@pytest.mark.parametrize(
    "rule", [bs.UCB(2), bs.UCB(3, radius="looks", growth=2), bs.ETC(stop="mixture")]
)
def test_a_design_survives_its_file(rule: Any) -> None:
    test = design(rule, bs.Recurrent(0.5, 2), error=0.1)
    assert bs.Design.from_dict(test.to_dict()) == test
    assert test.to_dict()["outcome"] == {
        "sigma_unit": 0.5,
        "sigma_noise": 2.0,
        "kind": "recurrent",
    }


GUARANTEES: list[tuple[Any, str]] = [
    (bs.UCB(2), "as published"),
    (bs.UCB(2, radius="alternative"), "as published"),
    (bs.UCB(2, radius="mixture"), "gaussian"),
    (bs.UCB(2, radius="mixture", stop="mixture"), "gaussian"),
    (bs.UCB(2, radius="looks"), "proven"),
    (bs.UCB(math.inf), "proven"),
    (bs.ETC(), "proven"),
    (bs.ETC(stop="mixture"), "gaussian"),
    (bs.ETCPrime(), "proven"),
]


@pytest.mark.parametrize(("rule", "guarantee"), GUARANTEES)
def test_each_rule_says_what_stands_behind_it(rule: Any, guarantee: str) -> None:
    promise = design(rule, error=0.03).calibration
    assert promise.guarantee == guarantee
    assert promise.error == 0.03


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(2, radius="alternative")])
def test_ucb_mm_states_the_error_of_its_theorem(rule: Any) -> None:
    """They hold with probability 1 - delta-tilde, at most 23 delta log(1 / delta), not delta."""
    at_delta = design(rule, delta=0.05).calibration
    assert (at_delta.delta, at_delta.error, at_delta.guarantee) == (0.05, 1.0, "as published")
    asked = design(rule, error=0.05).calibration
    assert asked.error == 0.05
    assert 23 * asked.delta * math.log(1 / asked.delta) == pytest.approx(0.05)
    seen = bs.progress.CohortStatistics(
        tuple(
            bs.progress.ArmCohorts((bs.progress.Cohort(90, 900, 81000.0 * mean),))
            for mean in (0, 3)
        ),
        stage=90,
    )
    end = bs.progress.ending(design(rule, delta=0.05), seen)
    assert end is not None
    assert end.promise == "nothing is proven about a winner at delta 0.05"


def test_even_splits_of_the_paper_take_their_delta_for_the_error() -> None:
    for rule in (bs.ETC(), bs.ETCPrime()):
        assert design(rule, delta=0.01).calibration.error == 0.01
        assert design(rule, error=0.01).calibration.delta == 0.01


REFUSED: list[tuple[Any, bs.Recurrent, str]] = [
    (bs.UCB(2), bs.Recurrent(1, 0), r'UCB\(2, radius="alternative"\)'),
    (bs.ETCPrime(), bs.Recurrent(1, 0), 'radius="alternative"'),
    (bs.Tilt(3), bs.Recurrent(1, 1), 'radius="mixture"'),
    (bs.UCB(2, stop="mixture"), bs.Recurrent(1, 1), 'radius="mixture"'),
    (bs.UCB(2, stop="mixture", radius="looks"), bs.Recurrent(1, 1), 'radius="mixture"'),
]


@pytest.mark.parametrize(("rule", "outcome", "instead"), REFUSED)
def test_what_makes_no_sense_is_refused_and_the_way_out_named(
    rule: Any, outcome: bs.Recurrent, instead: str
) -> None:
    with pytest.raises(bs.InputError, match=instead):
        design(rule, outcome)


@pytest.mark.parametrize("radius", ["alternative", "looks"])
def test_radii_for_units_are_for_units(radius: Any) -> None:
    with pytest.raises(bs.InputError, match="belongs to Recurrent"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2, radius=radius))


@pytest.mark.parametrize("rule", [bs.UCB(2, radius="mixture"), bs.UCB(2, radius="looks")])
def test_delta_belongs_to_the_papers_rules(rule: Any) -> None:
    with pytest.raises(bs.InputError, match="give error instead"):
        design(rule, delta=0.01)


def test_growth_belongs_to_looks() -> None:
    with pytest.raises(bs.InputError, match="belongs to radius"):
        bs.UCB(2, growth=2)
    with pytest.raises(bs.InputError, match="above 1"):
        bs.UCB(2, radius="looks", growth=1)
    assert bs.UCB(2, radius="looks", growth=3).label == "UCB_2 planned looks x3"


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_no_noise_is_fine_elsewhere(noise: float) -> None:
    for rule in (bs.UCB(2, radius="alternative"), bs.UCB(2, radius="mixture"), bs.ETC()):
        assert design(rule, bs.Recurrent(1, noise)).calibration.error == 0.05
