"""One service for the tests of a file, and callers of it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.service.running import DESIGN, Program, Service


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One service for the tests of a file, each of which makes experiments of its own."""
    running = Service()
    yield running
    running.close()


@pytest.fixture
def admin(service: Service) -> Iterator[httpx.Client]:
    with service.caller("admin") as caller:
        yield caller


@pytest.fixture
def name(request: pytest.FixtureRequest, admin: httpx.Client) -> str:
    """A running experiment of the test's own."""
    made = "".join(c if c.isalnum() else "-" for c in request.node.name)[:90]
    answer = admin.post("/v1/experiments", json={"name": made, "design": DESIGN})
    assert answer.status_code == 201, answer.text
    return made


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    started: list[Program] = []
    yield started
    for program in started:
        program.close()
