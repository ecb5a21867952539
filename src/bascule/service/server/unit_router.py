"""The calls that programs make for every unit, routed in front of the framework.

A plain Starlette router has these few routes, and passes all other requests on. The framework would
take longer on the way to an endpoint than most assignments do. The routes are those that `units`
and `ofrep` declare, where the description of the API finds them too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from bascule.service.api import ofrep, units
from bascule.service.reading.shared import UnitRequests

Endpoint = Callable[[Request], Awaitable[Response]]


class UnitRouter:
    """ASGI middleware that answers the calls of units and passes on all others."""

    def __init__(self, app: ASGIApp, unit_requests: UnitRequests) -> None:
        self._app = app
        self._unit_requests = unit_requests
        declared = [*units.calls.routes, *ofrep.router.routes]
        routes = [
            Route(one.path, self._counted(one.endpoint), methods=["POST"])
            for one in declared
            if isinstance(one, APIRoute)
        ]
        self._router = Router(routes, redirect_slashes=False, default=app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call of a unit, or pass the request on."""
        is_call = scope["type"] == "http" and scope["method"] == "POST"
        await (self._router if is_call else self._app)(scope, receive, send)

    def _counted(self, endpoint: Endpoint) -> Endpoint:
        async def counted(request: Request) -> Response:
            self._unit_requests.active += 1
            try:
                return await endpoint(request)
            finally:
                self._unit_requests.active -= 1

        return counted
