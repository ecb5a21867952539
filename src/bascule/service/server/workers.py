"""Worker processes: started together, replaced when they die, and ended together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from bascule.service.telemetry import log

STOPS = (signal.SIGTERM, signal.SIGINT)

YOUNG = 20.0
"""Seconds: a process that dies younger may not be able to start at all."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds between starts in one place, from the second young death in a row; they double."""

GRACE = 5.0
"""Seconds beyond its time to leave after which a worker is killed."""

Work = Callable[..., None]


@dataclass(frozen=True)
class WorkerSlot:
    """One worker's place: its process, when that started, and how many died young in a row."""

    process: SpawnProcess | None
    since: float
    failures: int = 0

    @property
    def due(self) -> float:
        """When the next process may start here."""
        if self.failures < 2:
            return self.since
        return self.since + min(FIRST_PAUSE * 2.0 ** (self.failures - 2), LONGEST_PAUSE)


def keep_working(work: Work, given: tuple[Any, ...], count: int, leaving: float) -> None:
    """Have `count` processes call `work(*given)` until this one gets a signal to stop.

    The signal is passed on to them, and they have `leaving` seconds. One that dies is replaced at
    once, or, where one after the other dies young, after a pause. A stop takes effect at any time,
    since nothing is waited for in between.
    """
    with _stops_heard() as stopped:
        places = [_filled(WorkerSlot(None, 0.0), work, given) for _ in range(count)]
        while not stopped.poll():
            places = [_kept(place, work, given) for place in places]
            _sleep(places, stopped)
        _end(places, leaving)


def end_with_parent() -> None:
    """Send this process a signal to stop when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _kept(place: WorkerSlot, work: Work, given: tuple[Any, ...]) -> WorkerSlot:
    if place.process is not None and not place.process.is_alive():
        place = _emptied(place, place.process)
    if place.process is None and time.monotonic() >= place.due:
        place = _filled(place, work, given)
    return place


def _emptied(place: WorkerSlot, died: SpawnProcess) -> WorkerSlot:
    now = time.monotonic()
    failures = place.failures + 1 if now - place.since < YOUNG else 0
    left = WorkerSlot(None, now, failures)
    fields = {"process": died.pid, "exit": died.exitcode, "next_in": round(left.due - now)}
    log("worker died", level="warning", **fields)
    died.close()
    return left


def _filled(place: WorkerSlot, work: Work, given: tuple[Any, ...]) -> WorkerSlot:
    process = multiprocessing.get_context("spawn").Process(target=work, args=given)
    process.start()
    log("worker started", process=process.pid)
    return WorkerSlot(process, time.monotonic(), place.failures)


def _sleep(places: list[WorkerSlot], stopped: Connection) -> None:
    """Sleep until a process dies, a pause is over, or a signal to stop arrives."""
    working = [place.process.sentinel for place in places if place.process is not None]
    pauses = [place.due - time.monotonic() for place in places if place.process is None]
    wait([stopped, *working], max(min(pauses), 0.0) if pauses else None)


def _end(places: list[WorkerSlot], leaving: float) -> None:
    working = [place.process for place in places if place.process is not None]
    for process in working:
        process.terminate()
    deadline = time.monotonic() + leaving + GRACE
    for process in working:
        process.join(max(deadline - time.monotonic(), 0.0))
        if process.exitcode is None:
            log("worker killed", level="error", process=process.pid)
            process.kill()
            process.join()


@contextmanager
def _stops_heard() -> Iterator[Connection]:
    """A pipe that can be read as soon as this process has a signal to stop."""
    heard, tell = multiprocessing.Pipe(duplex=False)

    def hear(*_: object) -> None:
        tell.send(None)

    with heard, tell, handled(hear):
        yield heard


@contextmanager
def handled(handler: Callable[..., Any]) -> Iterator[None]:
    """Handle the signals to stop inside this block, in the main thread; others get none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in STOPS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
