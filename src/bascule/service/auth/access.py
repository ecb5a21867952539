"""Authentication and authorisation: who sends a request, and what this caller may do.

Endpoints name the role that they need as a dependency, and get the `Caller`:

    @router.get("/experiments")
    async def show(request: Request, caller: Annotated[Caller, Depends(viewer)]) -> ...

Where the path names an experiment, a key that is not valid for it is refused. Endpoints that get
the name in a body call `allow(caller, name)`.

`client`, `viewer` and `admin` are for the API. They take a key (`Authorization: Bearer KEY` or
`X-API-Key: KEY`), or the cookie of a session. A change authenticated by a cookie must carry the
session's CSRF token in the header `X-CSRF-Token`. Every program on the machine is an admin while
the store has no keys, if the service listens on this machine only and no proxy is configured;
requests that a browser makes for another site name their origin, and are refused.

A valid key always passes, whatever else its address has sent: only requests that fail to
authenticate are throttled, by their address.

The page uses `page_viewer` and `page_admin`, which take a session only. Templates get
`caller.csrf` and put it into `<input type="hidden" name="csrf_token">` or, for htmx, into
`hx-headers='{"X-CSRF-Token": "..."}'`; every POST of the page, except signing in and out, depends
on `require_csrf`, which reads either and returns the caller (an admin: viewers change nothing).

Signing in is `await sign_in_with_key(request, key)` or `await sign_in_with_link(request, token)`,
both for POST only; they return a `Session` or raise `Problem(401)`, and
`remember(response, request, session)` sets the cookie. `await sign_out(request, response)` ends it.
A 401 of a page that was requested as HTML is redirected to `/sign-in` (see `responses.py`).
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response
from starlette.datastructures import ImmutableMultiDict, State
from starlette.types import Scope

from bascule.live.api import Store
from bascule.service.auth import keys
from bascule.service.auth.keys import Caller, Key, Keyring, Role, Session
from bascule.service.auth.rate_limits import source
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import Problem, header
from bascule.service.settings import LARGE, MOST_FIELDS, Settings, is_loopback

COOKIE = "bascule_session"
CSRF_HEADER, CSRF_FIELD = "x-csrf-token", "csrf_token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FORWARDED = ("forwarded", "x-forwarded", "x-real-ip", "x-client-ip", "x-original", "via", "cf-")
"""Prefixes of the headers that proxies add."""

FORM = "application/x-www-form-urlencoded"
"""The content type of a form."""

VALID_KEY = "bascule.key"
"""Name of the entry in a request's scope for its key, if the key was already found to be valid."""

SEPARATORS = {b"%0D%0A": b"\r\n", b"%2C": b",", b"%3B": b";", b"%09": b"\t"}
"""Characters that separate the values of a sample, by the escape with which browsers send them."""

MOST_ESCAPES = 20_000
"""Maximum number of other escaped bytes of a form."""

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="bascule"'}

MAY: dict[Role, tuple[Role, ...]] = {
    "client": ("client", "admin"),
    "viewer": ("viewer", "admin"),
    "admin": ("admin",),
}
"""For each required role, the roles that suffice."""

EXPERIMENT = frozenset(("name", "key"))
"""Path parameters whose value is the name of an experiment."""


ON_THIS_MACHINE = Caller("local program (no key)", "admin")


def allow(caller: Caller, experiment: str) -> None:
    """Raise unless the caller's key is valid for an experiment, even one that does not exist."""
    if not caller.sees(experiment):
        raise Problem(403, "this key is not valid for this experiment: use one that is")


async def form_of(request: Request) -> ImmutableMultiDict[str, str]:
    """Parse the fields of a form.

    Browsers encode a form without files as a query, which is read in one step. To read it in parts,
    as forms with files are sent, takes so long that anyone could keep the event loop busy with it.
    """
    kind = (header(request.scope, b"content-type") or FORM).partition(";")[0].strip().lower()
    if kind != FORM:
        raise Problem(415, f"send Content-Type: {FORM}")
    body = await request.body()
    return (
        fields_of(body) if len(body) <= LARGE else await calls_of(request).compute(fields_of, body)
    )


