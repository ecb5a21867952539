"""Attacks that were made on the service, made again: `docs/research/attacks.md` lists them."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, Service, path

import bascule as bs
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.auth.keys import create_key
from bascule.service.auth.oidc import role_of
from bascule.service.notifications.webhooks import EventDelivery, send
from bascule.service.planner import MOST_ASKED, MOST_OF_ONE, Planner
from bascule.service.planner_process import plan_json
from bascule.service.reading.store_calls import SHORT_THREADS
from bascule.service.responses import Problem
from bascule.service.server import background
from bascule.service.settings import Settings

SLOW_PLAN = {"outcome": {"kind": "gaussian", "sigma": 5}, "baseline": 20, "lift": "0.2%"}


def test_a_key_for_a_test_is_valid_for_no_test_with_a_longer_name(service: Service) -> None:
    for name in ("parts", "parts.secret"):
        service.store.create(name, bs.Design.from_dict(DESIGN)).assign("ann")
    with service.caller(key=create_key(service.store, "admin", ["parts"])) as caller:
        known = caller.post("/v1/units/data", json={"unit": "ann"}).json()["experiments"]
        assert [one["experiment"] for one in known] == ["parts"]
        names = [one["name"] for one in caller.get("/v1/experiments").json()["experiments"]]
        assert names == ["parts"]
        assert caller.get(path("parts.secret", "status")).status_code == 403
        linked = caller.post("/v1/units/link", json={"unit": "ann", "other": "ann@work"}).json()
        assert list(linked["arms"]) == ["parts"]
        erased = caller.post("/v1/units/erase", json={"unit": "ann"})
        assert erased.json()["erased"] == ["parts"], erased.text
        assert caller.post("/v1/units/data", json={"unit": "ann"}).json()["experiments"] == []
    assert service.store.get("parts.secret").assignment("ann") is not None


def test_a_refusal_about_a_holdout_names_no_other_test(service: Service) -> None:
    service.store.create(
        "secret-merger",
        bs.Design.from_dict(DESIGN),
        audience={"holdout": {"name": "all", "share": 0.1}},
    )
    with service.caller(key=create_key(service.store, "admin", ["mine"])) as caller:
        audience = {"holdout": {"name": "all", "share": 0.2}}
        body = {"name": "mine", "design": DESIGN, "audience": audience}
        refused = caller.post("/v1/experiments", json=body)
        assert (refused.status_code, refused.json()["field"]) == (422, "holdout"), refused.text
        assert "secret" not in refused.text


@pytest.mark.parametrize(
    "url", ["/healthz", "/openapi.json", "/v1/experiments", "/static/page.css"]
)
def test_head_is_answered_where_get_is(admin: httpx.Client, url: str) -> None:
    got, asked = admin.get(url), admin.head(url)
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert asked.headers["content-type"] == got.headers["content-type"]
    refused = admin.head("/v1/plan")
    assert refused.status_code == 405
    assert admin.put("/healthz").headers["allow"] == "GET, HEAD"


def test_arms_have_values_of_limited_length(admin: httpx.Client) -> None:
    values = {"control": "x" * 10_001, "green": "y"}
    body = {"name": "long", "design": DESIGN, "values": values}
    refused = admin.post("/v1/experiments", json=body)
    assert (refused.status_code, refused.json()["field"]) == (422, "values")


@pytest.mark.parametrize(
    "given",
    [
        {"retention": "0d"},
        {"webhooks": ("http://0177.0.0.1/x",), "webhook_secret": "s"},
        {"webhooks": ("http://2130706433/x",), "webhook_secret": "s"},
        {"webhooks": ("http://0x7f.1/x",), "webhook_secret": "s"},
        {"oidc_issuer": "http://0177.0.0.1", "oidc_client": "c", "oidc_viewers": ("@a.example",)},
        {"oidc_issuer": "https://a", "oidc_client": "c", "oidc_viewers": ("@a, @b",)},
        {"oidc_issuer": "https://a", "oidc_client": "c", "oidc_viewers": ("x@evil@shop",)},
        {"oidc_issuer": "https://a", "oidc_client": "c", "oidc_viewers": ("@",)},
        {
            "oidc_issuer": "https://a",
            "oidc_client": "c",
            "oidc_viewers": ("@a.example",),
            "host": "0.0.0.0",
        },
        {"url": "tests.example"},
        {"oidc_viewers": ("@a.example",)},
        {"oidc_client": "c"},
    ],
)
def test_settings_that_would_not_be_safe_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(bs.InputError):
        Settings(**given)


@pytest.mark.parametrize(
    "address",
    [
        "eve@evil(@shop.example",
        "x@evil@shop.example",
        '"eve@evil"@shop.example',
        "eve @shop.example",
        "eve,ann@shop.example",
        "@shop.example",
        "ann@shop.example ",
        "ann@shop.example\n",
        "ann@shop.example.",
        "ſ@shop.example",
    ],
)
def test_an_address_that_programs_read_differently_has_no_role(address: str) -> None:
    assert role_of(address, ["@shop.example"], ["ann@shop.example"]) is None


def test_webhook_addresses_are_stored_as_hashes(tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    url = "http://127.0.0.1:1/services/TOKEN"
    service = Service(str(store), webhooks=(url,), webhook_secret="of the shop")
    try:
        deadline = time.monotonic() + 20
        while b"webhook:" not in _bytes(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        service.store.create("button", bs.Design.from_dict(DESIGN))
    finally:
        service.close()
    assert b"webhook:" in _bytes(tmp_path)
    assert b"TOKEN" not in _bytes(tmp_path)


@pytest.fixture(scope="module")
def open_service() -> Iterator[Service]:
    """A service without keys, which every program on this machine may use."""
    running = Service(keys=False)
    running.store.create("secret-merger", bs.Design.from_dict(DESIGN))
    yield running
    running.close()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "127.0.0.1:80@evil.example",
        "[::1].evil.example",
        "127.1",
        "2130706433",
        "localhost:8000:8000",
        "0.0.0.0",
        "127.0.0.1, evil.example",
        "127.0.0.1\r\nHost: evil.example",
        "evil.example\r\nHost: 127.0.0.1",
        "",
    ],
)
@pytest.mark.parametrize("url", ["/v1/experiments", "/metrics", "/", "/tests/secret-merger"])
def test_a_site_whose_name_points_to_this_machine_reads_nothing(
    open_service: Service, url: str, host: str
) -> None:
    """DNS rebinding: a browser takes the site's own address and this machine's for the same."""
    asked = f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    at = httpx.URL(open_service.url)
    with socket.create_connection((at.host, at.port or 80), timeout=10) as caller:
        caller.sendall(asked)
        answer = b"".join(iter(lambda: caller.recv(65536), b""))
    assert answer.split()[1] in (b"303", b"400", b"401", b"404"), answer[:200]
    assert b"secret-merger" not in answer


def test_a_webhook_goes_where_its_url_says_and_no_further() -> None:
    """A host may point to another address than yesterday, or send the caller elsewhere."""

    async def use(hook: str) -> str | None:
        async with httpx.AsyncClient(trust_env=False) as client:
            return await send(client, hook, EventDelivery("key", 1, 1, b"{}"), "of the shop", 0.0)

    with (
        socket.create_server(("127.0.0.1", 0)) as inside,
        socket.create_server(("127.0.0.1", 0)) as target,
    ):
        inside.settimeout(0.2)

        def redirect() -> None:
            caller, _ = target.accept()
            with caller:
                caller.recv(100_000)
                elsewhere = f"http://127.0.0.1:{inside.getsockname()[1]}/latest/meta-data"
                caller.sendall(
                    f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere}\r\n\r\nsecret".encode()
                )

        answering = threading.Thread(target=redirect)
        answering.start()
        # A name that stands for a private address, as one does after it was changed.
        assert asyncio.run(use(f"http://localhost:{target.getsockname()[1]}/")) == "answered 307"
        answering.join()
        with pytest.raises(TimeoutError):
            inside.accept()


def _bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def test_one_test_that_fails_keeps_no_other_from_its_alarms(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def alarms(test: bs.Experiment) -> tuple[object, ...]:
        looked.append(test.name)
        if test.name == "failing":
            raise Problem(503, "the store did not answer within 60 s")
        return ()

    for name in ("failing", "later"):
        service.store.create(name, bs.Design.from_dict(DESIGN))
    monkeypatch.setattr(bs.Experiment, "alarms", alarms)
    service.app.state.directory.forget()
    asyncio.run(_look(service))
    assert {"failing", "later"} <= set(looked)


async def _look(service: Service) -> None:
    """Look for alarms as the service does, in a loop of this test's own."""
    from bascule.service.server.app import make_app

    app = make_app(service.store, service.settings)
    try:
        await background.find_alarms(app)
    finally:
        await app.state.calls.close()


