"""A GPU's rate for each kind of rule, and how well its runs agree with those of the CPU.

`python -m bench.gpu` needs an NVIDIA GPU and `bascule[cuda]`. `python -m bench` has the two rates
that have a target, where there is a GPU.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

import bascule as bs
from bascule.simulation.engines.backends.gpu import check_gpu, play_on_gpu
from bascule.simulation.engines.choose import runs_of
from bascule.simulation.worlds.world import World
from bench.measure import Figure

RUNS, CPU_RUNS, KERNEL_RUNS = 1_000_000, 20_000, 4_000_000
CASES = (
    ("Tilt_3, gap 0.1", bs.Gaussian(1), bs.Tilt(3), [0.0, 0.1]),
    ("Tilt_10, gap 0.1", bs.Gaussian(1), bs.Tilt(10), [0.0, 0.1]),
    ("UCB_2, gap 0.3", bs.Gaussian(1), bs.UCB(2), [0.0, 0.3]),
    ("ETC, gap 0.1", bs.Gaussian(1), bs.ETC(), [0.0, 0.1]),
    ("Tilt_3, 5 % against 8 %", bs.Bernoulli(), bs.Tilt(3), [0.05, 0.08]),
    ("Tilt_3, five arms", bs.Gaussian(1), bs.Tilt(3), [0.0, 0.3, 0.1, 0.05, 0.0]),
)
TARGETS = {"Tilt_3, gap 0.1": 4e10, "UCB_2, gap 0.3": 1e11}
"""Units a second that the kernel should reach on an H200."""


def figures() -> list[Figure]:
    """The rates that have a target, or nothing where there is no GPU."""
    try:
        return [_figure(*case) for case in CASES if case[0] in TARGETS]
    except bs.InputError as problem:
        print(f"The rates of a GPU are left out: {problem}")
        return []


def _figure(
    name: str, outcome: bs.design.Outcome, rule: bs.design.Rule, means: list[float]
) -> Figure:
    design = bs.Design(list("ab"), outcome, rule, error=0.05, sides=1)
    _, cpu_rate, same = _agreement(design, means)
    rate, target = _kernel_rate(design, means), TARGETS[name]
    return Figure(
        name=f"a GPU, {name}",
        value=rate,
        reference=target,
        ratio=rate / target,
        target=">= 1",
        unit="units/s of the kernel",
        against=f"target on an H200; {cpu_rate:.1e} on the CPU, {same:.2%} same runs",
    )


def rows() -> list[str]:
    """Return a line of a Markdown table for each case."""
    lines = [
        "| rule | units/s of the kernel | with copies | double | CPU, all cores | same runs "
        "| time: GPU, CPU (se) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, outcome, rule, means in CASES:
        design = bs.Design(list("abcde")[: len(means)], outcome, rule, error=0.05, sides=1)
        cpu, cpu_rate, same = _agreement(design, means)
        _, double_rate = _rate(design, means, RUNS, device="cuda", precision="double")
        single, single_rate = _rate(design, means, RUNS, device="cuda")
        kernel_rate = _kernel_rate(design, means)
        spread = cpu.decision_time.std() / math.sqrt(CPU_RUNS)
        times = (
            f"{single.decision_time.mean():,.1f}, {cpu.decision_time.mean():,.1f} ({spread:.1f})"
        )
        rates = f"{kernel_rate:.1e} | {single_rate:.1e} | {double_rate:.1e} | {cpu_rate:.1e}"
        lines.append(f"| {name} | {rates} | {same:.4%} | {times} |")
    return lines


def _agreement(
    design: bs.Design, means: list[float]
) -> tuple[bs.simulation.Simulation, float, float]:
    """Runs on the CPU, their rate, and the share of them that is the same on the GPU."""
    # The first runs on either device compile its loop.
    bs.simulate(design, means, 1000, seed=4, device="cuda")
    bs.simulate(design, means, CPU_RUNS, seed=4)
    cpu, cpu_rate = _rate(design, means, CPU_RUNS)
    double = bs.simulate(design, means, CPU_RUNS, seed=4, device="cuda", precision="double")
    same = (cpu.winner == double.winner) & (cpu.decision_time == double.decision_time)
    return cpu, cpu_rate, float(np.mean(same))


def _rate(
    design: bs.Design, means: list[float], runs: int, **options: str
) -> tuple[bs.simulation.Simulation, float]:
    # `seconds` is without compilation, which runs that outgrow a table need for a second loop.
    result = bs.simulate(design, means, runs, seed=4, **options)  # type: ignore[arg-type]
    return result, result.steps / result.seconds


def _kernel_rate(design: bs.Design, means: list[float]) -> float:
    """Units a second that the GPU computes in single precision, without copies."""
    played = check_gpu(runs_of(design, World(tuple(means)), 4, KERNEL_RUNS))
    effort = play_on_gpu(played, KERNEL_RUNS)
    return effort.steps / effort.kernel_seconds


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\n".join(rows()))
