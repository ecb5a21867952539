"""`/v1/experiments`: create, list, show, change, and look back."""

from __future__ import annotations

import csv
import math
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from io import StringIO
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from bascule.live.api.experiment import Experiment
from bascule.live.api.store import Store
from bascule.live.commit.context import acting_as
from bascule.live.reports.export import COLUMNS, some_rows
from bascule.service.api import reply
from bascule.service.api import schemas as models
from bascule.service.api.openapi import EXPERIMENT, body, refusals
from bascule.service.auth.access import Caller, admin, allow, viewer
from bascule.service.server.experiment_cache import Entry
from bascule.service.server.json_response import Answer
from bascule.service.server.problems import Problem
from bascule.service.server.request_body import read_json, read_model, take

Result = TypeVar("Result")

Looker = Annotated[Caller, Depends(viewer)]
Boss = Annotated[Caller, Depends(admin)]

EARLIEST = datetime.fromisoformat("1970-01-02T00:00:00+00:00")

router = APIRouter(prefix="/v1", tags=["experiments"])


async def find(request: Request, caller: Caller, name: str) -> Entry:
    """The experiment of a path, if the caller may know of it."""
    allow(caller, name)
    found: Entry = await request.app.state.directory.find(name)
    return found


async def change(
    request: Request, caller: Caller, do: Callable[..., Result], *given: Any, **named: Any
) -> Result:
    """Change something in the store, in the caller's name."""
    with acting_as(caller.name):
        try:
            return await run_in_threadpool(do, *given, **named)
        finally:
            request.app.state.directory.forget()


@router.post(
    "/experiments",
    status_code=201,
    response_model=models.ExperimentOut,
    responses=refusals(409, 422),
    openapi_extra=body(models.NewExperiment),
)
async def create(request: Request, caller: Boss) -> Response:
    """Create a test, and start it unless `start` is false."""
    given = take(models.NewExperiment, _with_infinity(await read_json(request)))
    allow(caller, given.name)
    _check_deadline(given.design.deadline)
    store: Store = request.app.state.store
    test = await change(request, caller, store.create, given.name, given.design, start=given.start)
    data = await run_in_threadpool(reply.experiment_data, test, store.clock.now())
    return Answer(data, 201, {"Location": f"/v1/experiments/{given.name}"})


@router.get("/experiments", response_model=models.Statuses, responses=refusals())
async def show_all(request: Request, caller: Looker) -> Response:
    """List the tests and where they stand, the oldest first."""
    entries: list[Entry] = await request.app.state.directory.all()
    tests = [entry.test for entry in entries if caller.sees(entry.name)]
    found = await run_in_threadpool(lambda: [reply.status_data(test.status()) for test in tests])
    return Answer({"experiments": found})