@pytest.mark.slow
def test_a_plan_of_an_absurd_lift_is_refused_and_the_next_one_made(service: Service) -> None:
    usual = {"outcome": {"kind": "gaussian", "sigma": 5}, "baseline": 20, "lift": "50%"}
    with service.caller("viewer") as caller:
        assert caller.post("/v1/plan", json=usual).status_code == 200
        number = service.app.state.planner._process.pid
        refused = caller.post("/v1/plan", json={"lift": 1e-12})
        assert refused.status_code == 422, refused.text
        assert caller.post("/v1/plan", json=usual).status_code == 200
        assert service.app.state.planner._process.pid == number


def test_one_key_cannot_keep_the_planner_from_others() -> None:
    asked = NewPlan.model_validate(SLOW_PLAN)

    async def use() -> tuple[int, int]:
        planner = Planner()
        keys = ["viewer"] * 5 + [f"key {i}" for i in range(10)]
        async with planner._turns.turn("another"):
            waiting = [asyncio.ensure_future(planner.make(key, plan_json, asked)) for key in keys]
            await asyncio.sleep(0)
            refused = [
                one for one in waiting if one.done() and isinstance(one.exception(), Problem)
            ]
            assert {one.exception().status for one in refused} == {503}  # type: ignore[union-attr]
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)
        assert not planner._turns.asked
        return sum(one in refused for one in waiting[:5]), len(waiting) - len(refused)

    assert asyncio.run(use()) == (5 - MOST_OF_ONE, MOST_ASKED - 1)


