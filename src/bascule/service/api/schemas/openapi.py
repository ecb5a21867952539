"""The OpenAPI description: what the routes state, and what their types cannot."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.responses import MEDIA_TYPE

REFS = "#/components/schemas/"
PARTS: dict[str, type[BaseModel]] = {
    model.__name__: model
    for model in (
        models.NewOutcome,
        answers.ProblemDetails,
        answers.EvaluationFailure,
        answers.ServerFailure,
    )
}
"""Models that the description names; bodies of routes are added where routes are declared."""

WORDS = {
    400: "The body is not what was asked for.",
    401: "The API key is missing, invalid or revoked.",
    403: "The key has another role, or is limited to other experiments.",
    404: "There is no such experiment.",
    408: "The body took too long.",
    409: "The test is in a state, or has a name, in which this cannot be.",
    413: "The body, or the batch, is too large.",
    415: "The body is not JSON.",
    422: "The values do not make sense together.",
    431: "The head of the request is too large.",
    429: "Too many requests: wait as long as Retry-After says.",
    500: "An error of the service; it is in its log.",
    503: "The store did not answer: wait as long as Retry-After says.",
}

RETRY = {"Retry-After": {"description": "Whole seconds", "schema": {"type": "integer"}}}

NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The experiment.",
    "schema": models.NAME_SCHEMA,
}

OPEN_PATHS = ("/healthz", "/readyz")


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """The responses of a request that is refused: the usual ones, and more."""
    return {status: _refusal(status) for status in sorted({401, 403, 429, 431, 500, 503, *more})}


def body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """Describe a JSON body that the endpoint reads itself."""
    PARTS[model.__name__] = model
    content = {"application/json": {"schema": {"$ref": REFS + model.__name__}}}
    return {"requestBody": {"required": required, "content": content}}


def described(
    *more: int,
    sent: type[BaseModel] | None = None,
    required: bool = True,
    experiment: bool = True,
    ok: tuple[str, dict[str, str]] | None = None,
) -> dict[str, Any]:
    """Describe a route: its refusals, the body that is sent, and the experiment in its path.

    `more` are refusals beside the usual ones, and beside 404 of an experiment. `ok` has the words
    for a success without a model, and its content types with the JSON type of each.
    """
    extra: dict[str, Any] = {"parameters": [NAME]} if experiment else {}
    if sent is not None:
        extra |= body(sent, required=required)
    responses = refusals(*((404, *more) if experiment else more))
    if ok is not None:
        content = {kind: {"schema": {"type": data}} for kind, data in ok[1].items()}
        responses[200] = {"description": ok[0], "content": content}
    return {"responses": responses, "openapi_extra": extra}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description of an application; made once."""
    if app.openapi_schema:
        return app.openapi_schema
    data = get_openapi(
        title="bascule",
        version=app.version,
        summary="Adaptive A/B tests that balance their cost against the time to a proven decision.",
        routes=app.routes,
    )
    _, sent = models_json_schema(
        [(model, "validation") for model in PARTS.values()], ref_template=REFS + "{model}"
    )
    parts = data.setdefault("components", {}).setdefault("schemas", {})
    parts.update(sent["$defs"])
    for unused in ("HTTPValidationError", "ValidationError"):
        parts.pop(unused, None)
    _say_more(parts)
    data["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    for path, operations in data["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None) if not _meant(operation) else None
            if "requestBody" in operation:
                for status in (400, 408, 413, 415):
                    operation["responses"].setdefault(str(status), _refusal(status))
            if path not in OPEN_PATHS:
                operation["security"] = [{"bearer": []}, {"key": []}]
    app.openapi_schema = data
    return data


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": f"{REFS}ProblemDetails"}
    response: dict[str, Any] = {
        "description": WORDS[status],
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
    return {**response, "headers": RETRY} if status in (429, 503) else response


def _meant(operation: dict[str, Any]) -> bool:
    """Whether a 422 is the service's own and not one that the framework adds."""
    content = operation["responses"].get("422", {}).get("content", {})
    return MEDIA_TYPE in content


def _say_more(parts: dict[str, Any]) -> None:
    """Add limits that are checked but not part of the types."""
    for part in parts.values():
        # Docstrings end with an example in Python, which nobody needs here.
        if "description" in part:
            part["description"] = part["description"].partition("\n\n>>>")[0]
        kind = part.get("properties", {}).get("kind")
        if kind is not None and "const" in kind:
            part["required"] = sorted({*part.get("required", ()), "kind"})
    arms = parts["Design"]["properties"]["arms"]
    arms.update(minItems=2, maxItems=1000, uniqueItems=True)
    arms["items"].update(pattern=r"\S")
    parts["UCB"]["properties"]["alpha"] = {
        "anyOf": [{"type": "number", "exclusiveMinimum": 1}, {"const": "Infinity"}],
        "default": 2.0,
    }
