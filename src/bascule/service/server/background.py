"""What a service does unasked: it counts units whose time has come, looks for alarms, and tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httpx
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from bascule.core.errors import InputError, StoreError
from bascule.live.storage.state import OPEN
from bascule.service.server import webhooks
from bascule.service.server.experiment_cache import Entry
from bascule.service.server.logs import LOGGER, log
from bascule.service.server.settings import Settings

SETTLE_EVERY, LOOK_EVERY, TELL_EVERY = 2.0, 300.0, 2.0
"""Seconds between two rounds of each of them."""

Round = Callable[[FastAPI], Awaitable[None]]


def start(app: FastAPI) -> list[asyncio.Task[None]]:
    """Begin all of it; the tasks are to be cancelled in the end."""
    settings: Settings = app.state.settings
    rounds: list[tuple[Round, float]] = [(settle, SETTLE_EVERY), (look, LOOK_EVERY)]
    if settings.webhooks:
        rounds.append((tell, TELL_EVERY))
    return [asyncio.create_task(_again(app, do, every)) for do, every in rounds]


async def stop(tasks: list[asyncio.Task[None]]) -> None:
    """End all of it."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task


async def settle(app: FastAPI) -> None:
    """Count the units whose time has come, also where nobody asks: they may decide a test."""
    entries: list[Entry] = await app.state.directory.all()
    for entry in entries:
        if entry.state in OPEN:
            with suppress(InputError):
                await run_in_threadpool(entry.test.settle)


async def look(app: FastAPI) -> None:
    """Look for alarms in tests that run, or that have ended since the last look."""
    entries: list[Entry] = await app.state.directory.all()
    running = {entry.test.id for entry in entries if entry.state in OPEN}
    before = getattr(app.state, "looked_at", running)
    app.state.looked_at = running
    for entry in entries:
        if entry.test.id in running | before:
            with suppress(InputError):
                for alarm in await run_in_threadpool(entry.test.alarms):
                    log("alarm", level="warning", experiment=entry.name, message=alarm.message)


async def tell(app: FastAPI) -> None:
    """Send the webhooks that are due."""
    settings: Settings = app.state.settings
    store = app.state.store
    if not getattr(app.state, "registered", False):
        await run_in_threadpool(webhooks.register, store, settings.webhooks)
        app.state.registered = True
    due = await run_in_threadpool(webhooks.claim, store, settings.webhooks, time.time())
    if not due:
        return
    async with httpx.AsyncClient(timeout=10.0) as client:
        for sent in due:
            problem = await webhooks.send(client, sent, settings.webhook_secret, time.time())
            state = await run_in_threadpool(webhooks.settle, store, sent, problem, time.time())
            app.state.metrics.deliveries.labels(state).inc()
            level = "info" if problem is None else "warning"
            told = {"url": sent.url, "id": sent.id, "attempt": sent.attempts, "problem": problem}
            log(f"webhook {state}", level=level, **told)


async def _again(app: FastAPI, do: Round, every: float) -> None:
    while True:
        try:
            await do(app)
        except StoreError as problem:
            log("store failed", level="error", detail=str(problem))
        except Exception:
            # One round that fails must not end all that follow.
            LOGGER.exception("failed", extra={"told": {"round": do.__name__}})
        await asyncio.sleep(every)
