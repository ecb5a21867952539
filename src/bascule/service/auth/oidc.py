"""Sign-in with OpenID Connect beside keys: the code flow with PKCE, state and nonce.

A person may sign in only if the settings list the address that the provider names, or its domain,
as a viewer or an admin; the provider has to say that the address is verified.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from fastapi import Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from bascule.core.errors import require
from bascule.service.auth import access, keys
from bascule.service.auth.keys import Role
from bascule.service.outgoing import Outgoing
from bascule.service.reading.store_calls import SharedRead
from bascule.service.responses import Problem
from bascule.service.settings import MAILBOX, Settings, is_loopback

PATH = "/sign-in/oidc"
STATE_COOKIE = "bascule_oidc"
SECONDS = 600.0
"""Seconds that a person may take to sign in at the provider."""

DISCOVERED_SECONDS = 300.0
"""Seconds for which the provider's metadata are used before they are fetched again."""

PROVIDER_SECONDS = 10.0
"""Seconds that the provider may take to answer with its metadata or with a token."""

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""Accepted signature algorithms: neither "none" nor any that uses the client secret."""

SCOPE, JSON = "openid email", "application/json"

ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

# Browsers omit the session cookie after a redirect from another site: our own page redirects.
DONE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed in</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><p><a href="/">Continue</a></p></body></html>'
)


def check_installed(settings: Settings) -> None:
    """Raise an error that says what to install, if OpenID Connect is set up but not installed."""
    if settings.oidc_issuer:
        require("oidc", "signing in with OIDC", "joserfc")


def role_of(email: str, viewers: Sequence[str], admins: Sequence[str]) -> Role | None:
    """Return the role of an e-mail address by lists of addresses and domains; None if not listed.

    >>> role_of("Ann@shop.example", ["@shop.example"], ["bob@shop.example"])
    'viewer'
    >>> role_of("ann@shop.example.evil", ["@shop.example"], []) is None
    True
    >>> role_of("eve@evil(@shop.example", ["@shop.example"], []) is None
    True
    """
    if not MAILBOX.fullmatch(email):
        # Letters beyond ASCII can look or fold like those of another mailbox, and programs disagree
        # on which domain `eve@evil(@shop` or `x@evil@shop` has.
        return None
    address = email.lower()
    names = (address, f"@{address.partition('@')[2]}")
    if any(entry.lower() in names for entry in admins):
        return "admin"
    return "viewer" if any(entry.lower() in names for entry in viewers) else None


async def begin(request: Request) -> Response:
    """Redirect the browser to the provider."""
    settings = _settings(request)
    about = await _discovered(request)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest())
    asked = {
        "response_type": "code",
        "client_id": settings.oidc_client,
        "redirect_uri": _redirect_url(settings, request),
        "scope": SCOPE,
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge.rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    endpoint = about["authorization_endpoint"]
    url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"
    answer = RedirectResponse(url, 303)
    secure = request.url.scheme == "https"
    # Kept in a cookie: if each sign-in added a row to the store, anybody could fill the store.
    kept = f"{state}.{nonce}.{verifier}"
    answer.set_cookie(
        STATE_COOKIE, kept, int(SECONDS), path=PATH, httponly=True, samesite="lax", secure=secure
    )
    return answer


async def finish(request: Request) -> Response:
    """Open a session for the person that the provider names, if the settings allow it."""
    settings, parameters = _settings(request), request.query_params
    state, _, secrets_kept = request.cookies.get(STATE_COOKIE, "").partition(".")
    nonce, _, verifier = secrets_kept.partition(".")
    # A sign-in must end in the browser in which it began.
    if not state or not secrets.compare_digest(
        state.encode(), parameters.get("state", "").encode()
    ):
        raise Problem(401, "this sign-in was started in another browser: sign in again")
    if not nonce or not verifier or "code" not in parameters:
        raise Problem(401, "this sign-in was refused, or took too long: sign in again")
    claims = await _claims(request, settings, parameters["code"], nonce, verifier)
    email = str(claims.get("email", ""))
    role = role_of(email, settings.oidc_viewers, settings.oidc_admins)
    if role is None or claims.get("email_verified") is not True:
        raise Problem(
            403, "the provider named an address that is not verified, or may not sign in here"
        )
    caller = json.dumps({"name": f"{email} (single sign-on)", "role": role})
    calls, store = request.app.state.calls, request.app.state.store
    session = await calls.short(
        keys.open_session, store, None, time.time(), settings.session_hours, caller
    )
    answer = HTMLResponse(DONE)
    access.remember(answer, request, session)
    answer.delete_cookie(STATE_COOKIE, path=PATH)
    return answer


async def _claims(
    request: Request, settings: Settings, code: str, nonce: str, verifier: str
) -> dict[str, Any]:
    """Exchange a code for a token, check its signature and contents, and return its claims."""
    from joserfc import jwt
    from joserfc.jwk import KeySet

    about = await _discovered(request)
    asked = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _redirect_url(settings, request),
        "client_id": settings.oidc_client,
        "code_verifier": verifier,
    }
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            client: httpx.AsyncClient = request.app.state.outgoing.client
            endpoint = about["token_endpoint"]
            answer = await client.post(
                endpoint, data=asked, auth=_credentials(settings), headers={"Accept": JSON}
            )
            token = answer.raise_for_status().json()
            keys = (await client.get(about["jwks_uri"])).raise_for_status().json()
        decoded = jwt.decode(token["id_token"], KeySet.import_key_set(keys), ALGORITHMS)
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": about["issuer"]},
            aud={"essential": True, "value": settings.oidc_client},
            nonce={"essential": True, "value": nonce},
            exp={"essential": True},
            sub={"essential": True},
        ).validate(decoded.claims)
        claims = dict(decoded.claims)
        _check_party(claims, settings.oidc_client)
    except Exception as problem:
        # Three libraries are called, which raise any error if data have an unexpected shape.
        raise Problem(
            401, f"the provider's answer is not valid ({type(problem).__name__})"
        ) from None
    return claims


def _check_party(claims: dict[str, Any], client: str) -> None:
    """Raise unless a token was issued to this client; its audience may name others as well.

    >>> _check_party({"aud": "bascule", "azp": "bascule"}, "bascule")
    """
    audience = claims["aud"]
    is_shared = not isinstance(audience, str) and len(audience) > 1
    if claims.get("azp", None if is_shared else client) != client:
        raise ValueError("azp")


def provider(settings: Settings, outgoing: Outgoing | None) -> SharedRead[dict[str, Any]]:
    """Return a shared read of the provider's metadata (OpenID Connect Discovery)."""
    return SharedRead(lambda: _discover(settings, outgoing), {})


