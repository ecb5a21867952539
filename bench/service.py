"""How much of the service's speed is left when what it answers is on disk.

`python -m bench.service [SECONDS]` prints the figures of the service, and durable assignments
without HTTP over plain inserts, in one table. Each load takes 3 seconds unless said, in three
rounds: about two minutes in all.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median
from typing import Any

import bascule as bs
from bascule.service.auth.keys import create_key
from bench import live
from bench.measure import Figure, show

SECONDS, ROUNDS = 3.0, 3
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


WATCHED = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-6, reports="always")
WATCHED_UNITS = 20_000


def measured_load(
    url: str, key: str, what: str, cookie: str | None = None, seconds: float = SECONDS
) -> dict[str, float]:
    """Send requests for a while, and return the rate and the times of the answers."""
    host, _, port = url.removeprefix("http://").partition(":")
    command = [sys.executable, "-m", "bench.load", host, port, key, what, str(seconds)]
    command += [cookie] if cookie else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    if measured["failed"]:
        raise RuntimeError(f"{measured['failed']} requests failed")
    return measured


def _fill(store: bs.Store) -> None:
    """Create the test whose pages are open while units are assigned."""
    chance = random.Random(1)
    test = store.create("watched", WATCHED)
    for start in range(0, WATCHED_UNITS, 500):
        units = [str(unit) for unit in range(start, start + 500)]
        test.assign_many(units)
        test.record_many([(unit, float(chance.random() < 0.1)) for unit in units])


def _signed_in(url: str, key: str) -> str:
    """Sign in on the page and return the cookie of the session."""
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(f"{url}/sign-in", urllib.parse.urlencode({"key": key}).encode()).close()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def started(location: str) -> tuple[subprocess.Popen[str], str]:
    """Start a service on a store, and return its process and address when it answers."""
    command = [sys.executable, "-c", "from bascule.cli.main import main; main()", "serve"]
    options = ["--store", location, "--port", "0", "--rate", "1e9"]
    paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    url = process.stdout.readline().split()[-1]
    for line in process.stderr:
        if "startup complete" in line:
            break
    # The log is read on, so that it never blocks.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, url


@contextmanager
def serving() -> Iterator[tuple[str, str, str]]:
    """Serve a store with a test to assign units in and one whose pages are open.

    It gives the address, the key of a client and the cookie of a viewer.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "bench.db")
        with bs.open(path) as store:
            store.create("bench", DESIGN)
            _fill(store)
            key, viewer = create_key(store, "client"), create_key(store, "viewer")
        process, url = started(path)
        try:
            cookie = _signed_in(url, viewer)
            measured_load(url, key, "known", cookie)
            yield url, key, cookie
        finally:
            process.terminate()
            process.wait()


def figures(seconds: float = SECONDS) -> list[Figure]:
    """Rounds of all loads in turn on one server, each against the health of the same round."""
    loads = {"health": False, "new": False, "known": False, "mixed": True}
    with serving() as (url, key, cookie):
        found = [
            {
                name: measured_load(
                    url, key, "new" if pages else name, cookie if pages else None, seconds
                )
                for name, pages in loads.items()
            }
            for _ in range(ROUNDS)
        ]
    return [
        _rate("durable assignments over HTTP", "new", found, ">= 0.6"),
        _rate("known units over HTTP", "known", found, ">= 0.7"),
        _tail(found),
        _mixed(found),
    ]


def _rate(name: str, what: str, found: list[dict[str, Any]], target: str) -> Figure:
    return Figure(
        name=name,
        value=median(one[what]["rate"] for one in found),
        reference=median(one["health"]["rate"] for one in found),
        ratio=median(one[what]["rate"] / one["health"]["rate"] for one in found),
        target=target,
        unit="requests/s at 64 connections",
        against="/healthz of the same server",
    )


def _tail(found: list[dict[str, Any]]) -> Figure:
    return Figure(
        name="p99 of durable assignments over HTTP",
        value=1000 * median(one["new"]["p99"] for one in found),
        reference=1000 * median(one["new"]["median"] for one in found),
        ratio=median(one["new"]["p99"] / one["new"]["median"] for one in found),
        target="<= 10",
        unit="ms",
        against="their median",
    )


def _mixed(found: list[dict[str, Any]]) -> Figure:
    return Figure(
        name="p99 of assignments while 20 pages and 15 diagnostics are open",
        value=1000 * median(one["mixed"]["p99"] for one in found),
        reference=1000 * median(one["new"]["p99"] for one in found),
        ratio=median(one["mixed"]["p99"] / one["new"]["p99"] for one in found),
        target="<= 3",
        unit="ms",
        against="their p99 without pages",
    )


if __name__ == "__main__":
    taken = figures(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
    show([*taken, live.over_plain_inserts()])