def fields_of(body: bytes) -> ImmutableMultiDict[str, str]:
    """Parse the fields of a URL-encoded form.

    Separators of the values of a long sample are decoded all at once. The number of other escapes
    is limited, since they are decoded one by one: a megabyte of them takes a tenth of a second.

    >>> fields_of(b"name=button&arms=2")["arms"]
    '2'
    >>> fields_of(b"sample=1%2C2%0D%0A3")["sample"].split()
    ['1,2', '3']
    """
    for escape, text in SEPARATORS.items():
        body = body.replace(escape, text)
    if body.count(b"%") > MOST_ESCAPES:
        detail = f"the form has more than {MOST_ESCAPES:,} characters that are not plain: send less"
        raise Problem(413, detail)
    try:
        return ImmutableMultiDict(
            parse_qsl(
                body.decode(),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MOST_FIELDS,
            )
        )
    except ValueError:
        detail = f"the form cannot be read: send UTF-8 text with at most {MOST_FIELDS:,} fields"
        raise Problem(400, detail) from None


async def who(request: Request) -> Caller:
    """Authenticate a caller by key or session, or as a local program while there are no keys."""
    state = request.app.state
    ring: Keyring = state.keys
    key: Key | None = request.scope.get(VALID_KEY)
    if key is None and (given := given_key(request.scope)) is not None:
        key = await _verified(request, given)
    if key is not None:
        request.state.is_known = True
        state.rates.take(f"{key.id} {_source(request)}")
        return key
    state.rates.take(_source(request))
    if "cookie" in request.headers and COOKIE in request.cookies:
        caller = await in_session(request)
        if request.method not in SAFE_METHODS:
            _check_csrf(caller, request.headers.get(CSRF_HEADER))
        return caller
    await ring.refresh()
    if ring.is_empty and _is_from_here(request):
        return ON_THIS_MACHINE
    raise Problem(
        401, "API key missing: send Authorization: Bearer KEY, or X-API-Key", headers=CHALLENGE
    )


def is_known(scope: Mapping[str, Any]) -> bool:
    """Whether a request was authenticated by a valid key or session."""
    return "is_known" in scope.get("state", {})


async def in_session(request: Request) -> Caller:
    """Authenticate a caller by session."""
    token = request.cookies.get(COOKIE)
    if token is None:
        raise Problem(401, "sign in first", headers=CHALLENGE)
    state = request.app.state
    session = await session_of(state, token)
    if session is None:
        state.guesses.take(_source(request))
        raise Problem(401, "this session has ended: sign in again", headers=CHALLENGE)
    request.state.is_known = True
    if session.caller is not None:
        named = json.loads(session.caller)
        return Caller(named["name"], named["role"], None, session.csrf)
    if session.key is None:
        return Caller("admin (sign-in link)", "admin", None, session.csrf)
    await state.keys.refresh()
    key: Key | None = state.keys.by_id(session.key)
    if key is None:
        raise Problem(401, "the key of this session was revoked: sign in again")
    return replace(key, csrf=session.csrf)


def _needs(
    role: Role, authenticate: Callable[[Request], Awaitable[Caller]]
) -> Callable[[Request], Awaitable[Caller]]:
    """Return a dependency: the caller, if its role suffices and its key is valid for the path."""

    async def authorised(request: Request) -> Caller:
        caller = await authenticate(request)
        if caller.role not in MAY[role]:
            raise Problem(403, f"this needs a key of role {role}, not {caller.role}")
        if caller.experiments is not None:
            for parameter in request.path_params.keys() & EXPERIMENT:
                allow(caller, request.path_params[parameter])
        return caller

    return authorised


client, viewer, admin = _needs("client", who), _needs("viewer", who), _needs("admin", who)
"""Dependencies for the API: they authenticate a caller, see `who`, who needs this role or admin."""

page_viewer, page_admin = _needs("viewer", in_session), _needs("admin", in_session)
"""Dependencies for pages: they authenticate a viewer or an admin by session only."""


async def require_csrf(request: Request, caller: Annotated[Caller, Depends(page_admin)]) -> Caller:
    """Authenticate an admin's form, which has to carry the session's CSRF token."""
    token = request.headers.get(CSRF_HEADER)
    _check_csrf(caller, (await form_of(request)).get(CSRF_FIELD) if token is None else token)
    return caller


