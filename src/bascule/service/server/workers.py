"""Several processes that do one work: started together, replaced when they die, ended together."""

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

from bascule.service.server.logs import log

STOPS = (signal.SIGTERM, signal.SIGINT)

YOUNG = 20.0
"""Seconds: whoever dies younger may not be able to start at all."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds between starts in one place, from the second young death in a row; they double."""

GRACE = 5.0
"""Seconds beyond its time to leave after which a worker is killed."""

Work = Callable[..., None]


@dataclass(frozen=True)
class Place:
    """One of the places: who is in it, since when, and how many died young there in a row."""

    process: SpawnProcess | None
    since: float
    failures: int = 0

    @property
    def due(self) -> float:
        """When the next one may start here."""
        if self.failures < 2:
            return self.since
        return self.since + min(FIRST_PAUSE * 2.0 ** (self.failures - 2), LONGEST_PAUSE)


def keep_working(work: Work, given: tuple[Any, ...], count: int, leaving: float) -> None:
    """Have `count` processes call `work(*given)` until this one is told to stop.

    They are told in turn, and have `leaving` seconds. One that dies is replaced at once, or, where
    one after the other dies young, after a pause. A stop is heard at any time, since nobody is
    waited for in between.
    """
    with _stops_heard() as stopped:
        places = [_filled(Place(None, 0.0), work, given) for _ in range(count)]
        while not stopped.poll():
            places = [_kept(place, work, given) for place in places]
            _sleep(places, stopped)
        _end(places, leaving)


def end_with_parent() -> None:
    """Stop this process, as if told to, when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _kept(place: Place, work: Work, given: tuple[Any, ...]) -> Place:
    if place.process is not None and not place.process.is_alive():
        place = _emptied(place, place.process)
    if place.process is None and time.monotonic() >= place.due:
        place = _filled(place, work, given)
    return place


def _emptied(place: Place, died: SpawnProcess) -> Place:
    now = time.monotonic()
    failures = place.failures + 1 if now - place.since < YOUNG else 0
    left = Place(None, now, failures)
    told = {"process": died.pid, "exit": died.exitcode, "next_in": round(left.due - now)}
    log("worker died", level="warning", **told)
    died.close()
    return left


def _filled(place: Place, work: Work, given: tuple[Any, ...]) -> Place:
    process = multiprocessing.get_context("spawn").Process(target=work, args=given)
    process.start()
    log("worker started", process=process.pid)
    return Place(process, time.monotonic(), place.failures)


def _sleep(places: list[Place], stopped: Connection) -> None:
    """Until someone dies, a pause is over, or it is time to stop."""
    working = [place.process.sentinel for place in places if place.process is not None]
    pauses = [place.due - time.monotonic() for place in places if place.process is None]
    wait([stopped, *working], max(min(pauses), 0.0) if pauses else None)


def _end(places: list[Place], leaving: float) -> None:
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
    """Something to read from as soon as this process is told to stop."""
    heard, tell = multiprocessing.Pipe(duplex=False)

    def hear(*_: object) -> None:
        tell.send(None)

    before = {number: signal.signal(number, hear) for number in STOPS}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        heard.close()
        tell.close()
