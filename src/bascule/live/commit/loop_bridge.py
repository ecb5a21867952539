"""Bridge between event loops and the commit queue.

All units that are requested in one turn of a loop become one job, and one call into the loop
delivers the results of a whole group: to wake a loop, or the thread that writes, costs far more
than one unit more in a job.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

from bascule.live.commit.jobs import Action, Job, PendingJob
from bascule.live.commit.queue import CommitQueue, Flush
from bascule.live.transactions.enrol import Newcomer


class Batch:
    """The units of one experiment that were requested in one turn of an event loop.

    Every caller awaits a future of its own, so cancelling one does not touch the others. Its
    result is what the transaction gives for its unit, or the error to raise. `callers` is how many
    wait for it, and 0 as long as units may be added.
    """

    __slots__ = ("_bridge", "_failure", "callers", "futures", "job", "loop", "units")

    def __init__(self, experiment: int, name: str, action: Action, bridge: LoopBridge) -> None:
        self.units: list[Newcomer] = []
        self.job = Job(experiment, name, action, self.units, enrols=True)
        self.loop = bridge.loop
        self.callers = 0
        self._bridge = bridge
        self._failure: BaseException | None = None
        self.futures: list[Future[Any]] = []

    def deliver(self, failure: BaseException | None) -> Flush:
        """Have the results delivered in the loop."""
        self._failure = failure or self.job.error
        self._bridge.deliveries.append(self._resolve)
        return self._bridge.flush

    def _resolve(self) -> None:
        failure = self._failure
        results: Sequence[Any] = self.job.results
        if failure is not None:
            results = [failure] * len(self.units)
        for future, result in zip(self.futures, results, strict=True):
            # A caller that was cancelled has gone; its unit is stored all the same.
            if not future.done():
                future.set_result(result)


class LoopBridge:
    """Takes requests from the callers of one event loop and delivers their results there."""

    def __init__(self, loop: AbstractEventLoop, queue: CommitQueue[Job]) -> None:
        self.loop = loop
        self._queue = queue
        self.batches: dict[int, Batch] = {}
        # Called in the loop at the next flush; threads may append to it without a lock.
        self.deliveries: deque[Callable[[], None]] = deque()

    def run(self, job: Job) -> Future[Any]:
        """Submit a job after all units requested before it; the future gets its results."""
        self.send_off(job.experiment)
        future = self.loop.create_future()

        def send(result: Any, error: BaseException | None) -> Flush:
            self.deliveries.append(lambda: _resolve(future, result, error))
            return self.flush

        self._queue.submit(PendingJob(job, send))
        return future

    def send_off(self, experiment: int) -> None:
        """Submit the open batch of an experiment, if there is one."""
        batch = self.batches.pop(experiment, None)
        if batch is not None:
            batch.callers = len(batch.units)
            self._queue.submit(batch)

    def flush(self) -> None:
        """Have the loop call all that is in `deliveries`; from any thread."""
        # A loop that is closed has no callers left.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._deliver_all)

    def _deliver_all(self) -> None:
        while self.deliveries:
            self.deliveries.popleft()()


class LoopBridges:
    """The bridges of a store, one for each event loop that has callers."""

    def __init__(self, queue: CommitQueue[Job]) -> None:
        self._queue = queue
        self._lock = Lock()
        self._bridges: dict[AbstractEventLoop, LoopBridge] = {}

    def batch(self, experiment: int, name: str, action: Action) -> Batch:
        """Return the batch of an experiment in this turn of the running loop."""
        bridge = self.here()
        batch = bridge.batches.get(experiment)
        if batch is None:
            batch = bridge.batches[experiment] = Batch(experiment, name, action, bridge)
            bridge.loop.call_soon(bridge.send_off, experiment)
        return batch

    def here(self) -> LoopBridge:
        """The bridge of the running loop."""
        loop = get_running_loop()
        with self._lock:
            bridge = self._bridges.get(loop)
            if bridge is None:
                kept = {loop: one for loop, one in self._bridges.items() if not loop.is_closed()}
                bridge = LoopBridge(loop, self._queue)
                self._bridges = {**kept, loop: bridge}
        return bridge


def _resolve(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
