"""Background tasks: count mature units, look for alarms, send webhooks, erase old units.

One more task notices if the event loop is blocked: see `show_life`.
"""

from __future__ import annotations

import asyncio
import faulthandler
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from fastapi import FastAPI

from bascule.core.errors import InputError, StoreError
from bascule.live.api import OPEN, acting_as
from bascule.live.api.reads import Summary
from bascule.service.notifications import notify, webhooks
from bascule.service.reading.store_calls import StoreCalls
from bascule.service.responses import Problem
from bascule.service.settings import Settings
from bascule.service.telemetry import LOGGER, STDERR, log

SETTLE_EVERY, LOOK_EVERY, SEND_EVERY, RETAIN_EVERY = 2.0, 300.0, 2.0, 3600.0
"""Seconds between two rounds of each background task."""

STALLED, LIFE_EVERY = 2.0, 0.5
"""Seconds after which a blocked event loop is logged, and seconds between its signs of life."""

Round = Callable[[FastAPI], Awaitable[None]]


def start(app: FastAPI) -> list[asyncio.Task[None]]:
    """Start all background tasks; `stop` cancels them."""
    settings: Settings = app.state.settings
    rounds: list[tuple[str, Round, float]] = [
        ("settle", settle, SETTLE_EVERY),
        ("alarms", find_alarms, LOOK_EVERY),
    ]
    targets: list[webhooks.Recipient] = [
        *(
            webhooks.Webhook(url, settings.webhook_secret, app.state.outgoing)
            for url in settings.webhooks
        ),
        *map(notify.NotificationTarget, settings.notify),
    ]
    # Each address has a task of its own, so that a slow one delays no other.
    rounds += [(to.what, partial(deliver, target=to), SEND_EVERY) for to in targets]
    if settings.retention:
        rounds.append(("retention", erase_old_units, RETAIN_EVERY))
    tasks: list[asyncio.Task[None]] = []
    if app.state.has_process:
        rounds.append(("life", show_life, LIFE_EVERY))
        # Prepare the OpenAPI description now, since that takes a second.
        tasks.append(asyncio.create_task(app.state.description.newer_than(float("-inf"))))
    for name, function, seconds in rounds:
        tasks.append(asyncio.create_task(_repeat(app, name, function, seconds)))
    return tasks


async def stop(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel all tasks and wait for their end."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
    faulthandler.cancel_dump_traceback_later()


async def show_life(app: FastAPI) -> None:
    """Log and count periods in which the event loop was blocked.

    The timer runs in a thread of the interpreter's own, which also notices a loop that never gives
    up its lock, and writes what all threads do to the log. Nothing is ended: the loop goes on when
    whatever blocks it is done. If that never happens, `/healthz` is not answered, and systemd or a
    container's orchestrator restarts the service.
    """
    now = time.monotonic()
    stalled = now - getattr(app.state, "alive_at", now) - LIFE_EVERY
    app.state.alive_at = now
    if stalled > STALLED:
        app.state.metrics.stalls.inc()
        log("event loop stalled", level="error", seconds=round(stalled, 1))
    faulthandler.dump_traceback_later(LIFE_EVERY + STALLED, file=STDERR)


async def settle(app: FastAPI) -> None:
    """Add mature units to the statistics of every open test, which may then reach a decision."""
    calls: StoreCalls = app.state.calls
    entries: list[Summary] = await app.state.directory.all()
    for entry in await calls.long(behind, entries):
        with _apart("settle", entry):
            await calls.long(entry.test.settle)


def behind(entries: Sequence[Summary]) -> list[Summary]:
    """Return the open tests with something to settle, or whose state cannot be judged.

    They are found without queries, which for 2,000 tests would take a fifth of a core all the time.
    """
    found = []
    for entry in entries:
        is_settled = False
        if entry.state in OPEN:
            with suppress(Exception):
                is_settled = entry.is_settled
            if not is_settled:
                found.append(entry)
    return found


async def find_alarms(app: FastAPI) -> None:
    """Look for alarms in tests that are running or have ended since the last look."""
    calls: StoreCalls = app.state.calls
    entries: list[Summary] = await app.state.directory.all()
    running = {entry.test.id for entry in entries if entry.state in OPEN}
    before = getattr(app.state, "looked_at", running)
    app.state.looked_at = running
    for entry in entries:
        if entry.test.id in running | before:
            with _apart("alarms", entry):
                for alarm in await calls.long(entry.test.alarms):
                    log("alarm", level="warning", experiment=entry.name, message=alarm.message)


@contextmanager
def _apart(task: str, entry: Summary) -> Iterator[None]:
    """Log the error of one test and go on with the others."""
    try:
        yield
    except InputError:
        # The test was deleted or stopped in the meantime.
        pass
    except Exception as problem:
        detail = problem.detail if isinstance(problem, Problem) else str(problem)
        fields = {"task": task, "experiment": entry.name, "detail": detail}
        LOGGER.error("task failed for a test", exc_info=problem, extra={"fields": fields})


async def deliver(app: FastAPI, target: webhooks.Recipient) -> None:
    """Send one address the events that are due, and count the deliveries by their result."""
    state = app.state
    for result in await webhooks.deliver_due(state.store, state.calls, target):
        state.metrics.deliveries.labels(result).inc()


async def erase_old_units(app: FastAPI) -> None:
    """Erase the units of ended tests that are older than the settings allow."""
    state = app.state
    with acting_as("retention"):
        erased = await state.calls.long(state.store.erase_older, state.settings.retention)
    for entry in erased:
        if entry.erased:
            log("units erased", experiment=entry.experiment, units=entry.erased)


async def _repeat(app: FastAPI, name: str, function: Round, seconds: float) -> None:
    while True:
        try:
            await function(app)
        except StoreError as problem:
            log("store failed", level="error", task=name, detail=str(problem))
        except Problem as problem:
            log("task skipped", level="error", task=name, detail=problem.detail)
        except Exception:
            # A failed round must not end the task.
            LOGGER.exception("failed", extra={"fields": {"task": name}})
        await asyncio.sleep(seconds)
