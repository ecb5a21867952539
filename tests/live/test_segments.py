"""Segments: ordinary tests made together, and every unit in one of them for good."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

import bascule as bs

SEGMENTS = bs.Segments("country", ["fr", "de"])
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), segments=SEGMENTS, reports="always")


@pytest.fixture
def store() -> Iterator[bs.Store]:
    with bs.open(":memory:", shuffle=random.Random(1).shuffle) as store:
        yield store


@pytest.fixture
def button(store: bs.Store) -> bs.live.SegmentTests:
    return store.create_segments("button", DESIGN)


def verified(tests: bs.live.SegmentTests) -> bool:
    return all(one.verify().agrees for one in tests.tests.values())


def test_each_segment_gets_the_winner_of_its_own(button: bs.live.SegmentTests) -> None:
    means = {"fr": {"a": 0.2, "b": 0.6}, "de": {"a": 0.6, "b": 0.2}}
    chance = random.Random(2)
    for i in range(600):
        country = ("fr", "de")[i % 2]
        arm = button.test_of(i, {"country": country}).assign(i)
        button.test_of(i).record(i, float(chance.random() < means[country][arm]))
    decisions = {name: one.status().decision for name, one in button.tests.items()}
    assert {name: one and one.name for name, one in decisions.items()} == {"fr": "b", "de": "a"}
    part = DESIGN.by_segment["fr"].calibration.error
    assert 2 * part == replace(DESIGN, segments=None).calibration.error
    assert all(one and one.error == part for one in decisions.values())
    assert verified(button)
    button.each(bs.Experiment.release)
    assert button.test_of("new", segment="fr").assign("new") == "b"
    assert button.test_of("other", segment="de").assign("other") == "a"


def test_a_unit_stays_in_its_segment_whatever_is_said_later(
    store: bs.Store, button: bs.live.SegmentTests
) -> None:
    arm = button.test_of("ann", {"country": "fr"}).assign("ann", {"country": "fr"})
    for again in (button, store.segments("button")):
        for said in ({"country": "de"}, {"country": "it"}, None):
            its = again.test_of("ann", said)
            assert (its.name, its.assign("ann", said)) == ("button.fr", arm)
        assert again.test_of("ann", segment="de").name == "button.fr"
    with pytest.raises(bs.InputError, match="is in segment fr already"):
        button.tests["de"].assign("ann")
    assert button.tests["de"].status().units == 0


def test_names_that_are_linked_are_in_one_segment(
    store: bs.Store, button: bs.live.SegmentTests
) -> None:
    arm = button.tests["fr"].assign("visitor")
    assert store.link("user", "visitor", ["button"]) == {"button.fr": arm, "button.de": None}
    assert button.test_of("user", segment="de").assign("user") == arm
    with pytest.raises(bs.InputError, match="is in segment fr already"):
        button.tests["de"].assign("user")
    assert button.test_of("user").record("user", 1.0).accepted
    assert [one.status().units for one in button.tests.values()] == [1, 0]


def test_a_name_covers_its_segments_for_data_requests_and_erasure(
    store: bs.Store, button: bs.live.SegmentTests
) -> None:
    plain = replace(DESIGN, segments=None)
    button.tests["fr"].assign("ann")
    # A test that only has a name like a segment's is another test.
    store.create("button.it", plain).assign("ann")
    known = store.unit_data("ann", ["button"])["experiments"]
    assert [one["experiment"] for one in known] == ["button.fr"]
    assert store.unit_data("ann", [])["experiments"] == []
    assert store.erase("ann", ["button"]) == ("button.fr",)
    assert [one["experiment"] for one in store.unit_data("ann")["experiments"]] == ["button.it"]
    with pytest.raises(bs.InputError, match="there is no unit 'ann' in button"):
        store.erase("ann", ["button"])
    assert verified(button)


def test_a_unit_that_is_erased_before_it_has_counted_stays_in_its_segment(store: bs.Store) -> None:
    """Otherwise an operator could choose whose outcomes count, and a user be in two segments."""
    week = bs.Measure("7d", "any")
    tests = store.create_segments("button", replace(DESIGN, measure=week, reports=None))
    arms = {unit: tests.tests["fr"].assign(unit) for unit in ("ann", "visitor")}
    store.link("visitor", "user")
    for unit in arms:
        store.erase(unit)
    for unit, name in (("ann", "ann"), ("visitor", "user")):
        its = tests.test_of(name, {"country": "de"})
        assert (its.name, its.assign(name)) == ("button.fr", arms[unit])
        with pytest.raises(bs.InputError, match="is in segment fr already"):
            tests.tests["de"].assign(name)
        assert tests.test_of(name).record(name, 1.0).accepted
    assert [one.status().units for one in tests.tests.values()] == [2, 0]
    assert verified(tests)


def test_what_was_not_named_beforehand_is_refused(button: bs.live.SegmentTests) -> None:
    for context in ({"country": "it"}, {}, None):
        with pytest.raises(bs.InputError, match="segment"):
            button.test_of("bob", context)
    with pytest.raises(bs.InputError, match="was not named beforehand"):
        button.test_of("bob", segment="it")
    with pytest.raises(bs.InputError, match="the context says fr"):
        button.test_of("bob", {"country": "fr"}, segment="de")
    with pytest.raises(bs.InputError, match="context must have names and values"):
        button.test_of("bob", "fr")  # type: ignore[arg-type]
    with pytest.raises(bs.InputError, match="belongs to segment fr by its context"):
        button.tests["de"].assign("bob", {"country": "fr"})


def test_changes_reach_every_segment_that_they_apply_to(button: bs.live.SegmentTests) -> None:
    button.each(bs.Experiment.pause)
    assert {one.state for one in button.tests.values()} == {"paused"}
    button.tests["fr"].stop()
    assert [*button.each(bs.Experiment.start)] == ["de"]
    assert [one.state for one in button.tests.values()] == ["stopped", "running"]
    button.each(lambda test: test.stop("b"))
    assert button.test_of("ann", segment="de").assign("ann") == "b"
    with pytest.raises(bs.InputError, match=r"button\.de is stopped"):
        button.each(bs.Experiment.pause)


def test_a_name_belongs_to_one_test(store: bs.Store, button: bs.live.SegmentTests) -> None:
    plain = replace(DESIGN, segments=None)
    for name in ("button", "button.fr"):
        with pytest.raises(bs.InputError, match="already"):
            store.create(name, plain)
    with pytest.raises(bs.InputError, match="already"):
        store.create_segments("button", DESIGN)
    with pytest.raises(bs.InputError, match="use create_segments"):
        store.create("other", DESIGN)
    with pytest.raises(bs.InputError, match="has no segments"):
        store.create_segments("other", plain)
    with pytest.raises(bs.InputError, match="there is no experiment"):
        store.segments("other")
    assert [one.name for one in store.experiments()] == ["button.fr", "button.de"]
    # Values of arms are not taken for what a store says of segments.
    values = {arm: {"member": {"test": "other"}} for arm in "ab"}
    store.create("values", plain, values=values)
    store.create("other", plain)


def test_segments_share_their_part_of_a_layer(store: bs.Store) -> None:
    audience = bs.Audience(layer=bs.Layer("checkout", 1.0))
    tests = store.create_segments("button", DESIGN, audience=audience).tests
    slots = [one.audience.layer.slots for one in tests.values()]  # type: ignore[union-attr]
    assert slots == [((0, 1000),)] * 2


def race(location: str, rounds: int) -> None:
    """Assign the same new units in different segments at the same time, by two programs."""
    with bs.open(location) as first, bs.open(location) as second:
        programs = [first.create_segments("race", DESIGN), second.segments("race")]
        barrier = Barrier(2)

        def assign(program: int) -> list[str]:
            arms = []
            for unit in range(rounds):
                barrier.wait()
                segment = "fr" if program == unit % 2 else "de"
                try:
                    test = programs[program].test_of(unit, segment=segment)
                    arms.append(test.assign(unit))
                except bs.InputError:
                    arms.append(programs[program].test_of(unit).assign(unit))
            return arms

        with ThreadPoolExecutor(2) as threads:
            arms = [*threads.map(assign, (0, 1))]
        assert arms[0] == arms[1]
        assert sum(one.status().units for one in programs[0].tests.values()) == rounds
        assert verified(programs[1])


def test_two_programs_that_race_agree_on_the_segment(tmp_path: Path) -> None:
    race(str(tmp_path / "store.db"), 20)


def test_two_programs_that_race_on_postgresql_agree(new_database: Callable[[], str]) -> None:
    race(new_database(), 20)


def test_a_unit_that_is_in_two_segments_is_found_by_verify(
    store: bs.Store, button: bs.live.SegmentTests
) -> None:
    button.tests["fr"].assign("ann")
    button.tests["de"].assign("bob")
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE assignments SET unit = 'ann'")
    assert any(
        "'ann' is in segment fr too" in said for said in button.tests["de"].verify().differences
    )


def test_guardrails_decide_in_each_segment_with_its_part_of_their_errors(store: bs.Store) -> None:
    latency = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1, error=0.04)
    guarded = bs.Design(
        ["a", "b"],
        bs.Gaussian(1),
        bs.Tilt(3),
        metrics=[latency],
        harm_error=0.04,
        segments=SEGMENTS,
        reports="always",
    )
    tests = store.create_segments("guarded", guarded).tests
    chance = random.Random(3)
    for first in range(0, 200, 10):
        for name, test in tests.items():
            units = [f"{name} {i}" for i in range(first, first + 10)]
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                slow = 3.0 if (name, arm) == ("de", "b") else 0.0
                test.record(unit, chance.gauss(2.0 * (arm == "b"), 1.0))
                test.record(unit, chance.gauss(slow, 1.0), metric="latency")
    decisions = {name: one.status().decision for name, one in tests.items()}
    assert {name: one and one.name for name, one in decisions.items()} == {"fr": "b", "de": "a"}
    harmed = decisions["de"]
    assert harmed is not None
    assert harmed.harm == ("latency",)
    assert harmed.error == pytest.approx(0.02)
    assert all(one.verify().agrees for one in tests.values())


def test_a_segment_that_cannot_be_read_stops_no_other_one(store: bs.Store) -> None:
    tests = store.create_segments("banner", DESIGN)
    first, second = tests.tests.values()
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE experiments SET state = '{' WHERE id = ?", (second.id,))
    assert first.assign("someone") in first.design.arms
