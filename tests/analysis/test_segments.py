"""Logs of tests with segments: those of a design keep their parts of the error."""

from __future__ import annotations

import random
from typing import Any

import pytest

import bascule as bs

MEANS = {"fr": (0.2, 0.5), "de": (0.5, 0.2), "it": (0.3, 0.3), None: (0.3, 0.3)}


@pytest.fixture(scope="module")
def log() -> dict[str, list[Any]]:
    chance = random.Random(1)
    country = [chance.choice([*MEANS]) for _ in range(2000)]
    arm = [i % 2 for i in range(2000)]
    value = [
        float(chance.random() < MEANS[name][its]) for name, its in zip(country, arm, strict=True)
    ]
    arms = ["ab"[its] for its in arm]
    return {"unit": [*range(2000)], "arm": arms, "country": country, "value": value}


def design(**segments: Any) -> bs.Design:
    named = bs.Segments("country", ["fr", "de"], **segments)
    return bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), segments=named)


def test_segments_of_a_design_keep_their_parts_of_the_error(log: dict[str, list[Any]]) -> None:
    found = bs.analyze(log, design=design(other="rest", shares=[0.5, 0.3, 0.2]))
    parts = {part.segment: part for part in found.segments}
    assert {name: part.error for name, part in parts.items()} == pytest.approx(
        {"de": 0.0075, "fr": 0.0125, "rest": 0.005}
    )
    assert found.error == pytest.approx(0.025)
    assert [parts[name].decision.name for name in ("fr", "de")] == ["b", "a"]  # type: ignore[union-attr]
    assert parts["rest"].units == sum(name not in ("fr", "de") for name in log["country"])
    assert "3 segments of the design" in found.notes[0]


def test_a_part_of_the_log_is_judged_as_it_will_be_in_the_whole(log: dict[str, list[Any]]) -> None:
    french = {
        name: [x for x, country in zip(column, log["country"], strict=True) if country == "fr"]
        for name, column in log.items()
    }
    (part,) = bs.analyze(french, design=design()).segments
    assert part.error == pytest.approx(0.0125)
    # Those that a log happens to have share the whole error.
    (part,) = bs.analyze(french, segment="country").segments
    assert part.error == pytest.approx(0.025)


def test_values_that_the_design_does_not_name_are_refused(log: dict[str, list[Any]]) -> None:
    with pytest.raises(bs.InputError, match="does not name"):
        bs.analyze(log, design=design())


def test_the_column_may_have_another_name(log: dict[str, list[Any]]) -> None:
    renamed = {("land" if name == "country" else name): column for name, column in log.items()}
    found = bs.analyze(renamed, design=design(other="rest"), segment="land")
    assert {part.segment for part in found.segments} == {"de", "fr", "rest"}
    with pytest.raises(bs.InputError, match="country"):
        bs.analyze(renamed, design=design(other="rest"))
