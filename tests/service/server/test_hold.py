"""Nothing a caller sends stops the service for others: requests that once did, one and many.

While they are sent, from a process of their own, another client assigns units and `/healthz` is
asked; the service has 2,000 other tests. The limits are wide, since machines that run tests are
busy; before, the same requests took 2 to 14 s for everyone or ended the process.
`python -m tests.service.server.test_hold` prints the figures, with those of no attack and the load
of the machine; on two quiet cores the client's p99 has to be below 250 ms and `/healthz` below
200 ms.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

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

SLOWEST = 2.0
"""Seconds that the other client may wait, at the 99th percentile, and `/healthz` at most.

On two quiet cores both are below a quarter of a second; before, it was 4 to 14 s.
"""

MEMORY = 100_000
"""The kB by which the memory of the process may grow."""

OTHERS = 2000
"""Tests beside those that are attacked."""

Attack = Callable[["Target", Caller, int], Awaitable[None]]

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Target:
    """What attackers know: the address, the keys, an admin's cookie, and a number to begin at."""

    address: str
    keys: dict[str, str]
    cookie: str
    turn: int = 0

    @property
    def url(self) -> httpx.URL:
        """The address of the service."""
        return httpx.URL(self.address)

    def next(self) -> int:
        """A number that was not used before."""
        self.turn += 1
        return self.turn


@dataclass
class Attacked:
    """A service with tests of 2 and of 20 arms, and the process that attacks it."""

    program: Program
    target: Target
    pipe: Connection
    attackers: Any

    def close(self) -> None:
        """End the attacker and the service."""
        self.pipe.send(None)
        self.attackers.join()
        self.program.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    made = start(tmp_path_factory.mktemp("hold"))
    yield made
    made.close()


def start(folder: Path) -> Attacked:
    """Start the service."""
    location = folder / "shop.db"
    with bs.open(str(location)) as store:
        keys = {role: create_key(store, role) for role in ("client", "viewer", "admin")}
        store.create("test", bs.Design.from_dict(DESIGN))
        arms = [f"arm {i}" for i in range(20)]
        many = store.create("many", bs.Design.from_dict({**DESIGN, "arms": arms}))
        many.assign_many([f"unit {i}" for i in range(1000)])
        for i in range(OTHERS):
            store.create(f"other-{i}", bs.Design.from_dict(DESIGN))
    program = Program(location)
    signed = httpx.post(f"{program.url}/sign-in", data={"key": keys["admin"]}, trust_env=False)
    target = Target(program.url, keys, signed.headers["set-cookie"].partition(";")[0])
    spawn = multiprocessing.get_context("spawn")
    pipe, theirs = spawn.Pipe()
    attackers = spawn.Process(target=attack_all, args=(theirs, target), daemon=True)
    attackers.start()
    # What is compiled and loaded at the first use is not what is measured.
    ask = partial(httpx.request, timeout=300, trust_env=False)
    asked = {"X-API-Key": keys["viewer"]}
    ask("POST", f"{program.url}/v1/plan", json={}, headers=asked)
    for read in ("/v1/experiments", "/metrics", "/openapi.json"):
        ask("GET", program.url + read, headers=asked)
    sent = {"outcomes": [{"unit": "unit 0", "value": 0.0, "id": "first"}]}
    key = {"X-API-Key": keys["client"]}
    for test in ("test", "many"):
        for call, body in (("assign", {"unit": "unit 0"}), ("outcomes", sent)):
            ask("POST", program.url + path(test, call), json=body, headers=key).raise_for_status()
    link = {"unit": "somebody", "other": "the same"}
    ask("POST", f"{program.url}/v1/units/link", json=link, headers=key).raise_for_status()
    return Attacked(program, target, pipe, attackers)


def headers(service: Target, role: str) -> dict[str, str]:
    return {"X-API-Key": service.keys[role], "Content-Type": "application/json"}


