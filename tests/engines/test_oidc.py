"""Sign-in with OpenID Connect against a real provider, which the test starts for itself."""

from __future__ import annotations

import json
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest
from tests.service.running import Service

import bascule as bs
from bascule.live.storage.statements import fetch
from bascule.service.auth.access import COOKIE
from bascule.service.auth.oidc import role_of
from bascule.service.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    provider = pytest.importorskip("oidc_provider_mock")

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PEOPLE = {
    "ann": ("ann@shop.example", True),
    "bob": ("bob@shop.example", True),
    "eve": ("eve@shop.example.evil", True),
    "mallory": ("ann@shop.example", False),
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    users = [
        provider.User(sub=name, claims={"email": email, "email_verified": verified})
        for name, (email, verified) in PEOPLE.items()
    ]
    with provider.run_server_in_thread(user_claims=users) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(scope="module")
def service(issuer: str) -> Iterator[Service]:
    running = Service(
        oidc_issuer=issuer,
        oidc_client="bascule",
        oidc_secret="of the shop",
        oidc_viewers=("@shop.example",),
        oidc_admins=("ann@shop.example",),
    )
    yield running
    running.close()


def sign_in(browser: httpx.Client, person: str) -> httpx.Response:
    """Go through the provider's form, as a browser does, and back."""
    sent = browser.get("/sign-in/oidc")
    assert sent.status_code == 303
    asked = sent.headers["location"]
    assert "code_challenge_method=S256" in asked
    assert "nonce=" in asked
    form = browser.post(asked, data={"sub": person})
    assert form.status_code in (302, 303), form.text
    return browser.get(form.headers["location"])


def test_people_sign_in_with_the_role_that_they_were_given(service: Service) -> None:
    for person, may_create in (("ann", True), ("bob", False)):
        with service.caller() as browser:
            assert "/sign-in/oidc" in browser.get("/sign-in").text
            done = sign_in(browser, person)
            assert done.status_code == 200
            assert 'url=/"' in done.text
            cookie = done.headers["set-cookie"].lower()
            assert "samesite=strict" in cookie
            assert "httponly" in cookie
            assert browser.get("/").status_code == 200
            assert (browser.get("/new").status_code == 200) == may_create
    rows = service.store.audit()
    assert all("bob" not in entry["actor"] for entry in rows)


def test_an_address_that_is_not_listed_or_not_verified_stays_outside(service: Service) -> None:
    for person in ("eve", "mallory"):
        with service.caller() as browser:
            refused = sign_in(browser, person)
            assert refused.status_code == 403
            assert "may not sign in here" in refused.text
            assert COOKIE not in browser.cookies


def test_a_sign_in_is_good_for_the_browser_that_began_it_and_once(service: Service) -> None:
    with service.caller() as browser, service.caller() as other:
        asked = browser.get("/sign-in/oidc").headers["location"]
        back = browser.post(asked, data={"sub": "ann"}).headers["location"]
        stolen = other.get(back)
        assert stolen.status_code == 401
        assert "started in another browser" in stolen.text
        assert browser.get(back).status_code == 200
        assert browser.get(back).status_code == 401
        forged = "/sign-in/oidc/callback?code=x&state=y"
        assert browser.get(forged).status_code == 401
        assert urlsplit(back).path == "/sign-in/oidc/callback"


def test_a_token_for_another_client_or_question_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.caller() as browser:
        asked = browser.get("/sign-in/oidc").headers["location"]
        for old, new in (("client_id=bascule", "client_id=another"), ("nonce=", "nonce=other")):
            changed = asked.replace(old, new)
            back = browser.post(changed, data={"sub": "ann"}).headers["location"]
            assert browser.get(back).status_code == 401
            asked = browser.get("/sign-in/oidc").headers["location"]


def test_whoever_begins_to_sign_in_writes_nothing_and_asks_the_provider_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these requests, which any page can cause, was a row and a call of the provider."""
    asked = []
    get = httpx.AsyncClient.get

    async def counted(self: httpx.AsyncClient, url: str) -> httpx.Response:
        asked.append(url)
        return await get(self, url)

    monkeypatch.setattr(httpx.AsyncClient, "get", counted)
    with service.store.reading() as connection:
        before = len(fetch(connection, "SELECT hash FROM service_sessions"))
    with service.caller() as browser:
        places = {browser.get("/sign-in/oidc").headers["location"] for _ in range(30)}
    assert (len(places), len(asked) <= 1) == (30, True)
    with service.store.reading() as connection:
        assert len(fetch(connection, "SELECT hash FROM service_sessions")) == before


@pytest.mark.parametrize(
    "email", ["bo\u017fs@shop.example", "boss@\u017fhop.example", "boss", "@shop.example.evil", ""]
)
def test_an_address_is_compared_letter_by_letter(email: str) -> None:
    """Folding takes the long s for an s, and another mailbox for an admin's."""
    assert role_of(email, ["@evil.example"], ["boss@shop.example"]) is None
    assert role_of("Boss@Shop.example", [], ["boss@shop.example"]) == "admin"


def test_settings_that_would_let_in_everyone_are_refused() -> None:
    whole = {"oidc_issuer": "https://accounts.example", "oidc_client": "bascule"}
    with pytest.raises(bs.InputError, match="say who may sign in"):
        Settings(**whole)  # type: ignore[arg-type]
    with pytest.raises(bs.InputError, match="say who may sign in"):
        Settings(**whole, oidc_viewers=("shop.example",))  # type: ignore[arg-type]
    with pytest.raises(bs.InputError, match="an issuer must be an HTTPS URL"):
        Settings(oidc_issuer="http://accounts.example", oidc_client="x", oidc_viewers=("@a.b",))


@pytest.mark.parametrize("proxy", ["", "socks5://u:secret-word@127.0.0.1:1", "http://a:99999999"])
def test_a_provider_that_hangs_or_cannot_be_reached_is_asked_by_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """Anybody can ask to sign in, and each of them had a call of the provider of their own."""
    monkeypatch.setattr("bascule.service.auth.oidc.PROVIDER_SECONDS", 1.0)
    monkeypatch.setenv("http_proxy", proxy)
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        issuer = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        running = Service(
            oidc_issuer=issuer, oidc_client="bascule", oidc_viewers=("@shop.example",)
        )
        try:
            with running.caller() as browser, ThreadPoolExecutor(10) as pool:
                answers = [*pool.map(browser.get, 10 * ["/sign-in/oidc"])]
        finally:
            running.close()
        assert {one.status_code for one in answers} == {503}
        assert "secret-word" not in "".join(one.text for one in answers)
        hanging.settimeout(0.0)
        calls = 0
        with suppress(BlockingIOError):
            while True:
                hanging.accept()[0].close()
                calls += 1
        # Those who come while one waits share its answer.
        assert calls < 10


def test_without_a_provider_there_is_no_such_path() -> None:
    running = Service()
    try:
        with running.caller() as browser:
            assert browser.get("/sign-in/oidc").status_code == 404
            assert "/sign-in/oidc" not in browser.get("/sign-in").text
    finally:
        running.close()


class Crafted:
    """A provider that answers what a test says: tokens with any claims, keys of any shape."""

    def __init__(self) -> None:
        from joserfc.jwk import RSAKey

        self.key = RSAKey.generate_key(2048, {"kid": "1"}, private=True)
        self.keys: object = {"keys": [self.key.as_dict(private=False)]}
        self.token: object = {}
        self.redirects = False
        crafted = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", "0")))
                self.answer()

            def answer(self) -> None:
                if crafted.redirects and self.path != "/.well-known/openid-configuration":
                    self.send_response(302)
                    self.send_header("Location", "/elsewhere")
                    self.end_headers()
                    return
                parts = {"/token": crafted.token, "/keys": crafted.keys}
                body = json.dumps(parts.get(self.path, crafted.about)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.about = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def sign(self, nonce: str, **claims: object) -> None:
        """Answer with a token for Ann, with some claims changed."""
        from joserfc import jwt

        usual = {"iss": self.url, "aud": "bascule", "sub": "ann", "exp": int(time.time()) + 60}
        person = {"email": "ann@shop.example", "email_verified": True, "nonce": nonce}
        header = {"alg": "RS256", "kid": "1"}
        signed = jwt.encode(header, {**usual, **person, **claims}, self.key)
        self.token = {"access_token": "x", "token_type": "Bearer", "id_token": signed}


@pytest.fixture(scope="module")
def crafted() -> Iterator[tuple[Crafted, Service]]:
    made = Crafted()
    running = Service(oidc_issuer=made.url, oidc_client="bascule", oidc_viewers=("@shop.example",))
    yield made, running
    running.close()
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 200),
        ({"azp": "bascule"}, 200),
        ({"azp": "another"}, 401),
        ({"aud": ["bascule", "another"], "azp": "bascule"}, 200),
        ({"aud": ["bascule", "another"], "azp": "another"}, 401),
        ({"aud": ["bascule", "another"]}, 401),
        ({"email": "eve@evil(@shop.example"}, 403),
        ({"email": "x@evil@shop.example"}, 403),
        ({"email": "@shop.example"}, 403),
        ({"email": ["ann@shop.example"]}, 403),
    ],
)
def test_a_token_counts_for_the_client_and_the_address_that_it_was_made_for(
    crafted: tuple[Crafted, Service], claims: dict[str, object], status: int
) -> None:
    made, service = crafted
    with service.caller() as browser:
        asked = httpx.URL(browser.get("/sign-in/oidc").headers["location"]).params
        made.sign(asked["nonce"], **claims)
        back = browser.get("/sign-in/oidc/callback", params={"code": "x", "state": asked["state"]})
        assert back.status_code == status, back.text


