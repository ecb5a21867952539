"""One run with recurring outcomes, stage by stage and uncompiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bascule.core.cohorts import ArmCohorts, CohortStatistics
from bascule.core.design import Design
from bascule.core.gaps import checked_means
from bascule.core.procedures.base import Decision
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.progress import close_stage, recurrent_procedure
from bascule.simulation.feasible import check_feasible, units_cap
from bascule.simulation.random.streams import checked_seed
from bascule.simulation.trace import normals
from bascule.simulation.worlds.world import World


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a test stands after a stage: who joined which arm, what every unit gave, what is known.

    `joined` holds the arms of the units that arrived, `values` the outcome of every unit in the
    order in which they arrived.
    """

    joined: tuple[int, ...]
    values: tuple[float, ...]
    statistics: CohortStatistics
    decision: Decision | None


@dataclass(slots=True)
class _Member:
    """A unit in the test: its arm, its own mean, and what it has given."""

    arm: int
    mean: float
    outcomes: int = 0
    total: float = 0.0


def trace_stages(
    design: Design, means: Sequence[float], seed: int = 0, run: int = 0
) -> Iterator[Stage]:
    """Every stage of one run with `Recurrent` outcomes, up to its decision or the cap.

    It is the run that `simulate(..., engine="plain")` plays.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2, radius="mixture"), error=0.05)
    >>> *_, last = trace_stages(design, [0.0, 2.0], seed=1)
    >>> last.decision.name, last.decision.guarantee
    ('b', 'gaussian')
    """
    procedure = recurrent_procedure(design)
    given = checked_means(means, len(design.arms), design.outcome)
    means = tuple(design.oriented(mean) for mean in given)
    noise = normals(checked_seed(seed), checked_seed(run, "run"))
    check_feasible(design, World(means))
    between, within = procedure.spreads
    members: list[_Member] = []
    statistics = CohortStatistics.empty(len(means))
    while True:
        joined = _joining(procedure, statistics)
        if len(members) + len(joined) > units_cap(design):
            return
        members += [_Member(arm, means[arm] + between * next(noise)) for arm in joined]
        values = tuple(unit.mean + within * next(noise) for unit in members)
        for unit, value in zip(members, values, strict=True):
            unit.outcomes += 1
            unit.total += value
        statistics = close_stage(design.increasing, _counted(members, statistics))
        reached = procedure.decision(statistics)
        if design.goal == "increase":
            yield Stage(joined, values, statistics, reached)
        else:
            arms = tuple(arm.reflected(0.0) for arm in statistics.arms)
            yield Stage(joined, tuple(-x for x in values), replace(statistics, arms=arms), reached)
        if reached is not None:
            return


def _joining(procedure: RecurrentProcedure, statistics: CohortStatistics) -> tuple[int, ...]:
    if procedure.shape.together:
        return tuple(arm for arm in range(len(statistics.arms)) if arm not in statistics.out)
    return (procedure.next_arm(statistics),)


def _counted(members: list[_Member], before: CohortStatistics) -> CohortStatistics:
    arms = tuple(
        ArmCohorts.of((unit.outcomes, unit.total) for unit in members if unit.arm == arm)
        for arm in range(len(before.arms))
    )
    return replace(before, arms=arms, stage=before.stage + 1)
