"""Who is asking, and what they may do.

Endpoints name what they need as a dependency, and get the `Caller`:

    @router.get("/experiments")
    async def show(request: Request, caller: Annotated[Caller, Depends(viewer)]) -> ...

`client`, `viewer` and `admin` are for the API. They take a key (`Authorization: Bearer KEY` or
`X-API-Key: KEY`), or the cookie of a session. A change that a cookie vouches for must carry the
session's CSRF token in the header `X-CSRF-Token`. While a store has no keys and the service
listens on this machine only, whoever is on the machine is an admin: programs only, since requests
that a browser makes for another site name their origin, and are refused.

The page uses `page_viewer` and `page_admin`, which take a session only. Templates get
`caller.csrf` and put it into `<input type="hidden" name="csrf_token">` or, for htmx, into
`hx-headers='{"X-CSRF-Token": "..."}'`; every POST of the page depends on `require_csrf`, which
reads either and returns the caller (an admin: viewers change nothing).

Signing in is `await sign_in_with_key(request, key)` or `await sign_in_with_link(request, token)`;
both return a `Session` or raise `Problem(401)`, and `remember(response, request, session)` sets the
cookie. `await sign_out(request, response)` ends it. A 401 of a page that was asked for as HTML is
sent on to `/sign-in` (see `app.py`).

`await allow(caller, name)` raises where a key is limited to other experiments.
"""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from bascule.live.api.store import Store
from bascule.service.auth import sessions
from bascule.service.auth.keys import Key, Keyring, Role
from bascule.service.auth.rate_limits import too_many
from bascule.service.auth.sessions import Session
from bascule.service.server.problems import Problem
from bascule.service.server.settings import Settings, is_loopback

COOKIE = "bascule_session"
CSRF_HEADER, CSRF_FIELD = "x-csrf-token", "csrf_token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers that proxies add."""

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="bascule"'}

MAY: dict[Role, tuple[Role, ...]] = {
    "client": ("client", "admin"),
    "viewer": ("viewer", "admin"),
    "admin": ("admin",),
}
"""Which roles may do what needs each of them."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: the name for the audit log, a role, and which experiments it is good for.

    `csrf` is what changes through the page must carry; None for a caller with a key.
    """

    name: str
    role: Role
    experiments: tuple[str, ...] | None = None
    csrf: str | None = None

    def may(self, role: Role) -> bool:
        """Whether the caller may do what needs this role.

        >>> Caller("ann", "viewer").may("admin")
        False
        """
        return self.role in MAY[role]

    def sees(self, experiment: str) -> bool:
        """Whether the caller's key is good for an experiment.

        >>> Caller("shop", "client", ("button",)).sees("banner")
        False
        """
        return self.experiments is None or experiment in self.experiments


ON_THIS_MACHINE = Caller("this machine", "admin")


def allow(caller: Caller, experiment: str) -> None:
    """Raise unless the caller's key is good for an experiment."""
    if not caller.sees(experiment):
        raise Problem(403, "this key is for other experiments: use one that is for this one")


def need(caller: Caller, role: Role) -> Caller:
    """The caller, who must have a role that suffices."""
    if not caller.may(role):
        raise Problem(403, f"this needs a key of role {role}, not {caller.role}")
    return caller


async def client(request: Request) -> Caller:
    """Whoever assigns units and records outcomes."""
    return need(await who(request), "client")


async def viewer(request: Request) -> Caller:
    """Whoever looks."""
    return need(await who(request), "viewer")


async def admin(request: Request) -> Caller:
    """Whoever changes experiments."""
    return need(await who(request), "admin")


async def page_viewer(request: Request) -> Caller:
    """Whoever looks at the page: a session only."""
    return need(await _in_session(request), "viewer")


async def page_admin(request: Request) -> Caller:
    """Whoever may change something through the page: a session only."""
    return need(await _in_session(request), "admin")


async def require_csrf(request: Request, caller: Annotated[Caller, Depends(page_admin)]) -> Caller:
    """The same for a form of the page that was sent: it has to carry the session's token."""
    given = request.headers.get(CSRF_HEADER)
    if given is None:
        field = (await request.form()).get(CSRF_FIELD)
        given = field if isinstance(field, str) else None
    _check_csrf(caller, given)
    return caller


