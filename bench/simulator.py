"""The simulator against the random numbers it needs, against itself, and against plain Python."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import islice

import numpy as np

import bascule as bs
from bascule.simulation.recurrent.runs import EngineName
from bench.measure import Figure, compare, core_seconds, seconds

DRAWS = 4_000_000
RUNS = 40_000


def _design(arms: int = 2) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    return bs.Design(names, bs.Gaussian(1), bs.UCB(2), delta=math.exp(-12))


def _draws_per_second() -> float:
    generator, buffer = np.random.default_rng(0), np.empty(100_000)

    def draw() -> None:
        for _ in range(DRAWS // len(buffer)):
            generator.standard_normal(out=buffer)

    return DRAWS / core_seconds(draw)


def _steps_per_second(arms: int = 2, runs: int = RUNS, threads: int = 1) -> float:
    means = [1.0] + [0.0] * (arms - 1)
    result = bs.simulate(_design(arms), means, runs=runs, seed=1, threads=threads)
    return result.steps / result.seconds


def _steps_per_core_second(
    design: bs.Design, means: list[float], runs: int, engine: EngineName | None = None
) -> float:
    """Steps in a second that a core is busy, whatever else the machine does meanwhile."""
    begun = time.process_time()
    result = bs.simulate(design, means, runs, seed=1, threads=1, engine=engine)
    return result.steps / (time.process_time() - begun)


def _plain_steps_per_second() -> float:
    steps = 3000
    return steps / seconds(lambda: list(islice(bs.trace(_design(), [0, 1], seed=4), steps)))


def _first_use(folder: str) -> float:
    """Seconds until the first result of a new process that keeps machine code in `folder`."""
    script = (
        "import bascule as bs; "
        "bs.simulate(bs.Design(['a', 'b'], bs.Gaussian(1), bs.UCB(2)), [0, 1], runs=10)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    return seconds(
        lambda: subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    )


def _tilted_steps_per_second(tilt: float = 3, engine: EngineName = "plain") -> float:
    names = ["arm 0", "arm 1"]
    design = bs.Design(names, bs.Gaussian(1), bs.Tilt(tilt), error=0.05, sides=1)
    return _steps_per_core_second(design, [0.0, 0.1], 4000, engine)


def figures() -> list[Figure]:
    """Every figure of the simulator."""
    for arms in (2, 10, 1000):
        _steps_per_second(arms, runs=1)
    _tilted_steps_per_second()
    _tilted_steps_per_second(engine="fast")
    ucb = partial(_steps_per_core_second, _design(), [1.0, 0.0], RUNS)
    with tempfile.TemporaryDirectory() as folder:
        cold = _first_use(folder)
        first_use = compare(
            "first use, compiled before",
            lambda: _first_use(folder),
            lambda: cold,
            unit="s",
            against="first use ever: compiles and keeps the result on disk",
            rounds=3,
        )
    return [
        compare(
            "simulated steps per normal draw, one core",
            ucb,
            _draws_per_second,
            target=">= 1.5",
            unit="steps/s",
            against="numpy Generator.standard_normal, draws/s",
        ),
        compare(
            "two threads",
            lambda: _steps_per_second(threads=2, runs=4 * RUNS),
            lambda: _steps_per_second(threads=1, runs=2 * RUNS),
            target=">= 1.8",
            unit="steps/s",
            against="one thread",
        ),
        compare(
            "ten times the runs",
            lambda: _steps_per_second(runs=10 * RUNS),
            _steps_per_second,
            target=">= 0.9",
            unit="steps/s",
            against="a tenth of them",
            rounds=3,
        ),
        compare(
            "1,000 arms",
            lambda: _steps_per_second(1000, runs=20),
            lambda: _steps_per_second(10, runs=2000),
            target=">= 0.1",
            unit="steps/s",
            against="10 arms",
            rounds=3,
        ),
        compare(
            "tilted blocks, every outcome drawn",
            _tilted_steps_per_second,
            ucb,
            target=">= 0.5",
            unit="steps/s",
            against="UCB_2 by its only engine, which draws every outcome",
        ),
        *(
            compare(
                f'tilted blocks with engine="fast", tilt {tilt}',
                partial(_tilted_steps_per_second, tilt, "fast"),
                ucb,
                target=f">= {target}",
                unit="steps/s",
                against="UCB_2 by its only engine, which draws every outcome",
            )
            for tilt, target in ((3, 1.2), (10, 3.0))
        ),
        compare(
            "compiled loop",
            _steps_per_second,
            _plain_steps_per_second,
            unit="steps/s",
            against="the same rule in a plain Python loop",
            rounds=3,
        ),
        first_use,
    ]
