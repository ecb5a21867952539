"""Who may do what, and what becomes of those who try more."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.service.auth.access import COOKIE
from bascule.service.auth.keys import create_key, list_keys, revoke_key
from bascule.service.auth.sessions import (
    Session,
    find_session,
    make_link,
    open_session,
    use_link,
)
from bascule.service.server.settings import Settings

FLAG = "/ofrep/v1/evaluate/flags"

DOORS: list[tuple[str, str, str]] = [
    ("GET", "/v1/experiments", "viewer"),
    ("POST", "/v1/experiments", "admin"),
    ("GET", "/v1/experiments/{}", "viewer"),
    ("DELETE", "/v1/experiments/{}", "admin"),
    *[
        ("GET", f"/v1/experiments/{{}}/{part}", "viewer")
        for part in ("status", "history", "audit", "diagnostics", "set-aside", "export", "report")
    ],
    ("GET", "/v1/experiments/{}/segments", "viewer"),
    *[
        ("POST", f"/v1/experiments/{{}}/{verb}", "admin")
        for verb in ("start", "pause", "stop", "release", "knob", "arms", "description", "share")
    ],
    ("POST", "/v1/experiments/{}/segments/{{action}}", "admin"),
    ("POST", "/v1/experiments/{}/assign", "client"),
    ("POST", "/v1/experiments/{}/link", "client"),
    ("POST", "/v1/experiments/{}/outcomes", "client"),
    ("POST", FLAG, "client"),
    ("POST", f"{FLAG}/{{}}", "client"),
    ("POST", "/v1/units/link", "client"),
    ("POST", "/v1/units/data", "admin"),
    ("POST", "/v1/units/erase", "admin"),
    ("POST", "/v1/plan", "viewer"),
    ("GET", "/metrics", "viewer"),
]


@pytest.fixture(scope="module")
def door(service: Service) -> str:
    """An experiment that nobody gets to change."""
    service.store.create("door", bs.Design.from_dict(DESIGN))
    return "door"


def test_every_path_of_the_description_is_a_door_that_is_tested(service: Service) -> None:
    with service.caller() as caller:
        described = caller.get("/openapi.json").json()["paths"]
    doors = {
        (method.upper(), path.replace("{name}", "{}").replace("{key}", "{}"))
        for path, operations in described.items()
        for method in operations
        if path not in ("/healthz", "/readyz")
    }
    assert doors == {(method, path.replace("{{action}}", "{action}")) for method, path, _ in DOORS}


@pytest.mark.parametrize(("method", "path", "role"), DOORS)
def test_a_door_opens_for_its_role_only(
    service: Service, door: str, method: str, path: str, role: str
) -> None:
    url = path.format(door)
    with service.caller() as nobody:
        refused = nobody.request(method, url)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
    for other in {"client", "viewer"} - {role}:
        with service.caller(other) as caller:
            assert caller.request(method, url).status_code == 403


def test_a_key_is_shown_once_and_kept_as_a_hash(service: Service) -> None:
    key = create_key(service.store, "client", label="shop")
    kept = next(found for found in list_keys(service.store) if found.label == "shop")
    assert key.partition("_")[2].partition("_")[2] not in repr(kept)
    assert kept.id in key


def test_a_revoked_key_opens_nothing(service: Service) -> None:
    key = create_key(service.store, "viewer")
    with service.caller(key=key) as caller:
        assert caller.get("/v1/experiments").status_code == 200
        revoke_key(service.store, key.split("_")[1])
        time.sleep(1.1)
        assert caller.get("/v1/experiments").status_code == 401


def test_a_key_of_another_experiment_learns_nothing(service: Service, name: str) -> None:
    key = create_key(service.store, "admin", ["other"])
    service.app.state.keys.forget()
    with service.caller(key=key) as caller:
        assert caller.get(f"/v1/experiments/{name}").status_code == 403
        # The same as for one that is not there: who asks cannot tell.
        assert caller.get("/v1/experiments/none").status_code == 403
        assert caller.post(f"{FLAG}/{name}", json={}).status_code == 403
        assert (
            caller.post("/v1/experiments", json={"name": "x", "design": DESIGN}).status_code == 403
        )
        assert caller.get("/v1/experiments").json() == {"experiments": []}
        flags = caller.post(FLAG, json={"context": {"targetingKey": "u"}}).json()
        assert flags["flags"] == []


@pytest.mark.parametrize("given", ["", "x", "bsc_", "bsc_00000000_x", "bsc_\xff_x", "x" * 5000])
def test_a_wrong_key_is_refused_and_guessing_is_slow(given: str) -> None:
    service = Service(guesses=3)
    try:
        with service.caller() as caller:
            headers = {b"x-api-key": given.encode("latin-1")}
            answers = [caller.get("/v1/experiments", headers=headers) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
    finally:
        service.close()


def test_a_valid_key_passes_whatever_else_its_address_has_sent() -> None:
    service = Service(guesses=3)
    try:
        with service.caller() as wrong, service.caller("viewer") as valid:
            attacks: list[Callable[[], httpx.Response]] = [
                lambda: wrong.get("/v1/experiments", headers={"X-API-Key": "bsc_1_x"}),
                lambda: wrong.post("/sign-in", data={"key": "bsc_1_x"}),
                lambda: wrong.post("/sign-in", data={"token": "x"}),
                lambda: wrong.get("/v1/experiments", headers={"Cookie": f"{COOKIE}=x"}),
            ]
            for attack in attacks:
                assert [attack().status_code for _ in range(5)][-1] == 429
                assert valid.get("/v1/experiments").status_code == 200
            key = service.keys["viewer"]
            assert wrong.post("/sign-in", data={"key": key}).status_code == 303
            # Also a key that was created a moment ago.
            with service.caller(key=create_key(service.store, "viewer")) as new:
                assert new.get("/v1/experiments").status_code == 200
    finally:
        service.close()


def test_links_that_a_browser_follows_by_itself_count_for_nothing() -> None:
    service = Service(guesses=3)
    try:
        with service.caller() as browser:
            # As 31 <img> tags on any site do.
            answers = [browser.get("/sign-in", params={"token": "x"}) for _ in range(31)]
            assert {answer.status_code for answer in answers} == {200}
            assert browser.post("/sign-in", data={"key": service.keys["viewer"]}).is_redirect
    finally:
        service.close()


@pytest.mark.parametrize(
    ("proxies", "last"), [((), 429), (("192.0.2.1",), 429), (("127.0.0.0/8",), 401)]
)
def test_a_forwarded_address_is_believed_from_configured_proxies_only(
    proxies: tuple[str, ...], last: int
) -> None:
    service = Service(guesses=3, proxies=proxies)
    try:
        with service.caller() as caller:
            for i in range(8):
                headers = {"X-API-Key": "bsc_1_x", "X-Forwarded-For": f"203.0.113.{i}"}
                answer = caller.get("/v1/experiments", headers=headers)
            assert answer.status_code == last
    finally:
        service.close()


def test_a_limited_key_does_not_learn_of_other_tests(service: Service, name: str) -> None:
    secret = "secret-merger-test"
    service.store.create(secret, bs.Design.from_dict(DESIGN)).assign("ann")
    keys = {role: create_key(service.store, role, [name]) for role in ("client", "viewer")}
    with service.caller(key=keys["client"]) as client:
        path = f"/v1/experiments/{name}/outcomes"
        told = client.post(path, json={"outcomes": [{"unit": "ann", "value": 1}]}).json()
        never = client.post(path, json={"outcomes": [{"unit": "nobody", "value": 1}]}).json()
    assert told["outcomes"][0]["reason"] == never["outcomes"][0]["reason"] == "unknown unit"
    assert told["outcomes"][0]["detail"] == "unit 'ann' was never assigned"
    with service.caller(key=keys["viewer"]) as viewer:
        paths = ("", "/status", "/set-aside", "/audit", "/history", "/export", "/diagnostics")
        answers = [viewer.get(f"/v1/experiments/{name}{path}") for path in paths]
        answers += [viewer.get("/v1/experiments"), viewer.get("/metrics")]
        assert viewer.post("/sign-in", data={"key": keys["viewer"]}).is_redirect
        answers += [viewer.get(path) for path in ("/", f"/tests/{name}/diagnostics")]
        assert viewer.get("/metrics").status_code == 403
    for answer in answers:
        assert secret not in answer.text, answer.url
        assert "other experiment" not in answer.text, answer.url
    # Whoever may see all tests is told more.
    with service.caller("admin") as admin:
        assert secret in admin.get(f"/v1/experiments/{name}/set-aside").text


def test_without_keys_programs_on_this_machine_may_and_web_sites_may_not() -> None:
    service = Service(keys=False)
    try:
        with service.caller() as caller:
            assert caller.get("/v1/experiments").status_code == 200
            told: list[dict[str, str]] = [
                {"Origin": "https://evil.example"},
                {"Sec-Fetch-Site": "cross-site"},
                {"Host": "evil.example"},
                {"X-Forwarded-For": "203.0.113.7"},
                {"X-Forwarded-Proto": "https"},
                {"CF-Connecting-IP": "203.0.113.7"},
                {"Host": "127.0.0.1.evil.example:8000"},
            ]
            for headers in told:
                body = {"name": "x", "design": DESIGN}
                answer = caller.post("/v1/experiments", json=body, headers=headers)
                assert answer.status_code in (401, 403), headers
            create_key(service.store, "viewer")
            service.app.state.keys.forget()
            assert caller.get("/v1/experiments").status_code == 401
    finally:
        service.close()


def test_a_change_with_a_cookie_needs_the_token_of_its_session(service: Service, name: str) -> None:
    link = make_link(service.store, time.time())
    session = use_link(service.store, link, time.time(), 1.0)
    assert session is not None
    assert use_link(service.store, link, time.time(), 1.0) is None
    url = f"/v1/experiments/{name}/pause"
    with service.caller() as caller:
        caller.cookies.set(COOKIE, session.token)
        assert caller.get("/v1/experiments").status_code == 200
        assert caller.post(url).status_code == 403
        wrong = {"X-CSRF-Token": Session("other", None).csrf}
        assert caller.post(url, headers=wrong).status_code == 403
        assert caller.post(url, headers={"X-CSRF-Token": session.csrf}).status_code == 200


def test_sessions_end(service: Service) -> None:
    session = open_session(service.store, None, now=0.0, hours=1.0)
    assert find_session(service.store, session.token, now=3599.0) is not None
    assert find_session(service.store, session.token, now=3601.0) is None
    key = create_key(service.store, "viewer")
    mine = open_session(service.store, key.split("_")[1], time.time(), 1.0)
    with service.caller() as caller:
        caller.cookies.set(COOKIE, mine.token)
        service.app.state.keys.forget()
        assert caller.get("/v1/experiments").status_code == 200
        revoke_key(service.store, key.split("_")[1])
        service.app.state.keys.forget()
        assert caller.get("/v1/experiments").status_code == 401


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
        admin.post(f"{base}/arms", json={"arm": SCRIPT + "x", "action": "drop"}),
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
    admin: httpx.Client, door: str, body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    url = f"/v1/experiments/{door}/assign"
    answer = admin.post(url, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    # Also where it does not say how long it is.
    chunked = admin.post(url, content=iter([body[:1000], body[1000:]]), headers=headers)
    assert chunked.status_code == status


def test_a_body_that_is_not_json_is_refused(admin: httpx.Client, door: str) -> None:
    url = f"/v1/experiments/{door}/assign"
    assert admin.post(url, data={"unit": "ann"}).status_code == 415
    plain = admin.post(url, content='{"unit": "ann"}', headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415


def test_a_batch_that_is_too_large_is_refused_as_a_whole(admin: httpx.Client, door: str) -> None:
    sent = [{"unit": "u", "value": 1}] * 1001
    answer = admin.post(f"/v1/experiments/{door}/outcomes", json={"outcomes": sent})
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


def test_abuse_does_not_fill_memory(admin: httpx.Client, door: str) -> None:
    headers = {"Content-Type": "application/json"}
    url = f"/v1/experiments/{door}/assign"

    def abuse(times: int) -> int:
        for _ in range(times):
            admin.post(url, content=b"[" * 900_000, headers=headers)
            admin.post(url, content=b"x" * 1_100_000, headers=headers)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = abuse(5)
    # Five times as much again, and not the size of ten bodies more.
    assert abuse(25) - before < 10_000


def test_settings_that_would_not_be_safe_are_refused() -> None:
    with pytest.raises(bs.InputError, match="BASCULE_WEBHOOK_SECRET"):
        Settings(webhooks=("https://x.example",))
    with pytest.raises(bs.InputError, match="origin"):
        Settings(origins=("*",))
    with pytest.raises(bs.InputError, match=r"10\.0\.0\.0/8"):
        Settings(proxies=("proxy.example",))
    for url in (
        "notaurl",
        "ftp://x.example/SECRET",
        "https://",
        "https://x.example:0x/",
        "https://x y/",
    ):
        with pytest.raises(bs.InputError, match="webhook") as refused:
            Settings(webhooks=(url,), webhook_secret="of the shop")
        assert "SECRET" not in str(refused.value)
    for secret in ("whsec_%%%", "whsec_", " "):
        with pytest.raises(bs.InputError, match="BASCULE_WEBHOOK_SECRET"):
            Settings(webhooks=("https://x.example",), webhook_secret=secret)
