"""Who may do what, and what becomes of those who try more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import httpx
import pytest
from tests.service.running import DESIGN, FLAG, Service
from uvicorn.middleware.proxy_headers import _TrustedHosts

import bascule as bs
from bascule.service.auth.access import COOKIE
from bascule.service.auth.keys import (
    Session,
    create_key,
    find_session,
    list_keys,
    make_link,
    open_session,
    revoke_key,
    use_link,
)
from bascule.service.responses import problem_of
from bascule.service.server import middleware
from bascule.service.server.run import options
from bascule.service.settings import Settings

DOORS: list[tuple[str, str, str]] = [
    ("GET", "/v1/experiments", "viewer"),
    ("POST", "/v1/experiments", "admin"),
    ("GET", "/v1/experiments/{}", "viewer"),
    ("DELETE", "/v1/experiments/{}", "admin"),
    *[
        ("GET", f"/v1/experiments/{{}}/{part}", "viewer")
        for part in ("status", "history", "audit", "diagnostics", "excluded", "export", "report")
    ],
    *[
        ("POST", f"/v1/experiments/{{}}/{verb}", "admin")
        for verb in (
            "start",
            "pause",
            "stop",
            "release",
            "knob",
            "drop-arm",
            "description",
            "share",
        )
    ],
    ("POST", "/v1/experiments/{}/assign", "client"),
    ("POST", "/v1/experiments/{}/outcomes", "client"),
    ("POST", FLAG, "client"),
    ("POST", f"{FLAG}/{{}}", "client"),
    ("POST", "/v1/units/link", "client"),
    ("POST", "/v1/units/data", "admin"),
    ("POST", "/v1/units/erase", "admin"),
    ("POST", "/v1/plan", "viewer"),
    ("POST", "/v1/plan/rollout", "viewer"),
    ("GET", "/metrics", "viewer"),
]


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
    service: Service, experiment: str, method: str, path: str, role: str
) -> None:
    url = path.format(experiment)
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
        assert caller.get("/v1/experiments").json() == {"experiments": [], "total": 0}
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


def test_pages_without_a_session_are_limited_whatever_a_cookie_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A made-up cookie was enough for as many pages as one likes."""
    monkeypatch.setattr(middleware, "STRANGERS_RATE", 1e-6)
    monkeypatch.setattr(middleware, "STRANGERS_BURST", 20.0)
    running = Service()
    try:
        with running.caller() as browser, running.caller() as stranger:
            browser.post("/sign-in", data={"key": running.keys["viewer"]})
            made_up = {"Cookie": f"{COOKIE}=made-up", "X-API-Key": "made-up"}
            seen = Counter(
                stranger.get("/glossary", headers=made_up).status_code for _ in range(40)
            )
            assert (seen[200], seen[429]) == (19, 21)
            assert browser.get("/").status_code == 200
            # Also if the service does not remember it, as after a new start.
            running.app.state.recent_tokens.clear()
            assert browser.get("/").status_code == 200
    finally:
        running.close()


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
        paths = ("", "/status", "/excluded", "/audit", "/history", "/export", "/diagnostics")
        answers = [viewer.get(f"/v1/experiments/{name}{path}") for path in paths]
        answers += [viewer.get("/v1/experiments"), viewer.get("/metrics")]
        assert viewer.post("/sign-in", data={"key": keys["viewer"]}).is_redirect
        answers += [viewer.get(path) for path in ("/", f"/tests/{name}/diagnostics")]
        assert viewer.get("/metrics").status_code == 403
    for answer in answers:
        assert secret not in answer.text, answer.url


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


def test_settings_that_would_not_be_safe_are_refused() -> None:
    with pytest.raises(bs.InputError, match="BASCULE_WEBHOOK_SECRET"):
        Settings(webhooks=("https://x.example",))
    with pytest.raises(bs.InputError, match="origin"):
        Settings(origins=("*",))
    with pytest.raises(bs.InputError, match=r"10\.0\.0\.0/8"):
        Settings(proxies=("proxy.example",))
    # Uvicorn would silently not believe these.
    with pytest.raises(bs.InputError, match=r"127\.0\.0\.0/8"):
        Settings(proxies=("127.0.0.1/8",))
    with pytest.raises(bs.InputError, match="alone"):
        Settings(proxies=("*", "10.0.0.1"))
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


def test_a_proxy_is_believed_on_a_socket_that_takes_both_kinds_of_addresses() -> None:
    """With --host :: the address of an IPv4 proxy is written ::ffff:10.0.0.1."""
    trusted = _TrustedHosts(options(Settings(proxies=("10.0.0.0/8",)))["forwarded_allow_ips"])
    assert "10.0.0.1" in trusted
    assert "::ffff:10.0.0.1" in trusted
    assert "::ffff:11.0.0.1" not in trusted


def test_a_clock_that_steps_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with bs.open(":memory:") as store:
        test = store.create("test", bs.Design.from_dict(DESIGN))
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 90)
        with pytest.raises(bs.StoreError) as wrong:
            test.assign("u")
        monkeypatch.undo()
    refused = problem_of(wrong.value)
    assert refused.status == 503
    assert "clock has jumped" in refused.detail
