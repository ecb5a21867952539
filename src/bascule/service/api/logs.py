"""Reads of one test: report, history, audit log, diagnostics, excluded outcomes, export."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.metric import PRIMARY
from bascule.live.api import columns_of, csv_lines, some_rows
from bascule.service.api.calls import Viewer, answer_long, find, renders_of
from bascule.service.api.experiments import time_text
from bascule.service.api.schemas import answers
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.keys import Caller
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import DataResponse, Problem, encode

NOT_SHOWN = "(name not shown)"

router = APIRouter(prefix="/v1", tags=["experiments"])


@router.get(
    "/experiments/{name}/report",
    response_class=Response,
    **described(ok=("A page, or data", {"text/html": "string", "application/json": "object"})),
)
async def report(
    request: Request,
    name: str,
    _: Viewer,
    form: Annotated[Literal["html", "json"], Query()] = "html",
) -> Response:
    """The report of a test: as a page to hand around, or with `form=json` as data."""
    test = (await find(request, name)).test

    def write() -> Any:
        made = test.report()
        return made.html() if form == "html" else made.to_dict()

    written = await renders_of(request).get(("report", form, test.id), write)
    if form == "json":
        return DataResponse(written)
    headers = {"Content-Disposition": f'attachment; filename="{name}-report.html"'}
    return Response(written, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/experiments/{name}/history", response_model=answers.History, **described())
async def history(request: Request, name: str, _: Viewer) -> Response:
    """The history of a test: its means, units and effects at several times, for a plot."""
    entry = await find(request, name)

    def points() -> dict[str, Any]:
        return {"arms": entry.arms, "points": [point.to_dict() for point in entry.test.history()]}

    return await answer_long(request, points)


@router.get("/experiments/{name}/audit", response_model=answers.AuditLog, **described())
async def audit(request: Request, name: str, _: Viewer) -> Response:
    """The audit log of a test: every change and the decision, with time and actor."""
    entry = await find(request, name)

    def entries() -> dict[str, Any]:
        logged = entry.test.audit()
        return {"audit": [{**entry, "time": time_text(entry["time"])} for entry in logged]}

    return await answer_long(request, entries)


@router.get("/experiments/{name}/diagnostics", response_model=answers.Diagnostics, **described())
async def diagnostics(request: Request, name: str, _: Viewer) -> Response:
    """Drift, units per arm against logged probabilities, missing values, and uncounted units."""
    entry = await find(request, name)
    key = ("diagnostics of", entry.test.id)
    diagnosed = await renders_of(request).get(key, entry.test.diagnostics)
    # Numbers that are not finite become None.
    return DataResponse(
        {"diagnostics": [finite_data(diagnostic.to_dict()) for diagnostic in diagnosed]}
    )


@router.get("/experiments/{name}/excluded", response_model=answers.Excluded, **described())
async def excluded(request: Request, name: str, caller: Viewer) -> Response:
    """Excluded or changed outcomes, each with its reason; a test lists at most 100,000."""
    entry = await find(request, name)

    def some(after: int | None) -> tuple[bytes, int | None]:
        rows, last = entry.test.some_excluded(after or 0)
        written = encode(excluded_data(caller, rows))[1:-1]
        # A test that was deleted in the meantime has no more rows.
        begin = b"," if written else b""
        if after is None:
            unlisted = entry.test.excluded_counts().get("not listed", 0)
            begin = b'{"unlisted":%d,"excluded":[' % unlisted
        return begin + written + (b"]}" if last is None else b""), last

    return await _in_pages(request, some, media_type="application/json")


@router.get(
    "/experiments/{name}/export",
    response_class=StreamingResponse,
    **described(ok=("CSV", {"text/csv": "string"})),
)
async def export(
    request: Request,
    name: str,
    caller: Viewer,
    table: Annotated[Literal["assignments", "outcomes"], Query()] = "assignments",
    spreadsheet: Annotated[bool, Query()] = False,
    metric: Annotated[str | None, Query()] = None,
) -> Response:
    """All assignments of a test, or all outcomes of one of its metrics, as CSV.

    With `spreadsheet=true` text that a spreadsheet would take for a formula gets an apostrophe
    before it. Units have numbers in place of their names, unless the key may see the names.
    """
    entry = await find(request, name)
    metric = None if metric == PRIMARY else metric
    if metric is not None and metric not in [metric.name for metric in entry.design.metrics]:
        known = ", ".join(metric.name for metric in entry.design.metrics) or "none"
        message = f"{name} has no metric {metric!r:.60}: its metrics are {known}"
        raise Problem(404, message, field="metric")
    file = f"{name}-{table}.csv" if metric is None else f"{name}-{table}-{metric}.csv"

    def some(after: tuple[int, ...] | None) -> tuple[str, tuple[int, ...] | None]:
        rows, last = some_rows(entry.test, table, after, caller.sees_names, metric)
        heading = [columns_of(entry.design, table, metric)] if after is None else []
        return "".join(csv_lines([*heading, *rows], spreadsheet)), last

    return await _in_pages(
        request,
        some,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


async def _in_pages(
    request: Request, page_of: Callable[[Any], tuple[str | bytes, Any]], **options: Any
) -> Response:
    """Stream an answer page by page, each written in a thread to spare memory and the event loop.

    `page_of` takes a place in the rows (None at first), and returns the page that begins there and
    the place after it (None after the last page). If the first page fails, the request is refused.
    """
    calls = calls_of(request)
    first, after = await calls.long(page_of, None)

    async def pages() -> AsyncIterator[str | bytes]:
        yield first
        place = after
        while place is not None:
            text, place = await calls.long(page_of, place)
            yield text

    return StreamingResponse(pages(), **options)


def excluded_data(caller: Caller, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return excluded outcomes as JSON data, with unit names only if the caller may see them."""
    shown = []
    for row in rows:
        unit = row["unit"]
        at = None if row["at"] is None else time_text(row["at"])
        times = {"at": at, "received": time_text(row["received"])}
        entry = {**row, **times}
        if not caller.sees_names:
            detail = row["detail"]
            for secret in (unit, row["event"]):
                detail = detail.replace(f"{secret!r:.60}", NOT_SHOWN)
            entry |= {"unit": NOT_SHOWN, "event": None, "detail": detail}
        shown.append(entry)
    return shown
