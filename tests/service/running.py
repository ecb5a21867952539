"""A service on a free port, and callers of it."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import uvicorn

import bascule as bs
from bascule.live.api import Store
from bascule.service.auth.keys import create_key
from bascule.service.server.app import make_app
from bascule.service.server.run import address, listen, options
from bascule.service.server.settings import Settings

FLAG = "/ofrep/v1/evaluate/flags"

DESIGN: dict[str, Any] = {
    "arms": ["control", "green"],
    "outcome": {"kind": "bernoulli"},
    "rule": {"kind": "tilt", "tilt": 3},
    "error": 0.05,
    "reports": "always",
}


def path(name: str, verb: str = "") -> str:
    """The address of an experiment, or of something that it can be asked to do."""
    return f"/v1/experiments/{name}" + (f"/{verb}" if verb else "")


class Service:
    """A service in a thread of its own, with a key of each role."""

    def __init__(self, location: str = ":memory:", keys: bool = True, **settings: Any) -> None:
        self.clock = bs.ManualClock()
        self.store: Store = bs.open(location, clock=self.clock)
        self.settings = Settings(**{"port": 0, **settings})
        self.keys = {r: create_key(self.store, r) for r in ("client", "viewer", "admin") if keys}
        self.app = make_app(self.store, self.settings)
        listening = listen(self.settings)
        self.url = address(self.settings, listening)
        config = uvicorn.Config(self.app, **options(self.settings))
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def caller(self, role: str | None = None, key: str | None = None) -> httpx.Client:
        """A caller with the key of a role, with another key, or with none."""
        given = key or (self.keys[role] if role else None)
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        return httpx.Client(
            base_url=self.url, headers=headers, trust_env=False, timeout=200, verify=False
        )

    def close(self) -> None:
        """Stop it, and wait until it has stopped."""
        self._server.should_exit = True
        self._thread.join(timeout=200)
        self.store.close()
