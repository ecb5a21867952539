"""What a refused request is answered: problem details, as `application/problem+json`."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse

from bascule.core.errors import InputError, StoreError
from bascule.live.steps.assignment import FullError

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818
    """A request that is refused: the status, one line about it, and the field it is about."""

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
        """What OFREP calls it; by the status if None."""
        self.headers = dict(headers or {})

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase

    def to_dict(self) -> dict[str, Any]:
        """The body.

        >>> Problem(404, "there is no experiment 'x'").to_dict()["title"]
        'Not Found'
        """
        data = {"type": "about:blank", "title": self.title, "status": self.status}
        data["detail"] = self.detail
        return data if self.field is None else {**data, "field": self.field}

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse(self.to_dict(), self.status, self.headers, media_type=MEDIA_TYPE)


def problem_of(error: InputError | StoreError) -> Problem:
    """What went wrong in the store, as an answer.

    >>> problem_of(InputError("state", "the test is over")).status
    409
    """
    if isinstance(error, StoreError):
        # The line names where the store is: that is for the log, not for callers.
        return Problem(503, "the store did not answer: nothing of this request was kept, repeat it")
    if isinstance(error, FullError):
        return Problem(409, str(error), field=error.field)
    status = {"experiment": 404, "state": 409, "name": 409}.get(error.field, 422)
    return Problem(status, str(error), field=error.field)