# Signing in


async def sign_in_with_key(request: Request, key: str) -> Session:
    """Open a session for a viewer's or admin's key."""
    check_same_site(request)
    state = request.app.state
    key_of_caller = await _verified(request, key.strip())
    if key_of_caller.role == "client":
        raise Problem(403, "a client's key is for programs: sign in with a viewer's or admin's")
    return await calls_of(request).short(
        keys.open_session,
        state.store,
        key_of_caller.id,
        time.time(),
        state.settings.session_hours,
    )


async def sign_in_with_link(request: Request, token: str) -> Session:
    """Open a session for the token of a one-time link."""
    check_same_site(request)
    state = request.app.state
    session = await calls_of(request).short(
        keys.use_link, state.store, token, time.time(), state.settings.session_hours
    )
    if session is None:
        state.guesses.take(_source(request))
        raise Problem(401, "this link was used or has expired: sign in with a key", headers={})
    return session


def remember(response: Response, request: Request, session: Session) -> None:
    """Set the cookie of a session."""
    settings: Settings = request.app.state.settings
    response.set_cookie(
        COOKIE,
        session.token,
        max_age=int(3600 * settings.session_hours),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )


async def sign_out(request: Request, response: Response) -> None:
    """End a session in the browser and in the store."""
    token = request.cookies.get(COOKIE)
    if token is not None:
        store: Store = request.app.state.store
        await calls_of(request).short(keys.close_session, store, token, time.time())
    response.delete_cookie(COOKIE, path="/")


def check_same_site(request: Request) -> None:
    """Raise if another site made the browser send the request."""
    origin = request.headers.get("origin")
    is_other = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if is_other or request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Problem(403, "this request came from another site: use the page of the service")


# Inside


async def session_of(state: State, token: str) -> Session | None:
    """Find a token's session in the store, and remember the token as known; None if not found.

    Unknown tokens are looked up one after the other, and after requests about units, because
    anybody can make them up.
    """
    look = partial(state.calls.short, keys.find_session, state.store, token, time.time())
    if token in state.recent_tokens:
        session: Session | None = await look()
    else:
        async with state.unknown_sessions:
            await state.unit_requests.wait_for_turn()
            session = await look()
    if session is not None:
        state.recent_tokens.add(token)
    return session


def _check_csrf(caller: Caller, token: str | None) -> None:
    expected = caller.csrf or ""
    if not expected or not hmac.compare_digest(expected.encode(), (token or "").encode()):
        raise Problem(403, "the CSRF token is missing or wrong: load the page again")


def given_key(scope: Scope) -> str | None:
    """Return the key that a request sends, valid or not."""
    key = header(scope, b"x-api-key")
    if key is not None:
        return key
    scheme, _, rest = (header(scope, b"authorization") or "").partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else None


async def _verified(request: Request, given: str) -> Key:
    """Return the given key if it is valid; refuse a wrong one, and limit how often that happens."""
    state = request.app.state
    key: Key | None = await state.keys.verify(given)
    if key is None:
        state.guesses.take(_source(request))
        raise Problem(
            401,
            "invalid or revoked API key: make another with bascule key create",
            headers=CHALLENGE,
        )
    return key


def _source(request: Request) -> str:
    return source(request.client.host) if request.client else ""


def _is_from_here(request: Request) -> bool:
    """Whether a request comes from a program on this machine, not from another site's page.

    The name in Host is checked, because another site may let its own name point to this machine.
    Requests that a proxy on this machine passes on may come from anywhere: they are recognised by
    the headers that proxies add, or by HTTP/1.0, which some proxies that add none speak.
    """
    settings: Settings = request.app.state.settings
    if not settings.is_local or settings.proxies or request.scope["http_version"] == "1.0":
        return False
    if any(name.startswith(FORWARDED) for name in request.headers):
        return False
    hosts = request.headers.getlist("host")
    if len(hosts) != 1:
        return False
    name, mark, port = hosts[0].rpartition(":")
    if not is_loopback(name if mark and port.isdigit() else hosts[0]):
        return False
    check_same_site(request)
    return True
