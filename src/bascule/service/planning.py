"""Plans made beside the service: they take seconds of a processor, and none of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from bascule.service import models
from bascule.service.access import viewer
from bascule.service.answers import Answer
from bascule.service.bodies import read_model
from bascule.service.openapi import body, refusals
from bascule.service.problems import Problem

if TYPE_CHECKING:
    from bascule.plan.answer import Plan

SECONDS = 20.0
"""How long a plan may take."""

RUNS = 400
"""Simulated tests behind a plan."""

router = APIRouter(prefix="/v1", tags=["planning"])


class Planner:
    """One process that plans, one plan at a time; one that takes too long is ended."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._pool: ProcessPoolExecutor | None = None

    async def plan(self, wish: models.Wish) -> Plan:
        """The plan for a wish, as `bascule.plan` makes it."""
        async with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, get_context("spawn"))
            made = self._pool.submit(_plan, wish.model_dump(exclude={"outcome"}), wish.outcome)
            try:
                async with asyncio.timeout(SECONDS):
                    return await asyncio.wrap_future(made)
            except TimeoutError:
                self.close()
                raise Problem(
                    422, f"planning took longer than {SECONDS:g} s: ask for a larger lift"
                ) from None
            except BrokenProcessPool:
                self.close()
                raise Problem(503, "planning was interrupted: repeat the request") from None

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@router.post(
    "/plan",
    responses={
        200: {
            "description": "The plan, as `bascule plan --json` prints it.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        **refusals(422),
    },
    openapi_extra=body(models.Wish),
)
async def plan(request: Request) -> Response:
    """From what is wished for to a design, how long it will take and what it will cost."""
    await viewer(request)
    wish = await read_model(request, models.Wish)
    made = await request.app.state.planner.plan(wish)
    return Answer(made.to_dict())


def _plan(wish: dict[str, Any], outcome: Any) -> Plan:
    import bascule as bs

    return bs.plan(outcome, runs=RUNS, threads=1, **wish)
