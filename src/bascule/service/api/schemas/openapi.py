"""The OpenAPI description of the service, with limits that the types of routes do not express."""

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
"""Models in the description; those of request bodies are added where routes are declared."""

NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The experiment.",
    "schema": models.NAME_SCHEMA,
}

OPEN_PATHS = ("/healthz", "/readyz")


def refused(kind: str, *models: type[BaseModel]) -> dict[str, Any]:
    """Describe the response to a refused request, for any status."""
    schema = {"anyOf": [{"$ref": REFS + model.__name__} for model in models]}
    retry = {"description": "With 429 and 503: whole seconds", "schema": {"type": "integer"}}
    return {
        "description": "The request is refused: the status and the body say why.",
        "content": {kind: {"schema": schema}},
        "headers": {"Retry-After": retry},
    }


REFUSED = refused(MEDIA_TYPE, answers.ProblemDetails)
FAILED = refused("application/json", answers.EvaluationFailure, answers.ServerFailure)


def body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """Describe a JSON body that the endpoint reads itself."""
    PARTS[model.__name__] = model
    content = {"application/json": {"schema": {"$ref": REFS + model.__name__}}}
    return {"requestBody": {"required": required, "content": content}}


def described(
    sent: type[BaseModel] | None = None,
    *,
    required: bool = True,
    experiment: bool = True,
    ok: tuple[str, dict[str, str]] | None = None,
) -> dict[str, Any]:
    """Describe a route for OpenAPI: the body that it takes, and the experiment in its path.

    `ok` describes a success that has no model: its words, and its content types with the JSON type
    of each.
    """
    extra: dict[str, Any] = {"parameters": [NAME]} if experiment else {}
    if sent is not None:
        extra |= body(sent, required=required)
    if ok is None:
        return {"openapi_extra": extra}
    content = {kind: {"schema": {"type": data}} for kind, data in ok[1].items()}
    return {"openapi_extra": extra, "responses": {200: {"description": ok[0], "content": content}}}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description of an application, which is made once."""
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
            # FastAPI's own description of validation errors is replaced.
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = FAILED if path.startswith("/ofrep/") else REFUSED
            if path not in OPEN_PATHS:
                operation["security"] = [{"bearer": []}, {"key": []}]
    app.openapi_schema = data
    return data


def _say_more(parts: dict[str, Any]) -> None:
    """Add limits that are checked but not part of the types, and cut examples for Python."""
    for part in parts.values():
        # Examples at the end of docstrings are for Python, not for callers of the API.
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
