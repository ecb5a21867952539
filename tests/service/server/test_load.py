"""A service under load of every kind for seconds; `tests/engines` does so for longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.callers import prepare
from tests.service.load import endure
from tests.service.running import Program


@pytest.mark.slow
def test_a_service_holds_under_load(tmp_path: Path, programs: list[Program]) -> None:
    path = tmp_path / "shop.db"
    keys = prepare(path)
    programs.append(Program(path))
    found = endure(programs[-1], path, keys, 8.0)
    assert found.health < 1.0
    assert found.end < 10.0
