"""Sign-in with OpenID Connect against a real provider, which the test starts for itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import select
from tests.service.running import Service

import bascule as bs
from bascule.live.storage.schema import service_sessions as sessions
from bascule.service.auth.access import COOKIE
from bascule.service.auth.oidc import role_of
from bascule.service.server.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    provider = pytest.importorskip("oidc_provider_mock")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

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
        assert "begun elsewhere" in stolen.text
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
        before = len(connection.execute(select(sessions)).all())
    with service.caller() as browser:
        places = {browser.get("/sign-in/oidc").headers["location"] for _ in range(30)}
    assert (len(places), len(asked) <= 1) == (30, True)
    with service.store.reading() as connection:
        assert len(connection.execute(select(sessions)).all()) == before


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
    with pytest.raises(bs.InputError, match="an issuer is as in https"):
        Settings(oidc_issuer="http://accounts.example", oidc_client="x", oidc_viewers=("@a.b",))


def test_without_a_provider_there_is_no_such_path() -> None:
    running = Service()
    try:
        with running.caller() as browser:
            assert browser.get("/sign-in/oidc").status_code == 404
            assert "/sign-in/oidc" not in browser.get("/sign-in").text
    finally:
        running.close()
