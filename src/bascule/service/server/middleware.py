"""Middleware around every request: limits on its size, security headers, metrics and logs.

Behind it, `UnitRouter` answers the calls about units.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fastapi.routing import APIRoute
from starlette.datastructures import State
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bascule.core.errors import InputError, StoreError
from bascule.service.api import ofrep, units
from bascule.service.auth.access import COOKIE, VALID_KEY, given_key, session_of
from bascule.service.auth.rate_limits import Buckets, source
from bascule.service.reading.turns import UnitRequests
from bascule.service.responses import OFREP_PATH, Problem, problem_of, refusal, unavailable
from bascule.service.settings import LARGE, MOST_FIELDS
from bascule.service.telemetry import LOGGER, Metrics, log

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Content security policy: pages load and run only what the service itself serves."""

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With no-referrer, browsers would also hide the origin of the page's own forms.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", CSP.encode()),
]
NOT_KEPT = (b"cache-control", b"no-store")

OF_UNITS, OF_FLAGS = ("/assign", "/outcomes"), f"{OFREP_PATH}/"
"""Ends and beginning of the paths of requests about a unit, which go first if they are small."""

PROBES = ("/healthz", "/readyz")
"""Paths that are answered at once, so that the time to the answer shows how busy the event loop is.
"""

QUIET = ("/healthz", "/readyz", "/metrics", "/ofrep", "/static")
REFUSED = (401, 403, 413, 429)
CLOSED = "the handler is closed"

LARGEST_SIGN_IN, LONGEST_QUERY = 10_000, 8_000
"""Maximum number of bytes that a browser without a session may send: as the sign-in form, and as
the query string of a page."""

STRANGERS_RATE, STRANGERS_BURST = 20.0, 200.0
"""Pages that an address may request without a session: per second, and at once."""

PROGRAMS = ("/v1", "/ofrep", "/healthz", "/readyz", "/metrics", "/static")
"""Prefixes of paths without a limit for callers without a session, whom it is quick to refuse."""


