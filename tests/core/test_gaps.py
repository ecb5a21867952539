from __future__ import annotations

import math
from typing import Any

import pytest

from bascule.core.errors import InputError
from bascule.core.gaps import checked_means, gaps_of, rival_gaps
from bascule.core.outcomes import Gaussian


def test_gaps_are_distances_to_the_best() -> None:
    assert gaps_of([0.5, 2.0, 1.5]) == (1.5, 0.0, 0.5)
    assert rival_gaps([0.5, 2.0, 1.5]) == (1.5, 0.5)


def test_a_tie_for_the_first_place_leaves_a_gap_of_zero() -> None:
    assert rival_gaps([1.0, 1.0, 0.0]) == (0.0, 1.0)


@pytest.mark.parametrize(
    "means", [[1.0], [1.0, 2.0, 3.0], "12", 3, [1.0, "x"], [1.0, math.nan], {1: 1, 2: 2}]
)
def test_means_are_one_finite_number_an_arm(means: Any) -> None:
    with pytest.raises(InputError, match="means must") as caught:
        checked_means(means, 2, Gaussian(1))
    assert caught.value.field == "means"
