"""`plan`, the one call: it loads the rest of this room when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bascule.core.outcomes import Outcome
    from bascule.planning.request import Lift
    from bascule.planning.result import Plan
    from bascule.planning.sample import Sample
    from bascule.simulation.engines.threads import Stages


def plan(
    outcome: Outcome | None = None,
    baseline: float | str | None = None,
    lift: Lift | None = None,
    *,
    arms: int | Sequence[str] | None = None,
    error: float = 0.05,
    units_per_day: float = 5000.0,
    deadline_days: float = 28.0,
    waiting_cost: float | None = None,
    spread: float | None = None,
    outcomes_per_day: float | None = None,
    sample: Sample | str | Path | None = None,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
) -> Plan:
    """The design to run, how long it will take and what it will cost.

    It is the cheapest that decides by the deadline with probability 0.9 if the lift is as wished;
    with a `waiting_cost`, cost and waiting together. The wishes are explained at `Wishes`; a
    `sample` is a file of outcomes from which baseline and spread are taken where they are not
    given. What is shown was simulated, `runs` times for the recommended design.

    >>> import bascule as bs
    >>> answer = bs.plan(bs.Gaussian(5), baseline=20, lift="10%", units_per_day=20, runs=100)
    >>> answer.possible
    True
    """
    from bascule.planning.request import wished
    from bascule.planning.stages import stages

    wishes = wished(
        outcome,
        baseline,
        lift,
        arms=arms,
        error=error,
        units_per_day=units_per_day,
        deadline_days=deadline_days,
        waiting_cost=waiting_cost,
        spread=spread,
        outcomes_per_day=outcomes_per_day,
        sample=sample,
    )
    *_, last = stages(wishes, runs, seed, threads, progress)
    return last
