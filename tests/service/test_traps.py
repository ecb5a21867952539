"""What newcomers do with their first design, in Python, over HTTP and over OFREP."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest
from tests.service.running import Service

import bascule as bs

Ask = Callable[[str], tuple[str, str]]
"""(a unit) -> the arm to serve, and the reason."""


@pytest.fixture(scope="module")
def design() -> bs.Design:
    """A test of a button, as a newcomer writes it."""
    return bs.Design(
        arms=["control", "green"],
        outcome=bs.Bernoulli(),
        rule=bs.Tilt(8),
        error=0.05,
        measure=bs.Measure("7d", "any"),
    )


@pytest.fixture(params=["python", "http", "ofrep"])
def asked(request: pytest.FixtureRequest, service: Service) -> Callable[[str], Ask]:
    """How to ask for arms of a test, in one of three ways; nobody may ever get an error."""

    def of(name: str) -> Ask:
        def ask(unit: str) -> tuple[str, str]:
            if request.param == "python":
                found = service.store.get(name).evaluate(unit)
                assert service.store.get(name).assign(unit) == found.arm
                return found.arm, found.reason
            path, body = f"/v1/experiments/{name}/assign", {"unit": unit}
            if request.param == "ofrep":
                path = f"/ofrep/v1/evaluate/flags/{name}"
                with service.caller("client") as caller:
                    answer = caller.post(path, json={"context": {"targetingKey": unit}})
                assert answer.status_code == 200, answer.text
                return answer.json()["variant"], answer.json()["reason"]
            with service.caller("client") as caller:
                answer = caller.post(path, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()["arm"], answer.json()["reason"]

        return ask

    return of


def test_recording_conversions_alone_comes_to_a_decision(
    service: Service, design: bs.Design, asked: Callable[[str], Ask], request: pytest.FixtureRequest
) -> None:
    """Most units never report; without a window the first of them held up all others."""
    name = request.node.callspec.id + "-conversions"
    test, chance = service.store.create(name, design), random.Random(1)
    ask = asked(name)
    for day in range(6):
        units = [f"{day}-{i}" for i in range(40)]
        bought = [u for u in units if chance.random() < (0.5 if ask(u)[0] == "green" else 0.05)]
        with service.caller("client") as caller:
            outcomes = [{"unit": unit, "value": 1} for unit in bought]
            path = f"/v1/experiments/{name}/outcomes"
            caller.post(path, json={"outcomes": outcomes}).raise_for_status()
        service.clock.advance("1d")
    assert "are in their conversion window" in test.status().headline
    service.clock.advance("7d")
    assert test.status().headline.startswith("Ship green")


def test_a_test_without_a_window_is_not_created_by_accident(
    service: Service, design: bs.Design, admin: httpx.Client
) -> None:
    bare = replace(design, measure=None)
    with pytest.raises(bs.InputError, match="a unit that never reports would hold up all others"):
        service.store.create("bare", bare)
    answer = admin.post("/v1/experiments", json={"name": "bare", "design": bare.to_dict()})
    assert (answer.status_code, answer.json()["field"]) == (422, "measure")
    # Whoever says that all units report, and forgets one, is told which and since when.
    test = service.store.create("forgetful", bare, reports="always")
    test.assign_many([f"u{i}" for i in range(100)])
    test.record_many([(f"u{i}", 1.0) for i in range(1, 100)])
    service.clock.advance("9d")
    assert re.search(r"100 units .*9", test.status().headline), test.status().headline
    (alarm,) = [one for one in test.alarms() if one.name == "waiting"]
    assert "1 without an outcome, and 99 that wait for the oldest" in alarm.message


def test_paused_full_stopped_and_dropped_tests_answer(
    service: Service, design: bs.Design, asked: Callable[[str], Ask], request: pytest.FixtureRequest
) -> None:
    way = request.node.callspec.id

    def change(path: str, **given: str) -> None:
        with service.caller("admin") as caller:
            answer = caller.post(f"/v1/experiments/{way}-ends/{path}", json=given or None)
        assert answer.status_code == 200, answer.text

    ask = asked(f"{way}-ends")
    test = service.store.create(
        f"{way}-ends", replace(design, arms=("control", "green", "blue"), max_units=60)
    )
    arms = {f"u{i}": ask(f"u{i}")[0] for i in range(30)}
    green = next(unit for unit, arm in arms.items() if arm == "green")
    change("pause")
    assert ask("new") == ("control", "DISABLED")
    assert ask(green) == ("green", "SPLIT")
    change("start")
    change("drop-arm", arm="green")
    assert ask(green)[0] == "control"
    assert "green" not in {ask(f"v{i}")[0] for i in range(20)}
    for i in range(60):
        ask(f"w{i}")
    assert ask("one-too-many") == ("control", "DISABLED")
    change("stop", to="blue")
    assert {ask(unit) for unit in (green, "new", "u1")} == {("blue", "STATIC")}
    assert test.verify().agrees
