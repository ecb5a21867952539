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

distributed = pytest.importorskip("distributed")

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05)
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


def test_the_command_line_uses_a_cluster(cluster: Any) -> None:
    def printed(*options: str) -> dict[str, object]:
        command = [str(Path(sys.executable).parent / "bascule"), "simulate", "--means", "0", "0.5"]
        command += ["--rule", "tilt", "--runs", "300", "--json", *options]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        answer: dict[str, object] = json.loads(run.stdout)
        answer.pop("seconds")
        return answer

    assert printed("--dask", cluster.scheduler_address) == printed()
