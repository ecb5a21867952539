"""OFREP as clients depend on it, down to what each of them was seen to need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.service.auth.keys import create_key

FLAGS = "/ofrep/v1/evaluate/flags"
SHOP = "https://shop.example"


@pytest.fixture(scope="module")
def open_to_a_shop() -> Iterator[Service]:
    running = Service(origins=(SHOP,))
    yield running
    running.close()


def about(unit: object, **more: object) -> dict[str, Any]:
    return {"context": {"targetingKey": unit, **more}}


def test_a_flag_has_all_that_clients_need(admin: httpx.Client, name: str) -> None:
    answer = admin.post(f"{FLAGS}/{name}", json=about("ann", country="FR"))
    assert answer.status_code == 200
    flag = answer.json()
    assert set(flag) == {"key", "value", "reason", "variant", "metadata"}
    assert (flag["key"], flag["reason"]) == (name, "SPLIT")
    assert flag["value"] == flag["variant"] in DESIGN["arms"]
    assert all(isinstance(part, (str, bool, float, int)) for part in flag["metadata"].values())
    assert admin.post(f"{FLAGS}/{name}", json=about("ann")).json() == flag


def test_all_flags_at_once_enrol_nobody(admin: httpx.Client, name: str) -> None:
    units = admin.get(f"/v1/experiments/{name}/status").json()["units"]
    assert admin.post(FLAGS, json=about("new")).json() == {"flags": [], "metadata": {}}
    assert admin.get(f"/v1/experiments/{name}/status").json()["units"] == units
    flag = admin.post(f"{FLAGS}/{name}", json=about("new")).json()
    assert admin.post(FLAGS, json=about("new")).json()["flags"] == [flag]


def test_the_etag_is_of_the_answer(admin: httpx.Client, name: str) -> None:
    admin.post(f"{FLAGS}/{name}", json=about("bob"))
    first = admin.post(FLAGS, json=about("bob"))
    known = {"If-None-Match": first.headers["etag"]}
    # Another attribute changes nothing, and another unit does.
    same = admin.post(FLAGS, json=about("bob", country="FR"), headers=known)
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == first.headers["etag"]
    assert admin.post(FLAGS, json=about("nobody"), headers=known).status_code == 200


def test_after_the_release_everyone_gets_the_winner(admin: httpx.Client, name: str) -> None:
    base = f"/v1/experiments/{name}"
    arms: dict[str, str] = {}
    while admin.get(f"{base}/status").json()["decision"] is None:
        unit = f"u{len(arms)}"
        arms[unit] = admin.post(f"{FLAGS}/{name}", json=about(unit)).json()["value"]
        outcome = {"unit": unit, "value": float(arms[unit] == "green")}
        admin.post(f"{base}/outcomes", json={"outcomes": [outcome]})
    loser = next(unit for unit, arm in arms.items() if arm == "control")
    assert admin.post(f"{FLAGS}/{name}", json=about(loser)).json()["value"] == "control"
    admin.post(f"{base}/release")
    for flag in (
        admin.post(f"{FLAGS}/{name}", json=about(loser)).json(),
        *admin.post(FLAGS, json=about(loser)).json()["flags"],
    ):
        if flag["key"] == name:
            assert (flag["value"], flag["variant"], flag["reason"]) == ("green", "green", "STATIC")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "PARSE_ERROR"),
        (b"[]", "PARSE_ERROR"),
        (b"{}", "INVALID_CONTEXT"),
        (b'{"context": 1}', "INVALID_CONTEXT"),
        (b'{"context": {}}', "TARGETING_KEY_MISSING"),
        (b'{"context": {"targetingKey": ""}}', "TARGETING_KEY_MISSING"),
        (b'{"context": {"targetingKey": 42}}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": "%s"}}' % (501 * b"x"), "INVALID_CONTEXT"),
    ],
)
def test_a_request_that_cannot_be_read_says_why(
    admin: httpx.Client, service: Service, body: bytes, code: str
) -> None:
    headers = {"Content-Type": "application/json"}
    for path, key in ((f"{FLAGS}/some", "some"), (FLAGS, None)):
        answer = admin.post(path, content=body, headers=headers)
        told = answer.json()
        assert (answer.status_code, told["errorCode"], told.get("key")) == (400, code, key)
        assert told["errorDetails"]
        assert answer.headers["content-type"] == "application/json"


def test_a_context_that_is_too_large_for_rules_is_refused(admin: httpx.Client, name: str) -> None:
    for path in (f"{FLAGS}/{name}", FLAGS):
        answer = admin.post(path, json=about("u", groups=[*range(2000)]))
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_CONTEXT")
        assert "may have at most" in answer.json()["errorDetails"]


def test_refusals_have_the_shape_of_the_protocol(admin: httpx.Client, service: Service) -> None:
    missing = admin.post(f"{FLAGS}/none", json=about("u"))
    assert (missing.status_code, missing.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")
    for path in (f"{FLAGS}/", f"{FLAGS}/a/b", f"{FLAGS}/%2e%2e", "/ofrep/v1/nothing"):
        answer = admin.post(path, json=about("u"))
        assert answer.status_code == 404, path
        assert set(answer.json()) <= {"key", "errorCode", "errorDetails"}
    with service.caller("viewer") as viewer:
        assert viewer.post(f"{FLAGS}/none", json=about("u")).json()["errorCode"] == "GENERAL"


def test_a_test_that_takes_nobody_gives_new_units_the_control_and_is_disabled(
    admin: httpx.Client, name: str
) -> None:
    known = admin.post(f"{FLAGS}/{name}", json=about("known")).json()
    # The other place of the open block.
    admin.post(f"{FLAGS}/{name}", json=about("second"))
    for verb in ("pause", "stop"):
        admin.post(f"/v1/experiments/{name}/{verb}")
        assert admin.post(f"{FLAGS}/{name}", json=about("known")).json() == known
        answer = admin.post(f"{FLAGS}/{name}", json=about("new"))
        assert answer.status_code == 200
        flag = answer.json()
        assert (flag["value"], flag["variant"], flag["reason"]) == ("control",) * 2 + ("DISABLED",)
        assert flag["metadata"]["enrolled"] is False
    assert admin.post(f"/v1/experiments/{name}/stop", json={"to": "green"}).status_code == 200
    for unit in ("known", "new"):
        flag = admin.post(f"{FLAGS}/{name}", json=about(unit)).json()
        assert (flag["value"], flag["reason"]) == ("green", "STATIC")
        # Whoever asks for all flags gets the same, although nobody is enrolled.
        assert flag in admin.post(FLAGS, json=about(unit)).json()["flags"]


def test_all_flags_have_the_arm_of_a_stopped_test_for_those_in_its_audience(
    admin: httpx.Client,
) -> None:
    audience = {"where": {"==": [{"var": "country"}, "FR"]}}
    test = {"name": "les-bleus", "design": DESIGN, "audience": audience}
    assert admin.post("/v1/experiments", json=test).status_code == 201
    admin.post("/v1/experiments/les-bleus/stop", json={"to": "green"})

    def flags(**attributes: str) -> list[dict[str, Any]]:
        every = admin.post(FLAGS, json=about("someone", **attributes)).json()["flags"]
        return [flag for flag in every if flag["key"] == "les-bleus"]

    inside, outside = about("someone", country="FR"), about("someone", country="DE")
    assert flags(country="FR") == [admin.post(f"{FLAGS}/les-bleus", json=inside).json()]
    assert flags(country="FR")[0]["value"] == "green"
    assert admin.post(f"{FLAGS}/les-bleus", json=outside).json()["value"] == "control"
    assert flags(country="DE") == []


def test_users_of_a_dropped_arm_get_another_one_at_once(admin: httpx.Client) -> None:
    design = {**DESIGN, "arms": ["a", "b", "c"]}
    admin.post("/v1/experiments", json={"name": "kill", "design": design})
    arms = {f"u{i}": admin.post(f"{FLAGS}/kill", json=about(f"u{i}")).json() for i in range(9)}
    drop = {"arm": "c", "to": "b"}
    assert admin.post("/v1/experiments/kill/drop-arm", json=drop).json()["moved"] == [["c", "b"]]
    for unit, flag in arms.items():
        served = admin.post(f"{FLAGS}/kill", json=about(unit)).json()
        assert served["value"] == ("b" if flag["value"] == "c" else flag["value"])
        assert served["reason"] == ("STATIC" if flag["value"] == "c" else "SPLIT")
        bulk = admin.post(FLAGS, json=about(unit)).json()["flags"]
        assert served in bulk


def test_browsers_of_allowed_sites_may_call(open_to_a_shop: Service) -> None:
    service = open_to_a_shop
    service.store.create("button", bs.Design.from_dict(DESIGN))
    asks = {
        "Origin": SHOP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-api-key, authorization, if-none-match",
    }
    with service.caller() as browser:
        allowed = browser.options(f"{FLAGS}/button", headers=asks)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == SHOP
        other = browser.options(
            f"{FLAGS}/button", headers={**asks, "Origin": "https://evil.example"}
        )
        assert "access-control-allow-origin" not in other.headers
        headers = {"Origin": SHOP, "X-API-Key": service.keys["client"]}
        answer = browser.post(FLAGS, json=about("u"), headers=headers)
        assert answer.headers["access-control-expose-headers"] == "ETag, Retry-After"


def test_no_site_may_call_by_default(service: Service) -> None:
    with service.caller("client") as browser:
        answer = browser.post(FLAGS, json=about("u"), headers={"Origin": SHOP})
        assert "access-control-allow-origin" not in answer.headers


def test_a_test_that_another_program_has_just_made_is_there(service: Service) -> None:
    with service.caller("client") as caller:
        for i in range(20):
            assert caller.post(f"{FLAGS}/late-{i}", json=about("u")).status_code == 404
            service.store.create(f"late-{i}", bs.Design.from_dict(DESIGN))
            assert caller.post(f"{FLAGS}/late-{i}", json=about("u")).status_code == 200


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"control": False, "green": True}, bool),
        ({"control": 1, "green": 2}, int),
        ({"control": 1, "green": 2.5}, float),
        ({"control": "old", "green": "new"}, str),
        ({"control": {"colour": "grey"}, "green": {"colour": "green"}}, dict),
    ],
)
def test_a_flag_has_the_value_of_its_arm_with_its_type(
    admin: httpx.Client, values: dict[str, Any], kind: type
) -> None:
    name = f"values-{kind.__name__}"
    made = admin.post("/v1/experiments", json={"name": name, "design": DESIGN, "values": values})
    assert made.json()["values"] == values
    for i in range(4):
        flag = admin.post(f"{FLAGS}/{name}", json=about(f"u{i}")).json()
        assert flag["value"] == values[flag["variant"]]
        # What a client of one type takes, also for a whole number among others.
        assert type(flag["value"]) is kind
        assert flag in admin.post(FLAGS, json=about(f"u{i}")).json()["flags"]


def test_the_context_decides_who_gets_in(admin: httpx.Client) -> None:
    audience = {"where": {"==": [{"var": "country"}, "FR"]}}
    body = {"name": "french", "design": DESIGN, "audience": audience}
    made = admin.post("/v1/experiments", json=body)
    assert made.json()["audience"] == {"share": 1.0, **audience}
    flag = admin.post(f"{FLAGS}/french", json=about("ann", country="DE")).json()
    assert (flag["value"], flag["reason"]) == ("control", "DEFAULT")
    assert flag["metadata"]["enrolled"] is False
    assert (
        admin.post(f"{FLAGS}/french", json=about("ann", country="FR")).json()["reason"] == "SPLIT"
    )
    assert (
        admin.post(f"{FLAGS}/french", json=about("ann", country="DE")).json()["reason"] == "SPLIT"
    )
    assign = {"unit": "bob", "context": {"country": "DE"}, "strict": True}
    refused = admin.post("/v1/experiments/french/assign", json=assign)
    assert (refused.status_code, refused.json()["field"]) == (409, "where")
    bad = {**body, "name": "bad", "audience": {"where": {"eval": "1"}}}
    refused = admin.post("/v1/experiments", json=bad)
    assert (refused.status_code, refused.json()["field"]) == (422, "where")


def test_a_visitor_who_signs_in_keeps_the_arm(
    service: Service, admin: httpx.Client, name: str
) -> None:
    flag = admin.post(f"{FLAGS}/{name}", json=about("visitor")).json()
    pair = {"unit": "visitor", "other": "user"}
    linked = admin.post("/v1/units/link", json=pair)
    assert (linked.status_code, linked.json()["arms"][name]) == (200, flag["variant"])
    assert admin.post(f"{FLAGS}/{name}", json=about("user")).json() == flag
    assert flag in admin.post(FLAGS, json=about("user")).json()["flags"]
    everywhere = admin.post("/v1/units/link", json={"unit": "user", "other": "phone"}).json()
    assert everywhere["arms"][name] == flag["variant"]
    assert admin.post(f"{FLAGS}/{name}", json=about("phone")).json() == flag
    other = create_key(service.store, "client", experiments=["no-such-test"])
    with service.caller(key=other) as limited:
        told = limited.post("/v1/units/link", json={"unit": "user", "other": "tv"})
    assert told.json()["arms"] == {}


def test_a_share_is_raised(admin: httpx.Client) -> None:
    body = {"name": "ramped", "design": DESIGN, "audience": {"share": 0}}
    admin.post("/v1/experiments", json=body)
    assert admin.post(f"{FLAGS}/ramped", json=about("u")).json()["reason"] == "DEFAULT"
    assert admin.post("/v1/experiments/ramped/share", json={"share": 1}).status_code == 200
    assert admin.post(f"{FLAGS}/ramped", json=about("u")).json()["reason"] == "SPLIT"
    assert admin.post("/v1/experiments/ramped/share", json={"share": 2}).status_code == 400
