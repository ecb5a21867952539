"""The API from creating a test to its release, as programs call it."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx
import pytest
import sqlalchemy
from tests.service.running import Service

import bascule as bs

DESIGN: dict[str, Any] = {
    "arms": ["control", "green"],
    "outcome": {"kind": "bernoulli"},
    "rule": {"kind": "tilt", "tilt": 3},
    "reports": "always",
}


def path(name: str, verb: str = "") -> str:
    return f"/v1/experiments/{name}" + (f"/{verb}" if verb else "")


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
    early = admin.post(path("life", "assign"), json={"unit": "u"}).json()
    assert (early["arm"], early["reason"], early["enrolled"]) == ("control", "DISABLED", False)
    strict = {"unit": "u", "strict": True}
    assert admin.post(path("life", "assign"), json=strict).status_code == 409
    assert admin.post(path("life", "start")).json()["state"] == "running"
    status = decide(admin, "life")
    assert status["headline"] == "Ship green: a worse arm wins with probability at most 5 %"
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
    assert rows[0] == "unit,arm,number,probability,block,time"
    assert len(rows) == 1 + admin.get(path("life", "status")).json()["units"]
    outcomes = admin.get(path("life", "export"), params={"table": "outcomes"}).text
    assert outcomes.startswith("unit,arm,value,at,received,id\nu0,")
    assert admin.delete(path("life")).status_code == 409
    admin.post(path("life", "stop"))
    assert admin.delete(path("life")).status_code == 204
    assert admin.get(path("life")).status_code == 404


def test_the_audit_log_names_the_key(admin: httpx.Client, name: str) -> None:
    admin.post(path(name, "knob"), json={"tilt": 5})
    entries = admin.get(path(name, "audit")).json()["audit"]
    assert [entry["action"] for entry in entries] == ["create", "start", "knob"]
    told = {"knob": "tilt", "before": 3.0, "now": 5.0, "after": 0}
    assert entries[2]["detail"] == told
    assert entries[2]["actor"].startswith("key ")


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
    reasons = [one["reason"] for one in answer.json()["outcomes"]]
    assert reasons == [None, "duplicate", "unknown unit", *["invalid"] * 7]
    again = admin.post(path(name, "outcomes"), json={"outcomes": [good]}).json()["outcomes"]
    assert again == [{"accepted": False, "reason": "duplicate", "detail": "it was counted before"}]
    assert admin.get(path(name, "status")).json()["matured"] == 1


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
    (listed,) = admin.get(path(name, "set-aside")).json()["set_aside"]
    assert (listed["unit"], listed["reason"]) == ("ann", "not exposed")
    assert admin.get(path(name, "status")).json()["matured"] == 1


def test_arms_are_taken_out_paused_and_resumed(admin: httpx.Client) -> None:
    design = {**DESIGN, "arms": ["a", "b", "c"]}
    admin.post("/v1/experiments", json={"name": "three", "design": design})
    parts = {}
    for action in ("pause", "resume", "drop"):
        answer = admin.post(path("three", "arms"), json={"arm": "c", "action": action})
        parts[action] = answer.json()["arms"][2]["part"]
    assert parts == {"pause": "paused", "resume": "in", "drop": "taken out"}
    assert admin.get(path("three", "diagnostics")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": "x"}, 400, "design"),
        ({"name": "../x", "design": DESIGN}, 400, "name"),
        ({"name": "..", "design": DESIGN}, 400, "name"),
        ({"name": "x", "design": {**DESIGN, "error": "5 %"}}, 400, "error"),
        ({"name": "x", "design": {**DESIGN, "error": 2}}, 422, "error"),
        ({"name": "x", "design": {**DESIGN, "arms": ["a", "a"]}}, 422, "arms"),
        ({"name": "x", "design": {**DESIGN, "colour": "green"}}, 400, "colour"),
        ({"name": "x", "design": "/etc/passwd"}, 400, "design"),
        ({"name": "x", "design": {**DESIGN, "outcome": {"kind": "recurrent"}}}, 422, "rule"),
    ],
)
def test_a_design_that_cannot_be_is_refused_in_one_line(
    admin: httpx.Client, body: object, status: int, field: str
) -> None:
    answer = admin.post("/v1/experiments", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field
    assert "\n" not in answer.json()["detail"]


def test_a_test_that_is_full_takes_no_more(admin: httpx.Client) -> None:
    design = {**DESIGN, "max_units": 40}
    made = admin.post("/v1/experiments", json={"name": "full", "design": design})
    assert made.status_code == 201, made.text
    told = [admin.post(path("full", "assign"), json={"unit": str(i)}) for i in range(41)]
    assert {one.status_code for one in told} == {200}
    assert [one.json()["enrolled"] for one in told] == [True] * 40 + [False]
    refused = admin.post(path("full", "assign"), json={"unit": "40", "strict": True})
    assert (refused.status_code, refused.json()["field"]) == (409, "max_units")


def test_a_name_is_used_once(admin: httpx.Client, name: str) -> None:
    answer = admin.post("/v1/experiments", json={"name": name, "design": DESIGN})
    assert (answer.status_code, answer.json()["field"]) == (409, "name")


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "/v1/experiments/none", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/experiments/", 404),
        ("PUT", "/v1/experiments", 405),
        ("GET", "/v1/experiments/none/export?table=users", 400),
    ],
)
def test_what_the_framework_refuses_is_a_problem_too(
    admin: httpx.Client, method: str, url: str, status: int
) -> None:
    answer = admin.request(method, url)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    if status == 405:
        assert answer.headers["allow"] == "GET, POST"


def test_a_plan_is_what_the_planner_says(admin: httpx.Client) -> None:
    metric = {"name": "latency", "outcome": {"kind": "gaussian", "sigma": 30}, "margin": 5}
    wish: dict[str, Any] = {
        "sample": [float(i % 100) for i in range(500)],
        "cap": "90%",
        "lift": "50%",
    }
    wish |= {"metrics": [metric], "harm_error": 0.01, "covariate": "before:0:100"}
    answer = admin.post("/v1/plan", json={**wish, "correlation": 0.5, "units_per_day": 200}).json()
    assert answer["possible"] is True
    design = answer["design"]
    assert (design["rule"]["kind"], design["harm_error"]) == ("tilt", 0.01)
    assert design["outcome"] == {"kind": "bounded", "low": 0.0, "high": 89.1}
    assert design["covariates"][0]["name"] == "before"
    assert answer["guardrail_days"]["latency"] > 0.0
    refused = admin.post("/v1/plan", json={"outcome": {"kind": "gaussian"}, "baseline": 20})
    assert (refused.status_code, refused.json()["field"]) == (422, "lift")
    assert admin.post("/v1/plan", json={**wish, "metrics": [{"name": "x"}]}).status_code == 400


def test_operation_says_whether_it_works(admin: httpx.Client, name: str) -> None:
    assert admin.get("/healthz").json() == {"status": "ok"}
    assert admin.get("/readyz").json() == {"status": "ok"}
    told = admin.get("/metrics").text
    assert 'bascule_experiments{state="running"}' in told
    assert 'bascule_requests_total{method="GET",route="/healthz",status="200"}' in told
    assert name not in told


def test_a_time_that_no_calendar_has_is_refused_and_breaks_no_listing(
    service: Service, admin: httpx.Client, name: str
) -> None:
    base = f"/v1/experiments/{name}"
    admin.post(f"{base}/assign", json={"unit": "ann"})
    for at in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-01-01T00:00Z"):
        event = {"unit": "ann", "value": 1, "at": at}
        (receipt,) = admin.post(f"{base}/outcomes", json={"outcomes": [event]}).json()["outcomes"]
        assert (receipt["accepted"], receipt["reason"]) == (False, "invalid"), at
    # A row that an older version has stored.
    row = {"experiment": service.store.get(name).id, "unit": "ann", "value": "1", "reason": "early"}
    with service.store.writing() as connection:
        table = sqlalchemy.table("set_aside", *map(sqlalchemy.column, [*row, *TIMES, "detail"]))
        connection.execute(
            table.insert(), {**row, "at": -6.3e10, "received": 1e300, "detail": "early"}
        )
    (listed,) = admin.get(f"{base}/set-aside").json()["set_aside"]
    assert listed["at"] == "-63000000000.0 s after 1970-01-01"


TIMES = ("at", "received")
ENTRY = "INSERT INTO audit (experiment, name, time, actor, action, detail) VALUES"


def test_a_damaged_row_hides_no_other_test() -> None:
    service = Service()
    try:
        for name in ("damaged", "sound"):
            service.store.create(name, bs.Design.from_dict(DESIGN))
        with service.store.writing() as connection:
            for statement in (
                "UPDATE experiments SET design = '{', version = 7 WHERE name = 'damaged'",
                f"{ENTRY} (2, 'sound', 1e300, 'ann', 'pause', '{{')",
                f"{ENTRY} (2, 'sound', 0, 'ann', 'knob', '[1]')",
            ):
                connection.execute(sqlalchemy.text(statement))
        with service.caller("admin") as admin, service.caller() as browser:
            listed = admin.get("/v1/experiments").json()
            assert [status["name"] for status in listed["experiments"]] == ["sound"]
            assert listed["unreadable"] == ["damaged"]
            assert admin.get("/v1/experiments/sound/audit").status_code == 200
            assert 'bascule_experiments{state="unreadable"} 1.0' in admin.get("/metrics").text
            browser.post("/sign-in", data={"key": service.keys["admin"]})
            assert "sound" in browser.get("/").text
            assert browser.get("/tests/sound").status_code == 200
    finally:
        service.close()


def test_an_export_for_spreadsheets_has_no_formulas(admin: httpx.Client, name: str) -> None:
    base = f"/v1/experiments/{name}"
    units = ["=1+1", "+1", "-1", "@x", "plain"]
    for unit in units:
        admin.post(f"{base}/assign", json={"unit": unit})
    plain = admin.get(f"{base}/export").text
    safe = admin.get(f"{base}/export", params={"spreadsheet": "true"}).text
    assert [line.split(",")[0] for line in plain.splitlines()[1:]] == units
    assert [line.split(",")[0] for line in safe.splitlines()[1:]] == [
        *[f"'{unit}" for unit in units[:4]],
        "plain",
    ]


def test_a_list_of_many_tests_is_computed_once() -> None:
    service = Service()
    try:
        for i in range(60):
            test = service.store.create(f"test-{i}", bs.Design.from_dict(DESIGN))
            test.assign_many([str(unit) for unit in range(30)])
            test.record_many([(str(unit), unit % 2) for unit in range(30)])
        with service.caller("viewer") as viewer:
            seconds = []
            for _ in range(4):
                since = time.perf_counter()
                listed = viewer.get("/v1/experiments").json()["experiments"]
                seconds.append(time.perf_counter() - since)
            assert len(listed) == 60
            assert min(seconds[1:]) < seconds[0] / 3
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
    assert effect["level"] == pytest.approx(0.9)
    assert effect["meaning"] == "each bound fails with probability at most 5 %, at any time"
    assert status["decision"]["meaning"].startswith("a worse arm is declared the winner with")


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


def test_a_guarded_rollout_is_planned_watched_and_rolled_back(
    admin: httpx.Client, service: Service
) -> None:
    slow = {"name": "slow", "outcome": {"kind": "gaussian"}, "goal": "decrease", "margin": 1.0}
    ramp = [["0d", 0.25], ["1d", 0.5]]
    asked = {"metrics": [slow], "ramp": ramp, "units_per_day": "1k", "reports": "always"}
    plan = admin.post("/v1/plan/rollout", json=asked).json()
    assert plan["cases"]["unchanged"]["rolled_back"] <= 0.05
    given = {"name": "ramped", "design": plan["design"], "audience": plan["audience"]}
    made = admin.post("/v1/experiments", json=given)
    assert made.status_code == 201, made.text
    assert made.json()["status"]["rollout"] == {
        "version": "new",
        "traffic": 0.5,
        "next_traffic": 1.0,
        "next_days": 1.0,
        "open": ["slow"],
    }
    words = "50 % of the traffic is in the rollout of new, 100 % in 1 day"
    assert words in made.json()["status"]["headline"]
    service.clock.advance("1d")
    for i in range(60):
        arm = admin.post(path("ramped", "assign"), json={"unit": f"u{i}"}).json()["arm"]
        both = [{"value": 6.0 * (arm == "new")}, {"value": 6.0 * (arm == "new"), "metric": "slow"}]
        outcomes = [{"unit": f"u{i}", **one} for one in both]
        admin.post(path("ramped", "outcomes"), json={"outcomes": outcomes})
    status = admin.get(path("ramped", "status")).json()
    reached = status["decision"]
    assert (reached["name"], reached["harm"], reached["by"]) == ("present", ["slow"], "guardrails")
    assert "not harmful is removed as harmful with at most 5 %" in reached["meaning"]
    assert (status["everyone"], status["rollout"]) == ("present", None)
    audit = admin.get(path("ramped", "audit")).json()["audit"]
    assert [entry["action"] for entry in audit][-2:] == ["decide", "release"]
    # The form makes the same rollout, and says what does not go with one.
    form = {
        "name": "by-form",
        "arms": "present\nnew",
        "metrics": "slow; gaussian 1; decrease; margin 1",
        "ramp": "0d:25%, 1d:50%",
        "counts": "first",
        "units_per_day": "1k",
    }
    with service.caller() as browser:
        browser.headers["accept"] = "text/html"
        browser.post("/sign-in", data={"key": service.keys["admin"]})
        answer = browser.get("/new/plan", params=form).text
        assert "slow worse by twice its margin" in answer
        refused = browser.get("/new/plan", params={**form, "segments": "country: fr, de"}).text
        assert "Segments does not go with a rollout" in refused
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get("/new").text)
        assert token is not None
        created = browser.post("/new", data={**form, "start": "yes", "csrf_token": token[1]})
        assert created.status_code == 303, created.text
        page = " ".join(browser.get("/tests/by-form").text.split())
    assert words in page
    assert "the guardrails decide" in page.lower()
    shown = admin.get("/v1/experiments/by-form").json()
    assert shown["audience"] == made.json()["audience"]
    assert shown["design"]["decides"] == "guardrails"


def test_the_description_holds_all_that_it_refers_to(admin: httpx.Client) -> None:
    described = admin.get("/openapi.json")
    named = set(re.findall(r"#/components/schemas/(\w+)", described.text))
    assert named <= set(described.json()["components"]["schemas"])
