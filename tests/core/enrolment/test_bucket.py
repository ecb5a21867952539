"""Allocation by hash: its published vectors, how even it is, and what a change of weights moves."""

from __future__ import annotations

import json
import math
import re
import uuid
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

import bascule as bs
from bascule.core.enrolment.bucket import POINTS, cuts, point, whole_weights

REFERENCE = Path(__file__).parents[3] / "docs" / "using"
VECTORS = json.loads((REFERENCE / "bucket-vectors.json").read_text(encoding="utf-8"))

names = st.text("aZ7 @é\u0308\0用😀", min_size=1, max_size=20)
weightings = st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any)


@pytest.mark.parametrize("row", VECTORS["units"], ids=lambda row: f"{row['salt']}-{row['unit']!r}")
def test_published_units(row: dict[str, Any]) -> None:
    assert f"{point(row['unit'], row['salt']):016x}" == row["point"]
    for weights, arm in zip(VECTORS["weights"], row["arms"], strict=True):
        assert bs.bucket(row["unit"], row["salt"], weights) == arm


@pytest.mark.parametrize("row", VECTORS["cuts"], ids=lambda row: str(row["weights"]))
def test_published_cuts(row: dict[str, Any]) -> None:
    assert list(whole_weights(row["weights"])) == row["whole"]
    assert [f"{cut:016x}" for cut in cuts(row["weights"])] == row["cuts"]


def test_the_page_shows_the_published_vectors() -> None:
    page = (REFERENCE / "bucket.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^\| `(.+)` \| `(.+)` \| `([0-9a-f]{16})` \| (\d) \| (\d) \| (\d) \|$", page, re.M
    )
    assert len(shown) > 5
    published = {(row["salt"], str(row["unit"])): row for row in VECTORS["units"]}
    for salt, unit, at, *arms in shown:
        row = published[salt, unit]
        assert row["point"] == at
        assert row["arms"][:3] == [int(arm) for arm in arms]


@given(units=st.lists(names | st.integers(), max_size=20), weights=weightings)
def test_many_at_once_are_the_same(units: list[str | int], weights: list[int]) -> None:
    one_by_one = [bs.bucket(unit, "salt", weights) for unit in units]
    assert bs.buckets(units, "salt", weights).tolist() == one_by_one


def test_arrays_of_numbers_and_of_text() -> None:
    expected = bs.buckets(range(50), "salt", [1, 2]).tolist()
    assert bs.buckets(np.arange(50), "salt", [1, 2]).tolist() == expected
    assert bs.buckets(np.arange(50).astype(str), "salt", [1, 2]).tolist() == expected
    assert [bs.bucket(unit, "salt", [1, 2]) for unit in list[Any](np.arange(50))] == expected


@given(unit=names, salt=st.sampled_from(["a", "b"]))
def test_a_cut_belongs_to_the_arm_after_it(unit: str, salt: str) -> None:
    at = point(unit, salt)
    assert bs.bucket(unit, salt, [at, POINTS - at]) == 1
    assert bs.bucket(unit, salt, [at + 1, POINTS - at - 1]) == 0


@given(weights=weightings, factor=st.integers(1, 10**30), unit=names)
def test_only_proportions_matter(weights: list[int], factor: int, unit: str) -> None:
    arm = bs.bucket(unit, "salt", weights)
    assert bs.bucket(unit, "salt", [weight * factor for weight in weights]) == arm
    assert bs.bucket(unit, "salt", [Fraction(weight, factor) for weight in weights]) == arm
    assert weights[arm] > 0


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6).filter(any))
def test_decimals_are_what_they_say(thousandths: list[int]) -> None:
    assert cuts([part / 1000 for part in thousandths]) == cuts(thousandths)


def test_stretches_are_exact_to_one_point() -> None:
    for weights in ([1, 1, 1], [1, 10**30], [10**30, 1, 10**30], [1e-300, 1.0], [7] * 1000):
        ends = [0, *cuts(weights)]
        assert ends[-1] == POINTS
        total = sum(Fraction(repr(weight)) for weight in weights)
        for weight, low, high in zip(weights, ends, ends[1:], strict=False):
            assert abs(Fraction(repr(weight)) / total * POINTS - (high - low)) < 1


def chi_square(counts: NDArray[Any], expected: NDArray[Any] | float) -> float:
    """The probability of counts as uneven as these, or more, if chance alone is at work."""
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    return float(chi2.sf(statistic, counts.size - 1))


