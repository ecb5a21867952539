"""Request bodies: JSON of limited size and depth, checked against a model."""

from __future__ import annotations

import json
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from bascule.core.errors import InputError
from bascule.core.inputs.serialization import readable
from bascule.service.api.schemas.requests import MalformedError, whole
from bascule.service.responses import Problem, header
from bascule.service.settings import Settings

JSON = "application/json"

Body = TypeVar("Body", bound=BaseModel)


async def read_json(request: Request) -> object:
    """The data of a body; refused unless its content type is JSON.

    How many bytes there may be is checked by the middleware, and how slow by the server's protocol.
    """
    given = header(request.scope, b"content-type") or ""
    if given != JSON and given.partition(";")[0].strip().lower() != JSON:
        raise Problem(415, f"send Content-Type: {JSON}", code="PARSE_ERROR")
    settings: Settings = request.app.state.settings
    return parse(await request.body(), settings.deepest_json)


async def read(request: Request, model: type[Body]) -> Body:
    """The JSON body as a model."""
    return take(model, await read_json(request))


def take(model: type[Body], data: object) -> Body:
    """Plain data as a model, or one line about what does not fit.

    A body that has another shape is 400; one of the right shape whose values make no sense, 422.
    """
    try:
        return checked(model, data)
    except ValidationError as problem:
        cause = problem.errors(include_url=False)[0].get("ctx", {}).get("error")
        error = readable(problem, "request")
        is_malformed = not isinstance(cause, InputError) or isinstance(cause, MalformedError)
        raise Problem(400 if is_malformed else 422, str(error), field=error.field) from None


def checked(model: type[Body], data: object) -> Body:
    """Plain data as a model; raises `ValidationError`."""
    if model.model_config.get("strict"):
        return model.model_validate(data)
    # As JSON: there a date is text and a number is a number, and nothing else.
    return model.model_validate_json(json.dumps(whole(data)), strict=True)


def parse(body: bytes, deepest: int) -> object:
    """JSON as plain data; refused if it is nested deeper than anyone needs.

    >>> parse(b'{"unit": "user-42"}', 3)
    {'unit': 'user-42'}
    """
    try:
        data: object = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Problem(400, "the body is not valid JSON", code="PARSE_ERROR") from None
    if body.count(b"[") + body.count(b"{") > deepest and is_deeper(data, deepest):
        message = f"the JSON is nested deeper than {deepest} levels"
        raise Problem(400, message, code="PARSE_ERROR")
    return data


def is_deeper(data: object, levels: int) -> bool:
    """Whether plain data are nested deeper than a number of levels.

    >>> is_deeper({"a": [1]}, 1), is_deeper({"a": [1]}, 2)
    (True, False)
    """
    nested = [data] if isinstance(data, (dict, list)) else []
    for _ in range(levels):
        parts = (part.values() if isinstance(part, dict) else part for part in nested)
        nested = [one for some in parts for one in some if isinstance(one, (dict, list))]
    return bool(nested)
