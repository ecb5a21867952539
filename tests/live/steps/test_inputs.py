"""What callers give: units and outcomes in the shapes that are documented, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


@pytest.fixture
def test() -> Iterator[bs.Experiment]:
    with bs.open(":memory:") as store:
        yield store.create("shapes", COINS)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda test: test.assign_many(5), r"units must be a list \(got 5\)"),
        (lambda test: test.assign_many({"u": 1}), r"units must be a list \(got \{'u': 1\}\)"),
        (lambda test: test.record_many(None), r"outcomes must be a list \(got None\)"),
        (lambda test: test.record_many({"u": 1.0}), "outcomes must be a list"),
        (lambda test: test.soon.record_many("u"), "outcomes must be a list"),
        (lambda test: test.store.link("u", "v", "shapes"), "experiments must be a list"),
        (lambda test: test.store.create(COINS, "other"), r"name must be 1 to 100 .*got Design"),
        (lambda test: test.store.search(5), r"words must be text \(got 5\)"),
        (lambda test: test.history(0), r"limit must be at least 1 \(got 0\)"),
        (lambda test: test.history("all"), r"limit must be a whole number \(got 'all'\)"),
    ],
)
def test_a_call_with_a_value_of_another_kind_is_refused(
    test: bs.Experiment, call: Any, said: str
) -> None:
    with pytest.raises(bs.InputError, match=said):
        call(test)


@pytest.mark.parametrize(
    "given", [{"unit": "u", "value": 1.0}, ("u",), ("u", 1, None, "i", None, 5), 7]
)
def test_an_outcome_of_another_shape_is_refused(test: bs.Experiment, given: Any) -> None:
    with pytest.raises(bs.InputError, match=r"an outcome is \(unit, value\)"):
        test.record_many([given])
    assert test.excluded() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda test, unit: test.assign(unit),
        lambda test, unit: test.assign_many(["u", unit]),
        lambda test, unit: test.evaluate(unit),
        lambda test, unit: test.record(unit, 1.0),
        lambda test, unit: test.link("u", unit),
        lambda test, unit: test.store.link("u", unit),
        lambda test, unit: test.store.erase(unit),
        lambda test, unit: test.store.unit_data(unit),
    ],
)
def test_names_of_erased_units_are_refused(test: bs.Experiment, call: Any) -> None:
    said = r"must not begin with 'erased-', .*got 'erased-foo'.* such as 'user-erased-foo'"
    with pytest.raises(bs.InputError, match=said):
        call(test, "erased-foo")
    assert test.assignment("erased-foo") is None
    test.assign("u")
    assert test.record("u", 1.0, id="erased-foo").accepted


def test_a_text_is_not_a_list_of_units(test: bs.Experiment) -> None:
    with pytest.raises(bs.InputError, match="units must be a list"):
        test.assign_many("abc")


def test_a_number_beyond_all_floats_is_set_aside(test: bs.Experiment) -> None:
    test.assign("u")
    receipts = test.record_many([("u", 10**400), ("u", 1.0)])
    assert [one.reason for one in receipts] == ["not a number", None]


def test_true_and_false_are_one_and_zero(test: bs.Experiment) -> None:
    given: dict[str, Any] = {"yes": True, "no": False, "numpy": np.bool_(True)}
    test.assign_many([*given])
    assert all(test.record(unit, value).accepted for unit, value in given.items())
    assert sum(arm.mean * arm.matured for arm in test.status().arms if arm.mean is not None) == 2
    assert test.verify().agrees


def test_a_bad_unit_fails_where_it_is_awaited(test: bs.Experiment) -> None:
    async def call() -> str:
        good = test.soon.assign("u")
        with pytest.raises(bs.InputError, match="unit must be text"):
            await test.soon.assign("")
        return await good

    assert asyncio.run(call()) in ("a", "b")


@pytest.mark.parametrize("place", [":memory:", "file"])
def test_a_store_that_was_closed_says_so(place: str, tmp_path: Path) -> None:
    store = bs.open(tmp_path / "tests.db" if place == "file" else place)
    test = store.create("closed", COINS)
    store.close()
    with pytest.raises(bs.StoreError, match="was closed: open it again"):
        test.assign("late")
    with pytest.raises(bs.StoreError, match="was closed"):
        test.status()


def test_a_deadline_that_has_passed_is_refused() -> None:
    design = bs.Design(
        ["a", "b"],
        bs.Bernoulli(),
        bs.Tilt(3),
        deadline=datetime(2020, 1, 1, tzinfo=UTC),
        reports="always",
    )
    with bs.open(":memory:") as store:
        with pytest.raises(bs.InputError, match="deadline must be in the future"):
            store.create("past", design)
        assert store.experiments() == []


@pytest.mark.parametrize("place", [None, 5])
def test_a_store_has_a_place(place: Any) -> None:
    with pytest.raises(bs.InputError, match="store must be the path of a file"):
        bs.open(place)


def test_a_design_may_be_plain_data() -> None:
    with bs.open(":memory:") as store:
        assert store.create("plain", COINS.to_dict()).design == COINS


def test_times_that_cannot_be_are_shown_in_a_unit_that_people_use(test: bs.Experiment) -> None:
    test.assign("u")
    receipt = test.record("u", 1.0, at=datetime(2020, 1, 1, tzinfo=UTC))
    assert receipt.reason == "early"
    assert " years before its unit came" in receipt.detail


def test_a_value_that_python_cannot_write_out_fails_nobody_else(test: bs.Experiment) -> None:
    test.assign_many(range(50))

    async def record_all() -> list[Any]:
        # All in one turn of the loop, so in one group.
        values = [1.0] * 49 + [10**5000]
        calls = [test.soon.record_many([(unit, value)]) for unit, value in enumerate(values)]
        return await asyncio.gather(*calls)

    receipts = [receipt for (receipt,) in asyncio.run(record_all())]
    assert all(receipt.accepted for receipt in receipts[:49])
    assert receipts[49].reason == "not a number"
    (listed,) = test.excluded()
    assert listed["value"] == "a whole number of about 5,000 digits"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -(10**400), "ten", None, [1.0], Broken(), "\0", "\ud800"]
)
def test_a_value_that_is_no_number_is_excluded_and_listed(test: bs.Experiment, value: Any) -> None:
    test.assign("u")
    assert test.record("u", value).reason == "not a number"
    assert [row["reason"] for row in test.excluded()] == ["not a number"]
    assert test.record("u", 1.0).accepted


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=14))),
        datetime(1899, 12, 31, tzinfo=UTC),
    ],
)
def test_a_time_that_some_calendars_cannot_show_is_refused(
    test: bs.Experiment, at: datetime
) -> None:
    test.assign("u")
    with pytest.raises(bs.InputError, match="between the years 1900 and 9998"):
        test.record("u", 1.0, at=at)
    assert test.excluded() == []


def test_a_unit_of_thousands_of_digits_is_refused(test: bs.Experiment) -> None:
    with pytest.raises(bs.InputError, match="unit must be text of 1 to 500 characters"):
        test.assign(10**5000)
