"""Responses of the service: JSON, and refusals in the shape that each caller expects.

A refusal is problem details (`application/problem+json`), OFREP's own shape below `/ofrep`, or a
page for browsers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from bascule.core.errors import ClockError, InputError, Kind
from bascule.live.api import NAME
from bascule.service.telemetry import log

MEDIA_TYPE = "application/problem+json"

STATUS: dict[Kind, int] = {"invalid": 422, "not_found": 404, "conflict": 409, "forbidden": 403}
"""The HTTP status for each kind of error; the only place where it is chosen."""

RETRY_SECONDS = 2
"""Seconds in the header `Retry-After` when the store or the service cannot answer at present."""

API = ("/v1", "/ofrep", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static")

OFREP_PATH = "/ofrep/v1/evaluate/flags"
OFREP_CODES = {400: "PARSE_ERROR", 404: "FLAG_NOT_FOUND"}

ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(data: Any) -> bytes:
    """Encode plain data as ASCII JSON, since text from a caller may not be valid Unicode.

    >>> encode({"arm": "green"})
    b'{"arm":"green"}'
    """
    return ENCODER.encode(data).encode("ascii")


class DataResponse(Response):
    """A JSON response made in few steps, since most responses of the service are of this kind.

    >>> DataResponse({"arm": "green"}).body
    b'{"arm":"green"}'
    """

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str = "application/json",
    ) -> None:
        self.status_code = status_code
        self.background = None
        self.body = encode(content)
        kind = (b"content-type", media_type.encode("latin-1"))
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), kind]
        for name, value in (headers or {}).items():
            self.raw_headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))


class Problem(Exception):  # noqa: N818
    """A refusal of a request: its HTTP status, one line of detail, and the field at fault."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field
        self.code = code
        """OFREP's error code; chosen by the status if None."""
        self.headers = dict(headers or {})

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase

    def to_dict(self) -> dict[str, Any]:
        """Return the problem details that are the body of the response.

        >>> Problem(404, "there is no experiment 'x'").to_dict()["title"]
        'Not Found'
        """
        data = {"type": "about:blank", "title": self.title, "status": self.status}
        data["detail"] = self.detail
        return data if self.field is None else {**data, "field": self.field}

    def response(self) -> Response:
        """The response, as problem details."""
        return DataResponse(self.to_dict(), self.status, self.headers, MEDIA_TYPE)


Page = Callable[[Any, Problem], Response]


def problem_of(error: Exception) -> Problem:
    """Translate an error of the library into a refusal, and log errors of the store.

    >>> problem_of(InputError("state", "the test is over", kind="conflict")).status
    409
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, InputError):
        return Problem(STATUS[error.kind], str(error), field=error.field)
    if isinstance(error, ClockError):
        log("clock is wrong", level="error", detail=str(error))
        return unavailable(str(error))
    # The message names the database: it is logged and not shown to callers.
    log("store failed", level="error", detail=str(error))
    return unavailable(
        "the store did not answer, and may have kept a part of this request: repeat it "
        "(an outcome with an id counts once)"
    )


def unavailable(detail: str) -> Problem:
    """Return the refusal of a request that the service cannot answer at present.

    >>> unavailable("the service is about to stop").headers
    {'Retry-After': '2'}
    """
    return Problem(503, detail, headers={"Retry-After": str(RETRY_SECONDS)})


def refusal(
    scope: Scope, problem: Problem, request: Any = None, page: Page | None = None
) -> Response:
    """Return the response to a refused request, in the format that its path and caller expect."""
    path = scope["path"]
    if path.startswith("/ofrep/"):
        return ofrep_failure(path, problem)
    # Callers over a rate limit get no page: rendering one takes longer than the request.
    if request is not None and wants_page(scope) and problem.status != 429:
        if problem.status == 401 and scope["method"] == "GET":
            return RedirectResponse("/sign-in", 303)
        if page is not None:
            return page(request, problem)
    return problem.response()


def ofrep_failure(path: str, problem: Problem) -> Response:
    """Return a refusal in the format of OFREP."""
    if problem.status >= 500:
        return DataResponse({"errorDetails": problem.detail}, problem.status, problem.headers)
    code = problem.code or OFREP_CODES.get(problem.status, "GENERAL")
    data = {"errorCode": code, "errorDetails": problem.detail}
    key = path.removeprefix(OFREP_PATH).strip("/")
    if NAME.fullmatch(key):
        data = {"key": key, **data}
    return DataResponse(data, problem.status, problem.headers)


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of the first header with a name; None if there is none.

    >>> header({"headers": [(b"accept", b"text/html")]}, b"accept")
    'text/html'
    """
    value_of_header = next((value for key, value in scope["headers"] if key == name), None)
    return None if value_of_header is None else value_of_header.decode("latin-1")


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for a page.

    >>> wants_page({"path": "/", "headers": [(b"accept", b"text/html,*/*")]})
    True
    """
    if scope["path"].startswith(API):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
