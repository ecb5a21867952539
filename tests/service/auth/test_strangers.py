"""Attacks of strangers, of other sites and of keys for another test: `docs/research/attacks.md`."""

from __future__ import annotations

import re
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.service.running import DESIGN, Service, path

import bascule as bs
from bascule.service.auth.access import COOKIE
from bascule.service.auth.keys import create_key, open_session

pytestmark = pytest.mark.slow

ARMS = ["</script><script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>"]
UNIT = "<svg onload=alert(1)>"
MARKUP = ("<script>alert", "<img src=x", "<svg onload", 'href="javascript:')

BODY = b'{"unit": "a"}'
CHUNKED = b"d\r\n" + BODY + b"\r\n0\r\n\r\n"


@pytest.fixture(scope="module")
def shop() -> Iterator[Service]:
    """A service with a test whose arms, units and description are markup, and a secret one."""
    running = Service()
    test = running.store.create(
        "shop", bs.Design(ARMS, bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    for number in range(60):
        unit = f"{UNIT}{number}"
        test.record(unit, float(test.assign(unit) == ARMS[1]), id=f"{UNIT} {number}")
    test.record(UNIT, 1.0, id=ARMS[0])
    test.describe(f"{ARMS[0]} javascript:alert(1)")
    secret = running.store.create("secret", bs.Design.from_dict(DESIGN))
    secret.describe("the merger")
    secret.assign_many(["ann", "bob"])
    yield running
    running.close()


def exchange(service: Service, sent: bytes) -> bytes:
    """All that is answered to some bytes until the connection is closed."""
    at = httpx.URL(service.url)
    with socket.create_connection((at.host, at.port or 80), timeout=10) as caller:
        caller.sendall(sent)
        return b"".join(iter(lambda: caller.recv(65536), b""))


@pytest.mark.parametrize(
    ("lengths", "body"),
    [
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", CHUNKED),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 5", CHUNKED),
        (b"Content-Length: 13\r\nContent-Length: 5", BODY),
        (b"Content-Length: 13, 13", BODY),
        (b"Content-Length: +13", BODY),
        (b"Content-Length : 13", BODY),
        (b"Transfer-Encoding: xchunked\r\nContent-Length: 13", BODY),
        (b"Transfer-Encoding: chunked, identity", CHUNKED),
        (b"Transfer-Encoding:\x0bchunked\r\nContent-Length: 13", BODY),
        (b"X: a\rTransfer-Encoding: chunked\r\nContent-Length: 13", BODY),
        (b"Transfer-Encoding: chunked", b"-1\r\n" + CHUNKED),
        (b"Transfer-Encoding: chunked", b"fffffffffffffffff\r\n" + CHUNKED),
    ],
)
def test_no_second_request_hides_in_a_body(shop: Service, lengths: bytes, body: bytes) -> None:
    """A proxy may take another length for the right one: such a connection is ended."""
    head = (
        f"POST {path('shop', 'assign')} HTTP/1.1\r\nHost: shop\r\n"
        f"X-API-Key: {shop.keys['client']}\r\nContent-Type: application/json\r\n"
    ).encode()
    hidden = b"GET /healthz HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n"
    answer = exchange(shop, head + lengths + b"\r\n\r\n" + body + hidden)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"400"]


def test_a_connection_is_not_upgraded_and_parts_of_a_file_are_few(shop: Service) -> None:
    start = b"GET /v1/experiments HTTP/1.1\r\nHost: shop\r\nConnection: close, Upgrade\r\n"
    for protocol in (b"websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==", b"h2c"):
        answer = exchange(shop, start + b"Upgrade: " + protocol + b"\r\n\r\n")
        assert answer.split()[1] == b"401"
    with shop.caller() as caller:
        whole = caller.get("/static/page.css")
        for parts in ("0-," * 3000, "0-,0-,0-", f"0-{'9' * 4000}"):
            some = caller.get("/static/page.css", headers={"Range": f"bytes={parts.strip(',')}"})
            assert len(some.content) <= len(whole.content)
        assert caller.get("/static/%2e%2e/router.py").status_code == 404


