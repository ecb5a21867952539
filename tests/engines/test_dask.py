"""Simulations on a Dask cluster of two processes, one of which dies in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.engine

distributed = pytest.importorskip("distributed")

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
MEANS = [0.0, 0.1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as local:
        yield local


def test_a_worker_that_is_killed_changes_nothing(cluster: Any) -> None:
    here = bs.simulate(DESIGN, MEANS, 20_000, seed=2)
    progress: list[int] = []
    with distributed.Client(cluster, set_as_default=False) as client:
        workers = client.run(os.getpid)
        victim = next(iter(workers.values()))

        def kill_in_the_middle() -> None:
            while not progress or progress[-1] < 2_000:
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill_in_the_middle)
        killer.start()
        executor = client.get_executor(pure=False, retries=3)
        there = bs.simulate(DESIGN, MEANS, 20_000, 2, None, progress.append, executor=executor)
        killer.join()
        client.wait_for_workers(2, timeout=60)
        assert victim not in client.run(os.getpid).values()
    for name in ("winner", "decision_time", "regret", "units"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert progress[-1] == 20_000
    assert progress == sorted(progress)


def bascule(*options: str) -> list[str]:
    return [str(Path(sys.executable).parent / "bascule"), *options]


@pytest.mark.parametrize(
    "options",
    [
        ("simulate", "--means", "0", "0.5", "--rule", "tilt", "--runs", "300"),
        ("frontier", "--means", "0", "2", "--runs", "10"),
        ("audit", "tilt", "--means", "0", "1", "--runs", "20", "--worlds", "steady"),
        ("plan", "--baseline", "20%", "--lift", "100%", "--runs", "20"),
    ],
    ids=lambda options: options[0],
)
def test_the_command_line_uses_a_cluster(cluster: Any, options: tuple[str, ...]) -> None:
    def printed(*more: str) -> object:
        run = subprocess.run(
            bascule(*options, "--json", *more), capture_output=True, text=True, check=True
        )
        return json.loads(run.stdout, object_hook=without_seconds)

    assert printed("--dask", cluster.scheduler_address) == printed()


def test_the_paper_is_the_same_to_the_last_byte(cluster: Any, tmp_path: Path) -> None:
    def written(name: str, *more: str) -> dict[str, bytes]:
        out = tmp_path / name
        subprocess.run(
            bascule("paper", "--runs", "2", "--seed", "3", "--out", str(out), *more),
            capture_output=True,
            check=True,
        )
        return {path.name: path.read_bytes() for path in out.iterdir()}

    here = written("here")
    assert {"figure1.csv", "figure4.svg", "claims.json"} <= here.keys()
    assert written("there", "--dask", cluster.scheduler_address) == here


def without_seconds(answer: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in answer.items() if not name.endswith("seconds")}


def test_an_interruption_ends_the_command_and_frees_the_workers(cluster: Any) -> None:
    options = ("simulate", "--means", "0", "0.1", "--rule", "tilt", "--runs", "5000000")
    with (
        distributed.Client(cluster, set_as_default=False) as client,
        subprocess.Popen(
            bascule(*options, "--dask", cluster.scheduler_address), stderr=subprocess.DEVNULL
        ) as command,
    ):

        def busy() -> bool:
            return any(client.processing().values())

        while not busy():
            time.sleep(0.05)
        command.send_signal(signal.SIGINT)
        assert command.wait(timeout=60) != 0
        # What a worker has begun it finishes; nothing else follows.
        deadline = time.monotonic() + 120
        while busy():
            assert time.monotonic() < deadline
            time.sleep(0.05)
