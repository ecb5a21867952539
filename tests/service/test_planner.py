"""The planner's process: it answers, and leaves nothing open when it is closed."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
import warnings
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from bascule.service import planner
from bascule.service.api.schemas.requests import NewPlan
from bascule.service.planner import Planner
from bascule.service.planner_process import plan_json
from bascule.service.reading.turns import Turns
from bascule.service.responses import Problem

pytestmark = pytest.mark.slow

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
        assert json.loads(await made.make("ann", plan_json, WISH))["possible"]
        await made.close()
        # One that takes too long is ended, in the middle of its work.
        monkeypatch.setattr(planner, "SECONDS", 0.05)
        monkeypatch.setattr(planner, "ALONE_SECONDS", 0.1)
        with pytest.raises(Problem, match="longer than"):
            await made.make("ann", plan_json, SLOW)
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
        asking = asyncio.ensure_future(made.make("ann", plan_json, WISH))
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


def test_who_hangs_up_does_not_end_the_process_that_others_wait_for() -> None:
    """A plan that nobody waits for is interrupted; the next begins in the same process."""

    async def use() -> tuple[float, bool]:
        made = Planner()
        try:
            await made.make("ann", plan_json, WISH)
            process = made._process
            since = time.monotonic()
            await made.make("ann", plan_json, WISH)
            alone = time.monotonic() - since
            since = time.monotonic()
            asking = asyncio.ensure_future(made.make("ann", plan_json, WISH))
            for _ in range(5):
                hanging_up = asyncio.ensure_future(made.make("eve", plan_json, SLOW))
                await asyncio.sleep(0.2)
                hanging_up.cancel()
            await asking
            # Starting a process takes longer than this.
            for _ in range(3):
                hanging_up = asyncio.ensure_future(made.make("eve", plan_json, SLOW))
                await asyncio.sleep(0.3)
                hanging_up.cancel()
                await made.make("ann", plan_json, WISH)
            return time.monotonic() - since - 3 * alone, made._process is process
        finally:
            await made.close()

    seconds, is_same = asyncio.run(use())
    assert is_same
    assert seconds < 15


def test_turns_are_fair_by_caller() -> None:
    async def use() -> list[str]:
        turns, order = Turns(9, 9, "plans"), list[str]()

        async def have(who: str) -> None:
            async with turns.turn(who):
                order.append(who)
                await asyncio.sleep(0)

        waiting = [have(who) for who in ("eve", "eve", "eve", "eve", "ann", "bob", "eve", "ann")]
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(use()) == ["eve", "ann", "bob", "eve", "ann", "eve", "eve", "eve"]


def test_a_turn_that_nobody_takes_goes_to_the_next() -> None:
    async def use() -> list[str]:
        turns, order = Turns(9, 9, "plans"), list[str]()

        async def have(who: str) -> None:
            async with turns.turn(who):
                order.append(who)
                await asyncio.sleep(0.01)

        tasks = [asyncio.ensure_future(have(who)) for who in ("ann", "bob", "eve")]
        await asyncio.sleep(0.005)
        # One leaves while it waits, and one in the moment in which it is called.
        tasks[1].cancel()
        await asyncio.sleep(0)
        async with turns.turn("ida"):
            order.append("ida")
        return [*order, *(str(one.cancelled()) for one in tasks)]

    assert asyncio.run(use()) == ["ann", "eve", "ida", "False", "True", "False"]
