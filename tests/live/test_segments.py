"""A live test with segments: a decision for each, and every unit in one of them for good."""

from __future__ import annotations

import asyncio
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
def test(store: bs.Store) -> bs.SegmentedExperiment:
    return store.create_segmented("button", DESIGN)


def play(test: bs.SegmentedExperiment, means: dict[str, dict[str, float]], units: int) -> None:
    """Assign units to segments in turn, and record what they do."""
    chance, names = random.Random(2), list(means)
    segments = [names[i % len(names)] for i in range(units)]
    for first in range(0, units, 20):
        some = range(first, min(first + 20, units))
        arms = test.assign_many([*map(str, some)], [{"country": segments[i]} for i in some])
        test.record_many(
            (i, float(chance.random() < means[segments[i]][arm]))
            for i, arm in zip(some, arms, strict=True)
        )


def test_each_segment_gets_the_winner_of_its_own(test: bs.SegmentedExperiment) -> None:
    play(test, {"fr": {"a": 0.2, "b": 0.6}, "de": {"a": 0.6, "b": 0.2}}, 600)
    status = test.status()
    assert status.decisions == {"fr": "b", "de": "a"}
    assert status.headline == "2 of 2 segments decided: fr: b; de: a"
    assert "in any of the segments with probability at most 5 %" in status.promise
    assert [row.split()[0] for row in status.table()] == ["segment", "fr", "de"]
    assert status.to_dict()["segments"]["de"]["decision"]["name"] == "a"
    assert status.segments["fr"].decision.error == pytest.approx(0.025)  # type: ignore[union-attr]
    assert all(one.agrees for one in test.verify())
    test.release()
    assert [test.assign("new-1", segment="fr"), test.assign("new-2", segment="de")] == ["b", "a"]


def test_coroutines_and_one_report_for_all_segments(store: bs.Store) -> None:
    guard = bs.Metric("speed", bs.Gaussian(1), margin=1.0)
    segments = bs.Segments("country", ["fr", "de", "it"])
    test = store.create_segmented("all", replace(DESIGN, metrics=[guard], segments=segments))

    async def serve(units: range) -> None:
        of = {i: {"country": ("fr", "de")[i % 2]} for i in units}
        arms = await asyncio.gather(*(test.assign_async(i, of[i]) for i in units))
        one = await test.evaluate_async(units[0])
        assert (one.arm, test.assign(units[1])) == (arms[0], arms[1])
        values = [float(arm == "b") for arm in arms]
        outcomes = [
            (unit, value, None, None, metric)
            for metric in (None, "speed")
            for unit, value in zip(units, values, strict=True)
        ]
        receipts = await test.record_async([*outcomes, ("stranger", 1.0)])
        assert [one.reason for one in receipts] == [None] * len(outcomes) + ["unknown unit"]

    for first in range(0, 200, 50):
        asyncio.run(serve(range(first, first + 50)))
    report = bs.analyze_experiment(test)
    assert [part.segment for part in report.segments] == ["fr", "de"]
    assert report.units == test.status().units == 200
    text, page = str(report), report.html()
    assert "it has no matured units yet" in report.notes
    for part, one in zip(report.segments, test.status().segments.values(), strict=False):
        assert part.decision is not None
        (speed,) = part.metrics
        assert speed.contrasts == one.metrics[0].contrasts
        assert speed.standings == {"b": "within margin"}
        assert f"Segment {part.segment}: b is the best arm" in text
    assert text.count("Metric speed") == page.count("Another metric, speed") == 2


