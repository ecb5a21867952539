"""Who gets into a live test: shares, ramps, targeting, layers and holdouts; values of arms."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import bascule as bs
from bascule.live.api import some_rows

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))
UNITS = [f"user-{i}" for i in range(400)]


def enrolled(test: bs.Experiment, units: list[str] = UNITS) -> set[str]:
    """Those of the units that are in a test after all have come."""
    test.assign_many(units)
    return {row[0] for row in some_rows(test, "assignments")[0]}


def test_only_a_share_gets_in_and_the_others_get_the_control(store: bs.Store) -> None:
    test = store.create("share", COINS, audience={"share": 0.25})
    inside = enrolled(test)
    assert inside == {u for u in UNITS if bs.bucket(u, "share/share", [1, 3]) == 0}
    outside = next(unit for unit in UNITS if unit not in inside)
    found = test.evaluate(outside)
    assert (found.arm, found.reason, found.enrolled, found.why) == ("a", "DEFAULT", False, "share")
    with pytest.raises(bs.InputError, match="not in the share of traffic"):
        test.assign(outside, strict=True)
    assert test.status().units == len(inside)
    receipts = test.record_many([(unit, 1.0) for unit in UNITS])
    assert Counter(one.reason for one in receipts) == {
        None: len(inside),
        "not enrolled": len(UNITS) - len(inside),
    }
    # Most of the traffic may be outside: it is counted, and not listed one by one.
    assert test.excluded() == []
    assert test.excluded_counts() == {"not enrolled": len(UNITS) - len(inside)}
    assert test.verify().agrees


def test_a_larger_share_keeps_everyone_and_a_smaller_one_too(store: bs.Store) -> None:
    test = store.create("share", COINS, audience=bs.Audience(share=0.2))
    few = enrolled(test)
    arms = {unit: test.assign(unit) for unit in few}
    test.set_share(0.6)
    many = enrolled(test)
    assert few < many
    test.set_share(0.0)
    assert enrolled(test, [*UNITS, "new"]) == many
    assert {unit: test.assign(unit) for unit in few} == arms
    assert [entry["action"] for entry in test.audit()][-2:] == ["share", "share"]
    whole = store.create("whole", COINS)
    whole.set_share(0.5)
    assert 0 < len(enrolled(whole)) < len(UNITS)


def test_a_ramp_begins_with_the_start(store: bs.Store, clock: bs.ManualClock) -> None:
    ramp = bs.Audience(ramp=[("0d", 0.1), ("1d", 0.5), ("2d", 1)])
    test = store.create("ramp", COINS, audience=ramp, start=False)
    clock.advance("5d")
    test.start()
    sizes = []
    for day in range(3):
        arms = [test.evaluate(f"{day}-{unit}") for unit in UNITS]
        sizes.append(sum(one.enrolled for one in arms))
        clock.advance("1d")
    assert sizes[0] < 80 < sizes[1] < 300 < len(UNITS) - 20 < sizes[2]


def test_enrolment_changes_nothing_but_who_comes() -> None:
    """A test with a ramp, and one that only ever sees those who got in, are the same test.

    Who gets in is known before any outcome. So the errors of the first are those of the second.
    """
    results = []
    inside: list[list[str]] = []
    for is_ramped in (True, False):
        clock, chance = bs.ManualClock(), random.Random(7)
        shuffle = random.Random(5).shuffle
        with bs.open(":memory:", clock=clock, shuffle=shuffle) as store:
            ramp = bs.Audience(ramp=[("0d", 0.2), ("2d", 0.6)]) if is_ramped else None
            test = store.create("same", COINS, audience=ramp)
            for day in range(5):
                units = [f"{day}-{i}" for i in range(100)] if is_ramped else inside[day]
                test.assign_many(units)
                arms = {u: test.assign(u) for u in units if test.assignment(u) is not None}
                inside.append([*arms])
                buy = {"a": 0.1, "b": 0.3}
                bought = [unit for unit, arm in arms.items() if chance.random() < buy[arm]]
                test.record_many([(unit, 1.0) for unit in bought])
                clock.advance("1d")
            status = test.status()
            results.append((status.arms, status.effects, status.decision, status.units))
    assert results[0] == results[1]
    assert [len(day) for day in inside[:5]] == [len(day) for day in inside[5:]]
    assert len(inside[0]) < 40 < len(inside[4])


def test_a_targeting_rule_reads_the_context_and_a_unit_that_is_in_stays_in(
    store: bs.Store,
) -> None:
    where = {"and": [{"==": [{"var": "country"}, "FR"]}, {">=": [{"var": "age"}, 18]}]}
    test = store.create("french", COINS, audience={"where": where})
    adult = {"country": "FR", "age": 30}
    assert test.evaluate("u", adult).enrolled
    assert test.evaluate("u").enrolled
    assert test.evaluate("u", {"country": "DE"}).enrolled
    for context in (None, {}, {"country": "FR"}, {"country": "DE", "age": 30}):
        found = test.evaluate("v", context)
        assert (found.arm, found.reason, found.why) == ("a", "DEFAULT", "where")
    arms = test.assign_many(["w", "x"], [adult, {}])
    assert arms[1] == "a"
    assert [test.assignment(unit) is not None for unit in ("w", "x")] == [True, False]
    with pytest.raises(bs.InputError, match="context must have names"):
        test.assign("y", "FR")  # type: ignore[arg-type]
    with pytest.raises(bs.InputError, match="where cannot be evaluated"):
        store.create("bad", COINS, audience={"where": {"eval": "1"}})
    # What was shown for some is not given to those who were never meant to get it.
    test.stop(to="b")
    assert (test.assign("v"), test.assign("u")) == ("a", "b")


def test_no_unit_is_in_two_tests_of_a_layer(store: bs.Store) -> None:
    """Tests come and go with parts of all sizes; those that run at the same time share nobody."""
    chance, free = random.Random(3), 1000
    running: list[tuple[bs.Experiment, int]] = []
    for i in range(12):
        needed = chance.choice([100, 250, 300])
        while needed > free:
            with pytest.raises(bs.InputError, match=r"of its units left"):
                store.create(
                    "full", COINS, audience={"layer": {"name": "x", "share": needed / 1000}}
                )
            ended, its = running.pop(chance.randrange(len(running)))
            ended.stop()
            free += its
        layer = bs.Layer("x", needed / 1000)
        running.append((store.create(f"t{i}", COINS, audience=bs.Audience(layer=layer)), needed))
        free -= needed
        members = [enrolled(test) for test, _ in running]
        assert sum(map(len, members)) == len(set().union(*members))
    other = store.create("elsewhere", COINS, audience={"layer": {"name": "search", "share": 1}})
    assert enrolled(other) == set(UNITS)


def test_a_holdout_is_kept_out_of_all_tests_and_is_the_same_in_each(store: bs.Store) -> None:
    audience = bs.Audience(holdout=bs.Holdout("2026", 0.2))
    first = enrolled(store.create("first", COINS, audience=audience))
    second = enrolled(store.create("second", COINS, audience=audience))
    assert first == second
    assert 40 < len(UNITS) - len(first) < 130
    with pytest.raises(bs.InputError, match="has 20 % in first: give it the same"):
        store.create("third", COINS, audience={"holdout": {"name": "2026", "share": 0.1}})


def test_arms_carry_values(store: bs.Store) -> None:
    test = store.create("flag", COINS, values={"b": True, "a": False})
    found = test.evaluate("u")
    assert found.value is (found.arm == "b")
    assert (test.evaluate("u").value, test.values) == (found.value, (False, True))
    test.stop(to="b")
    assert [test.evaluate(unit).value for unit in ("u", "new")] == [True, True]
    assert store.create("plain", COINS).evaluate("u").value in ("a", "b")


def test_what_cannot_be_is_refused_and_leaves_nothing(store: bs.Store) -> None:
    for given in ({"audience": {"share": 2}}, {"values": {"a": 1}}, {"audience": 3}):
        with pytest.raises(bs.InputError):
            store.create("bad", COINS, **given)
    assert store.experiments() == []


def test_a_decided_test_gives_the_winner_to_the_outside_when_it_is_released(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("winner", COINS, audience=bs.Audience(share=0.5))
    for i in range(400):
        if test.assign(f"u{i}") == "b":
            test.record(f"u{i}", 1.0)
    clock.advance("1d")
    status = test.status()
    assert status.decision is not None
    assert status.decision.name == "b"
    outside = next(u for u in UNITS if test.assignment(u) is None and test.assign(u) == "a")
    assert test.evaluate(outside).reason == "DEFAULT"
    test.release()
    assert (test.assign(outside), test.evaluate(outside).reason) == ("b", "STATIC")