async def _discovered(request: Request) -> dict[str, Any]:
    """Return the provider's metadata, which are fetched at most once in five minutes."""
    shared: SharedRead[dict[str, Any]] = request.app.state.oidc_provider
    return await shared.newer_than(time.monotonic() - DISCOVERED_SECONDS)


async def _discover(settings: Settings, outgoing: Outgoing | None) -> dict[str, Any]:
    """Fetch the provider's metadata."""
    assert outgoing is not None
    url = f"{settings.oidc_issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            answer = await outgoing.client.get(url)
            about: dict[str, Any] = dict(answer.raise_for_status().json())
    except Exception:
        # For example an unusable proxy, an unknown host name, or an answer that is not JSON.
        raise Problem(503, "the identity provider does not answer: sign in with a key") from None
    if not all(isinstance(about.get(name), str) for name in ENDPOINTS):
        raise Problem(503, "the identity provider's description lacks an endpoint")
    if str(about.get("issuer", "")).rstrip("/") != settings.oidc_issuer.rstrip("/"):
        raise Problem(503, "the identity provider names another issuer: check the settings")
    return about


def _credentials(settings: Settings) -> httpx.Auth:
    """Return HTTP Basic authentication as in RFC 6749; none for a client without a secret."""
    if not settings.oidc_secret:
        return httpx.Auth()
    name, secret = (quote(text, safe="") for text in (settings.oidc_client, settings.oidc_secret))
    return httpx.BasicAuth(name, secret)


def _redirect_url(settings: Settings, request: Request) -> str:
    """Return the URL to which the provider sends the browser back.

    The header Host, which the sender of the request chooses, is used only without the setting `url`
    and if it names this machine.
    """
    return f"{settings.url.rstrip('/') or _local_url(request)}{PATH}/callback"


def _local_url(request: Request) -> str:
    """Return the service's URL as the browser names it; raise unless it is on this machine."""
    if not is_loopback(request.url.hostname or ""):
        raise Problem(421, "sign in at 127.0.0.1 or localhost, or start the service with --url")
    return f"{request.url.scheme}://{request.url.netloc}"


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    if not settings.oidc_issuer:
        raise Problem(404, "not found")
    return settings
