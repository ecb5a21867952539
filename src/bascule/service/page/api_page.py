"""The page of the API: each call with its parameters, its body and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DEEPEST = 4
"""Levels of an example; deeper parts are left empty."""

LITERALS = {"number": 1.5, "integer": 1, "boolean": True, "string": "text", "null": None}
"""The value of each type in examples."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body or an answer."""

    name: str
    type: str
    required: bool
    words: str


@dataclass(frozen=True, slots=True)
class DescribedCall:
    """A call of the API as the page describes it."""

    method: str
    path: str
    words: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    sent: str
    """An example of the body as JSON; empty where there is none."""
    answer: tuple[Field, ...]
    status: str
    answered: str
    """An example of the answer as JSON; empty where it is not JSON."""

    @property
    def anchor(self) -> str:
        """The fragment of a link to this call, such as "post-v1-plan"."""
        return f"{self.method}{self.path}".lower().translate(str.maketrans("/", "-", "{}"))


def calls(description: Mapping[str, Any]) -> dict[str, list[DescribedCall]]:
    """Return the calls of an OpenAPI description, by their tag."""
    parts = description["components"]["schemas"]
    listed: dict[str, list[DescribedCall]] = {}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["operation"])[0]
            listed.setdefault(tag, []).append(_call(method, path, operation, parts))
    return listed


def _call(
    method: str, path: str, operation: Mapping[str, Any], parts: Mapping[str, Any]
) -> DescribedCall:
    parameters = tuple(
        Field(one["name"], _type(one.get("schema", {})), bool(one.get("required")),
              one.get("description", ""))
        for one in operation.get("parameters", ())
    )  # fmt: skip
    sent = _json_schema(operation.get("requestBody", {}))
    status = next(code for code in operation["responses"] if code != "default")
    answered = _json_schema(operation["responses"][status])
    return DescribedCall(
        method.upper(),
        path,
        operation.get("description", ""),
        parameters,
        tuple(_fields(sent, parts)),
        _example(sent, parts),
        tuple(_fields(answered, parts)),
        status,
        _example(answered, parts),
    )


def _json_schema(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a JSON body or answer; empty if the content is not JSON."""
    found: Mapping[str, Any] = content.get("content", {}).get("application/json", {})
    schema: Mapping[str, Any] = found.get("schema", {})
    return schema


def _resolved(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve references of a schema; of several alternatives, take the first that is not null."""
    while True:
        if "$ref" in schema:
            schema = parts[schema["$ref"].rpartition("/")[2]]
            continue
        several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if not several:
            return schema
        known = {key: schema[key] for key in ("examples", "default") if schema.get(key)}
        schema = {**next((one for one in several if one.get("type") != "null"), {}), **known}


def _fields(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[Field]:
    found = _resolved(schema, parts)
    required = found.get("required", ())
    for name, part in found.get("properties", {}).items():
        inner = _resolved(part, parts)
        words = part.get("description") or inner.get("description", "")
        yield Field(name, _type(part), name in required, words.partition("\n\n")[0])


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words.

    >>> _type({"anyOf": [{"type": "string"}, {"type": "null"}]})
    'string or null'
    >>> _type({"type": "array", "items": {"type": "number"}})
    'list of number'
    """
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(_type(one) for one in several))
    if "enum" in schema:
        return ", ".join(json.dumps(one) for one in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    kind = str(schema.get("type", "any"))
    return f"list of {_type(schema.get('items', {}))}" if kind == "array" else kind


def _example(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    if not schema:
        return ""
    return json.dumps(_value(schema, parts, DEEPEST), indent=2, ensure_ascii=False)


def _value(schema: Mapping[str, Any], parts: Mapping[str, Any], depth: int) -> Any:
    """Return an example value for a schema: its example, its default, or one of its type."""
    found = _resolved(schema, parts)
    for known in (schema, found):
        if known.get("examples"):
            return known["examples"][0]
        if known.get("default") is not None:
            return known["default"]
    if "const" in found or "enum" in found:
        return found.get("const", found.get("enum", [None])[0])
    kind = found.get("type", "object" if "properties" in found else "null")
    if kind == "array":
        return [_value(found.get("items", {}), parts, depth - 1)] if depth else []
    if kind != "object":
        return LITERALS.get(kind)
    inner = found.get("properties", {}) if depth else {}
    return {name: _value(part, parts, depth - 1) for name, part in inner.items()}
