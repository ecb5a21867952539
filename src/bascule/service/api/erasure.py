"""`/v1/units`: what is known of a unit, and its erasure. Names are sent in bodies, not in paths,
which proxies write to their logs.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from bascule.live.api import Store
from bascule.service.api.bodies import read_model
from bascule.service.api.calls import calls_of, change
from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.api.units import named
from bascule.service.auth.access import Caller, admin, allow
from bascule.service.server.responses import Answer

Boss = Annotated[Caller, Depends(admin)]

router = APIRouter(prefix="/v1/units", tags=["units"])


@router.post(
    "/data", response_model=answers.UnitData, **described(sent=models.Unit, experiment=False)
)
async def data(request: Request, caller: Boss) -> Response:
    """Return all that is known of a unit: assignments, outcomes, and excluded outcomes."""
    unit = named((await read_model(request, models.Unit)).unit)
    store: Store = request.app.state.store
    found = await calls_of(request).long(store.unit_data, unit)
    seen = [one for one in found["experiments"] if caller.sees(one["experiment"])]
    return Answer({**found, "experiments": seen})


@router.post(
    "/erase",
    response_model=answers.Erased,
    **described(404, 409, sent=models.UnitToErase, experiment=False),
)
async def erase(request: Request, caller: Boss) -> Response:
    """Erase a unit for good: its name and outcomes go, statistics and decisions stay."""
    given = await read_model(request, models.UnitToErase)
    unit = named(given.unit)
    wanted: Any = given.experiments
    for name in wanted or ():
        allow(caller, name)
    store: Store = request.app.state.store
    if wanted is None and caller.experiments is not None:
        wanted = list(caller.experiments)
    erased = await change(request, caller, store.erase, unit, wanted)
    return Answer({"erased": list(erased)})
