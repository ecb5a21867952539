"""A simulated shop: visitors come, see a button, and buy or do not.

They call the service as real ones do, over HTTP. `bascule demo` shows it.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

TEST = "green-button"
BUY = {"control": 0.10, "green": 0.15}
"""The share of visitors that buy with each button; the test does not know it."""

DESIGN: dict[str, Any] = {
    "arms": list(BUY),
    "outcome": {"kind": "bernoulli"},
    "rule": {"kind": "tilt", "tilt": 3},
    "error": 0.05,
    "measure": {"window": "1d", "aggregate": "any"},
}

DAY = 6.0
"""Seconds that a day takes."""

PER_SECOND = 120
AT_ONCE, TICK = 16, 0.05
MOST_TOGETHER = 2 * AT_ONCE
"""Visitors whose orders are sent together: few, so that on a slow machine none is sent so late that
its conversion window, which takes a day, has ended."""

LOOK_EVERY = 4.0


@dataclass(slots=True)
class Shop:
    """Visitors and what they did."""

    url: str
    keys: dict[str, str]
    chance: random.Random
    seen: Counter[str] = field(default_factory=Counter)
    bought: int = 0

    async def run(self, seconds: float, look: Callable[[dict[str, Any], float], None]) -> bool:
        """Let visitors come until the test is decided; whether it was in time.

        `look` gets the status every few seconds, and the day.
        """
        async with self._caller("client") as visitors, self._caller("admin") as boss:
            made = await boss.post("/v1/experiments", json={"name": TEST, "design": DESIGN})
            made.raise_for_status()
            loop = asyncio.get_running_loop()
            start = loop.time()
            looked, came = start, 0
            while (now := loop.time()) - start < seconds:
                due = min(int(PER_SECOND * (now - start)) - came, MOST_TOGETHER)
                await self._come(visitors, range(came, came + due))
                came += due
                if now - looked >= LOOK_EVERY:
                    looked = now
                    status = (await boss.get(f"/v1/experiments/{TEST}/status")).json()
                    look(status, (now - start) / DAY)
                    if status["decision"] is not None:
                        return True
                await asyncio.sleep(TICK)
        return False

    async def _come(self, caller: httpx.AsyncClient, numbers: range) -> None:
        limit = asyncio.Semaphore(AT_ONCE)

        async def visit(number: int) -> dict[str, Any] | None:
            async with limit:
                unit = f"visitor-{number}"
                context = {"context": {"targetingKey": unit}}
                path = f"/ofrep/v1/evaluate/flags/{TEST}"
                arm = (await caller.post(path, json=context)).raise_for_status().json()["value"]
            self.seen[arm] += 1
            if self.chance.random() >= BUY[arm]:
                return None
            return {"unit": unit, "value": 1, "id": f"order-{number}"}

        orders = [order for order in await asyncio.gather(*map(visit, numbers)) if order]
        self.bought += len(orders)
        if orders:
            path = f"/v1/experiments/{TEST}/outcomes"
            (await caller.post(path, json={"outcomes": orders})).raise_for_status()

    def _caller(self, role: str) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.keys[role]}"}
        # A connection is let go of before the service would, which does so after five seconds.
        limits = httpx.Limits(keepalive_expiry=2.0)
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, trust_env=False, timeout=30, limits=limits
        )
