"""`/v1/experiments`: create, list, show, change and export tests, and read what happened."""

from __future__ import annotations

import csv
import math
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from bascule.core.diagnostics import Diagnostic
from bascule.core.metrics import PRIMARY
from bascule.live.api import (
    Description,
    Experiment,
    Receipt,
    Status,
    Store,
    acting_as,
    columns_of,
    safe_cell,
    some_rows,
)
from bascule.live.api.reads import Summary
from bascule.presentation.guarantees import bound_words, error_words
from bascule.service.api import schemas as models
from bascule.service.api.bodies import read_json, read_model, take
from bascule.service.api.openapi import EXPERIMENT, body, refusals
from bascule.service.auth.access import Caller, admin, allow, unnamed, viewer
from bascule.service.server.responses import Answer, Problem
from bascule.service.server.shared_renders import SharedRenders
from bascule.service.server.store_calls import StoreCalls

Result = TypeVar("Result")

Looker = Annotated[Caller, Depends(viewer)]
Boss = Annotated[Caller, Depends(admin)]

NOT_SHOWN = "(name not shown)"

EARLIEST = datetime.fromisoformat("1970-01-02T00:00:00+00:00")

router = APIRouter(prefix="/v1", tags=["experiments"])


async def find(request: Request, caller: Caller, name: str) -> Summary:
    """The experiment that a path names, if the caller's key is valid for it."""
    allow(caller, name)
    found: Summary = await request.app.state.directory.find(name)
    return found


def calls_of(request: Request) -> StoreCalls:
    """How an endpoint calls the store."""
    calls: StoreCalls = request.app.state.calls
    return calls


def renders_of(request: Request) -> SharedRenders:
    """What callers who ask at about the same time share."""
    renders: SharedRenders = request.app.state.renders
    return renders


async def change(
    request: Request, caller: Caller, do: Callable[..., Result], *given: Any, **named: Any
) -> Result:
    """Change something in the store, in the caller's name."""
    with acting_as(caller.name):
        try:
            return await calls_of(request).short(do, *given, **named)
        finally:
            request.app.state.directory.forget()
            renders_of(request).forget()


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
    words = _words(given.description)
    more: dict[str, Any] = {
        "start": given.start,
        "audience": given.audience,
        "values": given.values,
    }

    def make() -> Experiment:
        Description.of(words)
        made = store.create(given.name, given.design, **more)
        if words:
            made.describe(**words)
        return made

    test = await change(request, caller, make)
    data = await calls_of(request).long(experiment_data, test, store.clock.now())
    return Answer(data, 201, {"Location": f"/v1/experiments/{given.name}"})


