"""Plans, computed in a process beside the service, since they take seconds of a processor."""

from __future__ import annotations

import asyncio
import base64
import pickle  # nosec B403: it reads only what our own process has written
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from bascule.core.errors import InputError
from bascule.service.api.bodies import read
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.access import viewer
from bascule.service.server.responses import Answer, Problem

if TYPE_CHECKING:
    from bascule.planning.result import Plan
    from bascule.planning.rollout import Rollout

SECONDS, FIRST_SECONDS = 30.0, 180.0
"""How long a plan may take, and the first one, for which much may have to be compiled."""

LONGEST_LINE = 2**24

JSON = {"application/json": "object"}

router = APIRouter(prefix="/v1", tags=["planning"])


class Planner:
    """One process that plans, one plan at a time; one that takes too long is ended."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def plan(self, asked: models.NewPlan) -> Plan:
        """The plan for a request, as `bascule.plan` makes it."""
        made: Plan = await self.make(asked)
        return made

    async def rollout(self, asked: models.RolloutRequest) -> Rollout:
        """The plan of a rollout, as `bascule.plan_rollout` makes it."""
        made: Rollout = await self.make(asked)
        return made

    async def make(self, asked: models.Model) -> Any:
        """The plan for a request of any kind."""
        async with self._lock:
            seconds = FIRST_SECONDS if self._process is None else SECONDS
            try:
                async with asyncio.timeout(seconds):
                    line = await self._ask(asked.model_dump_json().encode() + b"\n")
            except TimeoutError:
                await self.close()
                raise Problem(
                    422,
                    f"planning took longer than {seconds:g} s: ask for a larger lift, or for fewer "
                    "metrics",
                ) from None
            except BaseException:
                # The next one to ask must not get this answer.
                await self.close()
                raise
            if not line:
                await self.close()
                raise Problem(422, "planning failed: ask for less extreme numbers")
        # The line comes through a pipe from a process that this one started.
        made = pickle.loads(base64.b64decode(line))  # nosec B301
        if isinstance(made, InputError):
            raise made
        return made

    async def close(self) -> None:
        """End the process, whatever it does at the time."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            # Both pipes come to their end with the process, and are closed then.
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            await self._process.stdout.read()
            await self._process.wait()
            self._process = None

    async def _ask(self, line: bytes) -> bytes:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bascule.service.server.planner_process",
                stdin=PIPE,
                stdout=PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        with suppress(ConnectionError):
            requests.write(line)
            await requests.drain()
        return await replies.readline()


PLAN = ("The plan, as `bascule plan --json` prints it.", JSON)
SEGMENTS = ("The plan, as `bascule plan --by NAME --json` prints it.", JSON)
ROLLOUT = ("The plan, as `bascule plan --rollout --json` prints it.", JSON)


@router.post("/plan", **described(422, sent=models.NewPlan, experiment=False, ok=PLAN))
async def plan(request: Request) -> Response:
    """Choose a design for a request, with its expected duration and cost."""
    return await _answer(request, models.NewPlan)


@router.post(
    "/plan/segments", **described(422, sent=models.SegmentsRequest, experiment=False, ok=SEGMENTS)
)
async def plan_segments(request: Request) -> Response:
    """Choose a design for all segments of a test, with the expected duration of each."""
    return await _answer(request, models.SegmentsRequest)


@router.post(
    "/plan/rollout", **described(422, sent=models.RolloutRequest, experiment=False, ok=ROLLOUT)
)
async def plan_rollout(request: Request) -> Response:
    """Plan a guarded rollout: its design, who gets in, and how often it is rolled out or back."""
    return await _answer(request, models.RolloutRequest)


async def _answer(request: Request, model: type[models.Model]) -> Response:
    await viewer(request)
    made = await request.app.state.planner.make(await read(request, model))
    return Answer(made.to_dict())
