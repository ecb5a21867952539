"""Request bodies: JSON of limited size and depth, and of a known type."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from bascule.core.errors import InputError
from bascule.core.inputs.serialization import readable
from bascule.service.server.responses import Problem, header
from bascule.service.server.settings import Settings

LARGEST_WHOLE = 2.0**53


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


# Made once: to make one takes longer than to read a small body with it.
DECODER = json.JSONDecoder(parse_constant=_no_constant)

Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, media_type: str = "application/json") -> bytes:
    """The bytes of a body; refused unless its content type is JSON.

    How many they may be is checked by the middleware, and how slow by the server's protocol.
    """
    given = header(request.scope, b"content-type") or ""
    if given != media_type and given.partition(";")[0].strip().lower() != media_type:
        raise Problem(415, f"send Content-Type: {media_type}", code="PARSE_ERROR")
    return await request.body()


async def read_json(request: Request) -> object:
    """The data of a JSON body."""
    settings: Settings = request.app.state.settings
    return parse(await read_body(request), settings.deepest_json)


async def read_model(request: Request, model: type[Body]) -> Body:
    """The JSON body as a model."""
    return take(model, await read_json(request))


def take(model: type[Body], data: object) -> Body:
    """Plain data as a model, or one line about what does not fit.

    A body that has another shape is 400; one of the right shape whose values make no sense, 422.
    """
    try:
        # As JSON: there a date is text and a number is a number, and nothing else.
        return model.model_validate_json(json.dumps(whole(data)), strict=True)
    except ValidationError as problem:
        own = problem.errors(include_url=False)[0].get("ctx", {}).get("error")
        error = readable(problem, "request")
        status = 422 if isinstance(own, InputError) else 400
        raise Problem(status, str(error), field=error.field) from None


def whole(data: Any) -> Any:
    """Replace whole floats by integers, 3.0 by 3: in JSON they are one number.

    >>> whole({"seed": 988.0, "error": 0.05})
    {'seed': 988, 'error': 0.05}
    """
    if isinstance(data, dict):
        return {key: whole(part) for key, part in data.items()}
    if isinstance(data, list):
        return [whole(part) for part in data]
    is_whole = isinstance(data, float) and data.is_integer() and abs(data) < LARGEST_WHOLE
    return int(data) if is_whole else data


def parse(body: bytes, deepest: int) -> object:
    """JSON as plain data; refused if it is nested deeper than anyone needs.

    >>> parse(b'{"unit": "user-42"}', 3)
    {'unit': 'user-42'}
    """
    try:
        data: object = DECODER.decode(body.decode())
    except RecursionError:
        raise _too_deep(deepest) from None
    except ValueError:
        raise Problem(400, "the body is not valid JSON", code="PARSE_ERROR") from None
    if body.count(b"[") + body.count(b"{") > deepest and is_deeper(data, deepest):
        raise _too_deep(deepest)
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


def _too_deep(deepest: int) -> Problem:
    return Problem(400, f"the JSON is nested deeper than {deepest} levels", code="PARSE_ERROR")