async def who(request: Request) -> Caller:
    """The caller, by key or session; refused if there is neither."""
    ring: Keyring = request.app.state.keys
    if ring.is_stale:
        await run_in_threadpool(ring.refresh)
    given = _given_key(request)
    if given is not None:
        if not ring.has(given):
            # It may have been made a moment ago, by another program.
            request.app.state.guesses.check(_address(request))
            await run_in_threadpool(ring.refresh)
        key = _checked(request, given)
        _check_rate(request, key.id)
        return caller_of(key)
    _check_rate(request, _address(request))
    if "cookie" in request.headers and COOKIE in request.cookies:
        caller = await _in_session(request)
        if request.method not in SAFE_METHODS:
            _check_csrf(caller, request.headers.get(CSRF_HEADER))
        return caller
    if ring.is_empty and _is_from_here(request):
        return ON_THIS_MACHINE
    raise Problem(
        401, "a key is needed: send Authorization: Bearer KEY, or X-API-Key", headers=CHALLENGE
    )


def caller_of(key: Key) -> Caller:
    """Who comes with a key."""
    return Caller(key.name, key.role, key.experiments)


# Signing in


async def sign_in_with_key(request: Request, key: str) -> Session:
    """A session for whoever shows a key of a viewer or an admin."""
    check_same_site(request)
    state = request.app.state
    await run_in_threadpool(state.keys.refresh)
    found = _checked(request, key.strip())
    if found.role == "client":
        raise Problem(403, "a client's key is for programs: sign in with a viewer's or admin's")
    return await run_in_threadpool(
        sessions.open_session, state.store, found.id, time.time(), state.settings.session_hours
    )


async def sign_in_with_link(request: Request, token: str) -> Session:
    """A session for the link that `bascule serve` printed; it works once."""
    state = request.app.state
    found = await run_in_threadpool(
        sessions.use_link, state.store, token, time.time(), state.settings.session_hours
    )
    if found is None:
        state.guesses.spend(_address(request))
        raise Problem(401, "this link was used or is too old: sign in with a key", headers={})
    return found


def remember(response: Response, request: Request, session: Session) -> None:
    """Give the browser its cookie."""
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
    """End the session, here and in the store."""
    token = request.cookies.get(COOKIE)
    if token is not None:
        store: Store = request.app.state.store
        await run_in_threadpool(sessions.close_session, store, token, time.time())
    response.delete_cookie(COOKIE, path="/")


def check_same_site(request: Request) -> None:
    """Raise if another site made the browser send this."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Problem(403, "another site sent this request")


# Inside


async def _in_session(request: Request) -> Caller:
    token = request.cookies.get(COOKIE)
    if token is None:
        raise Problem(401, "sign in first", headers=CHALLENGE)
    state = request.app.state
    found = await run_in_threadpool(sessions.find_session, state.store, token, time.time())
    if found is None:
        raise Problem(401, "this session has ended: sign in again")
    if found.key is None:
        return Caller("page", "admin", None, found.csrf)
    if state.keys.is_stale:
        await run_in_threadpool(state.keys.refresh)
    key = state.keys.by_id(found.key)
    if key is None:
        raise Problem(401, "the key of this session was revoked: sign in again")
    return Caller(key.name, key.role, key.experiments, found.csrf)


def _check_csrf(caller: Caller, given: str | None) -> None:
    expected = caller.csrf or ""
    if not expected or not hmac.compare_digest(expected.encode(), (given or "").encode()):
        raise Problem(403, "the CSRF token is missing or wrong: load the page again")


def _given_key(request: Request) -> str | None:
    given = request.headers.get("x-api-key")
    if given is not None:
        return given
    scheme, _, rest = request.headers.get("authorization", "").partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else None


def _checked(request: Request, given: str) -> Key:
    state = request.app.state
    address = _address(request)
    state.guesses.check(address)
    found: Key | None = state.keys.find(given)
    if found is None:
        state.guesses.spend(address)
        raise Problem(401, "this key opens nothing: it is wrong, or was revoked", headers=CHALLENGE)
    return found


def _check_rate(request: Request, caller: str) -> None:
    wait = request.app.state.rates.wait(caller)
    if wait:
        raise too_many(wait)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class _Where(NamedTuple):
    host: str
    port: str


def _is_from_here(request: Request) -> bool:
    """Whether a program on this machine asks, and no browser on behalf of another site.

    The name in Host matters too: a site may have its own name point to this machine. And what a
    proxy on this machine passes on may come from anywhere.
    """
    settings: Settings = request.app.state.settings
    if not settings.is_local or any(name in request.headers for name in FORWARDED):
        return False
    host = _split(request.headers.get("host", "")).host
    if not is_loopback(host):
        return False
    check_same_site(request)
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _split(host: str) -> _Where:
    name, mark, port = host.rpartition(":")
    return _Where(name, port) if mark and port.isdigit() else _Where(host, "")
