"""How long somebody waits for a plan, against importing NumPy alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.measure import Figure, compare, seconds


def _one_core() -> None:
    """Stay on one core, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _run(*command: str | Path) -> float:
    return seconds(
        lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=_one_core)
    )


def figures() -> list[Figure]:
    """The default question, compiled before. Where NumPy takes 0.12 s, 25 is 3 s."""
    command = Path(sys.executable).parent / "bascule"
    _run(command, "plan")
    return [
        compare(
            "bascule plan, the default question",
            lambda: _run(command, "plan"),
            lambda: _run(sys.executable, "-c", "import numpy"),
            target="<= 25",
            unit="s",
            against="python -c 'import numpy', both on one core",
            rounds=5,
        )
    ]
