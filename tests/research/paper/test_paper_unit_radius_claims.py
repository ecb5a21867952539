from __future__ import annotations

import math

import pytest

from bascule.core.procedures.recurrent import algorithm_2_radius, alternative_radius
from bascule.research.paper.claims.unit_radii import (
    additional,
    additional_alternative,
    needed,
)
from bascule.research.paper.measure import Measurements
from bascule.research.paper.regenerate import SECTIONS

pytestmark = pytest.mark.slow

NOTHING = Measurements({})


def test_all_of_them_hold_as_corrected() -> None:
    computed = [claim for claim in SECTIONS[1].claims if "unit_radii" in claim.judge.__module__]
    claims = [claim(NOTHING) for claim in computed]
    assert {claim.id for claim in claims if claim.verdict == "does not hold"} == {
        "units-noise-costs-log-log-as-printed",
        "units-alternative-costs-root-log-as-printed",
    }
    assert {claim.id for claim in claims if claim.holds} == {
        "units-noise-costs-log-log",
        "units-added-whatever-the-gap",
        "units-void-without-noise",
        "units-alternative-tends-to-ucb",
        "units-alternative-costs-root-log",
    }


@pytest.mark.parametrize("radius", [algorithm_2_radius, alternative_radius])
def test_the_units_needed_bring_the_radius_to_half_the_gap(radius: object) -> None:
    assert callable(radius)
    units = needed(radius, 12.0, gap=0.5)
    assert radius(units, units, 1.0, 1.0, 12.0) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("level", [1e3, 1e6, 1e9])
def test_noise_adds_about_the_log_of_the_units(level: float) -> None:
    units = needed(algorithm_2_radius, level)
    assert additional(level) == pytest.approx(1 + math.log(units), rel=0.01)


def test_more_noise_can_save_units_at_a_small_gap() -> None:
    large, small = (
        needed(algorithm_2_radius, 12.0, gap, 2.0) - needed(algorithm_2_radius, 12.0, gap)
        for gap in (1.0, 0.1)
    )
    assert large > 0 > small
    # The logarithm falls by log 4, and a unit of it is worth 8 / gap^2 units.
    assert small == pytest.approx(-8 / 0.01 * math.log(4), rel=0.1)


def test_the_alternative_pays_more_for_noise_and_less_in_all() -> None:
    assert additional_alternative(12.0) > 5 * additional(12.0)
    assert needed(alternative_radius, 12.0) < needed(algorithm_2_radius, 12.0)
