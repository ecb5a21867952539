"""`/v1/experiments`: create, list, show and change tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from bascule.core.approximate import error_words
from bascule.live.api import Experiment, Status, Store
from bascule.live.api.reads import Summary
from bascule.presentation.guarantees import bound_words
from bascule.service.api.calls import (
    Admin,
    Viewer,
    answer_long,
    change,
    find,
    read,
    renders_of,
    take,
)
from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.access import allow
from bascule.service.auth.keys import Caller
from bascule.service.reading.shared import MOST_PAGES, ExperimentCache, paged, pages_of
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import DataResponse, encode

router = APIRouter(prefix="/v1", tags=["experiments"])


@router.post(
    "/experiments",
    status_code=201,
    response_model=answers.ExperimentOut,
    **described(sent=models.NewExperiment, experiment=False),
)
async def create(request: Request, caller: Admin) -> Response:
    """Create a test, and start it unless `start` is false."""
    body = await read(request, models.NewExperiment, _new_experiment)
    allow(caller, body.name)
    store: Store = request.app.state.store
    options: dict[str, Any] = {
        "start": body.start,
        "audience": body.audience,
        "values": body.values,
        "description": body.description,
    }
    await change(request, caller, store.create, body.name, body.design, **options)
    entry = await find(request, body.name)
    place = {"Location": f"/v1/experiments/{body.name}"}
    of = (entry.test, entry.loaded.created)
    return await answer_long(request, experiment_data, *of, status=201, headers=place)


@router.get("/experiments", response_model=answers.Statuses)
async def show_all(
    request: Request,
    caller: Viewer,
    search: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=MOST_PAGES)] = 1,
) -> Response:
    """List tests with their statuses, the oldest first, 100 on a page.

    `total` is the number of tests on all pages; if more pages follow, `next` is the number of the
    next one. With `search`, only tests are listed whose name or description has all of its words.
    """
    directory: ExperimentCache = request.app.state.directory

    async def list_tests() -> bytes:
        entries = await directory.all(age=0.0)
        return await calls_of(request).long(_listing, directory, entries, caller, search, page)

    if search.strip():
        # Results of a search are not cached: the number of possible searches is unlimited.
        return Response(await list_tests(), media_type="application/json")
    key = ("listing", caller.experiments, page)
    content = await renders_of(request).wait(key, list_tests, age=0.0)
    return Response(content, media_type="application/json")


def _listing(
    directory: ExperimentCache, entries: list[Summary], caller: Caller, search: str, page: int
) -> bytes:
    """Return one page of the list of experiments that a caller may see, as JSON."""
    visible = directory.visible(entries, caller.sees, search)
    listing = directory.statuses(paged(visible, page))
    failed = listing.unreadable + [name for name in directory.damaged if caller.sees(name)]
    statuses = [status_data(status) for status in listing.statuses]
    data: dict[str, Any] = {"experiments": statuses, "total": len(visible)}
    if page < pages_of(visible):
        data["next"] = page + 1
    if listing.settling:
        data["settling"] = sorted(listing.settling)
    if failed:
        data["unreadable"] = sorted(failed)
    return encode(data)


@router.get("/experiments/{name}", response_model=answers.ExperimentOut, **described())
async def show(request: Request, name: str, _: Viewer) -> Response:
    """Show a test: its design with the present setting of the knob, and its status."""
    entry = await find(request, name)
    return await answer_long(request, experiment_data, entry.test, entry.loaded.created)


@router.delete("/experiments/{name}", status_code=204, **described())
async def delete(request: Request, name: str, caller: Admin) -> Response:
    """Delete a stopped test with all its data; the audit log keeps what happened."""
    await find(request, name)
    store: Store = request.app.state.store
    await change(request, caller, store.delete, name)
    return Response(status_code=204)


@router.get("/experiments/{name}/status", response_model=answers.StatusOut, **described())
async def status(request: Request, name: str, _: Viewer) -> Response:
    """The status of a test: arms, intervals, evidence, cost, and the decision if there is one."""
    entry = await find(request, name)
    return await answer_long(request, _status_data, entry.test)


CHANGES: dict[str, tuple[str, type[models.Model] | None, Callable[..., tuple[Any, ...]]]] = {
    "start": ("Start a test, or resume it after a pause.", None, lambda test, _: (test.start,)),
    "pause": (
        "Take no new units after the open block, of which `places_left` places are left; units "
        "in the test keep their arm, and their outcomes count.",
        None,
        lambda test, _: (test.pause,),
    ),
    "release": (
        "After the decision: everyone gets the winner, also units of other arms.",
        None,
        lambda test, _: (test.release,),
    ),
    "stop": (
        "End a test by hand, for good; outcomes count no more. With `to`, everyone gets that arm.",
        models.Stop,
        lambda test, body: (test.stop, body.to),
    ),
    "knob": (
        "Change the knob, from the next unit or the next block on; the guarantee stays.",
        models.KnobChange,
        lambda test, given: (partial(test.knob, **given.model_extra),),
    ),
    "drop-arm": (
        "Drop an arm for good; its users get the control, or the arm `to`.",
        models.DroppedArm,
        lambda test, given: (test.drop_arm, given.arm, given.to),
    ),
    "share": (
        "Set the share of the traffic that gets in, from the next block on; enrolled units stay.",
        models.Share,
        lambda test, given: (test.set_share, given.share),
    ),
}
"""Changes of a test, by the last part of the path: description, model of the body, and call."""


def _add_change(path: str) -> None:
    words, sent, call = CHANGES[path]
    needs_body = sent is not None and sent is not models.Stop

    async def endpoint(request: Request, name: str, caller: Admin) -> Response:
        test = (await find(request, name)).test
        body = None
        if sent is not None:
            has_body = needs_body or await request.body()
            body = await read(request, sent) if has_body else sent()
        await change(request, caller, *call(test, body))
        return await answer_long(request, _status_data, test)

    router.post(
        f"/experiments/{{name}}/{path}",
        name=path.replace("-", "_"),
        operation_id=None if needs_body else path,
        description=words,
        response_model=answers.StatusOut,
        **described(sent, required=needs_body),
    )(endpoint)


for _path in CHANGES:
    _add_change(_path)


@router.post(
    "/experiments/{name}/description",
    response_model=models.Description,
    **described(sent=models.Description),
)
async def describe(request: Request, name: str, caller: Admin) -> Response:
    """Set the description of a test."""
    entry = await find(request, name)
    body = await read(request, models.Description)
    await change(request, caller, entry.test.describe, body.description)
    return DataResponse({"description": body.description.strip()})


def _new_experiment(data: object) -> models.NewExperiment:
    return take(models.NewExperiment, _with_infinity(data))


def _with_infinity(data: object) -> object:
    """Replace the word "Infinity" for `alpha` by the number, which JSON does not have."""
    match data:
        case {"design": {"rule": {"alpha": "Infinity", **rule}, **design}, **rest}:
            return {**rest, "design": {**design, "rule": {**rule, "alpha": math.inf}}}
    return data


def _status_data(test: Experiment) -> dict[str, Any]:
    return status_data(test.status())


def status_data(status: Status) -> dict[str, Any]:
    """Return a status as JSON data, with its headline and without its diagnostics."""
    data = status.to_dict()
    del data["diagnostics"]
    for effect in data["effects"]:
        effect["level"] = max(0.0, 1.0 - 2.0 * effect["error"])
        effect["meaning"] = bound_words(effect["error"])
    if data["decision"] is not None and data["decision"]["arm"] is not None:
        meaning = error_words(data["decision"]["error"], len(status.arms))
        by_guardrails = data["decision"]["by"] == "guardrails"
        data["decision"]["meaning"] = status.promise if by_guardrails else meaning
    return {"headline": status.headline, **data}


def experiment_data(test: Experiment, created: float) -> dict[str, Any]:
    """Return a test as JSON data, with its design and its status."""
    status, audience, values = test.status(), test.audience, test.values
    return {
        "name": test.name,
        "created": time_text(created),
        "design": test.design.to_dict(),
        "status": status_data(status),
        "description": test.description,
        "audience": None if audience is None else audience.to_dict(),
        "values": None if values is None else dict(zip(test.arms, values, strict=True)),
    }


def time_text(seconds: float) -> str:
    """Format a stored time; a time outside the range of `datetime` is given in seconds since 1970.

    >>> time_text(0.0), time_text(-1e12)
    ('1970-01-01T00:00:00+00:00', '-1000000000000.0 s after 1970-01-01')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, TypeError, ValueError):
        return f"{seconds!r} s after 1970-01-01"