def test_markup_of_any_client_stays_text_in_pages_and_reports(shop: Service) -> None:
    session = open_session(shop.store, None, time.time(), 1.0)
    with httpx.Client(
        base_url=shop.url, cookies={COOKIE: session.token}, trust_env=False, timeout=100
    ) as browser:
        first = browser.get("/tests/shop")
        parts = {*re.findall(r'(?:hx-get|href)="(/[^"#]*)"', first.text)} - {"/new"}
        pages = {"/", "/?search=%3Cscript%3Ealert(1)", "/sign-in?token=%3Cimg%20src=x", *parts}
        assert len(pages) > 8
        for page in sorted(pages):
            answer = browser.get(page)
            assert answer.status_code == 200, page
            if answer.headers["content-type"].startswith("text/html"):
                assert not [one for one in MARKUP if one in answer.text], page
            else:
                assert answer.headers["x-content-type-options"] == "nosniff"
            if not page.startswith("/static/"):
                assert answer.headers["cache-control"] == "no-store"


def test_a_key_for_one_test_learns_and_changes_nothing_of_another(shop: Service) -> None:
    """Every call of the description, for a test that exists and for one that does not."""
    known = {"unit": "bob", "other": "x", "context": {"targetingKey": "bob"}}
    for role in ("client", "viewer", "admin"):
        with shop.caller(key=create_key(shop.store, role, ["shop"])) as caller:
            for url, methods in shop.app.openapi()["paths"].items():
                for method in methods:
                    given = None if method == "get" or "plan" in url else known
                    answers = [
                        caller.request(
                            method, url.replace("{name}", name).replace("{key}", name), json=given
                        )
                        for name in ("secret", "absent")
                    ]
                    assert len({one.status_code for one in answers}) == 1, (role, method, url)
                    for one in answers:
                        assert one.status_code < 500
                        assert "merger" not in one.text
                    assert "secret" not in answers[1].text
    assert [one["experiment"] for one in shop.store.unit_data("bob")["experiments"]] == ["secret"]
    assert shop.store.get("secret").state == "running"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_signs_nobody_in_or_out(shop: Service, headers: dict[str, str]) -> None:
    with shop.caller() as browser:
        form = {"key": shop.keys["viewer"]}
        for url in ("/sign-in", "/sign-out"):
            refused = browser.post(url, data=form, headers=headers)
            assert refused.status_code == 403
            assert "set-cookie" not in refused.headers


def test_a_session_that_another_has_chosen_is_never_opened(shop: Service) -> None:
    with shop.caller() as browser:
        browser.cookies.set(COOKIE, "chosen-by-eve")
        opened = browser.post("/sign-in", data={"key": shop.keys["viewer"]})
        assert opened.status_code == 303
        assert "chosen-by-eve" not in opened.headers["set-cookie"]
    with shop.caller() as eve:
        eve.cookies.set(COOKIE, "chosen-by-eve")
        assert eve.get("/").status_code == 401


def test_a_store_and_its_copies_are_read_by_their_owner_alone(tmp_path: Path) -> None:
    """Names of units are in it, and what they have bought."""
    with bs.open(tmp_path / "shop.db") as store:
        test = store.create("shop", bs.Design.from_dict(DESIGN))
        test.assign("ann")
        store.backup(tmp_path / "backup.db")
        files = [*tmp_path.iterdir()]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert {file.name for file in files} > {"shop.db", "shop.db-wal", "backup.db"}
    # Whom an operator has let in is not shut out.
    (tmp_path / "shop.db").chmod(0o640)
    with bs.open(tmp_path / "shop.db") as store:
        store.get("shop").assign("bob")
    assert stat.S_IMODE((tmp_path / "shop.db").stat().st_mode) == 0o640