def test_many_units_are_spread_evenly() -> None:
    counts = np.bincount(bs.buckets(range(200_000), "many", [1] * 1000), minlength=1000)
    assert chi_square(counts, 200.0) > 0.001
    halves = counts.reshape(2, 500).sum(axis=1)
    assert chi_square(halves, 100_000.0) > 0.001


STEP = 0x9E3779B97F4A7C15F39CC0605CEDC835

KINDS: dict[str, list[str | int]] = {
    "numbers": list(range(10**12, 10**12 + 40_000)),
    "addresses": [f"user.{i}@example.org" for i in range(40_000)],
    "uuids": [
        str(uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for i in range(40_000)
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_kept_and_salts_are_independent(kind: str) -> None:
    weights = np.array([50, 30, 15, 5])
    first = bs.buckets(KINDS[kind], "price", weights.tolist())
    second = bs.buckets(KINDS[kind], "price ", weights.tolist())
    both = np.bincount(4 * first + second, minlength=16)
    # Expected cell by cell, so that uneven margins show as well as dependence does.
    assert chi_square(both, 40_000 * np.outer(weights, weights).ravel() / 10_000) > 0.001


def test_neighbours_are_independent() -> None:
    arms = bs.buckets(range(80_000), "price", [1, 1])
    pairs = np.bincount(2 * arms[::2] + arms[1::2], minlength=4)
    assert chi_square(pairs, 10_000.0) > 0.001


@given(st.integers(0, 100), st.integers(0, 100))
def test_between_two_arms_as_few_move_as_can(before: int, after: int) -> None:
    old = bs.buckets(range(300), "price", [before, 100 - before])
    new = bs.buckets(range(300), "price", [after, 100 - after])
    low, high = sorted((before, after))
    points = np.array([point(unit, "price") / POINTS for unit in range(300)])
    between = (points >= low / 100) & (points < high / 100)
    assert np.array_equal(old != new, between)


def test_weight_that_neighbours_exchange_moves_nobody_else() -> None:
    old = bs.buckets(range(5000), "price", [20, 30, 40, 10])
    new = bs.buckets(range(5000), "price", [20, 35, 35, 10])
    assert set(zip(old[old != new], new[old != new], strict=True)) == {(2, 1)}
    assert np.mean(old != new) == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 5000))
    grown = bs.buckets(range(5000), "price", [20, 30, 40, 5, 5])
    assert set(zip(old[old != grown], grown[old != grown], strict=True)) == {(3, 4)}


def test_a_share_held_back_between_two_arms_lets_both_grow() -> None:
    old = bs.buckets(range(5000), "price", [10, 80, 10])
    new = bs.buckets(range(5000), "price", [30, 40, 30])
    assert set(zip(old[old != new], new[old != new], strict=True)) == {(1, 0), (1, 2)}


@pytest.mark.parametrize(
    ("unit", "salt", "weights", "field", "words"),
    [
        (1.5, "a", [1, 1], "unit", "text or a whole number"),
        (math.nan, "a", [1, 1], "unit", "text or a whole number"),
        (True, "a", [1, 1], "unit", "text or a whole number"),
        (None, "a", [1, 1], "unit", "text or a whole number"),
        (b"user", "a", [1, 1], "unit", "text or a whole number"),
        ("", "a", [1, 1], "unit", "text or a whole number"),
        ("\ud800", "a", [1, 1], "unit", "surrogate"),
        ("user", "", [1, 1], "salt", "name the test"),
        ("user", "a\0b", [1, 1], "salt", "zero character"),
        ("user", 7, [1, 1], "salt", "name the test"),
        ("user", "\udfff", [1, 1], "salt", "surrogate"),
        ("user", "a", [], "weights", "one above 0"),
        ("user", "a", [0, 0.0], "weights", "one above 0"),
        ("user", "a", [1, -1], "weights", "at least 0"),
        ("user", "a", [1, math.nan], "weights", "must be a number"),
        ("user", "a", [1, math.inf], "weights", "finite"),
        ("user", "a", [1, True], "weights", "must be a number"),
        ("user", "a", "11", "weights", "a list of numbers"),
        ("user", "a", 2, "weights", "a list of numbers"),
    ],
)
def test_what_cannot_be_used_is_named(
    unit: Any, salt: Any, weights: Any, field: str, words: str
) -> None:
    for call in (
        lambda: bs.bucket(unit, salt, weights),
        lambda: bs.buckets([unit], salt, weights),
    ):
        with pytest.raises(bs.InputError, match=words) as caught:
            call()
        assert caught.value.field == field
        assert "\n" not in str(caught.value)


def test_a_number_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(bs.InputError, match="too many digits"):
        bs.bucket(10**5000, "a", [1, 1])
