"""What happened in a test, over HTTP: audit log, excluded outcomes, export, metrics."""

from __future__ import annotations

import threading

import httpx
import pytest
import sqlalchemy
from tests.service.running import DESIGN, Service, path

import bascule as bs
from bascule.live.api.units import EXCLUDED_AT_ONCE
from bascule.service import responses
from bascule.service.api import experiments, logs
from bascule.service.reading.store_calls import THREADS
from bascule.service.responses import encode

TIMES = ("at", "received")

ENTRY = "INSERT INTO audit (experiment, name, time, actor, action, detail) VALUES"


def test_the_audit_log_names_the_key(admin: httpx.Client, name: str) -> None:
    admin.post(path(name, "knob"), json={"tilt": 5})
    entries = admin.get(path(name, "audit")).json()["audit"]
    assert [entry["action"] for entry in entries] == ["create", "start", "knob"]
    told = {"knob": "tilt", "before": 3.0, "now": 5.0, "after": 0}
    assert entries[2]["detail"] == told
    assert entries[2]["actor"].startswith("unnamed (key ")


def test_operation_says_whether_it_works(admin: httpx.Client, name: str) -> None:
    assert admin.get("/healthz").json() == {"status": "ok"}
    assert admin.get("/readyz").json() == {"status": "ok"}
    told = admin.get("/metrics").text
    assert 'bascule_experiments{state="running"}' in told
    assert 'bascule_requests_total{method="GET",route="/healthz",status="200"}' in told
    assert "bascule_errors_total 0.0" in told
    assert name not in told


def test_a_time_that_no_calendar_has_is_refused_and_breaks_no_listing(
    service: Service, admin: httpx.Client, name: str
) -> None:
    base = f"/v1/experiments/{name}"
    admin.post(f"{base}/assign", json={"unit": "ann"})
    for at in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1899-01-01T00:00Z"):
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
    (listed,) = admin.get(f"{base}/excluded").json()["excluded"]
    assert listed["at"] == "-63000000000.0 s after 1970-01-01"


def test_long_answers_keep_nobody_waiting(
    service: Service, admin: httpx.Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written in threads, and what grows without limit in pages."""
    test = service.store.get(name)
    test.record_many([(f"nobody {i}", 1.0) for i in range(2 * EXCLUDED_AT_ONCE)])
    test.assign("ann")
    written: list[str] = []

    def in_thread(data: object) -> bytes:
        written.append(threading.current_thread().name)
        return encode(data)

    for module in (responses, logs, experiments):
        monkeypatch.setattr(module, "encode", in_thread)
    listed = admin.get(path(name, "excluded")).json()["excluded"]
    assert [one["unit"] for one in listed] == [one["unit"] for one in test.excluded()]
    assert len(listed) == 2 * EXCLUDED_AT_ONCE
    for verb in ("", "status", "audit", "history"):
        assert admin.get(path(name, verb)).status_code == 200
    assert name in [one["name"] for one in admin.get("/v1/experiments").json()["experiments"]]
    assert admin.post("/v1/units/data", json={"unit": "ann"}).status_code == 200
    assert len(written) == 8
    assert all(one.startswith(THREADS) for one in written), written


def test_a_client_cannot_fill_the_store_with_excluded_outcomes(
    service: Service, admin: httpx.Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those beyond the limit are refused as before, and counted in place of being listed."""
    monkeypatch.setattr("bascule.live.storage.state.MOST_EXCLUDED", 100)
    with service.caller("client") as client:
        assert client.post(path(name, "assign"), json={"unit": "ann"}).status_code == 200
        for first in range(0, 150, 50):
            sent = [{"unit": f"nobody {first + i}", "value": 1} for i in range(50)]
            told = client.post(path(name, "outcomes"), json={"outcomes": sent}).json()["outcomes"]
            assert {one["reason"] for one in told} == {"unknown unit"}
        sent = [{"unit": "ann", "value": 1, "id": str(i)} for i in range(20)]
        told = client.post(path(name, "outcomes"), json={"outcomes": sent}).json()["outcomes"]
        assert [one["accepted"] for one in told] == [True, *19 * [False]]
    answer = admin.get(path(name, "excluded")).json()
    assert (len(answer["excluded"]), answer["unlisted"]) == (100, 69)
    assert admin.get(path(name, "status")).json()["unlisted"] == 69
    test = service.store.get(name)
    assert test.excluded_counts() == {"unknown unit": 100, "not listed": 69}
    assert "69 more outcomes were excluded or changed and are not listed" in str(test.status())
    assert test.verify().agrees


def test_data_of_a_unit_are_asked_for_by_its_name_alone(admin: httpx.Client) -> None:
    refused = admin.post("/v1/units/data", json={"unit": "ann", "segment": "fr"})
    assert (refused.status_code, refused.json()["field"]) == (400, "segment")


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
