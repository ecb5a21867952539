from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.diagnostics.drift import cells_of, join, joined, variances_of
from bascule.core.errors import InputError
from bascule.core.statistics import ArmStatistics, Statistics


def period(*arms: tuple[int, float, float]) -> Statistics:
    return Statistics(tuple(ArmStatistics(*arm) for arm in arms))


def test_every_unit_is_in_one_stretch_and_every_stretch_has_enough() -> None:
    units = np.array([0.0, 3, 9, 30, 0, 2, 11, 5])
    starts = join(units, 10.0)
    assert starts == [0, 3, 4]
    assert joined(units, starts).tolist() == [12, 30, 18]


def test_too_few_units_make_no_stretch() -> None:
    assert join(np.array([4.0, 5.0]), 10.0) == []


def test_variance_is_that_of_the_outcomes() -> None:
    values = np.array([0.3, -1.2, 5.0, 2.2])
    got = variances_of(np.array(4.0), values.sum(), (values**2).sum())
    assert got == pytest.approx(values.var(ddof=1))


def test_equal_outcomes_have_no_variance_however_they_round() -> None:
    values = np.full(7, 0.1)
    assert variances_of(np.array(7.0), values.sum(), (values**2).sum()) == 0.0
    assert variances_of(np.array(0.0), np.array(0.0), np.array(0.0)) == 0.0


def test_rare_hits_need_more_units() -> None:
    assert cells_of("periods", [period((1000, 10.0, 10.0))]).needed().tolist() == [500]
    assert cells_of("periods", [period((1000, 990.0, 990.0))]).needed().tolist() == [500]
    assert cells_of("periods", [period((1000, 10.0, 12.0))]).needed().tolist() == [10]
    assert cells_of("periods", [period((1000, 0.0, 0.0))]).needed().tolist() == [math.inf]


@pytest.mark.parametrize(
    "periods",
    [
        [],
        period((1, 1.0, 1.0)),
        [None],
        "periods",
        [period((1, 1.0, 1.0)), period((1, 1.0, 1.0), (1, 1.0, 1.0))],
        [period((1, math.nan, 1.0))],
        [period((-1, 0.0, 0.0))],
        [period((100, 50.0, 0.0))],
    ],
)
def test_what_is_no_list_of_periods_is_refused(periods: list[Statistics]) -> None:
    with pytest.raises(InputError, match=r"^periods (must|have)"):
        cells_of("periods", periods)
