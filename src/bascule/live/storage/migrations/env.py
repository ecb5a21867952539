"""Alembic's entry: run the migrations on the connection that `upgrade` hands over."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Run the migrations inside the caller's transaction."""
    given = context.config.attributes
    context.configure(
        connection=given["connection"],
        version_table=given["version_table"],
        transactional_ddl=False,
    )
    context.run_migrations()


# Alembic runs this file under a name of its own; imported as a module it does nothing.
if not __name__.startswith("bascule."):
    run()