@pytest.mark.parametrize("what", ["keys", "token", "id_token", "redirect"])
def test_a_provider_whose_answers_have_another_shape_is_no_error_of_ours(
    crafted: tuple[Crafted, Service], what: str
) -> None:
    made, service = crafted
    before = made.keys
    with service.caller() as browser:
        asked = httpx.URL(browser.get("/sign-in/oidc").headers["location"]).params
        made.sign(asked["nonce"])
        if what == "keys":
            made.keys = [1, None]
        elif what == "token":
            made.token = None
        elif what == "id_token":
            made.token = {"access_token": "x", "token_type": "Bearer", "id_token": None}
        made.redirects = what == "redirect"
        try:
            given = {"code": "x", "state": asked["state"]}
            refused = browser.get("/sign-in/oidc/callback", params=given)
        finally:
            made.keys, made.redirects = before, False
    assert refused.status_code == 401, refused.text


def test_the_way_back_is_not_chosen_by_the_header_host(crafted: tuple[Crafted, Service]) -> None:
    made, service = crafted
    with service.caller() as browser:
        refused = browser.get("/sign-in/oidc", headers={"Host": "evil.example"})
        assert refused.status_code == 421
    public = Service(
        url="https://tests.example",
        oidc_issuer=made.url,
        oidc_client="bascule",
        oidc_viewers=("@shop.example",),
    )
    try:
        with public.caller() as browser:
            sent = browser.get("/sign-in/oidc", headers={"Host": "evil.example"})
            back = httpx.URL(sent.headers["location"]).params["redirect_uri"]
            assert back == "https://tests.example/sign-in/oidc/callback"
    finally:
        public.close()
