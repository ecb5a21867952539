"""The service as an ASGI application: `make_app(store, settings)`.

`app.state` has the `store`, the `settings`, the `calls` of the store (`StoreCalls`), the `keys` (a
`Keyring`), the `directory` of experiments, the `renders` that viewers share, the `planner`, the
`metrics` and the rate limits.

The page is in `bascule.service.page`, whose folder `static` is served at `/static`. Calls of the
store wait for the disk: in endpoints they go through `app.state.calls`, and changes through
`calls.change`, so that the audit log names the caller.
`await app.state.planner.make(caller.name, do, ...)` calls a function in the planner's process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from bascule import __version__
from bascule.core.errors import InputError, StoreError
from bascule.core.inputs.serialization import readable_part
from bascule.live.api import Store
from bascule.service import page
from bascule.service.api import experiments, logs, ofrep, plans, units
from bascule.service.api import health as operation
from bascule.service.api.schemas.openapi import describe
from bascule.service.auth import oidc
from bascule.service.auth.keys import Keyring, write_probe
from bascule.service.auth.rate_limits import MOST_CALLERS, Buckets
from bascule.service.outgoing import Outgoing
from bascule.service.page.creation.form import Creations
from bascule.service.planner import Planner
from bascule.service.reading.shared import ExperimentCache, SharedRenders
from bascule.service.reading.store_calls import SharedRead, StoreCalls
from bascule.service.reading.turns import Recent, Turns, UnitRequests
from bascule.service.responses import Problem, encode, problem_of, refusal
from bascule.service.server import background
from bascule.service.server.middleware import RequestMiddleware, UnitRouter
from bascule.service.server.tuning import tuned
from bascule.service.settings import Settings
from bascule.service.telemetry import Metrics

MOST_LINKS, MOST_LINKS_OF_ONE = 1000, 100
"""Maximum number of calls of `link` at once: by all callers, and by one."""

FROM_BROWSERS = ["Content-Type", "X-API-Key", "Authorization", "If-None-Match"]


def make_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Make the ASGI application that serves a store.

    >>> import bascule as bs
    >>> app = make_app(bs.open(":memory:"))
    >>> app.title
    'bascule'
    """
    settings = settings or Settings()
    app = FastAPI(
        title="bascule",
        version=__version__,
        docs_url=None,
        # FastAPI's own route would encode the description again for every request.
        openapi_url=None,
        redoc_url=None,
        # Redirects from paths with a trailing slash would break clients that follow no redirects.
        redirect_slashes=False,
        lifespan=_lifespan,
        # The service counts and logs its requests itself, without the names of units.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.store = store
    app.state.settings = settings
    app.state.calls = StoreCalls()
    app.state.keys = Keyring(store, app.state.calls)
    app.state.directory = ExperimentCache(store, app.state.calls)
    app.state.unit_requests = UnitRequests()
    app.state.renders = SharedRenders(app.state.calls, app.state.unit_requests)
    app.state.probe = SharedRead(
        lambda: app.state.calls.short(write_probe, store, time.time()), None
    )
    app.state.outgoing = Outgoing() if settings.oidc_issuer or settings.webhooks else None
    app.state.oidc_provider = oidc.provider(settings, app.state.outgoing)
    app.state.planner = Planner()
    app.state.links = Turns(MOST_LINKS, MOST_LINKS_OF_ONE, "links")
    app.state.creations = Creations()
    app.state.metrics = Metrics()
    app.state.guesses = Buckets(settings.guesses / 60, settings.guesses)
    app.state.rates = Buckets(settings.rate, settings.rate)
    # Tokens of sessions that were valid at their last use: they only exempt from rate limits.
    app.state.recent_tokens = Recent(MOST_CALLERS)
    app.state.unknown_sessions = asyncio.Lock()
    app.state.description = SharedRead(
        lambda: app.state.calls.compute(lambda: encode(app.openapi())), b""
    )
    app.state.is_leaving = False
    # Becomes True if the service has a process of its own.
    app.state.has_process = False
    app.state.at_end = None
    app.state.routers = [
        units.calls,
        *[part.router for part in (operation, units, ofrep, experiments, logs, plans)],
    ]
    for router in app.state.routers:
        app.include_router(router)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    _answer_problems(app)
    app.state.routers.append(page.router)
    app.include_router(page.router, include_in_schema=False)
    app.mount("/static", StaticFiles(packages=[("bascule.service.page", "static")]), name="static")
    app.add_middleware(UnitRouter)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=FROM_BROWSERS,
            expose_headers=["ETag", "Retry-After"],
        )
    app.add_middleware(RequestMiddleware, state=app.state)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    with tuned() if app.state.has_process else nullcontext():
        tasks = background.start(app)
        try:
            yield
        finally:
            app.state.is_leaving = True
            await background.stop(tasks)
            await app.state.planner.close()
            await app.state.calls.close()
            if app.state.outgoing is not None:
                await app.state.outgoing.close()
    if app.state.at_end is not None:
        app.state.at_end()


def _answer_problems(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        return refusal(request.scope, _problem(app, request, error), request, page.problem_page)

    for kind in (Problem, InputError, StoreError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refused)


def _problem(app: FastAPI, request: Request, error: Exception) -> Problem:
    """Translate an error of the framework or of the library into a refusal."""
    if isinstance(error, RequestValidationError):
        wrong = readable_part(error.errors()[0], "request")
        return Problem(400, str(wrong), field=wrong.field)
    if not isinstance(error, HTTPException):
        return problem_of(error)
    headers = dict(error.headers or {})
    detail = str(error.detail)
    if error.status_code == 404:
        detail = _no_such_path(request.method, request.url.path)
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(app, request.url.path) or ["GET"])
        detail = f"method not allowed: use {headers['Allow']}"
    return Problem(error.status_code, detail, headers=headers)


def _no_such_path(method: str, path: str) -> str:
    """Return the refusal of a call or a page that does not exist, with a hint where to look."""
    start, words = "/v1/experiments/", f"there is no call {method} {path:.200}"
    if method == "GET" and not path.startswith(("/v1", "/ofrep")):
        return f"there is no page {path:.200}: the list of tests is at /"
    if not path.startswith(start):
        return f"{words}: GET /openapi.json lists all calls"
    changes = ", ".join(experiments.CHANGES)
    return (
        f"{words}: use assign and outcomes for units, or change the test with {changes} (start "
        "also resumes after a pause); GET /openapi.json lists all calls"
    )


def _methods(app: FastAPI, path: str) -> list[str]:
    """Return all methods of a path, since the framework names those of one route only."""
    methods: set[str] = set()
    for router in app.state.routers:
        for route in router.routes:
            if isinstance(route, Route) and route.path_regex.match(path):
                methods |= route.methods or set()
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
