"""Runs of the rules that compare intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.interval_state import FloatArray, Steps, width
from bascule.core.rules import PaperRule
from bascule.core.rules.mixture import log_threshold
from bascule.core.rules.radius import Radius, radius
from bascule.simulation.engines.feasible import units_cap
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import ALIVE, STOP, WAITING, IntArray, Kernel
from bascule.simulation.kernels.intervals import BURST, CALLED, build, build_table
from bascule.simulation.random.draws import NORMAL, Draws, draws_of
from bascule.simulation.random.streams import WORDS, ziggurat_table
from bascule.theory import predict

SMALLEST_TABLE, LARGEST_TABLE = 1 << 14, 1 << 21


def interval_loop(
    steps: Steps,
    fixed_arms: int,
    endless: bool = False,
    draws: Draws = NORMAL,
    radius_of: Radius = radius,
) -> Kernel:
    """The loop for a rule, for one number of arms with the loops unrolled, or for any (0)."""
    return _loop(steps, fixed_arms, endless, draws, radius_of)


@lru_cache(maxsize=64)
def _loop(steps: Steps, fixed_arms: int, endless: bool, draws: Draws, radius_of: Radius) -> Kernel:
    return compile_loop(
        lambda fingerprint: build(steps, fixed_arms, endless, fingerprint, draws, radius_of), CALLED
    )


@lru_cache(maxsize=4)
def radius_table(radius_of: Radius = radius) -> Kernel:
    """The loop that fills a table of radii."""
    return compile_loop(lambda fingerprint: build_table(fingerprint, radius_of), CALLED)


def _lanes(arms: int) -> int:
    """Runs played at once: enough to hide latency, few enough to stay in the first cache."""
    return max(4, min(16, 256 // arms))


class IntervalRuns:
    """The numbers the loop needs, and the columns that the loops of all threads fill."""

    def __init__(
        self, design: Design, rule: PaperRule, means: tuple[float, ...], seed: int, runs: int
    ) -> None:
        arms = len(means)
        steps = rule.steps()
        self.arms = arms
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        self.cap = units_cap(design)
        shape = rule.shape(design.outcome, arms)
        delta = design.calibration.delta
        self.radius_of = (shape.factor, shape.count, delta)
        self.threshold = log_threshold(arms, design.calibration.error)
        self.sigma = design.outcome.sigma
        self.alpha = rule.alpha
        draws = draws_of(design.outcome)
        fixed = arms_to_fix(arms, runs)
        self.tabulated: Kernel = interval_loop(steps, fixed, False, draws, shape.radius)
        self.endless: Callable[[], Kernel] = lambda: interval_loop(
            steps, fixed, True, draws, shape.radius
        )
        self.radii = self._table(design, means, shape.radius)
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * arms, np.int64)

    def _table(self, design: Design, means: tuple[float, ...], radius_of: Radius) -> FloatArray:
        gaps = rival_gaps(means)
        wanted = float(self.cap) if min(gaps) == 0 else 8 * max(predict(design, gaps).units)
        size = int(min(max(wanted, SMALLEST_TABLE), self.cap, LARGEST_TABLE)) + 2 * BURST
        radii = np.empty(size)
        radius_table(radius_of)(radii, self.sigma, *self.radius_of)
        return radii

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        lanes = min(_lanes(self.arms), runs)
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        arguments = (
            np.empty(width(self.arms) * lanes),
            np.empty(WORDS * lanes, np.uint64),
            np.empty(lanes, np.int64),
            np.empty(lanes, np.int64),
            np.empty(BURST * lanes),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.cap,
            self.means,
            self.sigma,
            self.alpha,
            *self.radius_of,
            self.threshold,
            self.radii,
            self.ziggurat,
            self.times[here],
            self.winners[here],
            self.counts[cells],
            control,
        )
        control[ALIVE] = control[WAITING] = 0
        self.tabulated(*arguments)
        while control[ALIVE] > 0 and not control[STOP]:
            self.endless()(*arguments)
            self.tabulated(*arguments)
