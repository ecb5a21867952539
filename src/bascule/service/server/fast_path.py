"""The shortest way to the endpoints that are called for every unit.

They are routes like all others, and described as such. On the way to them, though, the framework
takes longer than the work itself does; here the same functions are called without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bascule.core.errors import InputError, StoreError
from bascule.service.api import ofrep, units
from bascule.service.server.error_responses import refusal
from bascule.service.server.logs import log
from bascule.service.server.problems import Problem, problem_of

Endpoint = Callable[[Request, str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Way:
    """A path with one name in it: what stands before and after, and where it leads."""

    before: str
    after: str
    endpoint: Endpoint
    path: str


WAYS = (
    Way("/v1/experiments/", "/assign", units.assign, "/v1/experiments/{name}/assign"),
    Way("/v1/experiments/", "/outcomes", units.record, "/v1/experiments/{name}/outcomes"),
    Way(f"{ofrep.PATH}/", "", ofrep.evaluate, f"{ofrep.PATH}/{{key}}"),
)


class Shortcut:
    """ASGI middleware that goes to some endpoints at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what goes the short way, and pass on everything else."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            for way in WAYS:
                if path.startswith(way.before) and path.endswith(way.after):
                    name = path[len(way.before) : len(path) - len(way.after)]
                    if name and "/" not in name:
                        scope["route"] = way
                        answer = await _answer(way, Request(scope, receive), name)
                        await answer(scope, receive, send)
                        return
        await self._app(scope, receive, send)


async def _answer(way: Way, request: Request, name: str) -> Response:
    try:
        return await way.endpoint(request, name)
    except Problem as problem:
        return refusal(request.scope, problem)
    except InputError as error:
        return refusal(request.scope, problem_of(error))
    except StoreError as error:
        log("store failed", level="error", detail=str(error))
        return refusal(request.scope, problem_of(error))
