"""A service on a free port, and callers of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import httpx
import uvicorn

import bascule as bs
from bascule.live.api import Store
from bascule.service.auth.keys import create_key
from bascule.service.server.app import make_app
from bascule.service.server.run import address, listen, options
from bascule.service.settings import Settings

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


class Program:
    """`bascule serve` in a process of its own."""

    def __init__(self, location: object, *options: str, stderr: IO[Any] | None = None) -> None:
        command = [sys.executable, "-c", "from bascule.cli.main import main; main()", "serve"]
        paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        # A file: nobody reads the log while the service runs.
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, "--store", str(location), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=stderr or self._log,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://\S+", said)
        if found is None:
            raise AssertionError(self.wait())
        self.url = found[0]
        self.greeting = self.process.stdout.readline()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError(f"the service did not start: {self.wait()}")

    def stop(self) -> str:
        """Tell it to stop; its log."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> str:
        """Wait for its end; its log."""
        self.process.communicate(timeout=40)
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        """Kill it with its workers if it still runs, and forget its log."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self._log.close()

    def peak(self) -> int:
        """The most memory that it has used so far, in kB."""
        return self._memory(self.process.pid, "VmHWM")

    def memory(self) -> int:
        """The memory that it uses now with its workers, in kB."""
        return sum(self._memory(one, "VmRSS") for one in (self.process.pid, *self.workers()))

    def processor(self) -> float:
        """The seconds of processor time that it has used so far, without its workers."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def _memory(self, process: int, field: str) -> int:
        status = Path(f"/proc/{process}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1])  # type: ignore[index]

    def workers(self) -> list[int]:
        """The processes that it has started to serve."""
        number = self.process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        return [
            int(child)
            for child in children
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
        ]
