"""All experiments of a store in one query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bascule.live.storage.queries import Loaded, loaded_row
from bascule.live.storage.state import Phase
from bascule.live.storage.statements import fetch

if TYPE_CHECKING:
    from sqlalchemy import Connection

# The number of the next unit that counts is in the state, taken from there so that a damaged row
# does not fail all others.
_IN_POSTGRESQL = {
    "POSITION": "coalesce(substring(state FROM '\"folded\": *([0-9]{1,18})')::bigint, 0)",
    "KNOWN": "json_each_text(?::json)",
}
_IN_SQLITE = {
    "POSITION": "CASE WHEN json_valid(state) "
    "THEN coalesce(json_extract(state, '$.folding.folded'), 0) END",
    "KNOWN": "json_each(?)",
}
_IF_CHANGED = (
    f"CASE WHEN known.key IS NULL THEN {name} END"
    for name in ("design", "state", "statistics", "delivery")
)
# What is filled in is written here, and holds no data.
_ALL = (  # nosec B608
    "SELECT experiments.id, name, version, created, phase, {}, {}, {}, {}, (SELECT time FROM "
    "assignments WHERE experiment = experiments.id AND number >= POSITION ORDER BY number LIMIT 1) "
    "FROM experiments LEFT JOIN KNOWN AS known ON known.key = CAST(experiments.id AS text) "
    "AND CAST(known.value AS text) = CAST(version AS text) ORDER BY experiments.id"
).format(*_IF_CHANGED)


class Listed(NamedTuple):
    """The row of an experiment in a list of all.

    What is long is None where the version is a known one. `next_unit` is when the unit came that
    counts next.
    """

    id: int
    name: str
    version: int
    created: float
    phase: Phase
    design: str | None
    state: str | None
    statistics: str | None
    delivery: str | None
    next_unit: float | None

    def loaded(self) -> Loaded:
        """The experiment, where its version was not known."""
        long = (self.design, self.phase, self.state, self.statistics, self.version)
        return loaded_row((self.id, self.name, self.created, *long, self.delivery))


def list_all(connection: Connection, known: Mapping[int, int]) -> list[Listed]:
    """Return the rows of all experiments in one query; `known` has versions by their numbers."""
    asked = _ALL
    is_sqlite = connection.dialect.name == "sqlite"
    for word, meant in (_IN_SQLITE if is_sqlite else _IN_POSTGRESQL).items():
        asked = asked.replace(word, meant)
    return [Listed(*row) for row in fetch(connection, asked, json.dumps(known))]
