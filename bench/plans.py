"""`python -m bench.plans`: what a power of 0.9 takes in every mode, and the power that is had.

`python -m bench.plans --problems` plans random problems instead and says which plans keep their
promise; `--problems 5 10` takes the sixth to the tenth only. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.inputs.checks import tidy
from bascule.core.outcomes.noise import Normal
from bascule.planning.request.words import question_of
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.search.stages import stages

PROBLEMS, RUNS = 20, 4000
ERROR, POWER, GAP = 0.05, 0.9, 0.1
TILTS = (1, 3, 8)
CORRELATION = 0.7
"""How a covariate goes with the outcomes."""

KNOWN = (
    "| O'Brien-Fleming, ten looks | 2,431 | 3,636 | 3,559 | 90 % |",
    "| fixed horizon | 3,426 | 3,426 | 3,426 | 90 % |",
)
"""Rows of tests with normal totals, by the spending function of Lan and DeMets and by formula."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A design with a horizon, and the means at which its power is as planned."""

    name: str
    design: bs.Design
    means: tuple[float, ...]
    world: dict[str, Any]
    times: int = 1
    """How many times as often as others it is played, where a test takes few units."""

    def row(self, runs: int) -> str:
        """Return units at the planned effect and at none, and the power, as a line of a table."""
        runs *= self.times
        found = self._played(self.means, runs)
        equal = self._played(self.means[:1] * len(self.means), runs)
        times, power = found.decision_time, float((found.winner == len(self.means) - 1).mean())
        return (
            f"| {self.name} | {times.mean():,.0f} | {np.quantile(times, 0.9):,.0f} | "
            f"{equal.decision_time.mean():,.0f} | {100 * power:.1f} ± "
            f"{100 * math.sqrt(power * (1 - power) / runs):.1f} % |"
        )

    def _played(self, means: tuple[float, ...], runs: int) -> bs.simulation.Simulation:
        world = bs.worlds.World(means, **self.world)
        return bs.simulate(self.design, world=world, runs=runs, seed=17)


def modes() -> Iterator[Mode]:
    """Yield every mode of a test with a horizon; the last of its means is the best."""
    for tilt in TILTS:
        yield replace(_mode(f"tilt {tilt}", bs.Gaussian(1), tilt, (0.0, GAP)), times=5)
    for low, high in ((0.05, 0.06), (0.2, 0.3)):
        for tilt in TILTS:
            name = f"conversions, {100 * low:g} % against {100 * high:g} %, tilt {tilt}"
            yield _mode(name, bs.Bernoulli(), tilt, (low, high), baseline=low)
    for tilt in TILTS:
        noise = {"noise": Normal(1.0)}
        yield _mode(f"estimated spread, tilt {tilt}", bs.Numeric(), tilt, (0.0, GAP), world=noise)
    for tilt in TILTS:
        world = {"noise": Normal(1.0), "correlation": CORRELATION}
        name = f"covariate, correlation {CORRELATION:g}, tilt {tilt}"
        mode = _mode(name, bs.Numeric(), tilt, (0.0, GAP), world=world)
        yield replace(mode, design=replace(mode.design, covariates=[bs.Covariate("x")]))
    for arms in (3, 5):
        for tilt in TILTS:
            means = (0.0,) * (arms - 1) + (GAP,)
            yield _mode(f"{arms} arms, tilt {tilt}", bs.Gaussian(1), tilt, means)


def _mode(
    name: str,
    outcome: Any,
    tilt: float,
    means: tuple[float, ...],
    baseline: float | None = None,
    world: dict[str, Any] | None = None,
) -> Mode:
    rule = bs.Tilt(tilt, effect=tidy(means[-1] - means[0]), power=POWER, baseline=baseline)
    arms = [f"arm {i}" for i in range(len(means))]
    return Mode(name, bs.Design(arms, outcome, rule, error=ERROR, sides=1), means, world or {})