WRONG_COVARIATES = json.dumps(
    {"unit": "u", "covariates": {f"{i:x}": "" for i in range(75_000)}}, separators=(",", ":")
).encode()
WRONG_ARMS = json.dumps({"arms": [1] * 480_000}, separators=(",", ":")).encode()
WRONG_SAMPLE = json.dumps({"sample": [[]] * 300_000}, separators=(",", ":")).encode()
WRONG_OUTCOMES = json.dumps({"outcomes": [{}] * 300_000}, separators=(",", ":")).encode()


async def wrong_covariates(service: Target, caller: Caller, _: int) -> None:
    await caller.ask(path("test", "assign"), WRONG_COVARIATES, headers(service, "client"))


async def wrong_outcomes(service: Target, caller: Caller, _: int) -> None:
    await caller.ask(path("test", "outcomes"), WRONG_OUTCOMES, headers(service, "client"))


async def wrong_arms(service: Target, caller: Caller, _: int) -> None:
    await caller.ask("/v1/plan", WRONG_ARMS, headers(service, "viewer"))


async def wrong_sample(service: Target, caller: Caller, _: int) -> None:
    await caller.ask("/v1/plan", WRONG_SAMPLE, headers(service, "viewer"))


async def new_previews(service: Target, caller: Caller, _: int) -> None:
    lift = f"{10 + service.next() / 100}%"
    url = f"/new/plan?arms=a%0Ab%0Ac%0Ad&lift={lift.replace('%', '%25')}"
    await caller.ask(url, None, {"Cookie": service.cookie})


async def long_tokens(_: Target, caller: Caller, turn: int) -> None:
    await caller.ask(f"/sign-in?token={turn}{'x' * 27_000}", None, {"Accept": "text/html"})


async def short_tokens(_: Target, caller: Caller, turn: int) -> None:
    await caller.ask(f"/sign-in?token={turn}{'x' * 150}", None, {"Accept": "text/html"})


async def glossaries(_: Target, caller: Caller, __: int) -> None:
    await caller.ask("/glossary", None, {"Accept": "text/html"})


async def missing_pages(_: Target, caller: Caller, turn: int) -> None:
    await caller.ask(f"/nothing/{turn}", None, {"Accept": "text/html"})


async def descriptions(_: Target, caller: Caller, __: int) -> None:
    await caller.ask("/openapi.json", None, {})


async def searches(service: Target, caller: Caller, _: int) -> None:
    url = f"/v1/experiments?search={service.next()}"
    await caller.ask(url, None, headers(service, "viewer"))


async def lists(service: Target, caller: Caller, _: int) -> None:
    await caller.ask("/v1/experiments", None, headers(service, "viewer"))


async def long_forms(service: Target, caller: Caller, _: int) -> None:
    await caller.ask("/new", b"arms=" + b"%41" * 320_000, {"Cookie": service.cookie, **FORM})


async def many_arms(service: Target, caller: Caller, _: int) -> None:
    sent = [
        {"unit": f"unit {i}", "value": float(i % 7 == 0), "id": f"{service.next()}"}
        for i in range(1000)
    ]
    body = json.dumps({"outcomes": sent}).encode()
    await caller.ask(path("many", "outcomes"), body, headers(service, "client"))


async def hang_ups(service: Target, caller: Caller, _: int) -> None:
    body = json.dumps({"baseline": "10%", "lift": f"0.{300 + service.next()}%"}).encode()
    try:
        async with asyncio.timeout(0.5):
            await caller.ask("/v1/plan", body, headers(service, "viewer"))
    except TimeoutError:
        caller.close()


async def links(service: Target, caller: Caller, _: int) -> None:
    body = json.dumps({"unit": f"a {service.next()}", "other": f"b {service.turn}"}).encode()
    await caller.ask("/v1/units/link", body, headers(service, "client"))


async def measures(service: Target, caller: Caller, _: int) -> None:
    await caller.ask("/metrics", None, headers(service, "viewer"))


async def all_flags(service: Target, caller: Caller, _: int) -> None:
    body = json.dumps({"context": {"targetingKey": f"unit {service.next()}"}}).encode()
    await caller.ask("/ofrep/v1/evaluate/flags", body, headers(service, "client"))


# Of strangers, who have no key


async def keyless_bodies(_: Target, caller: Caller, __: int) -> None:
    kind = {"Content-Type": "application/json"}
    await caller.ask(path("test", "assign"), WRONG_COVARIATES, kind)


