"""Records about experiments other than their units: descriptions, history and the audit log."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from bascule.core.procedures.base import AnyStatistics
from bascule.live.storage.names import is_storable
from bascule.live.storage.state_json import DAMAGE, statistics_from_json
from bascule.live.storage.statements import execute, fetch

logger = logging.getLogger("bascule.live")

_LOG = "INSERT INTO audit (experiment, name, time, actor, action, detail) VALUES (?, ?, ?, ?, ?, ?)"
_DESCRIPTION = "SELECT description FROM descriptions WHERE experiment = ?"
_DESCRIPTIONS = "SELECT experiment, description FROM descriptions"
_AUDIT_ENTRY = "SELECT name, time, actor, action, detail FROM audit"
_ALARMS = "SELECT experiment, detail FROM audit WHERE action = 'alarm'"
_AUDIT = f"{_AUDIT_ENTRY} ORDER BY id"
_AUDIT_OF_NAME = f"{_AUDIT_ENTRY} WHERE name = ? ORDER BY id"
_AUDIT_OF_EXPERIMENT = f"{_AUDIT_ENTRY} WHERE experiment = ? ORDER BY id"
HISTORY = "SELECT folded, time, statistics FROM history WHERE experiment = ? ORDER BY folded"


def log(
    connection: Connection,
    experiment: tuple[int, str],
    time: float,
    actor: str,
    action: str,
    detail: Mapping[str, Any],
) -> None:
    """Add an entry about an experiment, given by its number and name, to the audit log."""
    execute(connection, _LOG, (*experiment, time, actor, action, json.dumps(detail)))


def description_of(connection: Connection, experiment: int) -> str:
    """Return the description of an experiment, or empty text if it has none."""
    rows = fetch(connection, _DESCRIPTION, experiment)
    return str(rows[0][0]) if rows else ""


def all_descriptions(connection: Connection) -> dict[int, str]:
    """Return the descriptions of all experiments that have one, by their numbers."""
    return {number: str(text) for number, text in fetch(connection, _DESCRIPTIONS)}


def describe(connection: Connection, experiment: int, description: str) -> None:
    """Replace the description of an experiment."""
    execute(connection, "DELETE FROM descriptions WHERE experiment = ?", (experiment,))
    values = (experiment, description)
    execute(connection, "INSERT INTO descriptions (experiment, description) VALUES (?, ?)", values)


def history_of(connection: Connection, experiment: int) -> list[tuple[int, float, AnyStatistics]]:
    """Return the points of a test's history: progress (units or stages), time, and statistics.

    A damaged point is left out and logged; `verify` lists it.
    """
    points = []
    for folded, time, statistics in fetch(connection, HISTORY, experiment):
        try:
            points.append((folded, time, statistics_from_json(statistics)))
        except DAMAGE as error:
            logger.warning(
                "experiment %s: the point of its history at progress %s cannot be read and is left "
                "out: %s",
                experiment,
                folded,
                error,
            )
    return points


def audit_entries(
    connection: Connection, *, name: str | None = None, experiment: int | None = None
) -> list[dict[str, Any]]:
    """Return the audit entries of a name, of an experiment, or all of them, oldest first.

    A name may have belonged to several experiments, one after the other.
    """
    statement: str = _AUDIT
    values: tuple[Any, ...] = ()
    if name is not None and not is_storable(name):
        return []
    if name is not None:
        statement, values = _AUDIT_OF_NAME, (name,)
    elif experiment is not None:
        statement, values = _AUDIT_OF_EXPERIMENT, (experiment,)
    return [
        {
            "experiment": its_name,
            "time": time,
            "actor": actor,
            "action": action,
            "detail": _readable(detail),
        }
        for its_name, time, actor, action, detail in fetch(connection, statement, *values)
    ]


def alarms_by_test(connection: Connection) -> dict[int, list[str]]:
    """Return the names of all alarms in the audit log, by the number of their experiment."""
    names: dict[int, list[str]] = {}
    for number, text in fetch(connection, _ALARMS):
        detail = _readable(text)
        if isinstance(detail, dict):
            names.setdefault(number, []).append(str(detail.get("name")))
    return names


def _readable(detail: str) -> Any:
    """Parse the detail of an audit entry; a damaged detail is returned as text in a dictionary."""
    try:
        return json.loads(detail)
    except DAMAGE:
        return {"unreadable": f"{detail!r:.200}"}
