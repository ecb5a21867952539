"""Nothing a caller sends stops the service for others: requests that once did, one and many.

While they are sent, another client assigns units and `/healthz` is asked. The limits here are wide,
since machines that run tests are busy; before, the same requests took 2 to 14 s for everyone or
ended the process. `python -m tests.service.server.test_hold` prints the figures; on two quiet cores
the client's p99 has to be below 250 ms and `/healthz` below 200 ms.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.service.callers import Caller
from tests.service.running import DESIGN, Program, path

import bascule as bs
from bascule.service.auth.keys import create_key

pytestmark = pytest.mark.slow

SECONDS = 1.0
"""How long each attack goes on; whoever waits at its end is waited for."""

SLOWEST = 3.0
"""Seconds that the other client may wait, at the 99th percentile, and `/healthz` at most.

Both are below a quarter of a second on two quiet cores for most attacks; before, it was 4 to 14 s.
"""

MEMORY = 100_000
"""The kB by which the memory of the process may grow."""

Attack = Callable[["Attacked", Caller, int], Awaitable[None]]

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Attacked:
    """A service with tests of 2 and of 20 arms, its keys, and an admin's cookie."""

    program: Program
    keys: dict[str, str]
    cookie: str
    turn: int = 0

    @property
    def url(self) -> httpx.URL:
        """The address of the service."""
        return httpx.URL(self.program.url)

    def next(self) -> int:
        """A number that was not used before."""
        self.turn += 1
        return self.turn


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    made = start(tmp_path_factory.mktemp("hold"))
    yield made
    made.program.close()


def start(folder: Path) -> Attacked:
    """Start the service."""
    location = folder / "shop.db"
    with bs.open(str(location)) as store:
        keys = {role: create_key(store, role) for role in ("client", "viewer", "admin")}
        store.create("test", bs.Design.from_dict(DESIGN))
        arms = [f"arm {i}" for i in range(20)]
        many = store.create("many", bs.Design.from_dict({**DESIGN, "arms": arms}))
        many.assign_many([f"unit {i}" for i in range(1000)])
        for i in range(300):
            store.create(f"other-{i}", bs.Design.from_dict(DESIGN))
    program = Program(location)
    signed = httpx.post(f"{program.url}/sign-in", data={"key": keys["admin"]}, trust_env=False)
    cookie = signed.headers["set-cookie"].partition(";")[0]
    # What is compiled and loaded at the first use is not what is measured.
    asked = {"X-API-Key": keys["viewer"]}
    httpx.post(f"{program.url}/v1/plan", json={}, headers=asked, timeout=300, trust_env=False)
    httpx.get(f"{program.url}/v1/experiments", headers=asked, timeout=60, trust_env=False)
    httpx.get(f"{program.url}/openapi.json", timeout=60, trust_env=False)
    sent = {"outcomes": [{"unit": "unit 0", "value": 0.0, "id": "first"}]}
    for test in ("test", "many"):
        for call, body in (("assign", {"unit": "unit 0"}), ("outcomes", sent)):
            url = f"{program.url}{path(test, call)}"
            key = {"X-API-Key": keys["client"]}
            httpx.post(url, json=body, headers=key, timeout=60, trust_env=False).raise_for_status()
    return Attacked(program, keys, cookie)


def headers(service: Attacked, role: str) -> dict[str, str]:
    return {"X-API-Key": service.keys[role], "Content-Type": "application/json"}


WRONG_COVARIATES = json.dumps(
    {"unit": "u", "covariates": {f"{i:x}": "" for i in range(75_000)}}, separators=(",", ":")
).encode()
WRONG_ARMS = json.dumps({"arms": [1] * 480_000}, separators=(",", ":")).encode()
WRONG_SAMPLE = json.dumps({"sample": [[]] * 300_000}, separators=(",", ":")).encode()
WRONG_OUTCOMES = json.dumps({"outcomes": [{}] * 300_000}, separators=(",", ":")).encode()


