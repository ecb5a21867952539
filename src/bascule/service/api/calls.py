"""Helpers of the endpoints: read limited bodies, look up experiments, and call the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar, overload

from fastapi import Depends, Request, Response
from pydantic import ValidationError
from pydantic_core import from_json

from bascule.core.errors import InputError
from bascule.core.inputs.serialization import readable_part
from bascule.live.api import acting_as
from bascule.live.api.reads import Summary
from bascule.service.api.schemas.requests import MalformedError, Model, whole
from bascule.service.auth.access import admin, viewer
from bascule.service.auth.keys import Caller
from bascule.service.reading.shared import SharedRenders
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import DataResponse, Problem, header
from bascule.service.settings import LARGE

JSON = "application/json"

MOST_ENTRIES, MOST_FIELDS_EACH = 3000, 20
"""Maximum number of entries of a JSON body, and the number by which each item of a long list raises
this maximum, besides the item itself."""

MOST_COMMAS = {False: 20_000, True: 150_000}
"""Maximum number of commas of a JSON body: for models without, and with, a long list."""

Body = TypeVar("Body", bound=Model)
Made = TypeVar("Made")


@overload
async def read(request: Request, model: type[Body]) -> Body: ...


@overload
async def read(request: Request, model: type[Body], make: Callable[[object], Made]) -> Made: ...


async def read(
    request: Request, model: type[Body], make: Callable[[object], Any] | None = None
) -> Any:
    """Parse a JSON body, and validate it as a model or convert the plain data by `make`.

    A request of another content type is refused. A large body is parsed and validated in a thread.
    The middleware limits the number of bytes, and the server's protocol the time in which they have
    to arrive.
    """
    kind = header(request.scope, b"content-type") or ""
    if kind != JSON and kind.partition(";")[0].strip().lower() != JSON:
        raise Problem(415, f"send Content-Type: {JSON}", code="PARSE_ERROR")
    body, deepest = await request.body(), request.app.state.settings.deepest_json
    make = partial(take, model) if make is None else make
    parsed = partial(parse, body, deepest, model.long_lists, make)
    return parsed() if len(body) <= LARGE else await calls_of(request).compute(parsed)


def take(model: type[Body], data: object) -> Body:
    """Validate plain data as a model, or raise a `Problem` that names the first invalid field.

    The status is 400 for a body of the wrong shape, and 422 for a body of the right shape with
    unusable values.
    """
    try:
        return checked(model, data)
    except ValidationError as problem:
        # Getting the first error builds all of them, but the number of entries is limited.
        first = problem.errors(include_url=False)[0]
        cause, error = first.get("ctx", {}).get("error"), readable_part(first, "request")
        is_malformed = not isinstance(cause, InputError) or isinstance(cause, MalformedError)
        raise Problem(400 if is_malformed else 422, str(error), field=error.field) from None


def checked(model: type[Body], data: object) -> Body:
    """Validate plain data as a model; raises `ValidationError`."""
    if model.model_config.get("strict"):
        return model.model_validate(data)
    # Validated as JSON text, strictly: dates must be text, and numbers must be numbers.
    return model.model_validate_json(json.dumps(whole(data)), strict=True)


def parse(
    body: bytes, deepest: int, long_lists: Sequence[str], make: Callable[[object], Made]
) -> Made:
    """Parse JSON and convert it by `make`; refuse too many entries or levels of nesting.

    >>> parse(b'{"unit": "user-42"}', 3, (), dict)
    {'unit': 'user-42'}
    """
    most_commas = MOST_COMMAS[bool(long_lists)]
    if body.count(b",") > most_commas:
        # Commas are counted first: parsing many blocks the event loop, even from a thread.
        raise Problem(413, f"the body has more than {most_commas:,} commas: send less")
    try:
        data: object = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Problem(
            400, "the body is not valid JSON: send an object, as {...}", code="PARSE_ERROR"
        ) from None
    limit = MOST_ENTRIES
    for name in long_lists:
        part = data.get(name) if isinstance(data, dict) else None
        limit += (1 + MOST_FIELDS_EACH) * len(part) if isinstance(part, list) else 0
    check_shape(data, limit, deepest)
    return make(data)


def check_shape(data: object, most: int, deepest: int) -> None:
    """Raise if plain data have more than `most` entries, or more than `deepest` levels.

    Entries are those of all lists and objects together. The entries of a level are counted before
    they are visited, so that at most `most` are visited, however large the body is.

    >>> check_shape({"a": [1, 2]}, most=3, deepest=2)
    """
    entries, nested = 0, [data] if isinstance(data, (dict, list)) else []
    for _ in range(deepest):
        entries += sum(map(len, nested))
        if entries > most:
            raise Problem(413, f"the body has more than {most:,} entries: send fewer")
        parts = (part.values() if isinstance(part, dict) else part for part in nested)
        nested = [one for part in parts for one in part if isinstance(one, (dict, list))]
        if not nested:
            return
    if nested:
        message = f"the JSON is nested deeper than {deepest} levels"
        raise Problem(400, message, code="PARSE_ERROR")


Result = TypeVar("Result")

Viewer = Annotated[Caller, Depends(viewer)]
Admin = Annotated[Caller, Depends(admin)]


async def find(request: Request, name: str) -> Summary:
    """Find an experiment by its name."""
    entry: Summary = await request.app.state.directory.find(name)
    return entry


async def answer_long(
    request: Request,
    function: Callable[..., Any],
    *arguments: Any,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with the result of a call that may read a whole log, made in a thread.

    The answer is encoded in the thread of the call: on the event loop, a long answer would hold up
    all others.
    """

    def write() -> Response:
        return DataResponse(function(*arguments), status, headers)

    # A slow call is logged under this name.
    write.__qualname__ = getattr(function, "__qualname__", write.__qualname__)
    return await calls_of(request).long(write)


def renders_of(request: Request) -> SharedRenders:
    """Return the cache of rendered pages and answers that callers share."""
    renders: SharedRenders = request.app.state.renders
    return renders


async def change(
    request: Request, caller: Caller, function: Callable[..., Result], *arguments: Any, **named: Any
) -> Result:
    """Call a function that changes the store, with the caller as the actor in the audit log."""
    with acting_as(caller.name):
        try:
            return await calls_of(request).short(function, *arguments, **named)
        except InputError as problem:
            if caller.is_limited and problem.field in ("holdout", "layer"):
                # The original message names another test, which this caller may not know of.
                words = f"another test has this {problem.field} with other units: give another"
                raise InputError(problem.field, words, kind=problem.kind) from None
            raise
        finally:
            request.app.state.directory.forget()
            renders_of(request).forget()
