"""`python -m bench.plans`: whether plans keep their promise on random problems.

`python -m bench.plans 5 10` takes the sixth to the tenth problem only.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

import bascule as bs
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.search.stages import stages

PROBLEMS, RUNS = 20, 4000


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


def main() -> int:
    """Plan and simulate all problems; return 1 if some plan was not possible or not kept."""
    started, rng, failed = time.perf_counter(), np.random.default_rng(7), 0
    problems = list(enumerate(problem(rng) for _ in range(PROBLEMS)))
    chosen = problems[slice(*map(int, sys.argv[1:3]))] if len(sys.argv) > 1 else problems
    for number, request in chosen:
        found = keep(request, number)
        fixed = found.plan.fixed_horizon
        ok = found.plan.possible and found.kept
        failed += not ok
        print(
            f"{found.plan.request.words}; error {found.plan.request.error:g}: "
            f"{found.plan.rule.label}; decided {found.decided:.3f}, wrong {found.wrong:.4f}, days "
            f"{found.days:.3g} (plan {found.plan.expected_days.mean:.3g}, fixed {fixed.days:.3g}), "
            f"cost {found.cost:.3g} (plan {found.plan.expected_cost.mean:.3g}, fixed "
            f"{fixed.cost:.3g}){'' if ok else ' NOT KEPT'}",
            flush=True,
        )
    print(f"{failed} of {len(chosen)} not kept, {time.perf_counter() - started:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