async def wrong_covariates(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask(path("test", "assign"), WRONG_COVARIATES, headers(service, "client"))


async def wrong_outcomes(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask(path("test", "outcomes"), WRONG_OUTCOMES, headers(service, "client"))


async def wrong_arms(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask("/v1/plan", WRONG_ARMS, headers(service, "viewer"))


async def wrong_sample(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask("/v1/plan", WRONG_SAMPLE, headers(service, "viewer"))


async def new_previews(service: Attacked, caller: Caller, _: int) -> None:
    lift = f"{10 + service.next() / 100}%"
    url = f"/new/plan?arms=a%0Ab%0Ac%0Ad&lift={lift.replace('%', '%25')}"
    await caller.ask(url, None, {"Cookie": service.cookie})


async def long_tokens(_: Attacked, caller: Caller, turn: int) -> None:
    await caller.ask(f"/sign-in?token={turn}{'x' * 27_000}", None, {"Accept": "text/html"})


async def short_tokens(_: Attacked, caller: Caller, turn: int) -> None:
    await caller.ask(f"/sign-in?token={turn}{'x' * 150}", None, {"Accept": "text/html"})


async def glossaries(_: Attacked, caller: Caller, __: int) -> None:
    await caller.ask("/glossary", None, {"Accept": "text/html"})


async def missing_pages(_: Attacked, caller: Caller, turn: int) -> None:
    await caller.ask(f"/nothing/{turn}", None, {"Accept": "text/html"})


async def descriptions(_: Attacked, caller: Caller, __: int) -> None:
    await caller.ask("/openapi.json", None, {})


async def searches(service: Attacked, caller: Caller, _: int) -> None:
    url = f"/v1/experiments?search={service.next()}"
    await caller.ask(url, None, headers(service, "viewer"))


async def lists(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask("/v1/experiments", None, headers(service, "viewer"))


async def long_forms(service: Attacked, caller: Caller, _: int) -> None:
    await caller.ask("/new", b"arms=" + b"%41" * 320_000, {"Cookie": service.cookie, **FORM})


async def many_arms(service: Attacked, caller: Caller, _: int) -> None:
    sent = [
        {"unit": f"unit {i}", "value": float(i % 7 == 0), "id": f"{service.next()}"}
        for i in range(1000)
    ]
    body = json.dumps({"outcomes": sent}).encode()
    await caller.ask(path("many", "outcomes"), body, headers(service, "client"))


async def hang_ups(service: Attacked, caller: Caller, _: int) -> None:
    body = json.dumps({"baseline": "10%", "lift": f"0.{300 + service.next()}%"}).encode()
    try:
        async with asyncio.timeout(0.5):
            await caller.ask("/v1/plan", body, headers(service, "viewer"))
    except TimeoutError:
        caller.close()


ATTACKS: list[Attack] = [
    wrong_covariates,
    wrong_outcomes,
    wrong_arms,
    wrong_sample,
    new_previews,
    long_tokens,
    short_tokens,
    glossaries,
    missing_pages,
    descriptions,
    searches,
    lists,
    long_forms,
    many_arms,
    hang_ups,
]


@dataclass(frozen=True)
class Figures:
    """What others saw during an attack: seconds, and how much memory the service took more."""

    assigned: int
    p99: float
    health: float
    memory: int


@asynccontextmanager
async def connected(service: Attacked) -> AsyncIterator[Caller]:
    """A caller whose connection is closed before the loop ends, also when it is cancelled."""
    caller = Caller(service.url)
    try:
        yield caller
    finally:
        await caller.end()


async def during(service: Attacked, attack: Attack, count: int) -> Figures:
    """Attack from `count` connections while another client assigns; what that client saw."""
    before = service.program.memory()
    until = time.monotonic() + SECONDS
    assigned: list[float] = []
    health: list[float] = []

    async def repeat(turn: int) -> None:
        async with connected(service) as caller:
            while time.monotonic() < until:
                try:
                    await attack(service, caller, turn)
                except (OSError, EOFError):
                    # Refused, and the connection closed.
                    caller.close()
                    await asyncio.sleep(0.01)

    async def assign() -> None:
        async with connected(service) as caller:
            while time.monotonic() < until:
                body = json.dumps({"unit": f"visitor {service.next()}"}).encode()
                since = time.monotonic()
                url = path("test", "assign")
                status, *_ = await caller.ask(url, body, headers(service, "client"))
                assigned.append(time.monotonic() - since)
                assert status == 200
                await asyncio.sleep(0.005)

    async def look() -> None:
        async with connected(service) as caller:
            while time.monotonic() < until:
                since = time.monotonic()
                status, *_ = await caller.ask("/healthz", None, {})
                health.append(time.monotonic() - since)
                assert status == 200
                await asyncio.sleep(0.02)

    attackers = [asyncio.ensure_future(repeat(turn)) for turn in range(count)]
    await asyncio.gather(assign(), look())
    _, waiting = await asyncio.wait(attackers, timeout=1)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)
    more = service.program.memory() - before
    return Figures(len(assigned), float(np.quantile(assigned, 0.99)), max(health), more)


@pytest.mark.parametrize("count", [1, 12, 48])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_others_are_answered_meanwhile(attacked: Attacked, attack: Attack, count: int) -> None:
    seen = asyncio.run(during(attacked, attack, count))
    assert seen.p99 < SLOWEST, seen
    assert seen.health < SLOWEST, seen
    assert attacked.program.process.poll() is None


def test_memory_stays_near_its_start(attacked: Attacked) -> None:
    """After all the others: nothing that they sent is kept."""
    asyncio.run(during(attacked, wrong_covariates, 12))
    before = attacked.program.memory()
    for attack in (wrong_covariates, searches, new_previews):
        asyncio.run(during(attacked, attack, 12))
    assert attacked.program.memory() - before < MEMORY


def test_an_address_with_too_many_connections_is_refused_and_others_are_not(
    attacked: Attacked,
) -> None:
    async def play() -> tuple[int, float]:
        host, port = attacked.url.host, attacked.url.port
        opened: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        refused = 0
        try:
            for _ in range(1100):
                made = await asyncio.open_connection(host, port, local_addr=("127.0.0.2", 0))
                opened.append(made)
            until = time.monotonic() + 5
            while refused < 100 and time.monotonic() < until:
                await asyncio.sleep(0.1)
                refused = sum(b" 429 " in reader._buffer for reader, _ in opened)  # type: ignore[attr-defined]
            seen = await during(attacked, lists, 1)
        finally:
            for _, writer in opened:
                writer.transport.abort()
            closed = [writer.wait_closed() for _, writer in opened]
            await asyncio.gather(*closed, return_exceptions=True)
        return refused, seen.p99

    refused, p99 = asyncio.run(play())
    assert refused >= 100
    assert p99 < SLOWEST


def seconds_of_outcomes(folder: Path, arms: int) -> float:
    """The processor time of the first 1,000 outcomes of a test."""
    names = [f"arm {i}" for i in range(arms)]
    with bs.open(str(folder / f"{arms}.db")) as store:
        test = store.create("many", bs.Design.from_dict({**DESIGN, "arms": names}))
        test.assign_many([f"unit {i}" for i in range(1000)])
        since = time.process_time()
        test.record_many([(f"unit {i}", float(i % 7 == 0)) for i in range(1000)])
        return time.process_time() - since


def test_twenty_arms_take_at_most_5_times_what_two_take(tmp_path: Path) -> None:
    seconds_of_outcomes(tmp_path, 3)
    assert seconds_of_outcomes(tmp_path, 20) < 5 * seconds_of_outcomes(tmp_path, 2)


def main() -> None:
    """Print what others see during each attack, or during those that are named."""
    chosen = [one for one in ATTACKS if not sys.argv[1:] or one.__name__ in sys.argv[1:]]
    service = start(Path(tempfile.mkdtemp()))
    first = service.program.memory()
    try:
        for attack in chosen:
            for count in (1, 12, 48):
                seen = asyncio.run(during(service, attack, count))
                figures = f"p99 {1e3 * seen.p99:5.0f} ms, healthz {1e3 * seen.health:5.0f} ms"
                print(f"{attack.__name__:18} {count:2}: {figures}, {seen.assigned} assigned")
        grown = (service.program.memory() - first) / 1000
        print(f"memory {grown:+.0f} MB, the process {service.program.process.poll() or 'runs'}")
    finally:
        service.program.close()


if __name__ == "__main__":
    main()
