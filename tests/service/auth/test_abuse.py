"""What becomes of requests that are crafted, too large, too many or too slow."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, FLAG, Service


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/%2e%2e/status",
        "/v1/experiments/..%2f..%2fetc%2fpasswd/status",
        "/v1/experiments/%00/status",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "//evil.example/%2e%2e",
    ],
)
def test_tricks_in_a_path_lead_nowhere(admin: httpx.Client, path: str) -> None:
    answer = admin.get(path, follow_redirects=False)
    assert answer.status_code == 404
    assert "import" not in answer.text


SCRIPT = "<script>alert(1)</script>"


def test_script_in_every_text_field_stays_text(admin: httpx.Client) -> None:
    design: dict[str, Any] = {**DESIGN, "arms": [SCRIPT, "b"]}
    admin.post("/v1/experiments", json={"name": "script", "design": design})
    base = "/v1/experiments/script"
    answers = [
        admin.get(base),
        admin.post(f"{base}/assign", json={"unit": SCRIPT}),
        admin.post(f"{base}/outcomes", json={"outcomes": [{"unit": SCRIPT, "value": SCRIPT}]}),
        admin.post(f"{base}/drop-arm", json={"arm": SCRIPT + "x"}),
        admin.post("/v1/experiments", json={"name": SCRIPT, "design": design}),
        admin.get(f"{base}/export"),
        admin.post(f"{FLAG}/script", json={"context": {"targetingKey": SCRIPT}}),
    ]
    for answer in answers:
        assert answer.headers["content-type"].split(";")[0] in (
            "application/json",
            "application/problem+json",
            "text/csv",
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000, 400),
        (b'{"unit":' * 5_000, 400),
        (b'{"unit": ' + b"[" * 50 + b"]" * 50 + b"}", 400),
        (b'{"unit": "' + b"x" * 1_000_000 + b'"}', 413),
        (b'{"unit": "' + b"x" * 501 + b'"}', 400),
        (b'{"unit": "a\\u0000b"}', 400),
        (b'{"unit": "\\ud800"}', 400),
        (b'{"unit": NaN}', 400),
        (b"\xff\xfe", 400),
        (b"", 400),
        (b'{"unit": "a", "arm": "green"}', 400),
        (b"1" * 5000, 400),
    ],
)
def test_a_body_that_is_too_much_is_refused(
    admin: httpx.Client, experiment: str, body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    url = f"/v1/experiments/{experiment}/assign"
    answer = admin.post(url, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    # Also where it does not say how long it is.
    chunked = admin.post(url, content=iter([body[:1000], body[1000:]]), headers=headers)
    assert chunked.status_code == status


def test_a_body_that_is_not_json_is_refused(admin: httpx.Client, experiment: str) -> None:
    url = f"/v1/experiments/{experiment}/assign"
    assert admin.post(url, data={"unit": "ann"}).status_code == 415
    plain = admin.post(url, content='{"unit": "ann"}', headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415


def test_a_batch_that_is_too_large_is_refused_as_a_whole(
    admin: httpx.Client, experiment: str
) -> None:
    sent = [{"unit": "u", "value": 1}] * 1001
    answer = admin.post(f"/v1/experiments/{experiment}/outcomes", json={"outcomes": sent})
    assert answer.status_code == 413


def test_whoever_asks_too_often_is_told_when_to_come_back() -> None:
    service = Service(rate=5)
    try:
        with service.caller("viewer") as caller, service.caller("admin") as other:
            statuses = [caller.get("/v1/experiments").status_code for _ in range(8)]
            assert statuses[:5] == [200] * 5
            assert 429 in statuses
            last = caller.get("/v1/experiments")
            assert last.status_code == 200 or int(last.headers["retry-after"]) >= 1
            assert other.get("/v1/experiments").status_code == 200
            flags = [caller.post(FLAG, json={}) for _ in range(8)]
            assert flags[-1].status_code == 429
            assert flags[-1].json()["errorCode"] == "GENERAL"
    finally:
        service.close()


def test_less_than_one_request_a_second_is_a_rate_too() -> None:
    service = Service(rate=0.5)
    try:
        with service.caller("viewer") as caller:
            statuses = [caller.get("/v1/experiments").status_code for _ in range(3)]
        assert statuses == [200, 429, 429]
    finally:
        service.close()


def test_a_key_that_many_use_is_limited_for_each_address() -> None:
    service = Service(rate=2, proxies=("127.0.0.1",))
    try:
        with service.caller("client") as shop:

            def call(address: str) -> int:
                headers = {"X-Forwarded-For": address}
                body = {"context": {"targetingKey": "u"}}
                return shop.post(FLAG, json=body, headers=headers).status_code

            assert 429 in [call("203.0.113.1") for _ in range(5)]
            assert call("203.0.113.2") == 200
    finally:
        service.close()


def test_slow_clients_are_let_go_and_hold_up_nobody(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.service.server.connection.PATIENCE", 1.0)
    place = (service.settings.host, int(service.url.rpartition(":")[2]))
    head = b"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    key = f"X-API-Key: {service.keys['admin']}\r\n".encode()
    slow = [socket.create_connection(place, timeout=10) for _ in range(60)]
    try:
        for i, one in enumerate(slow):
            # Some never send their head, and some never their body.
            one.sendall(head + key + b"Content-Length: 100\r\n\r\n{" if i % 2 else head)
        with service.caller("viewer") as caller:
            assert caller.get("/v1/experiments").status_code == 200
        answers = [one.recv(100) for one in slow]
        assert set(answers[::2]) == {b""}
        assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers[1::2])
    finally:
        for one in slow:
            one.close()
