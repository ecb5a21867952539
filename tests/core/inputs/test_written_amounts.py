"""Numbers as people write them."""

from __future__ import annotations

import pytest

from bascule import InputError
from bascule.core.inputs.checks import amount, tidy
from bascule.planning.request.checks import lift_of

REMEDY = "give a number"


@pytest.mark.parametrize(
    ("written", "meant"), [(0.05, 0.05), ("0.05", 0.05), ("5%", 0.05), (" 5 % ", 0.05), ("-3", -3)]
)
def test_percent_is_a_hundredth(written: object, meant: float) -> None:
    assert amount("baseline", written, REMEDY) == meant


@pytest.mark.parametrize(
    ("written", "baseline", "meant"),
    [
        (0.01, 0.05, 0.01),
        ("0.01", 0.05, 0.01),
        ("10%", 0.05, 0.005),
        ("-10%", 20.0, -2.0),
        ("10%", -20.0, 2.0),
    ],
)
def test_a_lift_in_percent_is_a_part_of_the_baseline(
    written: object, baseline: float, meant: float
) -> None:
    assert lift_of(written, baseline) == pytest.approx(meant, rel=1e-12)


@pytest.mark.parametrize("written", ["", "%", "five", "5%%", "1e400", "nan", None, True, [1]])
def test_what_is_no_number_is_refused_in_one_line(written: object) -> None:
    with pytest.raises(InputError, match=r"^baseline [^\n]*$"):
        amount("baseline", written, REMEDY)
    with pytest.raises(InputError, match=r"^lift [^\n]*$"):
        lift_of(written, 1.0)


def test_nothing_is_a_part_of_a_baseline_of_zero() -> None:
    with pytest.raises(InputError, match="baseline, which is 0"):
        lift_of("10%", 0.0)


def test_decimal_dust_is_wiped_off() -> None:
    assert tidy(0.1 + 0.2) == 0.3
