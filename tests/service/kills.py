"""A service that is killed while it answers, again and again, and what it had answered before."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx
from tests.service.callers import Caller, Heard
from tests.service.running import Program, path

CALLERS = 8

AGAIN = 20
"""Units of former rounds that are asked for again in each round."""


def kill(location: object, key: str, kills: int, workers: int, seed: int) -> Heard:
    """Kill a service in the middle of a stream of assignments and outcomes; what it had answered.

    With one worker the whole service is killed, and started again for the next round; of several
    workers one is killed, and replaced by the service itself.
    """
    chance, heard = random.Random(seed), Heard()
    if workers == 1:
        for i in range(kills):
            with _running(location) as program:
                asyncio.run(_round(program, program.process.pid, key, heard, chance, i))
        return heard
    with _running(location, "--workers", str(workers)) as program:
        for i in range(kills):
            asyncio.run(_killed_worker(program, workers, key, heard, chance, i))
    return heard


@contextmanager
def _running(location: object, *options: str) -> Iterator[Program]:
    program = Program(location, *options)
    with closing(program):
        yield program


async def _killed_worker(
    program: Program, workers: int, key: str, heard: Heard, chance: random.Random, number: int
) -> None:
    while len(program.workers()) < workers:
        await asyncio.sleep(0.05)
    await _round(program, chance.choice(program.workers()), key, heard, chance, number)


async def _round(
    program: Program, process: int, key: str, heard: Heard, chance: random.Random, number: int
) -> None:
    """Let callers ask, kill a process at a random moment, and let them ask a little longer."""
    again = chance.sample(sorted(heard.arms), min(AGAIN, len(heard.arms)))
    before = len(heard.recorded)
    callers = [
        asyncio.ensure_future(_stream(program.url, key, heard, f"{number} {i}", again))
        for i in range(CALLERS)
    ]
    while len(heard.recorded) < before + CALLERS:
        await asyncio.sleep(0.01)
    await asyncio.sleep(chance.uniform(0.0, 0.5))
    os.kill(process, signal.SIGKILL)
    await asyncio.sleep(0.3)
    for one in callers:
        one.cancel()
    await asyncio.gather(*callers, return_exceptions=True)


async def _stream(url: str, key: str, heard: Heard, name: str, again: list[str]) -> None:
    """Assign unit after unit and record an outcome of each; keep what was answered."""
    caller, turn = Caller(httpx.URL(url)), 0
    headers = {"X-API-Key": key, "Content-Type": "application/json"}

    async def ask(verb: str, sent: object) -> dict[str, object] | None:
        try:
            status, _, text = await caller.ask(
                path("test", verb), json.dumps(sent).encode(), headers
            )
        except (OSError, EOFError):
            caller.close()
            await asyncio.sleep(0.02)
            return None
        heard.statuses[verb, status] += 1
        if status != 200:
            return None
        return dict(json.loads(text))

    try:
        while True:
            unit = again[turn] if turn < len(again) else f"{name} {turn}"
            arm = await ask("assign", {"unit": unit})
            if arm is not None:
                heard.arm(unit, str(arm["arm"]))
                outcome = {"unit": unit, "value": 1.0, "id": f"event of {unit}"}
                if await ask("outcomes", {"outcomes": [outcome]}) is not None:
                    heard.recorded.add(f"event of {unit}")
            turn += 1
    finally:
        caller.close()