def test_outcomes_find_units_that_wait_to_be_written(test: bs.SegmentedExperiment) -> None:
    arms = [test.assign_soon(i, segment=("fr", "de")[i % 2]) for i in range(40)]
    # Of a unit that waits, too, what is said later changes nothing.
    again = test.assign_soon(0, segment="de")
    receipts = test.record_soon([*((i, 1.0) for i in range(40)), ("stranger", 1.0)])
    assert [one.reason for one in receipts.result(60)] == [None] * 40 + ["unknown unit"]
    assert [arm.result(60) for arm in arms] == [test.assign(i) for i in range(40)]
    assert again.result(60) == test.assign(0)
    assert [one.units for one in test.status().segments.values()] == [20, 20]
    assert test.record_soon([]).result(60) == []
    for wrong in (test.assign_soon("bob"), test.assign_soon("bob", segment="it")):
        with pytest.raises(bs.InputError, match="segment"):
            wrong.result(60)
    test.stop()
    with pytest.raises(bs.InputError, match="stopped"):
        test.assign_soon("cleo", segment="fr", strict=True).result(60)


def test_a_unit_stays_in_its_segment_whatever_is_said_later(
    store: bs.Store, test: bs.SegmentedExperiment
) -> None:
    arm = test.assign("ann", {"country": "fr"})
    for again in (test, store.get_segmented("button")):
        assert again.assign("ann", {"country": "de"}) == arm
        assert again.assign("ann", segment="de") == again.assign("ann") == arm
        assert again.assign_many(["ann"], [{"country": "de"}]) == [arm]
        assert again.evaluate("ann", {"country": "it"}).arm == arm
        assert again.segment_of("ann") == "fr"
    with pytest.raises(bs.InputError, match="is in segment fr already"):
        test.tests["de"].assign("ann")
    assert test.tests["de"].status().units == 0


def test_names_that_are_linked_are_in_one_segment(test: bs.SegmentedExperiment) -> None:
    arm = test.assign("visitor", segment="fr")
    assert test.link("user", "visitor") == arm
    assert test.assign("user", segment="de") == arm
    assert test.segment_of("user") == "fr"
    with pytest.raises(bs.InputError, match="is in segment fr already"):
        test.tests["de"].assign("user")
    assert test.record("user", 1.0).accepted
    assert test.status().units == 1


def test_what_was_not_named_beforehand_is_refused(test: bs.SegmentedExperiment) -> None:
    for context in ({"country": "it"}, {}, None):
        with pytest.raises(bs.InputError, match="segment"):
            test.assign("bob", context)
    with pytest.raises(bs.InputError, match="was not named beforehand"):
        test.assign("bob", segment="it")
    with pytest.raises(bs.InputError, match="the context says fr"):
        test.assign("bob", {"country": "fr"}, segment="de")
    with pytest.raises(bs.InputError, match="belongs to segment fr by its context"):
        test.tests["de"].assign("bob", {"country": "fr"})
    with pytest.raises(bs.InputError, match="is none of the segments"):
        # Nobody is assigned if one of many belongs nowhere.
        test.assign_many(["cleo", "bob"], [{"country": "fr"}, {"country": "it"}])
    assert test.status().units == 0


def test_an_outcome_of_an_unknown_unit_is_excluded_with_its_reason(
    test: bs.SegmentedExperiment,
) -> None:
    test.assign("ann", segment="fr")
    receipts = test.record_many([("bob", 1.0), ("ann", 1.0)])
    assert [receipt.reason for receipt in receipts] == ["unknown unit", None]
    assert [row["unit"] for row in test.tests["de"].excluded()] == ["bob"]


def test_changes_reach_every_segment_that_they_apply_to(test: bs.SegmentedExperiment) -> None:
    test.pause()
    assert {one.state for one in test.tests.values()} == {"paused"}
    test.tests["fr"].stop()
    test.start()
    assert [one.state for one in test.tests.values()] == ["stopped", "running"]
    test.knob(tilt=5)
    assert test.tests["de"].design.rule == bs.Tilt(5)
    test.stop("b")
    assert test.assign("ann", segment="de") == "b"
    with pytest.raises(bs.InputError, match="no segment is running"):
        test.pause()


