"""Who gets in: shares by hash, ramps, layers and holdouts, with vectors that never change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.core.enrolment.audience import (
    SLOTS,
    checked_values,
    delivery_from_json,
    free_slots,
    read_audience,
)

VECTORS = json.loads(
    (Path(__file__).parents[3] / "docs/using/enrolment-vectors.json").read_text("utf-8")
)
NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]
UNITS = [f"user-{i}" for i in range(20_000)]


def test_the_published_vectors() -> None:
    for one in VECTORS["units"]:
        unit = one["unit"]
        for share, is_in in one["shares"].items():
            audience = bs.Audience(share=float(share))
            assert (audience.keeps_out("checkout-button", unit, {}) is None) is is_in
            weights = [float(share), round(1 - float(share), 10)]
            assert (bs.bucket(unit, "share/checkout-button", weights) == 0) is is_in
        slot = bs.bucket(unit, "layer/checkout", [1] * SLOTS)
        assert slot == one["slot"]
        assert bs.Layer("checkout", 0.001, [(slot, slot + 1)]).has(unit)
        assert bs.Holdout("2026", 0.05).has(unit) is one["held out"]


def test_a_share_is_a_sample_and_a_larger_one_keeps_everyone_of_a_smaller() -> None:
    inside = {
        share: {u for u in UNITS if not bs.Audience(share=share).keeps_out("test", u, {})}
        for share in (0.1, 0.3, 0.9)
    }
    for share, units in inside.items():
        error = math.sqrt(share * (1 - share) / len(UNITS))
        assert abs(len(units) / len(UNITS) - share) < 4 * error
    assert inside[0.1] < inside[0.3] < inside[0.9]


def test_gates_are_independent_of_each_other_and_of_arms() -> None:
    """Among those who are in, the arm by hash, the layer and the holdout are split as among all."""
    audience = bs.Audience(share=0.2)
    inside = [u for u in UNITS if audience.keeps_out("test", u, {}) is None]
    layer, held = bs.Layer("l", 0.5, [(0, 500)]), bs.Holdout("h", 0.5)
    for split in (lambda u: bs.bucket(u, "test", [1, 1]) == 0, layer.has, held.has):
        share = sum(map(split, inside)) / len(inside)
        assert abs(share - 0.5) < 4 * math.sqrt(0.25 / len(inside))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"share": 1.5}, "share"),
        ({"share": "10%"}, "share"),
        ({"ramp": [["0d", 0.5], ["1d", 0.1]]}, "ramp"),
        ({"ramp": [["1d", 0.1], ["1d", 0.2]]}, "ramp"),
        ({"ramp": "1d"}, "ramp"),
        ({"share": 0.5, "ramp": [["0d", 0.1]]}, "share"),
        ({"layer": {"name": "checkout", "share": 0.0005}}, "layer"),
        ({"layer": {"name": ""}}, "layer"),
        ({"holdout": {"name": "h", "share": -0.1}}, "holdout"),
        ({"where": {"exec": 1}}, "where"),
        ({"whom": 1}, "whom"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(bs.InputError) as refused:
        read_audience(given)
    assert refused.value.field == field


def test_slots_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(bs.InputError, match="slots must be pairs"):
        bs.Layer("checkout", 0.5, 0.8)  # type: ignore[arg-type]


def test_an_audience_comes_back_from_plain_data() -> None:
    audience = bs.Audience(
        ramp=[("0d", 0.1), ("1d", 1)],
        where={"==": [{"var": "country"}, "FR"]},
        layer=bs.Layer("checkout", 0.25, [(0, 250)]),
        holdout=bs.Holdout("2026", 0.05),
    )
    assert read_audience(json.loads(json.dumps(audience.to_dict()))) == audience
    assert delivery_from_json(None).audience is None


def test_slots_are_taken_once_and_refused_when_there_are_too_few() -> None:
    taken: list[tuple[int, int]] = [(100, 200), (0, 50)]
    for needed in (30, 500, 320):
        found = free_slots(needed, taken)
        assert found is not None
        taken += found
    slots = [slot for first, last in taken for slot in range(first, last)]
    assert len(slots) == len(set(slots)) == SLOTS
    assert free_slots(1, taken) is None


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"a": False, "b": True}, (False, True)),
        ({"b": 2, "a": 1}, (1, 2)),
        ({"a": 1, "b": 0.5}, (1.0, 0.5)),
        ({"a": "x", "b": "y"}, ("x", "y")),
        ({"a": {"colour": "red"}, "b": {}}, ({"colour": "red"}, {})),
    ],
)
def test_values_have_one_type(values: dict[str, Any], kept: tuple[Any, ...]) -> None:
    found = checked_values(values, ["a", "b"])
    assert (found, [type(one) for one in found]) == (kept, [type(one) for one in kept])


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1},
        {"a": 1, "b": "x"},
        {"a": True, "b": 1},
        {"a": None, "b": None},
        [1, 2],
        {"a": math.inf, "b": 1.0},
        {"a": 10**400, "b": 1},
        {"a": NESTED, "b": []},
    ],
)
def test_other_values_are_refused(values: Any) -> None:
    with pytest.raises(bs.InputError) as refused:
        checked_values(values, ["a", "b"])
    assert refused.value.field == "values"