class RequestMiddleware:
    """Pure ASGI middleware around every request, for speed."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app = app
        self._state = state
        self._metrics: Metrics = state.metrics
        self._largest: int = state.settings.largest_body
        self._unit_requests: UnitRequests = state.unit_requests
        self._strangers = Buckets(STRANGERS_RATE, STRANGERS_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, and its answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._goes_first(scope):
            self._unit_requests.active += 1
            try:
                await self._answer(scope, receive, send, goes_first=True)
            finally:
                self._unit_requests.active -= 1
        else:
            await self._answer(scope, receive, send, goes_first=scope["path"] in PROBES)

    def _goes_first(self, scope: Scope) -> bool:
        """Whether a small request about a unit has a valid key; the key is stored in the scope."""
        path = scope["path"]
        is_of_unit = path.endswith(OF_UNITS) or path.startswith(OF_FLAGS)
        if scope["method"] != "POST" or not is_of_unit or not 0 <= _length(scope) <= LARGE:
            return False
        key = given_key(scope)
        scope[VALID_KEY] = None if key is None else self._state.keys.fresh(key)
        return scope[VALID_KEY] is not None

    def _in_turns(self, receive: Receive) -> Receive:
        """Return `receive` with a wait for a turn before each part of the body."""
        is_whole = False

        async def received() -> Message:
            nonlocal is_whole
            if not is_whole:
                await self._unit_requests.wait_for_turn()
            message = await receive()
            is_whole = not message.get("more_body", False)
            return message

        return received

    async def _answer(self, scope: Scope, receive: Receive, send: Send, goes_first: bool) -> None:
        since = time.perf_counter()
        status: int | None = None
        method = scope["method"]
        if method == "HEAD":
            # HEAD is answered like GET; the server leaves out the body.
            scope = {**scope, "method": "GET"}

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                headers.extend(HEADERS)
                if not scope["path"].startswith("/static/"):
                    headers.append(NOT_KEPT)
            try:
                await send(message)
            except RuntimeError as error:
                # uvloop raises this when the client hangs up while an answer is being written.
                if CLOSED not in str(error):
                    raise
                raise ClientDisconnect from error

        try:
            length = _length(scope)
            if not goes_first:
                await self._unit_requests.wait_for_turn()
                if not 0 <= length <= LARGE:
                    receive = self._in_turns(receive)
            if not scope["path"].startswith(PROGRAMS):
                await self._check_stranger(scope)
            largest = LARGEST_SIGN_IN if scope["path"] == "/sign-in" else self._largest
            if scope.get("query_string", b"").count(b"&") >= MOST_FIELDS:
                problem = Problem(400, f"the query has too many fields: send at most {MOST_FIELDS}")
                await refusal(scope, problem)(scope, receive, answer)
            elif length > largest:
                await refusal(scope, _too_large(largest))(scope, receive, answer)
            elif length < 0:
                await self._app(scope, _counted(receive, largest), answer)
            else:
                await self._app(scope, receive, answer)
        except ClientDisconnect:
            # Nobody is left to answer.
            status = status or 408
        except asyncio.CancelledError:
            # When the server ends, it cancels requests that are not answered in time.
            if status is None:
                leaving = unavailable("the service is about to stop: repeat the request")
                await refusal(scope, leaving)(scope, receive, answer)
        except (Problem, InputError, StoreError) as error:
            # Errors from calls about units and from code outside the framework's handlers.
            if status is None:
                await refusal(scope, problem_of(error))(scope, receive, answer)
        except Exception:
            LOGGER.exception("failed", extra={"fields": {"path": scope["path"]}})
            if status is not None:
                raise
            # Details of the error are logged and not sent to the caller.
            failed = Problem(500, "internal error: it was logged")
            await refusal(scope, failed)(scope, receive, answer)
        finally:
            self._tell(scope, method, status or 500, time.perf_counter() - since)

    async def _check_stranger(self, scope: Scope) -> None:
        """Limit requests for pages without a session: the length of the query, and their rate.

        A session is looked up only if its token was not used lately and the limit is reached.
        """
        token = Request(scope).cookies.get(COOKIE)
        if token in self._state.recent_tokens:
            return
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            raise Problem(414, f"the query is too long: send at most {LONGEST_QUERY:,} bytes")
        client = scope.get("client")
        try:
            self._strangers.take(source(client[0]) if client else "")
        except Problem:
            if token is None or await session_of(self._state, token) is None:
                raise

    def _tell(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route: Any = scope.get("route")
        path = getattr(route, "path", "other")
        answers, times = self._metrics.of_answers(method, path, status)
        answers.inc()
        times.observe(seconds)
        if status >= 500 and path != "/readyz":
            self._metrics.errors.inc()
        changes = method not in ("GET", "HEAD", "OPTIONS") and not path.endswith(
            ("/assign", "/outcomes")
        )
        if status >= 500 or status in REFUSED or (changes and not path.startswith(QUIET)):
            client = scope.get("client")
            log(
                "request",
                level="error" if status >= 500 else "info",
                method=method,
                path=scope["path"],
                status=status,
                seconds=round(seconds, 6),
                address=client[0] if client else None,
            )


class UnitRouter:
    """ASGI middleware that answers the calls about units and passes on all other requests.

    Programs make these calls for every unit; `units` and `ofrep` declare them. A plain Starlette
    router passes them to their endpoints, since FastAPI would take longer for that than most
    assignments take.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        declared = [*units.calls.routes, *ofrep.router.routes]
        routes = [
            Route(route.path, route.endpoint, methods=["POST"])
            for route in declared
            if isinstance(route, APIRoute)
        ]
        self._router = Router(routes, redirect_slashes=False, default=app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call about a unit, or pass the request on."""
        is_call = scope["type"] == "http" and scope["method"] == "POST"
        await (self._router if is_call else self._app)(scope, receive, send)


def _length(scope: Scope) -> int:
    """Return the length of the body by the headers: 0 without a body, -1 if it is not stated."""
    length = 0
    for name, value in scope["headers"]:
        if name == b"content-length":
            # The server has checked that the value consists of digits.
            return int(value)
        if name == b"transfer-encoding":
            length = -1
    return length


def _counted(receive: Receive, largest: int) -> Receive:
    """Return `receive` with a limit on the size of a body whose length is not stated."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > largest:
            raise _too_large(largest)
        return message

    return counted


def _too_large(largest: int) -> Problem:
    return Problem(
        413, f"the body is larger than {largest:,} bytes", headers={"Connection": "close"}
    )
