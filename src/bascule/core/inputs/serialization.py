"""Convert values to plain data, as in JSON, and back, with one-line messages for errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bascule.core.errors import InputError, invalid, meant, with_article

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Value = TypeVar("Value")

TYPES = ("int", "float", "str", "bool", "sequence[int]")
"""Names of types in the location of a Pydantic error, for fields that accept several types."""


def plain(value: Any) -> Any:
    """Return plain data for JSON: tuples as lists, infinity as text, and no fields that are None.

    >>> plain({"alpha": math.inf, "effect": None, "arms": ("a", "b")})
    {'alpha': 'Infinity', 'arms': ['a', 'b']}
    """
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return "Infinity" if value == math.inf else value


def finite_data(value: Any) -> Any:
    """Return plain data: dataclasses as dictionaries, and None in place of non-finite numbers.

    >>> finite_data({"days": (1.5, math.nan), "p90_days": math.inf})
    {'days': [1.5, None], 'p90_days': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {name: finite_data(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite_data(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_data(value: Any) -> dict[str, Any]:
    """Return a frozen dataclass as plain data for JSON."""
    data: dict[str, Any] = plain(asdict(value))
    return data


def read(adapter: TypeAdapter[Value], data: object, noun: str) -> Value:
    """Return the value described by plain data; `noun` names it in errors."""
    from pydantic import ValidationError

    try:
        return adapter.validate_python(data)
    except ValidationError as problem:
        raise readable(problem, noun) from None


def read_json(path: str | Path, noun: str) -> object:
    """Return the contents of a JSON file; `noun` names them in errors."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "not a text file"
        raise InputError(noun, f"cannot read the {noun} file {path}: {reason}") from None
    return parse_json(text, noun, f"the {noun} file {path}")


def parse_json(text: str, noun: str, source: str) -> object:
    """Return the contents of JSON text; `source` names it in errors.

    >>> parse_json("[1, 2]", "world", "the text")
    [1, 2]
    """
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(
            noun, f"{source} is not valid JSON (line {problem.lineno}: {problem.msg})"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(noun, f"{source} is not {with_article(noun)}") from None
    return data


def readable(problem: ValidationError, noun: str) -> InputError:
    """Return an `InputError` with one line about the first error of a Pydantic validation."""
    return readable_part(problem.errors(include_url=False)[0], noun)


SHAPES = {
    "model_type": "an object, as {...}",
    "model_attributes_type": "an object, as {...}",
    "dataclass_type": "an object, as {...}",
    "dict_type": "an object, as {...}",
    "list_type": "a list, as [...]",
    "tuple_type": "a list, as [...]",
    "string_type": "a text",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}
"""Description of valid values, by the type of Pydantic's error."""


def readable_part(first: Mapping[str, Any], noun: str) -> InputError:
    """Return an `InputError` with one line about a single error of a Pydantic validation."""
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause
    # The location also names the kind of a rule, the type for a field that accepts several types,
    # and the index in a list.
    path = [part for part in first["loc"] if isinstance(part, str) and part not in TYPES]
    field = path[-1] if path else noun
    owner = noun if len(path) < 2 else f"{noun}'s {path[0]}"
    if first["type"] == "missing":
        return InputError(field, f"{field} is missing from the {owner}")
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return InputError(
            field,
            f"{field} is not a field of {with_article(owner)}: correct its spelling, or remove it",
        )
    if first["type"] == "union_tag_not_found":
        return invalid(f"kind is missing from the {noun}'s {field}")
    if first["type"] == "union_tag_invalid":
        kinds, kind = first["ctx"]["expected_tags"], first["ctx"]["tag"]
        near = meant(kind, re.findall(r"'([^']*)'", kinds))
        return InputError(
            field, f"the kind of {field} must be one of {kinds} (got {kind!r:.60}){near}"
        )
    if first["type"] in SHAPES:
        wanted = f"{field} must be {SHAPES[first['type']]}"
    elif first["type"] == "literal_error":
        wanted = f"{field} must be {first['ctx']['expected']}"
    else:
        wanted = f"{field}: {first['msg'][0].lower()}{first['msg'][1:]}"
    return InputError(field, f"{wanted} (got {first['input']!r:.100})")
