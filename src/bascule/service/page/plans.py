"""Plans for the form: by theory at once, or by the service's planner for more than two arms.

Answers are kept, since the form asks again whenever something was typed.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool

from bascule.planning.request import Wishes
from bascule.planning.result import Plan
from bascule.planning.stages import stages
from bascule.service.api.schemas import Wish
from bascule.service.server.planner import Planner

MOST_KEPT = 200


class Plans:
    """A cache of plans."""

    def __init__(self) -> None:
        self._kept: dict[Wishes, Plan] = {}

    async def plan(self, planner: Planner, wishes: Wishes) -> Plan:
        """The plan for a request."""
        found = self._kept.get(wishes)
        if found is None:
            # More arms have to be simulated, and that is not done in the process that serves.
            two = len(wishes.names) == 2
            found = await (
                run_in_threadpool(first_stage, wishes) if two else planner.plan(wish(wishes))
            )
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[wishes] = found
        return found


def first_stage(wishes: Wishes) -> Plan:
    """The plan by theory, without simulation.

    >>> first_stage(Wishes()).chosen.outlook.simulated
    False
    """
    return next(stages(wishes, threads=1))


def wish(wishes: Wishes) -> Wish:
    """A request in the form that the planner of the service takes.

    >>> wish(Wishes()).lift
    [0.01]
    """
    return Wish(
        outcome=wishes.outcome,
        baseline=wishes.baseline,
        lift=list(wishes.lifts),
        arms=list(wishes.names),
        error=wishes.error,
        units_per_day=wishes.units_per_day,
        deadline_days=wishes.deadline_days,
        seed=0,
    )
