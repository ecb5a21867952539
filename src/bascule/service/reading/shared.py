"""Caches that readers share: experiments, at most a second old, and rendered pages.

Experiments are read again on request, because another program may have created, released or deleted
one.

Twenty people who look at one test need one render a second, not twenty. A shared render must be the
same for all of them: the key of a render has everything of a caller that its result depends on,
and what belongs to one session (the CSRF token) is filled in afterwards.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from bascule.live.api import OPEN, Evaluation, Status, Store, gone
from bascule.live.api.reads import Summary, read_summaries
from bascule.service.reading.store_calls import SharedRead, StoreCalls
from bascule.service.reading.turns import UnitRequests
from bascule.service.telemetry import LOGGER, log

FRESH = 1.0
"""Age, in seconds, from which on the experiments are read again when somebody asks for them."""

STATUS_FRESH = 60.0
"""Seconds for which the status of an unchanged open experiment is used again: only its forecast in
days changes with time."""


PAGE_SIZE, MOST_PAGES = 100, 1_000_000
"""Number of experiments on a page of a list, and the largest number of a page."""

Entry = TypeVar("Entry")


def paged(entries: Sequence[Entry], page: int) -> list[Entry]:
    """Return a page of a list; pages are counted from 1.

    >>> paged(range(250), 3)[:2], len(paged(range(250), 3))
    ([200, 201], 50)
    """
    return list(entries[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])


def pages_of(entries: Sequence[Any]) -> int:
    """Return how many pages a list has.

    >>> pages_of([]), pages_of(range(101))
    (1, 2)
    """
    return max(1, math.ceil(len(entries) / PAGE_SIZE))


class Listing(NamedTuple):
    """Statuses of experiments, and the names of those whose status is incomplete or missing.

    Experiments in `settling` have mature units that their status does not include yet: a background
    task of the service adds them within seconds. Experiments in `unreadable` have no status.
    """

    statuses: list[Status]
    settling: list[str]
    unreadable: list[str]


class ExperimentCache:
    """The experiments of a store by name, read again when they are older than `FRESH`."""

    def __init__(self, store: Store, calls: StoreCalls) -> None:
        self.store = store
        self._calls = calls
        self._entries: SharedRead[dict[str, Summary]] = SharedRead(self._read, {})
        self._statuses: dict[int, tuple[int, float, Status]] = {}
        self.damaged: dict[str, str] = {}
        """Experiments that cannot be read, with the reason."""

    async def find(self, name: str) -> Summary:
        """Return the experiment with a name; raise an error if there is none."""
        now = time.monotonic()
        if not self._entries.is_fresh(FRESH):
            await self._entries.newer_than(now - FRESH)
        entry = self._entries.value.get(name)
        if entry is None:
            # Another program may have created it a moment ago.
            entry = (await self._entries.newer_than(now)).get(name)
        if entry is None:
            raise gone(name)
        return entry

    async def evaluate(
        self,
        name: str,
        unit: str,
        context: Mapping[str, Any] | None = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> tuple[Summary, Evaluation]:
        """Assign a unit in an experiment, and return the experiment with the unit's evaluation.

        The name of the unit must have been checked. No query runs on the event loop. Without
        `covariates`, the context's attributes with the names of the design's covariates are used.
        """
        entry = self._entries.value.get(name)
        if entry is None or not self._entries.is_fresh(FRESH):
            entry = await self.find(name)
        if context is not None and covariates is None:
            declared = [covariate.name for covariate in entry.design.covariates or ()]
            covariates = {key: context[key] for key in declared if key in context} or None
        test = entry.test
        arm = test.remembered.get(unit)
        if arm is not None:
            return entry, entry.served[arm]
        answer: Awaitable[Evaluation] = test.soon.enrol(unit, context, covariates)
        return entry, await self._calls.in_time(answer, "assign")

    async def all(self, age: float = FRESH) -> list[Summary]:
        """Return all experiments, the oldest first, as read at most `age` seconds ago."""
        return [*(await self._entries.newer_than(time.monotonic() - age)).values()]

    def visible(
        self, entries: Iterable[Summary], sees: Callable[[str], bool], search: str
    ) -> list[Summary]:
        """Return the experiments that a caller may see and that match all words of a search."""
        visible = [entry for entry in entries if sees(entry.name)]
        if not search.strip():
            return visible
        names = {test.name for test in self.store.search(search)}
        return [entry for entry in visible if entry.name in names]

    def forget(self) -> None:
        """Read the experiments again at the next request: something was changed."""
        self._entries.forget()

    def statuses(self, entries: list[Summary]) -> Listing:
        """Return the statuses of experiments as last read, without a query.

        A status is computed again when the experiment has changed and, while it is open, once it is
        older than `STATUS_FRESH`.
        """
        listing = Listing([], [], [])
        for entry in entries:
            try:
                listing.statuses.append(self._status(entry))
                if not entry.is_settled:
                    listing.settling.append(entry.name)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                # One experiment with a damaged row must not hide all others.
                fields = {"experiment": entry.name}
                LOGGER.exception("experiment unreadable", extra={"fields": fields})
                listing.unreadable.append(entry.name)
        return listing

    def _status(self, entry: Summary) -> Status:
        now = time.monotonic()
        version, since, status = self._statuses.get(entry.test.id, (-1, -math.inf, None))
        is_fresh = entry.state not in OPEN or now - since < STATUS_FRESH
        loaded = entry.loaded
        if status is None or version != loaded.version or not is_fresh:
            status = entry.status()
            self._statuses[entry.test.id] = (loaded.version, now, status)
        return status

    async def _read(self) -> dict[str, Summary]:
        known = {entry.test.id: entry for entry in self._entries.value.values()}
        entries, damaged = await self._calls.short(read_summaries, self.store, known)
        for name in damaged.keys() - self.damaged.keys():
            fields: dict[str, Any] = {"experiment": name, "detail": damaged[name]}
            log("experiment unreadable", "error", **fields)
        self.damaged = damaged
        numbers = {entry.test.id for entry in entries.values()}
        self._statuses = {n: kept for n, kept in self._statuses.items() if n in numbers}
        return entries


Given = ParamSpec("Given")
Result = TypeVar("Result")

REST = 3.0
"""A render is used for at least this multiple of the time that it took, so that no page takes more
than a third of a thread however many look at it."""

AT_ONCE = 2
"""Maximum number of pages rendered at once, so that assignments are not delayed."""

MOST_BYTES = 32_000_000
"""Maximum size of the cache of rendered pages, in bytes."""


class SharedRenders:
    """A cache of rendered pages, each shared by all who ask for it while it is fresh."""

    def __init__(self, calls: StoreCalls, unit_requests: UnitRequests) -> None:
        self._calls = calls
        self._unit_requests = unit_requests
        self._room = asyncio.Semaphore(AT_ONCE)
        self._kept: dict[Hashable, SharedRead[Any]] = {}

    async def get(
        self,
        key: Hashable,
        function: Callable[Given, Result],
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Return the result of a call, which may be a second old, or older if the call takes long.

        A result is used again for `REST` times the seconds that the call took. A key stands for one
        function and its arguments.
        """

        async def render() -> Result:
            async with self._room:
                return await self._calls.long(function, *arguments, **named)

        return await self.wait(key, render)  # type: ignore[no-any-return]

    async def wait(
        self, key: Hashable, read: Callable[[], Awaitable[Any]], age: float | None = None
    ) -> Any:
        """Return the cached result of `read()` while it is fresh, and else call `read()` again.

        With `age`, the result is at most that many seconds old when the call begins. With an `age`
        of 0, callers that ask while `read()` runs share the result of the next call.
        """
        render = self._kept.get(key)
        if render is None:
            render = self._kept[key] = SharedRead(read, None)
        try:
            oldest = max(FRESH, REST * render.seconds) if age is None else age
            value = await render.newer_than(time.monotonic() - oldest)
        except Exception:
            # Failures are not kept: requests for names that do not exist would fill the memory.
            self._kept.pop(key, None)
            raise
        self._make_room()
        # All who waited for this page now have it. Their answers are spread over several turns of
        # the event loop, so that they do not delay requests about units.
        await self._unit_requests.wait_for_turn()
        return value

    def forget(self) -> None:
        """Mark all rendered pages as out of date, since something was changed."""
        for render in self._kept.values():
            render.forget()

    def _make_room(self) -> None:
        """Drop the pages that were read longest ago until the rest take few enough bytes."""
        while (
            len(self._kept) > 1
            and sum(bytes_of(render.value) for render in self._kept.values()) > MOST_BYTES
        ):
            del self._kept[min(self._kept, key=lambda key: self._kept[key].read_at)]


def bytes_of(render: Any) -> int:
    """Estimate the bytes that a rendered page takes: those of its text, or of its parts.

    >>> bytes_of({"tests": "<ul></ul>", "more": b"{}"}) - bytes_of({})
    11
    """
    if isinstance(render, (str, bytes)):
        return len(render)
    if isinstance(render, Mapping):
        return 1000 + sum(map(bytes_of, render.values()))
    return bytes_of(getattr(render, "html", None) or getattr(render, "fragments", {}))
