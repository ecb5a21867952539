"""Runs that are killed: nothing is written twice, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = 17
"""Runs are killed before every so many lines of the code that writes."""


@pytest.mark.engine
def test_runs_killed_at_many_moments_come_to_the_same(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.steering.kills",
        str(tmp_path / "kills"),
        str(STEP),
        "5",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kills = [int(line.split()[0]) for line in done.stdout.splitlines()]
    # The first run, one that moves the shares, and one that decides.
    assert len(kills) == 3
    assert min(kills) >= 5
    assert done.stdout.splitlines()[-1].endswith("({'control': 0.0, 'green': 1.0}, 1)")
