"""Which shape a refusal has: OFREP's own there, a page for browsers, problem details elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from bascule.service.api.ofrep import failure
from bascule.service.server.problems import Problem

API = ("/v1", "/ofrep", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static")

Page = Callable[[Any, Problem], Response]


def refusal(
    scope: Scope, problem: Problem, request: Any = None, page: Page | None = None
) -> Response:
    """The answer to a request that is refused."""
    path = scope["path"]
    if path.startswith("/ofrep/"):
        return failure(path, problem)
    if request is not None and wants_page(scope):
        if problem.status == 401 and scope["method"] == "GET":
            return RedirectResponse("/sign-in", 303)
        if page is not None:
            return page(request, problem)
    return problem.response()


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for something to show.

    >>> wants_page({"path": "/", "headers": [(b"accept", b"text/html,*/*")]})
    True
    """
    if scope["path"].startswith(API):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
