"""When the first event that makes the outcome of a unit 1 was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.live.storage.statements import fetch, fetch_listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_OF_LISTED = (
    "SELECT number, min(received) FROM LISTED outcomes WHERE experiment = ? AND number IS_LISTED "
    "AND metric IS NULL AND outcomes.value <> 0 GROUP BY number"
)
_BETWEEN = (
    "SELECT number, min(received) FROM outcomes WHERE experiment = ? AND number BETWEEN ? AND ? "
    "AND metric IS NULL AND value <> 0 GROUP BY number"
)


def first_events(
    connection: Connection, experiment: int, numbers: Sequence[int]
) -> dict[int, float]:
    """Return when each of the units had its first event, if it had one."""
    return dict(map(tuple, fetch_listed(connection, _OF_LISTED, experiment, numbers)))


def first_events_between(
    connection: Connection, experiment: int, first: int, last: int
) -> dict[int, float]:
    """Return when units from one number to another had their first events."""
    return dict(map(tuple, fetch(connection, _BETWEEN, experiment, first, last)))
