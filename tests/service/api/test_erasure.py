"""Personal data over HTTP: who sees the names of units, and how a unit is exported and erased."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.service.auth.keys import create_key


def units(admin: httpx.Client, name: str) -> None:
    for unit in ("ann@example.com", "bob@example.com"):
        admin.post(f"/v1/experiments/{name}/assign", json={"unit": unit})
        outcome = {"unit": unit, "value": 1, "id": f"order of {unit}"}
        admin.post(f"/v1/experiments/{name}/outcomes", json={"outcomes": [outcome]})
    strange = [{"unit": "eve@example.com", "value": 1, "id": "eve@example.com again"}]
    strange += [{"unit": "ann@example.com", "value": 0, "id": "order of bob@example.com"}]
    admin.post(f"/v1/experiments/{name}/outcomes", json={"outcomes": strange})


def read_all(caller: httpx.Client, name: str) -> str:
    path = f"/v1/experiments/{name}"
    parts = ("export", "export?table=outcomes", "excluded", "status", "audit", "history", "")
    answers = [caller.get(f"{path}/{part}".rstrip("/")) for part in parts]
    assert {answer.status_code for answer in answers} == {200}
    return "\n".join(answer.text for answer in answers)


def test_a_viewer_reads_no_names_unless_the_key_allows_it(
    service: Service, admin: httpx.Client, name: str
) -> None:
    units(admin, name)
    with service.caller("viewer") as viewer:
        text = read_all(viewer, name)
    assert "example.com" not in text
    assert text.count("unit-0,") == 2
    assert "(name not shown) was never assigned" in text
    allowed = create_key(service.store, "viewer", unit_names=True)
    with service.caller(key=allowed) as viewer:
        assert read_all(viewer, name) == read_all(admin, name)


def test_names_of_erased_units_are_refused(admin: httpx.Client, name: str) -> None:
    path = f"/v1/experiments/{name}"
    answer = admin.post(f"{path}/assign", json={"unit": "erased-foo"})
    assert answer.status_code == 400
    assert "must not begin with 'erased-'" in answer.json()["detail"]
    admin.post(f"{path}/assign", json={"unit": "foo"})
    outcomes = [
        {"unit": unit, "value": 1, "id": f"erased-{unit}"} for unit in ("erased-foo", "foo")
    ]
    receipts = admin.post(f"{path}/outcomes", json={"outcomes": outcomes}).json()["outcomes"]
    assert [receipt["reason"] for receipt in receipts] == ["invalid", None]


def test_a_unit_is_exported_and_erased(service: Service, admin: httpx.Client, name: str) -> None:
    units(admin, name)
    ann = {"unit": "ann@example.com"}
    data = admin.post("/v1/units/data", json=ann).json()
    assert data["unit"] == "ann@example.com"
    (here,) = [one for one in data["experiments"] if one["experiment"] == name]
    assert [outcome["value"] for outcome in here["outcomes"]] == [1.0]
    assert [outcome["reason"] for outcome in here["excluded"]] == ["id used before"]
    before = admin.get(f"/v1/experiments/{name}/status").json()

    limited = create_key(service.store, "admin", ["another"])
    with service.caller(key=limited) as other:
        assert other.post("/v1/units/data", json=ann).json()["experiments"] == []
        assert other.post("/v1/units/erase", json=ann).status_code == 404
        refused = other.post("/v1/units/erase", json={**ann, "experiments": [name]})
        assert refused.status_code == 403
        # The key is also valid for an experiment that does not exist yet, which is no mistake.
        pair = {"unit": "ann@example.com", "other": "ann"}
        assert other.post("/v1/units/link", json=pair).json()["arms"] == {}
    unknown = admin.post("/v1/units/erase", json={**ann, "experiments": [name, f"{name}x"]})
    assert (unknown.status_code, unknown.json()["field"]) == (404, "experiment")
    erased = admin.post("/v1/units/erase", json={**ann, "experiments": [name]}).json()
    assert erased["erased"] == [name]
    assert "until it has" in erased["note"]
    data = admin.post("/v1/units/data", json=ann).json()
    assert name not in [one["experiment"] for one in data["experiments"]]
    assert "ann@" not in read_all(admin, name)
    assert admin.get(f"/v1/experiments/{name}/status").json() == before
    again = admin.post("/v1/units/erase", json={"unit": "nobody"})
    assert (again.status_code, again.json()["field"]) == (404, "unit")
    entry = admin.get(f"/v1/experiments/{name}/audit").json()["audit"][-1]
    assert (entry["action"], entry["detail"]) == ("erase", {"units": 1})


def test_the_service_erases_old_units_by_itself(tmp_path: Path) -> None:
    location = str(tmp_path / "old.db")
    with bs.open(location, clock=bs.ManualClock(datetime(2025, 1, 1, tzinfo=UTC))) as store:
        test = store.create("old", bs.Design.from_dict(DESIGN))
        test.assign("ann")
        test.stop()
    service = Service(location, keys=False, retention="90d")
    try:
        until = time.monotonic() + 30
        while (entry := service.store.audit("old")[-1])["action"] != "erase":
            assert time.monotonic() < until
            time.sleep(0.02)
        assert (entry["actor"], entry["detail"]["units"]) == ("retention", 1)
        assert service.store.unit_data("ann")["experiments"] == []
    finally:
        service.close()
