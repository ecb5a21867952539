from __future__ import annotations

from pathlib import Path

import pytest

from bascule.research.paper import Regenerated, iid, regenerate, units
from bascule.research.paper.measure import Measurements, measure

RUNS = 100
UNIT_RUNS = 320


@pytest.fixture(scope="session")
def measurements() -> Measurements:
    return measure(iid.points(), RUNS, seed=3)


@pytest.fixture(scope="session")
def unit_measurements() -> Measurements:
    return measure(units.points(), UNIT_RUNS, seed=3)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper") / "deep" / "out"


@pytest.fixture(scope="session")
def reports() -> list[tuple[str, int, int]]:
    """What the regeneration reported of its progress."""
    return []


@pytest.fixture(scope="session")
def regenerated(folder: Path, reports: list[tuple[str, int, int]]) -> Regenerated:
    return regenerate(folder, RUNS, 3, progress=lambda *report: reports.append(report))
