"""The planner's process: it answers, and leaves nothing open when it is closed."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from bascule.service import planner
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.planner import Planner
from bascule.service.responses import Problem

WISH = NewPlan.model_validate(
    {"outcome": {"kind": "gaussian", "sigma": 5}, "baseline": 20, "lift": "50%"}
)

SLOW = NewPlan.model_validate({"baseline": "10%", "lift": "0.3%"})
"""A plan that takes seconds."""


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> list[str]:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


@pytest.fixture(autouse=True)
def tracked() -> None:
    """Start the process with which Python itself follows those that are started."""
    resource_tracker.ensure_running()


def test_a_closed_planner_leaves_no_process_and_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> tuple[int, int, list[str]]:
        made = Planner()
        before = open_files()
        assert (await made.make(WISH)).possible
        await made.close()
        # One that takes too long is ended, in the middle of its work.
        monkeypatch.setattr(planner, "SECONDS", 0.05)
        monkeypatch.setattr(planner, "ALONE_SECONDS", 0.1)
        with pytest.raises(Problem, match="longer than"):
            await made.make(SLOW)
        await made.close()
        return before, open_files(), children()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = set(children())
        before, after, left = asyncio.run(use())
        gc.collect()
    assert after <= before
    assert set(left) <= known


@pytest.mark.parametrize("hung_up", [True, False])
def test_a_planner_may_be_closed_while_a_plan_is_under_way(hung_up: bool) -> None:
    async def use() -> list[object]:
        made = Planner()
        asking = asyncio.ensure_future(made.make(WISH))
        await asyncio.sleep(0.3)
        if hung_up:
            asking.cancel()
            await asyncio.sleep(0)
        closing = made.close()
        return list(await asyncio.gather(asking, closing, return_exceptions=True))

    known = set(children())
    ended, closed = asyncio.run(use())
    assert isinstance(ended, asyncio.CancelledError if hung_up else Problem)
    assert closed is None
    assert set(children()) <= known