@pytest.mark.slow
def test_a_plan_whose_client_hangs_up_is_ended(service: Service) -> None:
    url = httpx.URL(service.url)
    body = b'{"baseline": "10%", "lift": "0.3%"}'
    head = (
        f"POST /v1/plan HTTP/1.1\r\nHost: {url.host}\r\nX-API-Key: {service.keys['viewer']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    planner: Planner = service.app.state.planner
    with socket.create_connection((url.host, url.port or 80), timeout=10) as caller:
        caller.sendall(head + body)
        deadline = time.monotonic() + 20
        while not planner._turns.asked and time.monotonic() < deadline:
            time.sleep(0.01)
        assert planner._turns.asked == 1
    deadline = time.monotonic() + 5
    while planner._turns.asked and time.monotonic() < deadline:
        time.sleep(0.05)
    assert planner._turns.asked == 0


def test_forms_that_anybody_may_send_are_small_and_of_one_kind(service: Service) -> None:
    """Sixty-four connections with forms in 3,000 parts kept assignments waiting for 10 s."""
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="f{i}"\r\n\r\nv\r\n' for i in range(3000)
    )
    in_parts = {"Content-Type": "multipart/form-data; boundary=x"}
    as_query = {"Content-Type": "application/x-www-form-urlencoded"}
    with httpx.Client(base_url=service.url) as caller:
        for content, headers, status in (
            (f"{parts}--x--", in_parts, 413),
            (f"{parts[:5000]}--x--", in_parts, 415),
            ("key=x&" * 2000, as_query, 413),
            ("a=&" * 1001, as_query, 400),
            ("key=%ff", as_query, 400),
            ("key=x", as_query, 401),
        ):
            answer = caller.post("/sign-in", content=content, headers=headers)
            assert answer.status_code == status, answer.text
        assert caller.get("/sign-in?" + "a=&" * 1001).status_code == 400
        assert caller.get("/sign-in?" + "token=x&" * 200).status_code == 200


def test_links_that_wait_keep_no_key_from_being_read(tmp_path: Path) -> None:
    """They wait for the writer, and any client may ask for as many as it likes."""
    with closing(Service(str(tmp_path / "shop.db"))) as service:
        service.store.create("shop", bs.Design.from_dict(DESIGN))
        with service.caller("client") as caller:
            known = caller.post(path("shop", "assign"), json={"unit": "ann"}).json()

            def link(number: int) -> None:
                with service.caller("client") as another:
                    pair = {"unit": f"visitor {number}", "other": f"user {number}"}
                    assert another.post("/v1/units/link", json=pair).status_code == 200

            threads = [threading.Thread(target=link, args=(i,)) for i in range(2 * SHORT_THREADS)]
            with service.store.writing():
                for thread in threads:
                    thread.start()
                # Keys are read again after a second.
                time.sleep(1.2)
                sent = {"unit": "ann"}
                assert caller.post(path("shop", "assign"), json=sent, timeout=5).json() == known
            for thread in threads:
                thread.join()


def test_tokens_that_are_tried_wait_for_nobody_who_writes(tmp_path: Path) -> None:
    with closing(Service(str(tmp_path / "shop.db"))) as service, service.store.writing():
        with service.caller() as caller:
            answer = caller.post("/sign-in", data={"token": "guessed"}, timeout=5.0)
        assert answer.status_code == 401
