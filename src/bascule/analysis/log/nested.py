"""Fields of nested columns: structs, maps, JSON text, and lists of keys with values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from bascule.analysis.log.naming import plain, quoted
from bascule.analysis.log.sample import ColumnSample
from bascule.analysis.source.places import run

MOST_ENTRIES = 200
"""Maximum number of first entries of a column that are searched for fields."""

Fields = dict[str, str]
"""The SQL term that reads each field, by a name that no column of the table has."""


def fields_of(sample: ColumnSample) -> dict[str, Fields]:
    """Return the fields of each nested column of a table."""
    known = {plain(name) for name in sample.table.columns}
    nested: dict[str, Fields] = {}
    for column in sample.table.columns:
        terms = _terms(sample.table, column) if column in sample.nested else {}
        names = {key: f"{column}_{key}" if plain(key) in known else key for key in terms}
        if terms:
            nested[column] = {names[key]: term for key, term in terms.items()}
            known |= {plain(name) for name in names.values()}
    return nested


def query_of(nested: dict[str, Fields], used: Collection[str] | None = None) -> str:
    """Return the query that adds fields to the columns of a log: those that are `used`, or all."""
    terms = [
        f"{term} AS {quoted(name)}"
        for fields in nested.values()
        for name, term in fields.items()
        if used is None or name in used
    ]
    return f"SELECT {', '.join(['*', *terms])} FROM log"  # nosec B608 - over the user's own log


def _terms(table: Any, column: str) -> Fields:
    """Return the SQL terms of the fields of one column; empty if it is not nested."""
    kind, name = table[column].type(), quoted(column)
    if kind.is_struct():
        return {field: f"{name}.{quoted(field)}" for field in kind.names}
    pairs = kind.is_array() and kind.value_type.is_struct()
    pairs = pairs and {"key", "value"} <= set(kind.value_type.names)
    if not (kind.is_string() or kind.is_json() or kind.is_map() or pairs):
        return {}
    rows = table.filter(table[column].notnull()).select(entry=column).limit(MOST_ENTRIES)
    entries = [row["entry"] for row in run(rows)]
    if pairs:
        value = kind.value_type["value"]
        kinds = value.names if value.is_struct() else ()
        parts = [f"x.value.{quoted(part)}::VARCHAR" for part in kinds] or ["x.value"]
        term = f"coalesce({', '.join(parts)})"
        keys = dict.fromkeys(pair["key"] for entry in entries for pair in entry)
        return {key: f"[{term} FOR x IN {name} IF x.key = {_text(key)}][1]" for key in keys}
    if kind.is_map():
        keys = dict.fromkeys(str(key) for entry in entries for key in entry)
        return {key: f"{name}[{_text(key)}]" for key in keys}
    keys = dict.fromkeys(key for entry in entries for key in _parsed(entry))
    paths = {key: '$."' + key.replace('"', '\\"') + '"' for key in keys}
    return {key: f"json_extract_string({name}, {_text(path)})" for key, path in paths.items()}


def _text(value: str) -> str:
    """Return text as written in SQL."""
    return "'" + value.replace("'", "''") + "'"


def _parsed(entry: Any) -> dict[str, Any]:
    """Parse a text as a JSON object; empty if it is not one."""
    if not str(entry).lstrip().startswith("{"):
        return {}
    try:
        parsed = json.loads(entry)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
