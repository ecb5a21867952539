"""An experiment for requests that are refused."""

from __future__ import annotations

import pytest
from tests.service.running import DESIGN, Service

import bascule as bs


@pytest.fixture(scope="module")
def experiment(service: Service) -> str:
    """An experiment that nobody gets to change."""
    service.store.create("experiment", bs.Design.from_dict(DESIGN))
    return "experiment"
