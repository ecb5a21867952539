"""Units over HTTP: assignments and outcomes, with metrics, covariates and exposure."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, Service, path

METRICS: dict[str, Any] = {
    **DESIGN,
    "outcome": {"kind": "ratio", "at": 0.2, "per": 5},
    "goal": "decrease",
    "control": "green",
    "metrics": [
        {"name": "latency", "outcome": {"kind": "gaussian", "sigma": 10}, "margin": 5},
        {"name": "views", "outcome": {"kind": "numeric"}, "role": "secondary"},
    ],
    "covariates": [{"name": "spend_before"}],
}


def test_a_test_that_is_full_takes_no_more(admin: httpx.Client) -> None:
    design = {**DESIGN, "max_units": 40}
    made = admin.post("/v1/experiments", json={"name": "full", "design": design})
    assert made.status_code == 201, made.text
    told = [admin.post(path("full", "assign"), json={"unit": str(i)}) for i in range(41)]
    assert {one.status_code for one in told} == {200}
    assert [one.json()["enrolled"] for one in told] == [True] * 40 + [False]
    refused = admin.post(path("full", "assign"), json={"unit": "40", "strict": True})
    assert (refused.status_code, refused.json()["field"]) == (409, "max_units")


def test_each_outcome_is_answered_for_itself(admin: httpx.Client, name: str) -> None:
    admin.post(path(name, "assign"), json={"unit": "ann"})
    good = {"unit": "ann", "value": 1, "id": "order-1"}
    sent: list[Any] = [
        good,
        good,
        {"unit": "bob", "value": 1},
        {"unit": "ann", "value": "much"},
        {"unit": "ann", "value": 10**400},
        {"unit": "ann", "value": 0, "at": "yesterday"},
        {"unit": "ann", "value": 0, "colour": "green"},
        {"value": 1},
        42,
        None,
    ]
    answer = admin.post(path(name, "outcomes"), json={"outcomes": sent})
    assert answer.status_code == 200
    body = answer.json()
    assert list(body)[:4] == ["accepted", "rejected", "duplicates", "reasons"]
    assert (body["accepted"], body["rejected"], body["duplicates"]) == (1, 8, 1)
    assert body["reasons"] == {"invalid": 7, "unknown unit": 1}
    reasons = [one["reason"] for one in answer.json()["outcomes"]]
    assert reasons == [None, "duplicate", "unknown unit", *["invalid"] * 7]
    retried = admin.post(path(name, "outcomes"), json={"outcomes": [good]})
    assert retried.status_code == 200
    again = retried.json()["outcomes"]
    assert again == [{"accepted": False, "reason": "duplicate", "detail": "it was counted before"}]
    assert admin.get(path(name, "status")).json()["matured"] == 1


def test_a_call_whose_outcomes_are_all_rejected_is_refused(admin: httpx.Client, name: str) -> None:
    sent = [{"unit": "nobody", "value": 1}, {"unit": "nobody else", "value": 1}]
    answer = admin.post(path(name, "outcomes"), json={"outcomes": sent})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["reasons"] == {"unknown unit": 2}
    assert body["detail"].startswith("none of the outcomes counts (2 unknown unit); the first: ")
    assert [one["accepted"] for one in body["outcomes"]] == [False, False]
    assert admin.get(path(name, "status")).json()["unassigned"] == 2
    assert "2 outcomes do not count, because no unit" in admin.get(path(name, "report")).text


def test_an_event_of_a_rate_is_0_or_1(admin: httpx.Client) -> None:
    window = {"window": "7d", "aggregate": "any"}
    design = {key: part for key, part in DESIGN.items() if key != "reports"} | {"measure": window}
    made = admin.post("/v1/experiments", json={"name": "clicks", "design": design})
    assert made.status_code == 201, made.text
    admin.post(path("clicks", "assign"), json={"unit": "ann"})
    sent = [{"unit": "ann", "value": value} for value in (3, -1, 0.5, True, 0)]
    answer = admin.post(path("clicks", "outcomes"), json={"outcomes": sent}).json()["outcomes"]
    assert [one["reason"] for one in answer] == [*["out of range"] * 3, None, None]
    assert answer[0]["detail"].startswith("value must be 0 or 1 (got 3.0)")


def test_outcomes_name_their_metric(admin: httpx.Client) -> None:
    model = {"kind": "gaussian", "sigma": 30}
    latency = {"name": "latency", "outcome": model, "goal": "decrease", "margin": 5}
    design = {**DESIGN, "metrics": [latency]}
    made = admin.post("/v1/experiments", json={"name": "guarded", "design": design})
    assert made.status_code == 201, made.text
    admin.post(path("guarded", "assign"), json={"unit": "ann"})
    outcomes = [
        {"unit": "ann", "value": 1},
        {"unit": "ann", "value": 131.5, "metric": "latency"},
        {"unit": "ann", "value": 2, "metric": "speed"},
        {"unit": "ann", "value": 2, "metric": 7},
    ]
    receipts = admin.post(path("guarded", "outcomes"), json={"outcomes": outcomes}).json()
    reasons = [receipt.get("reason") for receipt in receipts["outcomes"]]
    assert reasons == [None, None, "unknown metric", "invalid"]
    status = admin.get(path("guarded", "status")).json()
    assert status["matured"] == 1
    assert status["metrics"][0]["name"] == "latency"
    table = admin.get(path("guarded", "export"), params={"table": "outcomes", "metric": "latency"})
    assert ",131.5," in table.text
    assert table.text.count("\n") == 2
    missing = {"table": "outcomes", "metric": "speed"}
    assert admin.get(path("guarded", "export"), params=missing).status_code == 404


def test_a_unit_that_did_not_see_its_arm_counts_and_is_listed(
    admin: httpx.Client, name: str
) -> None:
    admin.post(path(name, "assign"), json={"unit": "ann"})
    sent = {"unit": "ann", "value": 1, "exposed": False}
    (told,) = admin.post(path(name, "outcomes"), json={"outcomes": [sent]}).json()["outcomes"]
    assert (told["accepted"], told["reason"]) == (True, "not exposed")
    (listed,) = admin.get(path(name, "excluded")).json()["excluded"]
    assert (listed["unit"], listed["reason"]) == ("ann", "not exposed")
    assert admin.get(path(name, "status")).json()["matured"] == 1


def test_ratios_metrics_and_covariates_over_http(admin: httpx.Client) -> None:
    made = admin.post("/v1/experiments", json={"name": "metrics", "design": METRICS})
    assert made.status_code == 201, made.text
    assert made.json()["design"]["covariates"] == [{"name": "spend_before", "missing": 0.0}]
    for i in range(60):
        known = {} if i % 10 == 0 else {"covariates": {"spend_before": float(i % 7)}}
        assigned = admin.post(path("metrics", "assign"), json={"unit": f"u{i}", **known})
        errors = 2 if assigned.json()["arm"] == "green" else 1
        given: list[dict[str, Any]] = [
            {"value": [errors + i % 3, 5 + i % 2]},
            {"value": 120 + i % 5, "metric": "latency"},
        ]
        given.append({"value": i % 4, "metric": "views"})
        outcomes = [{"unit": f"u{i}", **one} for one in given]
        receipts = admin.post(path("metrics", "outcomes"), json={"outcomes": outcomes}).json()
        assert all(one["accepted"] for one in receipts["outcomes"]), receipts
    status = admin.get(path("metrics", "status")).json()
    (contrast,) = status["contrasts"]
    assert (contrast["treatment"], contrast["control"]) == ("control", "green")
    assert contrast["difference"] < 0.0
    assert status["leader"] == "control"
    assert [metric["name"] for metric in status["metrics"]] == ["latency", "views"]
    assert status["covariates"]["lacking"] == 6
    assert "spend_before" in status["covariates"]["coefficients"]
    wrong = {"unit": "new", "covariates": {"spend": 1.0}}
    assert admin.post(path("metrics", "assign"), json=wrong).status_code == 422
    number = {"unit": "u1", "value": 1.0, "metric": "nothing"}
    (receipt,) = admin.post(path("metrics", "outcomes"), json={"outcomes": [number]}).json()[
        "outcomes"
    ]
    assert receipt["reason"] == "unknown metric"


def test_a_link_whose_caller_hung_up_while_it_waited_is_dropped(
    admin: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 of them kept the store busy for a minute, with 2,000 tests."""
    begun, go_on, linked = threading.Event(), threading.Event(), []

    def link(unit: str, *_: object) -> dict[str, str]:
        linked.append(unit)
        begun.set()
        go_on.wait(20)
        return {}

    monkeypatch.setattr(service.store, "link", link)

    def ask(unit: str, seconds: float) -> httpx.Response:
        sent = {"unit": unit, "other": "x"}
        return admin.post("/v1/units/link", json=sent, timeout=seconds)

    first = threading.Thread(target=ask, args=("first", 20))
    first.start()
    begun.wait(20)
    with pytest.raises(httpx.ReadTimeout):
        ask("gone", 0.3)
    time.sleep(0.2)
    go_on.set()
    first.join()
    assert ask("last", 20).status_code == 200
    assert linked == ["first", "last"]
