"""`/v1/plan`: plans for requests, computed by the planner of the service."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bascule.service.api.calls import JSON, read
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.access import viewer
from bascule.service.planner import Planner

router = APIRouter(prefix="/v1", tags=["planning"])

PLANS: dict[str, tuple[type[models.Model], str, str]] = {
    "/plan": (
        models.NewPlan,
        "Choose a design for a request, with its expected duration and cost.",
        "bascule plan --json",
    ),
    "/plan/rollout": (
        models.RolloutRequest,
        "Plan a guarded rollout: its design, who gets in, and how often it is rolled out or back.",
        "bascule plan --rollout --json",
    ),
}
"""Kinds of plans, by path: model of the body, description, and the equivalent command."""


def _add_plan(path: str) -> None:
    sent, words, command = PLANS[path]

    async def endpoint(request: Request) -> Response:
        return await _answer(request, sent)

    ok = (f"The plan, as `{command}` prints it.", {"application/json": "object"})
    name = path.strip("/").replace("/", "_")
    extra = described(sent=sent, experiment=False, ok=ok)
    router.post(path, name=name, description=words, **extra)(endpoint)


for _path in PLANS:
    _add_plan(_path)


async def _answer(request: Request, model: type[models.Model]) -> Response:
    caller = await viewer(request)
    asked = await read(request, model)
    planner: Planner = request.app.state.planner
    content = await planner.make_for(request, caller.name, _plan_json, asked)
    return Response(content, media_type=JSON)


def _plan_json(asked: models.Model) -> bytes:
    # Planning code is imported only in the planner's process.
    from bascule.service.planner_process import plan_json

    return plan_json(asked)
