"""Sign-in with OpenID Connect beside keys: the code flow with PKCE, state and nonce.

Whom the provider names is let in only if the settings list the address, or its domain, as a viewer
or an admin; the provider has to say that the address is verified.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from bascule.core.errors import InputError
from bascule.service.auth import access, sessions
from bascule.service.auth.keys import Role
from bascule.service.server.responses import Problem
from bascule.service.server.settings import Settings

PATH = "/sign-in/oidc"
STATE_COOKIE = "bascule_oidc"
SECONDS = 600.0
"""How long signing in at the provider may take."""

DISCOVERED_SECONDS = 300.0
"""How long the provider's description of itself is used."""

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""Signatures that are accepted; never "none", nor one that a client secret would make."""

# The cookie of a session is not sent along when another site leads here, so the last step is ours.
DONE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed in</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><p><a href="/">Continue</a></p></body></html>'
)


def check_installed(settings: Settings) -> None:
    """Raise an error that says what to install where OpenID Connect is set and cannot be used."""
    if settings.oidc_issuer:
        try:
            import authlib  # noqa: F401
            import joserfc  # noqa: F401
        except ModuleNotFoundError as missing:
            raise InputError(
                "oidc", f"signing in with OIDC needs {missing.name}: pip install 'bascule[oidc]'"
            ) from None


def role_of(email: str, viewers: Sequence[str], admins: Sequence[str]) -> Role | None:
    """Return the role of an address by the lists of addresses and domains; None if it has none.

    >>> role_of("Ann@shop.example", ["@shop.example"], ["bob@shop.example"])
    'viewer'
    >>> role_of("ann@shop.example.evil", ["@shop.example"], []) is None
    True
    """
    # Beyond ASCII, letters that look or fold alike are other mailboxes.
    address = email.lower() if email.isascii() else ""
    names = (address, f"@{address.rpartition('@')[2]}") if "@" in address else ()
    if any(entry.lower() in names for entry in admins):
        return "admin"
    return "viewer" if any(entry.lower() in names for entry in viewers) else None


async def begin(request: Request) -> Response:
    """Send the browser to the provider."""
    from authlib.common.security import generate_token

    settings = _settings(request)
    about = await _discovered(request, settings)
    state, nonce, verifier = (generate_token(43) for _ in range(3))
    client = _client(settings, request)
    url, _ = client.create_authorization_url(
        about["authorization_endpoint"], state=state, nonce=nonce, code_verifier=verifier
    )
    answer = RedirectResponse(url, 303)
    secure = request.url.scheme == "https"
    # The browser keeps them: a store that wrote a row for whoever comes by could be filled.
    kept = f"{state}.{nonce}.{verifier}"
    answer.set_cookie(
        STATE_COOKIE, kept, int(SECONDS), path=PATH, httponly=True, samesite="lax", secure=secure
    )
    return answer


async def finish(request: Request) -> Response:
    """Open a session for whom the provider names, if the settings let them in."""
    settings, given = _settings(request), request.query_params
    state, _, secrets_kept = request.cookies.get(STATE_COOKIE, "").partition(".")
    nonce, _, verifier = secrets_kept.partition(".")
    # The browser that comes back must be the one that was sent.
    if not state or not secrets.compare_digest(state.encode(), given.get("state", "").encode()):
        raise Problem(401, "this sign-in was begun elsewhere: sign in again")
    if not nonce or not verifier or "code" not in given:
        raise Problem(401, "this sign-in was refused, or took too long: sign in again")
    claims = await _claims(request, settings, given["code"], nonce, verifier)
    email = str(claims.get("email", ""))
    role = role_of(email, settings.oidc_viewers, settings.oidc_admins)
    if role is None or claims.get("email_verified") is not True:
        raise Problem(403, "the provider named an address that may not sign in here")
    caller = json.dumps({"name": email, "role": role})
    calls, store = request.app.state.calls, request.app.state.store
    session = await calls.short(
        sessions.open_session, store, None, time.time(), settings.session_hours, caller
    )
    answer = HTMLResponse(DONE)
    access.remember(answer, request, session)
    answer.delete_cookie(STATE_COOKIE, path=PATH)
    return answer


async def _claims(
    request: Request, settings: Settings, code: str, nonce: str, verifier: str
) -> dict[str, Any]:
    """Exchange a code for the claims of a token whose signature and contents are right."""
    import httpx
    from authlib.common.errors import AuthlibBaseError
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    about = await _discovered(request, settings)
    try:
        async with _client(settings, request) as client:
            token = await client.fetch_token(
                about["token_endpoint"], code=code, code_verifier=verifier
            )
            keys = (await client.request("GET", about["jwks_uri"], withhold_token=True)).json()
        decoded = jwt.decode(token["id_token"], KeySet.import_key_set(keys), ALGORITHMS)
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": about["issuer"]},
            aud={"essential": True, "value": settings.oidc_client},
            nonce={"essential": True, "value": nonce},
            exp={"essential": True},
            sub={"essential": True},
        ).validate(decoded.claims)
    except (AuthlibBaseError, JoseError, httpx.HTTPError, KeyError, ValueError) as problem:
        raise Problem(
            401, f"the provider's answer is not valid ({type(problem).__name__})"
        ) from None
    return dict(decoded.claims)


async def _discovered(request: Request, settings: Settings) -> dict[str, Any]:
    """Return the provider's description of itself, asked for once in five minutes."""
    import httpx

    known: tuple[float, dict[str, Any]] | None = getattr(request.app.state, "oidc_provider", None)
    if known is not None and time.monotonic() < known[0] + DISCOVERED_SECONDS:
        return known[1]
    url = f"{settings.oidc_issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        async with httpx.AsyncClient(timeout=10.0) as client:
            about: dict[str, Any] = dict((await client.get(url)).raise_for_status().json())
    except (httpx.HTTPError, TypeError, ValueError):
        raise Problem(503, "the identity provider does not answer: sign in with a key") from None
    if str(about.get("issuer", "")).rstrip("/") != settings.oidc_issuer.rstrip("/"):
        raise Problem(503, "the identity provider names another issuer: check the settings")
    request.app.state.oidc_provider = (time.monotonic(), about)
    return about


def _client(settings: Settings, request: Request) -> Any:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

    return AsyncOAuth2Client(
        settings.oidc_client,
        settings.oidc_secret,
        scope="openid email",
        redirect_uri=f"{request.url.scheme}://{request.url.netloc}{PATH}/callback",
        code_challenge_method="S256",
        timeout=10.0,
    )


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    if not settings.oidc_issuer:
        raise Problem(404, "not found")
    return settings
