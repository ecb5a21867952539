"""`/healthz`, `/readyz` and `/metrics`: for those who keep the service running."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter, Request, Response
from sqlalchemy import text
from starlette.concurrency import run_in_threadpool

from bascule.live.api.store import Store
from bascule.service.api import schemas as models
from bascule.service.api.openapi import refusals
from bascule.service.auth.access import viewer
from bascule.service.server import metrics
from bascule.service.server.json_response import Answer
from bascule.service.server.problems import Problem

router = APIRouter(tags=["operation"])


@router.get("/healthz", response_model=models.Health)
async def healthz() -> Response:
    """Whether the service is there."""
    return Answer({"status": "ok"})


@router.get(
    "/readyz",
    response_model=models.Health,
    responses={503: refusals()[503]},
)
async def readyz(request: Request) -> Response:
    """Whether the service can do its work: whether the store answers, and no end is near."""
    if request.app.state.is_leaving:
        raise Problem(503, "the service is about to stop")
    await run_in_threadpool(_ask, request.app.state.store)
    return Answer({"status": "ok"})


@router.get(
    "/metrics",
    responses={
        200: {"description": "Prometheus", "content": {"text/plain": {}}},
        **refusals(),
    },
)
async def measure(request: Request) -> Response:
    """Counts and times for Prometheus."""
    await viewer(request)
    state = request.app.state
    states = Counter(entry.state for entry in await state.directory.all())
    for name in ("ready", "running", "paused", "decided", "over", "stopped"):
        state.metrics.experiments.labels(name).set(states[name])
    content = await run_in_threadpool(state.metrics.text)
    return Response(content, media_type=metrics.MEDIA_TYPE)


def _ask(store: Store) -> None:
    with store.reading() as connection:
        connection.execute(text("SELECT 1 FROM experiments LIMIT 1"))
