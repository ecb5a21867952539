from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from bascule.core.errors import InputError
from bascule.core.inputs import checks


@pytest.mark.parametrize("value", ["1", None, True, math.nan])
def test_number_takes_numbers_only(value: object) -> None:
    with pytest.raises(InputError, match=r"^sigma must be a number") as caught:
        checks.number("sigma", value, "give one")
    assert caught.value.field == "sigma"


@pytest.mark.parametrize("value", [0, -1, math.inf])
def test_positive_refuses_what_is_not_above_zero_and_finite(value: float) -> None:
    with pytest.raises(InputError, match="sigma must be above 0 and finite"):
        checks.positive("sigma", value, "give one")


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5])
def test_probability_excludes_its_ends(value: float) -> None:
    with pytest.raises(InputError, match="error must lie strictly between 0 and 1"):
        checks.probability("error", value, "0.05 is usual")


@pytest.mark.parametrize("value", [1.0, "3", True, None])
def test_whole_takes_whole_numbers_only(value: object) -> None:
    with pytest.raises(InputError, match="runs must be a whole number"):
        checks.whole("runs", value, 1, "give one")


@pytest.mark.parametrize("check", [checks.number, checks.finite, checks.positive])
def test_numbers_beyond_any_float_are_refused_in_words(check: Callable[..., float]) -> None:
    with pytest.raises(InputError, match="too large to compute with"):
        check("sigma", 10**400, "give less")


def test_whole_has_an_upper_end_too() -> None:
    with pytest.raises(InputError, match="at most 5"):
        checks.whole("runs", 6, 1, "give less", 5)


def test_an_error_is_a_value_error_in_one_line() -> None:
    with pytest.raises(ValueError, match="finite") as caught:
        checks.finite("value", math.inf, "an outcome is a number")
    assert "\n" not in str(caught.value)
