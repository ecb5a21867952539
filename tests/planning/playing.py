from __future__ import annotations

import bascule as bs
from bascule.core.design import Design
from bascule.planning.forecast import Forecast, forecast_of, played_design
from bascule.planning.request.request import PlanRequest
from bascule.simulation.result import Simulation


def played(
    request: PlanRequest, design: Design, runs: int, seed: int
) -> tuple[Forecast, Simulation]:
    """The forecast by simulation in the world of a request, and the runs behind it."""
    result = bs.simulate(played_design(request, design), None, runs, seed, world=request.world)
    return forecast_of(result, request), result
