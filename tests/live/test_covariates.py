"""Covariates of a live test: the first call counts, and missing ones are counted and shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

LIMITS = bs.Covariate("spend_before", 0, 100, missing=5)
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), covariates=[LIMITS], reports="always")


@pytest.fixture
def test() -> Any:
    with bs.open(":memory:") as store:
        yield store.create("spend", DESIGN)


def test_covariates_are_stored_with_the_assignment_and_the_first_call_counts(test: Any) -> None:
    arm = test.assign("ann", covariates={"spend_before": 12.5})
    assert test.assign("ann", covariates={"spend_before": 99.0}) == arm
    assert test.assignment("ann").known == (12.5,)


def test_every_way_to_assign_takes_them(test: Any) -> None:
    test.assign_many(["b", "c"], covariates=[{"spend_before": 1}, None])
    test.soon.assign("d", covariates={"spend_before": 2}).result()
    test.soon.assign_many(["e"], covariates=[{"spend_before": 3}]).result()
    test.evaluate("f", covariates={"spend_before": 4})
    test.soon.evaluate("g", covariates={"spend_before": 5}).result()
    found = [test.assignment(unit).known[0] for unit in "bcdefg"]
    assert found == [1.0, 5.0, 2.0, 3.0, 4.0, 5.0]


def test_units_without_one_or_beyond_its_limits_are_counted_and_shown(test: Any) -> None:
    for unit, known in (
        ("b", None),
        ("c", {}),
        ("d", {"spend_before": 400}),
        ("e", {"spend_before": 1}),
    ):
        test.assign(unit, covariates=known)
    status = test.status()
    assert (status.covariates.lacking, status.covariates.beyond) == (2, 1)
    assert test.assignment("d").known == (100.0,)


@pytest.mark.parametrize(
    "given", [{"spent": 1}, {"spend_before": "much"}, {"spend_before": math.inf}]
)
def test_a_covariate_that_cannot_be_fails_its_own_unit_only(test: Any, given: Any) -> None:
    with pytest.raises(bs.InputError) as caught:
        test.assign_many(["b", "c"], covariates=[given, {"spend_before": 1}])
    assert caught.value.field == "covariates"
    assert test.assignment("b") is None
    with pytest.raises(bs.InputError):
        test.assign_many(["x", "y"], covariates=[{"spend_before": 1}])


def test_a_design_without_covariates_refuses_them() -> None:
    with bs.open(":memory:") as store:
        test = store.create(
            "plain", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        )
        with pytest.raises(bs.InputError, match="declares none"):
            test.assign("b", covariates={"age": 1})
        assert test.assign("b") in ("a", "b")


def test_what_is_stored_survives_a_restart_and_can_be_computed_again(tmp_path: Any) -> None:
    rng, path = np.random.default_rng(1), str(tmp_path / "store.db")
    for first in (0, 60):
        with bs.open(path) as store:
            test = store.create("spend", DESIGN) if first == 0 else store.get("spend")
            for i in range(first, first + 60):
                x = float(rng.uniform(0, 100))
                test.assign(f"u{i}", covariates={"spend_before": x})
                test.record(f"u{i}", float(rng.random() < x / 100))
            assert test.verify().agrees
    with bs.open(path) as store:
        shown = store.get("spend").status().covariates
        assert shown is not None
        assert shown.coefficients["spend_before"] > 0.0
