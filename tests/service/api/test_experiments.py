"""Experiments over HTTP: creating, listing, changing and deleting them."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from tests.outside import Explore, Rating, registered
from tests.service.running import DESIGN, Service, path

import bascule as bs
from bascule.live import Status
from bascule.live.api.reads import Summary
from bascule.service.reading import shared
from bascule.service.reading.shared import PAGE_SIZE


def decide(admin: httpx.Client, name: str) -> dict[str, Any]:
    """Send units until green, which always wins, is proven better."""
    for i in range(300):
        arm = admin.post(path(name, "assign"), json={"unit": f"u{i}"}).json()["arm"]
        outcome = {"unit": f"u{i}", "value": float(arm == "green"), "id": str(i)}
        admin.post(path(name, "outcomes"), json={"outcomes": [outcome]})
        status: dict[str, Any] = admin.get(path(name, "status")).json()
        if status["decision"] is not None:
            return status
    raise AssertionError("no decision")


def test_a_test_from_its_creation_to_its_deletion(admin: httpx.Client) -> None:
    made = admin.post("/v1/experiments", json={"name": "life", "design": DESIGN, "start": False})
    assert made.status_code == 201
    assert made.headers["location"] == path("life")
    assert made.json()["status"]["state"] == "ready"
    assert made.json()["created"] == admin.get(path("life")).json()["created"]
    early = admin.post(path("life", "assign"), json={"unit": "u"}).json()
    assert (early["arm"], early["reason"], early["enrolled"]) == ("control", "DISABLED", False)
    strict = {"unit": "u", "strict": True}
    assert admin.post(path("life", "assign"), json=strict).status_code == 409
    assert admin.post(path("life", "start")).json()["state"] == "running"
    status = decide(admin, "life")
    assert status["headline"] == "Ship green: +100 points (0 to +100)"
    assert admin.get(path("life")).json()["status"] == status
    loser = next(
        unit
        for unit in (f"u{i}" for i in range(20))
        if admin.post(path("life", "assign"), json={"unit": unit}).json()["arm"] == "control"
    )
    assert admin.post(path("life", "release")).status_code == 200
    assert admin.post(path("life", "assign"), json={"unit": loser}).json()["arm"] == "green"
    points = admin.get(path("life", "history")).json()
    assert points["arms"] == ["control", "green"]
    assert points["points"][-1]["matured"] == status["decision"]["units"]
    rows = admin.get(path("life", "export")).text.splitlines()
    assert rows[0] == "unit,arm,number,probability,block,size,time"
    assert len(rows) == 1 + admin.get(path("life", "status")).json()["units"]
    outcomes = admin.get(path("life", "export"), params={"table": "outcomes"}).text
    assert outcomes.startswith("unit,arm,value,at,received,id\nu0,")
    assert admin.delete(path("life")).status_code == 409
    admin.post(path("life", "stop"))
    assert admin.delete(path("life")).status_code == 204
    assert admin.get(path("life")).status_code == 404


def test_arms_are_taken_out(admin: httpx.Client) -> None:
    design = {**DESIGN, "arms": ["a", "b", "c"]}
    admin.post("/v1/experiments", json={"name": "three", "design": design})
    answer = admin.post(path("three", "drop-arm"), json={"arm": "c"})
    assert answer.json()["arms"][2]["part"] == "dropped"
    assert admin.get(path("three", "diagnostics")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field", "words"),
    [
        ({"name": "x"}, 400, "design", "design is missing from the request"),
        ({"name": "../x", "design": DESIGN}, 400, "name", "name"),
        ({"name": "..", "design": DESIGN}, 400, "name", "name"),
        ({"name": "x", "design": {**DESIGN, "error": "5 %"}}, 400, "error", "must be a number"),
        ({"name": "x", "design": {**DESIGN, "error": 2}}, 422, "error", "error"),
        ({"name": "x", "design": {**DESIGN, "arms": ["a", "a"]}}, 422, "arms", "arms"),
        ({"name": "x", "design": {**DESIGN, "colour": 1}}, 400, "colour", "is not a field of"),
        ({"name": "x", "design": DESIGN, "more": 1}, 400, "more", "is not a field of"),
        ({"name": "x", "design": "/etc/passwd"}, 400, "design", "must be an object, as {...}"),
        ([1], 400, "request", "request must be an object, as {...} (got [1])"),
        ({"name": "x", "design": {**DESIGN, "outcome": {"kind": "recurrent"}}}, 422, "rule", ""),
    ],
)
def test_a_design_that_cannot_be_is_refused_in_one_line(
    admin: httpx.Client, body: object, status: int, field: str, words: str
) -> None:
    answer = admin.post("/v1/experiments", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field
    assert "\n" not in answer.json()["detail"]
    assert words in answer.json()["detail"]


def test_a_name_is_used_once(admin: httpx.Client, name: str) -> None:
    answer = admin.post("/v1/experiments", json={"name": name, "design": DESIGN})
    assert (answer.status_code, answer.json()["field"]) == (409, "name")


@pytest.mark.parametrize(
    ("method", "url", "status", "words"),
    [
        ("GET", "/v1/experiments/none", 404, "check its name in the list of experiments"),
        ("GET", "/v1/nothing", 404, "GET /openapi.json lists all calls"),
        ("GET", "/v1/experiments/", 404, "change the test with"),
        ("POST", "/v1/experiments/none/resume", 404, "start also resumes after a pause"),
        ("PUT", "/v1/experiments", 405, "use GET, HEAD, POST"),
        ("GET", "/v1/experiments/none/export?table=users", 400, "table"),
    ],
)
def test_what_the_framework_refuses_is_a_problem_too(
    admin: httpx.Client, method: str, url: str, status: int, words: str
) -> None:
    answer = admin.request(method, url)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert words in answer.json()["detail"]
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, POST"


def test_a_list_of_many_tests_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, compute = [], Summary.status

    def counted(summary: Summary) -> Status:
        computed.append(summary.name)
        return compute(summary)

    monkeypatch.setattr(Summary, "status", counted)
    monkeypatch.setattr(shared, "STATUS_FRESH", 600.0)
    service = Service()
    try:
        for i in range(60):
            test = service.store.create(f"test-{i}", bs.Design.from_dict(DESIGN))
            test.assign_many([str(unit) for unit in range(30)])
            test.record_many([(str(unit), unit % 2) for unit in range(30)])
        with service.caller("viewer") as viewer:
            viewer.get("/v1/experiments")
            first = len(computed)
            assert first >= 60
            for _ in range(3):
                listed = viewer.get("/v1/experiments").json()["experiments"]
            assert len(listed) == 60
            assert len(computed) == first
            # What has changed is computed again.
            service.store.get("test-7").assign("new")
            again = viewer.get("/v1/experiments").json()["experiments"]
            assert [status["units"] for status in again].count(31) == 1
    finally:
        service.close()


def test_intervals_and_decisions_say_what_they_bound(
    service: Service, admin: httpx.Client, name: str
) -> None:
    test = service.store.get(name)
    for i in range(400):
        test.record(i, float(test.assign(i) == "green"))
        if test.state == "decided":
            break
    status = admin.get(f"/v1/experiments/{name}/status").json()
    (effect,) = status["effects"]
    assert effect["level"] == pytest.approx(0.95)
    (contrast,) = status["contrasts"]
    ends = ("difference", "low", "high")
    assert [effect[end] for end in ends] == [contrast[end] for end in ends]
    assert (effect["first"], effect["second"]) == (contrast["treatment"], contrast["control"])
    assert effect["meaning"] == "each bound fails with probability at most 2.5 %, at any time"
    assert status["decision"]["meaning"].startswith("false positive rate at most 5 %")


def test_the_description_holds_all_that_it_refers_to(admin: httpx.Client) -> None:
    described = admin.get("/openapi.json")
    named = set(re.findall(r"#/components/schemas/(\w+)", described.text))
    assert named <= set(described.json()["components"]["schemas"])


def test_the_knob_of_a_rule_from_outside_goes_by_its_name(
    service: Service, admin: httpx.Client
) -> None:
    with registered():
        design = bs.Design(["control", "green"], Rating(7), Explore(0.2), reports="always")
        service.store.create("explore", design)
        turned = admin.post(path("explore", "knob"), json={"epsilon": 0.1})
        assert turned.status_code == 200, turned.text
        shown = admin.get(path("explore")).json()["design"]
        assert shown["rule"] == {"kind": "explore", "epsilon": 0.1}
        assert shown["outcome"] == {"kind": "rating", "best": 7}
        refused = admin.post(path("explore", "knob"), json={"epsilon": 0.7})
        assert refused.status_code == 422
        assert "must be from 0.01 to 0.5" in refused.text
        assert admin.post(path("explore", "knob"), json={"tilt": 3}).status_code == 422
        admin.post(path("explore", "stop"))
        assert admin.delete(path("explore")).status_code == 204


def test_a_list_comes_in_pages() -> None:
    service = Service()
    try:
        design = bs.Design.from_dict(DESIGN)
        for i in range(PAGE_SIZE + 1):
            service.store.create(f"test-{i}", design)
        with service.caller("viewer") as caller:
            first = caller.get("/v1/experiments").json()
            last = caller.get("/v1/experiments", params={"page": first["next"]}).json()
            found = caller.get("/v1/experiments", params={"search": "test-7"}).json()
            assert caller.get("/v1/experiments", params={"page": 0}).status_code == 400
        assert (len(first["experiments"]), first["total"]) == (PAGE_SIZE, PAGE_SIZE + 1)
        assert [one["name"] for one in last["experiments"]] == [f"test-{PAGE_SIZE}"]
        assert "next" not in last
        assert last["total"] == PAGE_SIZE + 1
        assert len(found["experiments"]) == found["total"] == 11
    finally:
        service.close()
