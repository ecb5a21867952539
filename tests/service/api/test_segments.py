"""A test with segments over HTTP and OFREP: one name for programs, an experiment for each."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, FLAG, Service

from bascule.service.auth.keys import create_key

SEGMENTS = {"attribute": "country", "names": ["fr", "de"]}


@pytest.fixture
def test(admin: httpx.Client, request: pytest.FixtureRequest) -> str:
    made = "by-" + "".join(c if c.isalnum() else "-" for c in request.node.name)[:80]
    given = {"name": made, "design": {**DESIGN, "segments": SEGMENTS}}
    answer = admin.post("/v1/experiments", json=given)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/experiments/{made}/segments"
    assert answer.json()["headline"] == "None of 2 segments is decided yet"
    return made


def assigned(caller: httpx.Client, test: str, unit: str, **more: Any) -> dict[str, Any]:
    answer = caller.post(f"/v1/experiments/{test}/assign", json={"unit": unit, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_unit_is_assigned_in_its_segment_and_stays_there(
    service: Service, admin: httpx.Client, test: str
) -> None:
    with service.caller(key=create_key(service.store, "client", [test])) as client:
        first = assigned(client, test, "ann", context={"country": "fr"})
        assert (first["experiment"], first["segment"]) == (test, "fr")
        assert assigned(client, test, "ann", segment="de") == first
        assert assigned(client, test, "bob", segment="de")["segment"] == "de"
        given = {"outcomes": [{"unit": unit, "value": 1} for unit in ("bob", "ann", "eve")]}
        receipts = client.post(f"/v1/experiments/{test}/outcomes", json=given).json()["outcomes"]
        assert [one["accepted"] for one in receipts] == [True, True, False]
        pair = {"unit": "ann", "other": "ann-at-home"}
        linked = client.post("/v1/units/link", json=pair).json()
        assert linked["arms"][f"{test}.fr"] == first["arm"]
        assert assigned(client, test, "ann-at-home", segment="de")["segment"] == "fr"
    shown = admin.get(f"/v1/experiments/{test}/segments").json()
    assert {name: one["units"] for name, one in shown["segments"].items()} == {"fr": 1, "de": 1}
    assert "segments together" in shown["promise"]


def test_a_judgement_finds_the_segment_of_its_request(admin: httpx.Client) -> None:
    """By the id of a request that was stored, or that comes with it, also after an erasure."""
    name, day = "judged-by-segment", {"window": "1d"}
    cost = {"name": "cost", "outcome": {"kind": "ratio"}, "role": "secondary", "measure": day}
    design = {**DESIGN, "reports": None, "outcome": {"kind": "ratio"}, "measure": day}
    design["metrics"] = [cost]
    given = {"name": name, "design": {**design, "segments": SEGMENTS}}
    made = admin.post("/v1/experiments", json=given)
    assert made.status_code == 201, made.text
    for unit, segment in (("ann", "fr"), ("bob", "de")):
        assigned(admin, name, unit, segment=segment)

    def reasons(*outcomes: dict[str, Any]) -> list[str | None]:
        sent = admin.post(f"/v1/experiments/{name}/outcomes", json={"outcomes": [*outcomes]})
        return [one["reason"] for one in sent.json()["outcomes"]]

    priced = {"unit": "ann", "id": "r1", "metric": "cost", "value": [0.1, 1]}
    assert reasons(priced) == [None]
    assert reasons({"id": "r1", "value": [1, 1]}) == [None]
    together = {"unit": "bob", "id": "r2", "metric": "cost", "value": [0.1, 1]}
    assert reasons({"id": "r2", "value": [0, 1]}, together) == [None, None]
    assert reasons({**priced, "id": "r3"}) == [None]
    assert admin.post("/v1/units/erase", json={"unit": "ann"}).status_code == 200
    assert reasons({"id": "r3", "value": [1, 1]}, {"id": "r4", "value": [1, 1]}) == [
        None,
        "unknown unit",
    ]
    # She keeps her segment and her arm by her name too, whatever her device says now.
    assert reasons({"unit": "ann", "value": [1, 1]}) == [None]
    again = assigned(admin, name, "ann", context={"country": "de"})
    assert again["segment"] == "fr"
    flags = admin.post(FLAG, json={"context": {"targetingKey": "ann"}}).json()["flags"]
    assert [(one["key"], one["variant"]) for one in flags] == [(name, again["arm"])]


def test_a_flag_takes_its_segment_from_the_context(admin: httpx.Client, test: str) -> None:
    path = "/ofrep/v1/evaluate/flags"
    context = {"targetingKey": "ann", "country": "de"}
    flag = admin.post(f"{path}/{test}", json={"context": context}).json()
    assert (flag["key"], flag["metadata"]["experiment"]) == (test, f"{test}.de")
    moved = {"context": {**context, "country": "fr"}}
    assert admin.post(f"{path}/{test}", json=moved).json() == flag
    assert flag in admin.post(path, json={"context": context}).json()["flags"]
    refused = admin.post(f"{path}/{test}", json={"context": {"targetingKey": "eve"}})
    assert (refused.status_code, refused.json()["errorCode"]) == (400, "INVALID_CONTEXT")


def test_what_was_not_named_beforehand_is_refused(
    admin: httpx.Client, test: str, name: str
) -> None:
    for more in ({}, {"segment": "it"}, {"context": {"country": "it"}}):
        answer = admin.post(f"/v1/experiments/{test}/assign", json={"unit": "eve", **more})
        assert (answer.status_code, answer.json()["field"]) == (422, "segment")
    given = {"unit": "eve", "segment": 3}
    assert admin.post(f"/v1/experiments/{test}/assign", json=given).status_code == 400
    given = {"unit": "eve", "segment": "fr"}
    answer = admin.post(f"/v1/experiments/{name}/assign", json=given)
    assert "has no segments" in answer.json()["detail"]
    answer = admin.get(f"/v1/experiments/{test}")
    assert (answer.status_code, f"{test}.fr" in answer.json()["detail"]) == (404, True)
    assert admin.get(f"/v1/experiments/{name}/segments").status_code == 404


def test_all_segments_are_changed_at_once(admin: httpx.Client, test: str) -> None:
    path = f"/v1/experiments/{test}/segments"
    paused = admin.post(f"{path}/pause").json()["segments"]
    assert {one["state"] for one in paused.values()} == {"paused"}
    assert admin.post(f"{path}/release").status_code == 409
    assert admin.post(f"{path}/erase").status_code == 400
    admin.post(f"/v1/experiments/{test}.fr/stop")
    started = admin.post(f"{path}/start").json()["segments"]
    assert [one["state"] for one in started.values()] == ["stopped", "running"]