async def wrong_keys(service: Target, caller: Caller, _: int) -> None:
    key = f"bsc_{service.next():08x}_{'x' * 43}"
    kind = {"Content-Type": "application/json", "X-API-Key": key}
    await caller.ask(path("test", "outcomes"), WRONG_OUTCOMES, kind)


async def wrong_sessions(service: Target, caller: Caller, _: int) -> None:
    sent = {"Cookie": f"bascule_session={service.next()}", "Accept": "text/html"}
    await caller.ask("/v1/experiments", None, sent)


async def pages_with_wrong_sessions(service: Target, caller: Caller, turn: int) -> None:
    sent = {"Cookie": f"bascule_session={service.next()}", "Accept": "text/html"}
    await caller.ask(("/", "/glossary", f"/nothing/{turn}", "/sign-in")[turn % 4], None, sent)


async def slow_readers(service: Target, caller: Caller, _: int) -> None:
    """Ask for the list again and again, and read nothing."""
    _reader, writer = await asyncio.open_connection(service.url.host, service.url.port, limit=1)
    try:
        key = service.keys["viewer"]
        ask = (
            f"GET /v1/experiments HTTP/1.1\r\nHost: {service.url.host}\r\nX-API-Key: {key}\r\n\r\n"
        )
        writer.write(20 * ask.encode())
        await asyncio.sleep(SECONDS)
    finally:
        writer.transport.abort()


async def half_bodies(service: Target, caller: Caller, _: int) -> None:
    """Send half of a megabyte with a client's key, and wait."""
    await half_of(service, f"X-API-Key: {service.keys['client']}\r\n", path("test", "outcomes"))


async def keyless_half_bodies(service: Target, caller: Caller, _: int) -> None:
    await half_of(service, "", path("test", "outcomes"))


async def half_of(service: Target, credential: str, url: str) -> None:
    _, writer = await asyncio.open_connection(service.url.host, service.url.port)
    try:
        head = (
            f"POST {url} HTTP/1.1\r\nHost: {service.url.host}\r\n{credential}"
            f"Content-Type: application/json\r\nContent-Length: {len(WRONG_OUTCOMES)}\r\n\r\n"
        )
        writer.write(head.encode() + WRONG_OUTCOMES[: len(WRONG_OUTCOMES) // 2])
        await asyncio.sleep(SECONDS)
    finally:
        writer.transport.abort()


async def pipelines(service: Target, caller: Caller, _: int) -> None:
    """Send 500 requests at once, and read what is answered."""
    reader, writer = await asyncio.open_connection(service.url.host, service.url.port)
    try:
        writer.write(500 * f"GET /nothing HTTP/1.1\r\nHost: {service.url.host}\r\n\r\n".encode())
        async with asyncio.timeout(SECONDS):
            while await reader.read(65_536):
                pass
    except TimeoutError:
        pass
    finally:
        writer.transport.abort()


async def nothing(_: Target, caller: Caller, __: int) -> None:
    await asyncio.sleep(SECONDS)


ATTACKS: list[Attack] = [
    nothing,
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
    measures,
    links,
    all_flags,
    long_forms,
    many_arms,
    hang_ups,
    keyless_bodies,
    wrong_keys,
    wrong_sessions,
    pages_with_wrong_sessions,
    slow_readers,
    half_bodies,
    keyless_half_bodies,
    pipelines,
]


def attack_all(pipe: Connection, target: Target) -> None:
    """Make the attacks that come through the pipe, until there are no more."""
    while (asked := pipe.recv()) is not None:
        name, count, until = asked
        pipe.send(None)
        attack = next(attack for attack in ATTACKS if attack.__name__ == name)
        asyncio.run(attack_until(target, attack, count, until))
        pipe.send(None)


async def attack_until(target: Target, attack: Attack, count: int, until: float) -> None:
    """Attack from `count` connections until a moment, and hang up a second later."""

    async def repeat(turn: int) -> None:
        async with connected(target) as caller:
            while time.monotonic() < until:
                try:
                    await attack(target, caller, turn)
                except (OSError, EOFError):
                    # Refused, and the connection closed.
                    caller.close()
                    await asyncio.sleep(0.01)

    attackers = [asyncio.ensure_future(repeat(turn)) for turn in range(count)]
    _, waiting = await asyncio.wait(attackers, timeout=1 + until - time.monotonic())
    for attacker in waiting:
        attacker.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)


@dataclass(frozen=True)
class Figures:
    """What others saw during an attack: seconds, and how much memory the service took more."""

    assigned: int
    p99: float
    health: float
    memory: int


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Caller]:
    """A caller whose connection is closed before the loop ends, also when it is cancelled."""
    caller = Caller(target.url)
    try:
        yield caller
    finally:
        await caller.end()


