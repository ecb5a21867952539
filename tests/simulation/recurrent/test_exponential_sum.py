"""Sums of powers: the accuracy they state holds at every age and can hardly be better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.errors import InputError
from bascule.core.types import FloatArray
from bascule.simulation.recurrent.exponential_sum import (
    COARSEST,
    FINEST,
    LONGEST,
    ExponentialSum,
    fit,
    fit_terms,
)

pytestmark = pytest.mark.slow

HORIZONS = st.floats(0, 4).map(lambda exponent: round(10**exponent))
ACCURACIES = st.floats(-6, -3).map(lambda exponent: 10**exponent)
SHIFTS = st.just(0.0) | st.floats(-3, 9).map(lambda exponent: 10**exponent)


def errors(powers: ExponentialSum) -> FloatArray:
    """The relative error at every age, one stage after the other as a simulation would go."""
    found = np.empty(powers.horizon)
    nodes, terms = np.array(powers.nodes), np.array(powers.weights)
    for start in range(0, powers.horizon, 1000):
        ages = np.arange(start, min(start + 1000, powers.horizon), dtype=float)
        values = np.power(nodes, ages[:, np.newaxis]) @ terms
        shifted = ages + 1.0 + powers.shift
        inverse = shifted * (shifted + 1.0) if powers.differences else shifted
        found[start : start + 1000] = values * inverse - 1.0
    return found


@given(HORIZONS, ACCURACIES, SHIFTS, st.booleans())
def test_the_accuracy_holds_at_every_age(
    horizon: int, accuracy: float, shift: float, differences: bool
) -> None:
    powers = fit(horizon, accuracy, shift, differences)
    assert powers.accuracy <= accuracy
    assert np.abs(errors(powers)).max() <= 1.001 * powers.accuracy + 1e-13


def test_the_accuracy_holds_at_every_age_up_to_a_million() -> None:
    powers = fit(1_000_000)
    assert np.abs(errors(powers)).max() == pytest.approx(powers.accuracy, rel=1e-3)
    assert powers.accuracy <= 1e-5


@pytest.mark.parametrize(
    ("horizon", "terms", "accuracy"),
    [(1000, 12, 1e-5), (10_000, 20, 1e-7), (1_000_000, 20, 3e-5), (LONGEST, 20, 1e-3)],
)
def test_few_terms_are_enough(horizon: int, terms: int, accuracy: float) -> None:
    assert fit_terms(horizon, terms).accuracy < accuracy


@pytest.mark.parametrize("horizon", [20, 300, 5000])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5, 1e-6])
def test_one_term_fewer_would_not_do(horizon: int, accuracy: float) -> None:
    terms = fit(horizon, accuracy).terms
    assert fit_terms(horizon, terms - 1).accuracy > accuracy


@pytest.mark.parametrize(("horizon", "terms"), [(50, 6), (1000, 10), (1000, 12), (100_000, 16)])
def test_no_age_is_much_better_than_the_others(horizon: int, terms: int) -> None:
    """The error is level: it goes up and down as often as a best one must, each time as far.

    Were another sum of as many terms, one of them constant, better at the top of every arc, the
    two would differ by 2 * terms - 1 powers with as many zeros: one more than such a sum can have.
    """
    left = errors(fit_terms(horizon, terms))
    arcs = np.split(np.abs(left), 1 + np.flatnonzero(np.diff(np.sign(left))))
    tops = [arc.max() for arc in arcs]
    assert len(tops) == 2 * terms
    assert min(tops) > 0.9 * max(tops)


@given(HORIZONS, ACCURACIES)
def test_nodes_fall_from_one_and_weights_are_positive(horizon: int, accuracy: float) -> None:
    powers = fit(max(horizon, 9), accuracy)
    assert powers.nodes[0] == 1.0
    assert (np.diff(powers.nodes) < 0).all()
    assert powers.nodes[-1] > 0.0
    assert min(powers.weights) > 0.0
    assert math.fsum(powers.weights) == pytest.approx(1.0, rel=accuracy)


def test_a_handful_of_ages_is_exact() -> None:
    for horizon in range(1, 9):
        powers = fit(horizon)
        assert powers.terms == horizon
        assert powers.at(np.arange(1.0, horizon + 1)) == pytest.approx(
            1.0 / np.arange(1, horizon + 1), rel=1e-12
        )


def test_a_shift_makes_for_fewer_terms() -> None:
    terms = [fit(1000, 1e-5, shift).terms for shift in (0.0, 10.0, 1e3, 1e6, 1e9)]
    assert terms == sorted(terms, reverse=True)
    assert terms[-1] == 1


def test_the_same_question_is_answered_once() -> None:
    assert fit(777, 1e-4) is fit(777, 1e-4)


@pytest.mark.parametrize(
    ("horizon", "accuracy", "shift", "field"),
    [
        (0, 1e-5, 0.0, "horizon"),
        (LONGEST + 1, 1e-5, 0.0, "horizon"),
        (2.5, 1e-5, 0.0, "horizon"),
        (100, FINEST / 2, 0.0, "accuracy"),
        (100, COARSEST * 2, 0.0, "accuracy"),
        (100, math.nan, 0.0, "accuracy"),
        (100, 1e-5, -1.0, "shift"),
        (100, 1e-5, math.inf, "shift"),
    ],
)
def test_bad_input_names_the_field(horizon: int, accuracy: float, shift: float, field: str) -> None:
    with pytest.raises(InputError, match=field):
        fit(horizon, accuracy, shift)


def test_too_few_terms_are_refused() -> None:
    with pytest.raises(InputError, match="terms"):
        fit_terms(1_000_000, 8)
