"""Requests that once stopped the service for others, and a process that sends them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import httpx
from tests.service.callers import Caller
from tests.service.running import path

SECONDS = 1.0
"""How long each attack goes on; whoever waits at its end is waited for."""

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


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Caller]:
    """A caller whose connection is closed before the loop ends, also when it is cancelled."""
    caller = Caller(target.url)
    try:
        yield caller
    finally:
        await caller.end()