async def during(service: Attacked, attack: Attack, count: int) -> Figures:
    """Attack from `count` connections while another client assigns; what that client saw."""
    before, target = service.program.memory(), service.target
    until = time.monotonic() + SECONDS
    service.pipe.send((attack.__name__, count, until))
    service.pipe.recv()
    assigned: list[float] = []
    health: list[float] = []

    async def assign() -> None:
        async with connected(target) as caller:
            while time.monotonic() < until:
                body = json.dumps({"unit": f"visitor {target.next()}"}).encode()
                since = time.monotonic()
                url = path("test", "assign")
                status, _, said = await caller.ask(url, body, headers(target, "client"))
                assigned.append(time.monotonic() - since)
                assert status == 200, said
                await asyncio.sleep(0.005)

    async def look() -> None:
        async with connected(target) as caller:
            while time.monotonic() < until:
                since = time.monotonic()
                status, *_ = await caller.ask("/healthz", None, {})
                health.append(time.monotonic() - since)
                assert status == 200
                await asyncio.sleep(0.02)

    await asyncio.gather(assign(), look())
    await asyncio.to_thread(service.pipe.recv)
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
    for attack in (wrong_covariates, wrong_outcomes, long_forms, searches, new_previews):
        asyncio.run(during(attacked, attack, 48))
    asyncio.run(during(attacked, nothing, 1))
    assert attacked.program.memory() - before < MEMORY


def test_an_address_with_too_many_connections_is_refused_and_others_are_not(
    attacked: Attacked,
) -> None:
    async def play() -> tuple[int, float]:
        host, port = attacked.target.url.host, attacked.target.url.port
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


def test_lists_metrics_and_links_of_2000_tests_take_little_processor_time(
    attacked: Attacked,
) -> None:
    """A list took 6 to 10 s, `/metrics` 4 s and a link up to 7 s, on a busy machine."""
    keys, url = attacked.target.keys, attacked.program.url
    link = {"unit": "one", "other": "two"}
    asked: list[tuple[str, str, str, Any, float]] = [
        ("GET", "/v1/experiments", "viewer", None, 0.5),
        ("GET", "/v1/experiments?page=20", "viewer", None, 0.5),
        ("GET", "/metrics", "viewer", None, 0.2),
        ("POST", "/v1/units/link", "client", link, 2.0),
    ]
    for method, read, role, body, most in asked:
        before = attacked.program.processor()
        for _ in range(3):
            headers = {"X-API-Key": keys[role]}
            answer = httpx.request(
                method, url + read, json=body, headers=headers, timeout=60, trust_env=False
            )
            assert answer.status_code == 200
        assert attacked.program.processor() - before < 3 * most, read


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
            for count in (1, 12, 64):
                seen = asyncio.run(during(service, attack, count))
                print(
                    f"{attack.__name__:26} {count:2}: p99 {1e3 * seen.p99:5.0f} ms, healthz "
                    f"{1e3 * seen.health:5.0f} ms, {seen.assigned:3} assigned, "
                    f"{seen.memory / 1e3:+4.0f} MB, load {os.getloadavg()[0]:.0f}",
                    flush=True,
                )
        grown = (service.program.memory() - first) / 1000
        print(f"memory {grown:+.0f} MB, the process {service.program.process.poll() or 'runs'}")
    finally:
        service.close()


if __name__ == "__main__":
    # By its name, so that the process of the attackers finds its classes.
    from tests.service.server.test_hold import main

    main()
