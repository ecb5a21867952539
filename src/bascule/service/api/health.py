"""`/healthz`, `/readyz` and `/metrics`, for operators of the service."""

from __future__ import annotations

import time
from collections import Counter
from typing import get_args

from fastapi import APIRouter, Request, Response

from bascule.live.api import State
from bascule.service.api.schemas import answers
from bascule.service.auth.access import viewer
from bascule.service.responses import DataResponse, Problem, unavailable
from bascule.service.telemetry import METRICS_TYPE, Metrics

PROBE_EVERY = 2.0
"""Seconds for which a successful write to the store counts as readiness."""

router = APIRouter(tags=["operation"])


@router.get("/healthz", response_model=answers.Health)
async def healthz() -> Response:
    """Whether the process answers; it does not ask the store."""
    return DataResponse({"status": "ok"})


@router.get("/readyz", response_model=answers.Health)
async def readyz(request: Request) -> Response:
    """Whether the service can do its work: the store can be written, and no stop is under way."""
    state = request.app.state
    if state.is_leaving:
        raise unavailable("the service is about to stop")
    # All callers share one probe, so that frequent requests do not cause frequent writes.
    await state.probe.newer_than(time.monotonic() - PROBE_EVERY)
    return DataResponse({"status": "ok"})


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """The OpenAPI description of the service."""
    content = await request.app.state.description.newer_than(float("-inf"))
    return Response(content, media_type="application/json")


@router.get(
    "/metrics",
    responses={200: {"description": "Prometheus", "content": {"text/plain": {}}}},
)
async def measure(request: Request) -> Response:
    """Counts and times for Prometheus, over all experiments."""
    caller = await viewer(request)
    if caller.is_limited:
        raise Problem(403, "metrics count all experiments: use a key that is not limited to some")
    state = request.app.state
    metrics: Metrics = state.metrics
    entries = await state.directory.all()

    def write() -> bytes:
        states = Counter(entry.state for entry in entries)
        states["unreadable"] = len(state.directory.damaged)
        for name in (*get_args(State), "unreadable"):
            metrics.experiments.labels(name).set(states[name])
        return metrics.text()

    return Response(await state.calls.compute(write), media_type=METRICS_TYPE)
