"""How much of the service's speed is left when what it answers is on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from typing import Any

import bascule as bs
from bascule.service.auth.keys import create_key
from bench.measure import Figure

SECONDS, ROUNDS = 3.0, 3
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


def _measured(url: str, key: str, what: str) -> dict[str, float]:
    host, _, port = url.removeprefix("http://").partition(":")
    command = [sys.executable, "-m", "bench.load", host, port, key, what, str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    if told["failed"]:
        raise RuntimeError(f"{told['failed']} requests failed")
    return told


def _started(location: str) -> tuple[subprocess.Popen[str], str]:
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


def figures() -> list[Figure]:
    """Rounds of all three in turn on one server, each against the health of the same round."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "bench.db")
        with bs.open(path) as store:
            store.create("bench", DESIGN)
            key = create_key(store, "client")
        process, url = _started(path)
        try:
            _measured(url, key, "known")
            found = [
                {what: _measured(url, key, what) for what in ("health", "new", "known")}
                for _ in range(ROUNDS)
            ]
        finally:
            process.terminate()
            process.wait()
    return [
        _rate("durable assignments over HTTP", "new", found, ">= 0.5"),
        _rate("known units over HTTP", "known", found, ">= 0.8"),
        _tail(found),
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
