"""How long a user waits before anything happens, against importing NumPy alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Figure, compare, seconds


def _run(*command: str | Path) -> float:
    return seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


def _import(module: str) -> float:
    return _run(sys.executable, "-c", f"import {module}")


def figures() -> list[Figure]:
    """Every figure of starting up. Where NumPy takes 0.12 s, 2.5 is 0.3 s and 4.2 is 0.5 s."""
    command = Path(sys.executable).parent / "bascule"
    numpy = "python -c 'import numpy'"
    design = "import bascule as bs; bs.Design(['a', 'b'], bs.Gaussian(1), bs.Tilt(2))"
    return [
        compare(
            "import bascule, and a first design",
            lambda: _run(sys.executable, "-c", design),
            lambda: _import("numpy"),
            target="<= 2.5",
            unit="s",
            against=numpy,
        ),
        compare(
            "import bascule",
            lambda: _import("bascule"),
            lambda: _import("numpy"),
            target="<= 1.6",
            unit="s",
            against=numpy,
        ),
        compare(
            "bascule --help",
            lambda: _run(command, "--help"),
            lambda: _import("numpy"),
            target="<= 4.2",
            unit="s",
            against=numpy,
        ),
    ]