@router.get("/experiments", response_model=models.Statuses, responses=refusals())
async def show_all(
    request: Request, caller: Looker, search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """List all tests with their statuses, the oldest first.

    With `search`, only those whose name, owner, texts, links or tags have all of its words.
    """
    directory = request.app.state.directory
    entries = [entry for entry in await directory.all(age=0.0) if caller.sees(entry.name)]
    if search.strip():
        found = await calls_of(request).long(directory.store.search, search)
        names = {test.name for test in found}
        entries = [entry for entry in entries if entry.name in names]
    statuses, failed = await calls_of(request).long(directory.statuses, entries)
    failed += [name for name in directory.damaged if caller.sees(name)]
    data: dict[str, Any] = {"experiments": [status_data(status) for status in statuses]}
    if failed:
        data["unreadable"] = sorted(failed)
    return Answer(data)


@router.get(
    "/experiments/{name}",
    response_model=models.ExperimentOut,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def show(request: Request, name: str, caller: Looker) -> Response:
    """Show a test: its design with the present setting of the knob, and its status."""
    entry = await find(request, caller, name)
    return Answer(await calls_of(request).long(experiment_data, entry.test, entry.created))


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
    """The status of a test: arms, intervals, evidence, cost, and the decision if there is one."""
    entry = await find(request, caller, name)
    return await _status(request, entry.test)


def _move(verb: str) -> Callable[..., Any]:
    async def move(request: Request, name: str, caller: Boss) -> Response:
        entry = await find(request, caller, name)
        await change(request, caller, getattr(entry.test, verb))
        return await _status(request, entry.test)

    return move


def _add_moves() -> None:
    """One path for each change that needs no more words."""
    moves = {
        "start": "Take units, at first or again after a pause.",
        "pause": "Take no new units; those in the test keep their arm, and their outcomes count.",
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
    "/experiments/{name}/stop",
    response_model=models.StatusOut,
    responses=refusals(404, 409, 422),
    openapi_extra={**EXPERIMENT, **body(models.Stop, required=False)},
    operation_id="stop",
)
async def stop(request: Request, name: str, caller: Boss) -> Response:
    """End a test by hand, for good; outcomes count no more. With `to`, everyone gets that arm."""
    entry = await find(request, caller, name)
    given = models.Stop()
    if await request.body():
        given = await read_model(request, models.Stop)
    await change(request, caller, entry.test.stop, given.to)
    return await _status(request, entry.test)


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
    return await _status(request, entry.test)


@router.post(
    "/experiments/{name}/arms",
    response_model=models.StatusOut,
    responses=refusals(404, 409, 422),
    openapi_extra={**EXPERIMENT, **body(models.ArmChange)},
)
async def change_arm(request: Request, name: str, caller: Boss) -> Response:
    """Drop an arm for good, pause it, or resume it."""
    entry = await find(request, caller, name)
    given = await read_model(request, models.ArmChange)
    test = entry.test
    verbs = {"pause": test.pause_arm, "resume": test.resume_arm}
    if given.action == "drop":
        await change(request, caller, test.drop_arm, given.arm, given.to)
    elif given.to is not None:
        raise Problem(422, "to is for a dropped arm: remove it", field="to")
    else:
        await change(request, caller, verbs[given.action], given.arm)
    return await _status(request, test)


@router.post(
    "/experiments/{name}/description",
    response_model=models.WordsOut,
    responses=refusals(404, 422),
    openapi_extra={**EXPERIMENT, **body(models.Words)},
)
async def describe(request: Request, name: str, caller: Boss) -> Response:
    """Set words about a test: owner, hypothesis, description, links, tags."""
    entry = await find(request, caller, name)
    words = _words(await read_model(request, models.Words))
    await change(request, caller, entry.test.describe, **words)
    return Answer((await calls_of(request).long(_description, entry.test)).to_dict())


@router.get(
    "/experiments/{name}/report",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/html": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
            },
            "description": "A page, or data",
        },
        **refusals(400, 404, 422),
    },
    openapi_extra=EXPERIMENT,
)
async def report(
    request: Request,
    name: str,
    caller: Looker,
    form: Annotated[Literal["html", "json"], Query()] = "html",
) -> Response:
    """The analysis of the test's log: as a page to hand around, or with `form=json` as data."""
    from bascule.analysis.live_test import analyze_experiment

    entry = await find(request, caller, name)

    def write() -> Any:
        found = analyze_experiment(entry.test)
        return found.html() if form == "html" else found.to_dict()

    html = await renders_of(request).get(("report", form, entry.test.id), write)
    if form == "json":
        return Answer(html)
    headers = {"Content-Disposition": f'attachment; filename="{name}-report.html"'}
    return Response(html, media_type="text/html; charset=utf-8", headers=headers)


@router.post(
    "/experiments/{name}/share",
    response_model=models.StatusOut,
    responses=refusals(404, 409, 422),
    openapi_extra={**EXPERIMENT, **body(models.Share)},
)
async def share(request: Request, name: str, caller: Boss) -> Response:
    """Let another share of the traffic get in from now on; units that are in stay in."""
    entry = await find(request, caller, name)
    given = await read_model(request, models.Share)
    await change(request, caller, entry.test.set_share, given.share)
    return await _status(request, entry.test)


