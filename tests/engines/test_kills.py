"""What a service has answered survives a kill; `python -m bench.live_kills` kills more often."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.service.callers import check_answers, prepare
from tests.service.kills import kill

pytestmark = pytest.mark.engine

KILLS = 3


@pytest.mark.parametrize(("database", "workers"), [("sqlite", 1), ("postgresql", 2)])
def test_what_a_service_answered_survives_a_kill(
    tmp_path: Path, new_database: Callable[[], str], database: str, workers: int
) -> None:
    location = str(tmp_path / "shop.db") if database == "sqlite" else new_database()
    heard = kill(location, prepare(location)["client"], KILLS, workers, seed=1)
    assert min(len(heard.arms), len(heard.recorded)) >= 8 * KILLS
    check_answers(location, heard)