@router.get(
    "/experiments/{name}",
    response_model=models.ExperimentOut,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def show(request: Request, name: str, caller: Looker) -> Response:
    """Show a test: its design with the knob as it stands, and where it stands."""
    entry = await find(request, caller, name)
    return Answer(await run_in_threadpool(reply.experiment_data, entry.test, entry.created))


@router.delete(
    "/experiments/{name}",
    status_code=204,
    responses=refusals(404, 409),
    openapi_extra=EXPERIMENT,
)
async def delete(request: Request, name: str, caller: Boss) -> Response:
    """Delete a stopped test with all its data; the audit log keeps what happened."""
    await find(request, caller, name)
    store: Store = request.app.state.store
    await change(request, caller, store.delete, name)
    return Response(status_code=204)


@router.get(
    "/experiments/{name}/status",
    response_model=models.StatusOut,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def status(request: Request, name: str, caller: Looker) -> Response:
    """Where a test stands: arms, intervals, evidence, cost, and the decision if there is one."""
    entry = await find(request, caller, name)
    return await _standing(entry.test)


def _move(verb: str) -> Callable[..., Any]:
    async def move(request: Request, name: str, caller: Boss) -> Response:
        entry = await find(request, caller, name)
        await change(request, caller, getattr(entry.test, verb))
        return await _standing(entry.test)

    return move


def _add_moves() -> None:
    """One path for each change that needs no more words."""
    moves = {
        "start": "Take units, at first or again after a pause.",
        "pause": "Take no new units; those in the test keep their arm, and their outcomes count.",
        "stop": "End a test by hand, for good; outcomes count no more.",
        "release": "After the decision: everyone gets the winner, also who was in another arm.",
    }
    for verb, words in moves.items():
        router.add_api_route(
            f"/experiments/{{name}}/{verb}",
            _move(verb),
            methods=["POST"],
            name=verb,
            operation_id=verb,
            summary=verb.capitalize(),
            description=words,
            response_model=models.StatusOut,
            responses=refusals(404, 409),
            openapi_extra=EXPERIMENT,
        )


_add_moves()


@router.post(
    "/experiments/{name}/knob",
    response_model=models.StatusOut,
    responses=refusals(404, 409, 422),
    openapi_extra={**EXPERIMENT, **body(models.Knob)},
)
async def knob(request: Request, name: str, caller: Boss) -> Response:
    """Turn the knob, from the next unit or the next block on; the guarantee stays."""
    entry = await find(request, caller, name)
    given = await read_model(request, models.Knob)
    await change(request, caller, entry.test.knob, alpha=given.alpha, tilt=given.tilt)
    return await _standing(entry.test)


@router.post(
    "/experiments/{name}/arms",
    response_model=models.StatusOut,
    responses=refusals(404, 409, 422),
    openapi_extra={**EXPERIMENT, **body(models.ArmChange)},
)
async def change_arm(request: Request, name: str, caller: Boss) -> Response:
    """Take an arm out for good, or give it no new units for a while, or give it units again."""
    entry = await find(request, caller, name)
    given = await read_model(request, models.ArmChange)
    test = entry.test
    verbs = {"drop": test.drop_arm, "pause": test.pause_arm, "resume": test.resume_arm}
    await change(request, caller, verbs[given.action], given.arm)
    return await _standing(test)


@router.get(
    "/experiments/{name}/history",
    response_model=models.History,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def history(request: Request, name: str, caller: Looker) -> Response:
    """Where a test stood, time after time: the points of a plot."""
    entry = await find(request, caller, name)
    points = await run_in_threadpool(entry.test.history)
    return Answer({"arms": entry.arms, "points": [point.to_dict() for point in points]})


@router.get(
    "/experiments/{name}/audit",
    response_model=models.AuditLog,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def audit(request: Request, name: str, caller: Looker) -> Response:
    """Every change of a test and its decision: when, by whom, what."""
    entry = await find(request, caller, name)
    return Answer(reply.audit_data(await run_in_threadpool(entry.test.audit)))


@router.get(
    "/experiments/{name}/diagnostics",
    response_model=models.Diagnostics,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def diagnostics(request: Request, name: str, caller: Looker) -> Response:
    """Drift of the outcomes, and units per arm against the logged probabilities."""
    entry = await find(request, caller, name)
    found = await run_in_threadpool(entry.test.diagnostics)
    return Answer({"diagnostics": [reply.diagnostic_data(one) for one in found]})


@router.get(
    "/experiments/{name}/set-aside",
    response_model=models.SetAside,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def set_aside(request: Request, name: str, caller: Looker) -> Response:
    """Outcomes that do not count as they came, each with its reason."""
    entry = await find(request, caller, name)
    return Answer(reply.set_aside_data(await run_in_threadpool(entry.test.excluded)))


@router.get(
    "/experiments/{name}/export",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "CSV"},
        **refusals(400, 404),
    },
    openapi_extra=EXPERIMENT,
)
async def export(
    request: Request,
    name: str,
    caller: Looker,
    table: Annotated[Literal["assignments", "outcomes"], Query()] = "assignments",
) -> Response:
    """All assignments or all outcomes of a test, as CSV."""
    entry = await find(request, caller, name)
    file = f"{name}-{table}.csv"
    return StreamingResponse(
        _csv(entry.test, table),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


async def _csv(test: Experiment, table: str) -> AsyncIterator[str]:
    """The rows, some at a time, so that memory stays as it is however many there are."""
    rows: list[tuple[Any, ...]] = [COLUMNS[table]]
    after: int | None = -1
    while True:
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        yield text.getvalue()
        if after is None:
            return
        rows, after = await run_in_threadpool(some_rows, test, table, after)


def _with_infinity(data: object) -> object:
    """The same with a number for the word: JSON has no infinity, and designs have."""
    match data:
        case {"design": {"rule": {"alpha": "Infinity", **rule}, **design}, **rest}:
            return {**rest, "design": {**design, "rule": {**rule, "alpha": math.inf}}}
    return data


async def _standing(test: Experiment) -> Response:
    return Answer(reply.status_data(await run_in_threadpool(test.status)))


def _check_deadline(deadline: datetime | None) -> None:
    if deadline is not None and deadline < EARLIEST:
        raise Problem(422, "the deadline has passed: give one to come", field="deadline")
