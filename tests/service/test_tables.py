"""The migrations make the tables that the service declares."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Table, create_engine, inspect

import bascule as bs
from bascule.service.auth.keys import keys
from bascule.service.auth.sessions import sessions
from bascule.service.notifications.webhooks import deliveries, webhooks

TABLES: tuple[Table, ...] = (keys, sessions, webhooks, deliveries)


def test_the_migrations_make_the_tables_of_the_service(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated.db", tmp_path / "declared.db"
    bs.open(migrated).close()
    engine = create_engine(f"sqlite:///{declared}")
    for table in TABLES:
        table.create(engine)

    def shape(path: Path) -> dict[str, object]:
        found = inspect(create_engine(f"sqlite:///{path}"))
        return {
            table.name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table.name)],
                found.get_pk_constraint(table.name)["constrained_columns"],
            )
            for table in TABLES
        }

    assert shape(migrated) == shape(declared)