@router.get(
    "/experiments/{name}/history",
    response_model=models.History,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def history(request: Request, name: str, caller: Looker) -> Response:
    """The history of a test: the points of a plot."""
    entry = await find(request, caller, name)
    points = await calls_of(request).long(entry.test.history)
    return Answer({"arms": entry.arms, "points": [point.to_dict() for point in points]})


@router.get(
    "/experiments/{name}/audit",
    response_model=models.AuditLog,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def audit(request: Request, name: str, caller: Looker) -> Response:
    """The audit log of a test: every change and the decision, with time and actor."""
    entry = await find(request, caller, name)
    return Answer(audit_data(await calls_of(request).long(entry.test.audit)))


@router.get(
    "/experiments/{name}/diagnostics",
    response_model=models.Diagnostics,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def diagnostics(request: Request, name: str, caller: Looker) -> Response:
    """Drift of the outcomes, and units per arm against the logged probabilities."""
    entry = await find(request, caller, name)
    key = ("diagnostics of", entry.test.id)
    found = await renders_of(request).get(key, entry.test.diagnostics)
    return Answer({"diagnostics": [diagnostic_data(one) for one in found]})


@router.get(
    "/experiments/{name}/set-aside",
    response_model=models.SetAside,
    responses=refusals(404),
    openapi_extra=EXPERIMENT,
)
async def set_aside(request: Request, name: str, caller: Looker) -> Response:
    """Excluded or changed outcomes, each with its reason."""
    entry = await find(request, caller, name)
    rows = await calls_of(request).long(entry.test.excluded)
    return Answer(set_aside_data(caller, rows))


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
    spreadsheet: Annotated[bool, Query()] = False,
    metric: Annotated[str | None, Query()] = None,
) -> Response:
    """All assignments of a test, or all outcomes of one of its metrics, as CSV.

    With `spreadsheet=true` text that a spreadsheet would take for a formula gets an apostrophe
    before it. Units have numbers in place of their names, unless the key may see these.
    """
    entry = await find(request, caller, name)
    metric = None if metric == PRIMARY else metric
    if metric is not None and metric not in [one.name for one in entry.design.metrics]:
        raise Problem(404, f"{name} has no metric {metric!r:.60}", field="metric")
    file = f"{name}-{table}.csv" if metric is None else f"{name}-{table}-{metric}.csv"
    return StreamingResponse(
        _csv(calls_of(request), entry, table, spreadsheet, caller.sees_names, metric),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


async def _csv(
    calls: StoreCalls,
    entry: Summary,
    table: str,
    spreadsheet: bool,
    names: bool,
    metric: str | None,
) -> AsyncIterator[str]:
    """The rows, some at a time, so that memory does not grow with their number."""
    rows: list[tuple[Any, ...]] = [columns_of(entry.design, table)]
    after: int | None = -1
    while True:
        text = StringIO()
        written = [tuple(map(safe_cell, row)) for row in rows] if spreadsheet else rows
        csv.writer(text, lineterminator="\n").writerows(written)
        yield text.getvalue()
        if after is None:
            return
        rows, after = await calls.long(some_rows, entry.test, table, after, names, metric)


def _description(test: Experiment) -> Description:
    return test.description


def _words(given: models.Words | None) -> dict[str, Any]:
    """The words that were given."""
    return {} if given is None else given.model_dump(exclude_none=True)


def _with_infinity(data: object) -> object:
    """Replace the word "Infinity" by the number, which JSON does not have."""
    match data:
        case {"design": {"rule": {"alpha": "Infinity", **rule}, **design}, **rest}:
            return {**rest, "design": {**design, "rule": {**rule, "alpha": math.inf}}}
    return data


async def _status(request: Request, test: Experiment) -> Response:
    return Answer(status_data(await calls_of(request).long(test.status)))


def _check_deadline(deadline: datetime | None) -> None:
    if deadline is not None and deadline < EARLIEST:
        raise Problem(422, "the deadline has passed: give one to come", field="deadline")


def status_data(status: Status) -> dict[str, Any]:
    """A status as JSON data, with its headline; diagnostics have a path of their own."""
    data = status.to_dict()
    del data["diagnostics"]
    for effect in data["effects"]:
        effect["level"] = max(0.0, 1.0 - 2.0 * effect["error"])
        effect["meaning"] = bound_words(effect["error"])
    if data["decision"] is not None and data["decision"]["arm"] is not None:
        meaning = error_words(data["decision"]["error"], len(status.arms))
        data["decision"]["meaning"] = meaning
    return {"headline": status.headline, **data}


def experiment_data(test: Experiment, created: float) -> dict[str, Any]:
    """A test as JSON data, with its design and its status."""
    status, audience, values = test.status(), test.audience, test.values
    return {
        "name": test.name,
        "created": time_text(created),
        "design": test.design.to_dict(),
        "status": status_data(status),
        "description": test.description.to_dict(),
        "audience": None if audience is None else audience.to_dict(),
        "values": None if values is None else dict(zip(test.arms, values, strict=True)),
    }


def audit_data(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The audit log as JSON data."""
    return {"audit": [{**entry, "time": time_text(entry["time"])} for entry in entries]}


def set_aside_data(caller: Caller, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Excluded outcomes as JSON data, as the caller may see them."""
    shown = []
    for row in rows:
        unit = row["unit"]
        receipt = unnamed(caller, unit, Receipt(False, row["reason"], row["detail"]))
        at = None if row["at"] is None else time_text(row["at"])
        times = {"at": at, "received": time_text(row["received"])}
        entry = {**row, **times, "reason": receipt.reason, "detail": receipt.detail}
        if not caller.sees_names:
            detail = receipt.detail
            for secret in (unit, row["event"]):
                detail = detail.replace(f"{secret!r:.60}", NOT_SHOWN)
            entry |= {"unit": NOT_SHOWN, "event": None, "detail": detail}
        shown.append(entry)
    return {"set_aside": shown}


def time_text(seconds: float) -> str:
    """A stored time as text, also one that no calendar has.

    >>> time_text(0.0), time_text(-1e12)
    ('1970-01-01T00:00:00+00:00', '-1000000000000.0 s after 1970-01-01')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, TypeError, ValueError):
        return f"{seconds!r} s after 1970-01-01"


def diagnostic_data(found: Diagnostic) -> dict[str, Any]:
    """A diagnostic as JSON data; None for what is not a finite number."""
    return {key: _finite(value) for key, value in found.to_dict().items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
