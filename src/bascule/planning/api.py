"""`plan`, the one call: it loads the rest of the package when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from bascule.core.outcomes import Outcome
    from bascule.core.rules import Rule
    from bascule.planning.request.options import Lift, PlanOptions
    from bascule.planning.request.request import PlanRequest
    from bascule.planning.result import Plan
    from bascule.simulation.engines.backends.threads import Stages


def plan(
    outcome: Outcome | PlanRequest | None = None,
    baseline: float | str | None = None,
    lift: Lift | None = None,
    *,
    rules: Sequence[Rule] = (),
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Return the design to run, how long it will take and what it will cost.

    It is the cheapest that decides by the deadline with probability `power` if the lift is as
    requested; with a `waiting_cost`, cost and waiting together. A request may be given whole, as a
    `PlanRequest`, or by its parts; `options` are declared in `PlanOptions`. A `sample` is a file of
    outcomes from which baseline and spread are taken where they are not given. A `cap` plans for
    `Bounded(0, cap)`: an amount, or a quantile of the sample such as "99%".
    `rules` are considered beside the usual ones. What is shown was simulated, `runs` times for the
    recommended design.

    >>> import bascule as bs
    >>> answer = bs.plan(bs.Gaussian(5), baseline=20, lift="10%", units_per_day=20, runs=100)
    >>> answer.possible
    True
    """
    from bascule.planning.request.read import plan_request
    from bascule.planning.request.request import PlanRequest
    from bascule.planning.search.stages import stages

    if isinstance(outcome, PlanRequest):
        request = outcome.alone(baseline=baseline, lift=lift, **options)
    else:
        request = plan_request(outcome, baseline, lift, **options)
    *_, last = stages(request, runs, seed, threads, progress, rules)
    return last