def test_a_name_belongs_to_one_test(store: bs.Store, test: bs.SegmentedExperiment) -> None:
    plain = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    for name in ("button", "button.fr"):
        with pytest.raises(bs.InputError, match="already"):
            store.create(name, plain)
    with pytest.raises(bs.InputError, match="already"):
        store.create_segmented("button", DESIGN)
    with pytest.raises(bs.InputError, match="use create_segmented"):
        store.create("other", DESIGN)
    with pytest.raises(bs.InputError, match="has no segments"):
        store.create_segmented("other", plain)
    with pytest.raises(bs.InputError, match="there is no experiment"):
        store.get_segmented("other")
    assert [one.name for one in store.experiments()] == ["button.fr", "button.de"]
    assert [one.name for one in store.segmented()] == [test.name]
    # Values of arms are not taken for what a store says of segments.
    values = {arm: {"member": {"test": "other"}} for arm in "ab"}
    store.create("values", plain, values=values)
    store.create("other", plain)
    assert len(store.segmented()) == 1


def test_segments_share_their_part_of_a_layer(store: bs.Store) -> None:
    audience = bs.Audience(layer=bs.Layer("checkout", 1.0))
    test = store.create_segmented("button", DESIGN, audience=audience)
    slots = [one.audience.layer.slots for one in test.tests.values()]  # type: ignore[union-attr]
    assert slots == [((0, 1000),)] * 2


def test_units_that_a_hash_assigns_have_no_segments(store: bs.Store) -> None:
    static = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.Static([50, 50]), segments=SEGMENTS)
    with pytest.raises(bs.InputError, match="assigned by a hash"):
        store.create_segmented("static", static, measure=bs.Measure(period="1d"))


def race(location: str, rounds: int) -> None:
    """Assign the same new units in different segments at the same time, by two programs."""
    with bs.open(location) as first, bs.open(location) as second:
        tests = [first.create_segmented("race", DESIGN), second.get_segmented("race")]
        barrier = Barrier(2)

        def assign(program: int) -> list[str]:
            arms = []
            for unit in range(rounds):
                barrier.wait()
                segment = "fr" if program == unit % 2 else "de"
                # The one waits for its arm, the other has a future of it.
                if program:
                    arms.append(tests[program].assign_soon(unit, segment=segment).result(60))
                else:
                    arms.append(tests[program].assign(unit, segment=segment))
            return arms

        with ThreadPoolExecutor(2) as threads:
            arms = [*threads.map(assign, (0, 1))]
        assert arms[0] == arms[1]
        assert tests[0].status().units == rounds
        assert all(one.agrees for one in tests[1].verify())


def test_two_programs_that_race_agree_on_the_segment(tmp_path: Path) -> None:
    race(str(tmp_path / "store.db"), 20)


def test_two_programs_that_race_on_postgresql_agree(new_database: Callable[[], str]) -> None:
    race(new_database(), 20)


def test_a_unit_that_is_in_two_segments_is_found_by_verify(test: bs.SegmentedExperiment) -> None:
    test.assign("ann", segment="fr")
    test.assign("bob", segment="de")
    with test.store.writing() as connection:
        connection.exec_driver_sql("UPDATE assignments SET unit = 'ann'")
    differences = [said for one in test.verify() for said in one.differences]
    assert any("'ann' is in segment fr too" in said for said in differences)


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
    test = store.create_segmented("guarded", guarded)
    chance = random.Random(3)
    for first in range(0, 400, 20):
        units = range(first, first + 20)
        names = [("fr", "de")[i % 2] for i in units]
        arms = test.assign_many(units, segments=names)
        for i, name, arm in zip(units, names, arms, strict=True):
            slow = 3.0 if (name, arm) == ("de", "b") else 0.0
            test.record(i, chance.gauss(2.0 * (arm == "b"), 1.0))
            test.record(i, chance.gauss(slow, 1.0), metric="latency")
    status = test.status()
    assert status.decisions == {"fr": "b", "de": "a"}
    harmed = status.segments["de"].decision
    assert harmed is not None
    assert harmed.harm == ("latency",)
    assert harmed.error == pytest.approx(0.02)
    assert all(one.agrees for one in test.verify())
