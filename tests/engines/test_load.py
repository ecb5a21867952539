"""A service under load of every kind for a minute, on both databases, with one worker and two."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.service.callers import prepare
from tests.service.load import endure
from tests.service.running import Program

pytestmark = pytest.mark.engine

SECONDS = float(os.environ.get("BASCULE_LOAD_SECONDS", "60"))

LARGEST_GROWTH = 1.5
"""Memory at the end of the load, relative to that after a third of it."""


@pytest.mark.parametrize(
    ("database", "workers"), [("sqlite", 1), ("postgresql", 1), ("postgresql", 2)]
)
def test_a_service_holds_under_load_for_a_minute(
    tmp_path: Path,
    new_database: Callable[[], str],
    programs: list[Program],
    capsys: pytest.CaptureFixture[str],
    database: str,
    workers: int,
) -> None:
    location = str(tmp_path / "shop.db") if database == "sqlite" else new_database()
    keys = prepare(location)
    programs.append(Program(location, "--workers", str(workers)))
    found = endure(programs[-1], location, keys, SECONDS)
    with capsys.disabled():
        print(f"\n{database}, {workers} worker(s): {found}")
    assert found.health < 1.0
    assert found.end < 10.0
    assert found.grown < LARGEST_GROWTH