def print_modes(runs: int, names: str) -> None:
    """Print the table of all modes in whose names these words are."""
    print("| rule | units, mean | 90 % by | units at no effect | power |\n|---|---|---|---|---|")
    print(*KNOWN, sep="\n", flush=True)
    for mode in modes():
        if names in mode.name:
            print(mode.row(runs), flush=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """A plan, and what its design did when it was simulated with another seed."""

    plan: bs.planning.Plan
    decided: float
    wrong: float
    days: float
    cost: float
    runs: int

    @property
    def kept(self) -> bool:
        """Whether deadline, error and forecasts agree with the plan."""
        request = self.plan.request
        se = math.sqrt(request.power * (1 - request.power) / self.runs)
        error = request.side_error
        return (
            self.decided > request.power - 3 * se
            and self.wrong <= error + 3 * math.sqrt(error / self.runs)
            and abs(self.days / self.plan.expected_days.mean - 1) < 0.15
            and abs(self.cost / self.plan.expected_cost.mean - 1) < 0.15
        )


def problem(rng: np.random.Generator) -> bs.PlanRequest:
    """Return a random request whose deadline leaves a fixed-horizon test a quarter or more."""
    error = float(rng.choice([0.01, 0.05, 0.1]))
    arms = int(rng.choice([2, 2, 2, 3]))
    if rng.random() < 0.5:
        base = float(rng.uniform(0.03, 0.4))
        lift = base * float(rng.uniform(0.15, 0.5))
        request = bs.PlanRequest(bs.Bernoulli(), base, lift, arms=arms, error=error, sides=1)
    else:
        request = bs.PlanRequest(
            bs.Gaussian(1), 0, float(rng.uniform(0.1, 0.8)), arms=arms, error=error, sides=1
        )
    daily = float(rng.integers(50, 5000))
    request = replace(request, units_per_day=daily, deadline_days=1000)
    days = float(rng.uniform(1.3, 4.0)) * fixed_horizon(request).days
    return replace(request, deadline_days=max(days, 30 * arms / daily))


def keep(request: bs.PlanRequest, seed: int, runs: int = RUNS) -> Kept:
    """Plan a request and simulate the recommended design afresh."""
    *_, plan = stages(request, seed=seed)
    fresh = bs.simulate(plan.design, request.means, runs=runs, seed=10_000 + seed)
    return Kept(
        plan,
        float(np.mean(fresh.winner >= 0)),
        fresh.error_rate,
        float(request.traffic.days_until(fresh.decision_time.astype(float)).mean()),
        float(fresh.regret.mean()),
        runs,
    )


def plan_problems(which: list[int]) -> int:
    """Plan and simulate all problems; return 1 if some plan was not possible or not kept."""
    started, rng, failed = time.perf_counter(), np.random.default_rng(7), 0
    problems = list(enumerate(problem(rng) for _ in range(PROBLEMS)))
    chosen = problems[slice(*which)] if which else problems
    for number, request in chosen:
        found = keep(request, number)
        fixed = found.plan.fixed_horizon
        ok = found.plan.possible and found.kept
        failed += not ok
        print(
            f"{question_of(found.plan.request)}; error {found.plan.request.error:g}: "
            f"{found.plan.rule.label}; decided {found.decided:.3f}, wrong {found.wrong:.4f}, days "
            f"{found.days:.3g} (plan {found.plan.expected_days.mean:.3g}, fixed {fixed.days:.3g}), "
            f"cost {found.cost:.3g} (plan {found.plan.expected_cost.mean:.3g}, fixed "
            f"{fixed.cost:.3g}){'' if ok else ' NOT KEPT'}",
            flush=True,
        )
    print(f"{failed} of {len(chosen)} not kept, {time.perf_counter() - started:.0f} s")
    return int(failed > 0)


def main() -> int:
    """Print the table, or whether plans of random problems keep their promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="tests of each mode, twice")
    parser.add_argument("--only", default="", help="modes in whose names these words are")
    parser.add_argument("--problems", type=int, nargs="*", help="plan random problems instead")
    asked = parser.parse_args()
    if asked.problems is not None:
        return plan_problems(asked.problems)
    print_modes(asked.runs, asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
