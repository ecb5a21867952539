from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.diagnostics.drift import late_outcomes
from bascule.core.errors import InputError
from bascule.core.statistics import ArmStatistics, Statistics


def hits(*arms: tuple[int, int]) -> Statistics:
    return Statistics(tuple(ArmStatistics(n, float(k), float(k)) for n, k in arms))


def outcomes(*arms: np.ndarray) -> Statistics:
    return Statistics(
        tuple(ArmStatistics(len(y), float(y.sum()), float((y**2).sum())) for y in arms)
    )


def test_of_hits_it_is_the_test_of_mantel_and_haenszel() -> None:
    prompt, late = [(80, 20), (90, 30)], [(20, 9), (30, 15)]
    off = variance = 0.0
    for (n, k), (m, l) in zip(prompt, late, strict=True):  # noqa: E741
        units, total = n + m, k + l
        off += l - m * total / units
        variance += n * m * total * (units - total) / (units**2 * (units - 1.0))
    found = late_outcomes([hits(*prompt)], [hits(*late)])
    assert found.statistic == pytest.approx(off / math.sqrt(variance))


def test_its_variance_is_that_over_all_ways_of_being_late() -> None:
    rng = np.random.default_rng(1)
    values, found = rng.lognormal(size=60), []
    for _ in range(1500):
        rng.shuffle(values)
        found.append(late_outcomes([outcomes(values[20:])], [outcomes(values[:20])]).statistic)
    assert np.mean(found) == pytest.approx(0.0, abs=3.0 / math.sqrt(len(found)))
    assert np.var(found) == pytest.approx(
        1.0, abs=3.0 * np.std(np.square(found)) / len(found) ** 0.5
    )


def test_a_difference_between_arms_or_periods_is_none_between_prompt_and_late() -> None:
    prompt = [hits((900, 90), (100, 50)), hits((100, 50), (100, 90))]
    late = [hits((90, 9), (300, 150)), hits((400, 200), (10, 9))]
    assert late_outcomes(prompt, late).statistic == pytest.approx(0.0)
    together = late_outcomes([prompt[0] + prompt[1]], [late[0] + late[1]])
    assert together.flagged


def test_an_alarm_says_by_how_much_they_differ() -> None:
    found = late_outcomes([hits((1000, 300), (1000, 310))], [hits((100, 5), (100, 6))])
    assert found.flagged
    assert found.message.startswith("late outcomes differ from prompt ones by -0.25 (p < 0.0001)")


@pytest.mark.parametrize(
    ("prompt", "late"),
    [
        (hits((1000, 300), (1000, 310)), hits((0, 0), (0, 0))),
        (hits((1000, 300), (0, 0)), hits((0, 0), (1000, 100))),
        (hits((1000, 10), (1000, 10)), hits((30, 3), (30, 3))),
        (outcomes(np.arange(50.0)), outcomes(np.array([100.0, 200.0]))),
    ],
    ids=["none late", "no arm has both", "few hits", "few late"],
)
def test_with_too_little_there_is_no_alarm(prompt: Statistics, late: Statistics) -> None:
    found = late_outcomes([prompt], [late])
    assert found.p_value == 1.0
    assert "too few" in found.message


def test_prompt_and_late_are_of_the_same_periods() -> None:
    with pytest.raises(InputError, match="same periods and arms"):
        late_outcomes([hits((9, 1))], [hits((9, 1)), hits((9, 1))])
