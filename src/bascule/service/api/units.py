"""The calls of programs for every unit: assign it, link its names, record its outcomes, erase it.

Names of units are sent in bodies, not in paths, which proxies write to their logs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from bascule.core.errors import InputError
from bascule.core.metrics.metric import PRIMARY
from bascule.core.outcomes import Pair
from bascule.live.api import Event, Experiment, Receipt, SegmentedExperiment, Store, checked_unit
from bascule.service.api.bodies import read_json, read_model, whole
from bascule.service.api.calls import Admin, calls_of, change
from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.access import allow, client, unnamed
from bascule.service.server.reading.store_calls import StoreCalls
from bascule.service.server.responses import Answer, Problem
from bascule.service.server.settings import Settings

router = APIRouter(prefix="/v1", tags=["units"])

ASSIGN_FIELDS = {"unit", "strict", "covariates", "context", "segment"}
OUTCOME_FIELDS = {"unit", "value", "at", "id", "exposed", "metric"}

EARLIEST, LATEST = 0.0, 253370764800.0
"""Seconds of the years 1970 and 9999, between which an outcome has to lie."""


@router.post(
    "/experiments/{name}/assign",
    response_model=answers.Assigned,
    **described(409, 422, sent=models.Unit),
)
async def assign(request: Request, name: str) -> Response:
    """Assign a unit to an arm, which it keeps; it is on disk before the answer is sent.

    A test that takes no new units answers with the winner or the control, and `enrolled` is false;
    with `strict` it answers 409.
    """
    allow(await client(request), name)
    data = await read_json(request)
    if not isinstance(data, dict) or "unit" not in data:
        raise Problem(400, 'the body must be {"unit": NAME}', field="unit")
    if unknown := data.keys() - ASSIGN_FIELDS:
        wanted = ", ".join(sorted(ASSIGN_FIELDS))
        message = f"unknown fields {sorted(unknown)!r:.100}: the body can have {wanted}"
        raise Problem(400, message, field=min(unknown)[:100])
    unit, strict = named(data["unit"]), data.get("strict", False)
    if not isinstance(strict, bool):
        raise Problem(400, "strict must be true or false", field="strict")
    covariates = data.get("covariates")
    if covariates is not None and not isinstance(covariates, dict):
        raise Problem(400, "covariates must be names with numbers", field="covariates")
    context = data.get("context")
    if context is not None and not isinstance(context, dict):
        raise Problem(400, "context must be an object", field="context")
    segment = data.get("segment")
    if segment is not None and not isinstance(segment, str):
        raise Problem(400, "segment must be the name of a segment", field="segment")
    try:
        entry, found = await request.app.state.directory.evaluate(
            name, unit, context, covariates, segment
        )
    except InputError as problem:
        if problem.field == "covariates":
            raise Problem(422, str(problem), field="covariates") from None
        raise
    if strict and not found.enrolled:
        raise Problem(409, found.detail, field=found.why)
    answer = {"arm": found.arm, "value": found.value, "reason": found.reason}
    member = entry.loaded.delivery.member
    if member is not None:
        answer["segment"] = member.segment
    return Answer({"experiment": name, "unit": unit, **answer, "enrolled": found.enrolled})


@router.post(
    "/experiments/{name}/link", response_model=answers.LinkedOut, **described(422, sent=models.Link)
)
async def link(request: Request, name: str) -> Response:
    """Link two names of one person, as a visitor who signs in; both keep the first arm."""
    allow(await client(request), name)
    given = await read_model(request, models.Link)
    pair = (named(given.unit), named(given.other))
    directory = request.app.state.directory
    test = await directory.segmented(name) or (await directory.find(name)).test
    arm = await request.app.state.calls.short(test.link, *pair)
    return Answer({"experiment": name, "unit": pair[0], "other": pair[1], "arm": arm})


@router.post(
    "/units/link",
    response_model=answers.LinkedEverywhere,
    **described(422, sent=models.Link, experiment=False),
)
async def link_everywhere(request: Request) -> Response:
    """Link two names of one person in all open tests that the key is valid for, at a sign-in.

    A test that is created later knows nothing of it, so call it at every sign-in.
    """
    caller = await client(request)
    given = await read_model(request, models.Link)
    pair = (named(given.unit), named(given.other))
    store: Store = request.app.state.store
    arms = await request.app.state.calls.short(store.link, *pair, caller.experiments)
    return Answer({"unit": pair[0], "other": pair[1], "arms": arms})


@router.post(
    "/experiments/{name}/outcomes",
    response_model=answers.Receipts,
    **described(sent=models.NewOutcomes),
)
async def record(request: Request, name: str) -> Response:
    """Record outcomes; each has a receipt of its own, and its `id` makes a retry harmless."""
    caller = await client(request)
    allow(caller, name)
    data = await read_json(request)
    given = data.get("outcomes") if isinstance(data, dict) and len(data) == 1 else None
    if not isinstance(given, list):
        raise Problem(400, 'the body must be {"outcomes": [...]}', field="outcomes")
    settings: Settings = request.app.state.settings
    if len(given) > settings.largest_batch:
        raise Problem(413, f"at most {settings.largest_batch} outcomes at once", field="outcomes")
    directory = request.app.state.directory
    test = await directory.segmented(name) or (await directory.find(name)).test
    events = [event_of(one) for one in given]
    receipts = [
        receipt if isinstance(event, Receipt) else unnamed(caller, event.unit, receipt)
        for event, receipt in zip(
            events, await receipts_of(request.app.state.calls, test, events), strict=True
        )
    ]
    results = Counter("accepted" if one.accepted else str(one.reason) for one in receipts)
    for result, count in results.items():
        request.app.state.metrics.outcomes.labels(result).inc(count)
    return Answer({"outcomes": [_receipt_data(receipt) for receipt in receipts]})


@router.post(
    "/units/data", response_model=answers.UnitData, **described(sent=models.Unit, experiment=False)
)
async def data(request: Request, caller: Admin) -> Response:
    """Return all that is known of a unit: assignments, outcomes, and excluded outcomes."""
    unit = named((await read_model(request, models.Unit)).unit)
    store: Store = request.app.state.store
    found = await calls_of(request).long(store.unit_data, unit)
    seen = [one for one in found["experiments"] if caller.sees(one["experiment"])]
    return Answer({**found, "experiments": seen})


@router.post(
    "/units/erase",
    response_model=answers.Erased,
    **described(404, 409, sent=models.UnitToErase, experiment=False),
)
async def erase(request: Request, caller: Admin) -> Response:
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


async def receipts_of(
    calls: StoreCalls, test: Experiment | SegmentedExperiment, events: list[Event | Receipt]
) -> list[Receipt]:
    """The receipts of events, in order; those that could not be read have theirs already."""
    fit = [event for event in events if isinstance(event, Event)]
    if isinstance(test, SegmentedExperiment):
        answers = await calls.short(test.record_many, fit) if fit else []
    else:
        recording = asyncio.ensure_future(test.record_async(fit)) if fit else None
        answers = [] if recording is None else await calls.in_time(recording, "record")
    taken = iter(answers)
    return [event if isinstance(event, Receipt) else next(taken) for event in events]


def event_of(given: object) -> Event | Receipt:
    """An event from plain data, or a receipt that says why it is none.

    >>> event_of({"unit": "user-42", "value": 1})
    Event(unit='user-42', value=1.0, at=None, id=None, exposed=True, metric=None)
    >>> event_of({"unit": "user-42"}).detail
    'value is missing'
    """
    try:
        return _event(given)
    except InputError as problem:
        return Receipt(False, "invalid", str(problem))


def named(unit: object) -> str:
    """The name of the unit in a request."""
    try:
        return checked_unit(whole(unit))
    except InputError as problem:
        raise Problem(400, str(problem), field="unit") from None


def _event(given: object) -> Event:
    if not isinstance(given, dict):
        raise InputError("outcome", "an outcome is an object with unit and value")
    for field in ("unit", "value"):
        if field not in given:
            raise InputError(field, f"{field} is missing")
    for field in given:
        if field not in OUTCOME_FIELDS:
            raise InputError("outcome", f"{field!r:.60} is not a field of an outcome: remove it")
    unit, name = checked_unit(whole(given["unit"])), given.get("id")
    exposed = given.get("exposed", True)
    if not isinstance(exposed, bool):
        raise InputError("exposed", "exposed must be true or false")
    metric = given.get("metric")
    if metric is not None and not isinstance(metric, str):
        raise InputError("metric", f"metric must be the name of a metric (got {metric!r:.60})")
    return Event(
        unit,
        _number(given["value"]),
        _time(given.get("at")),
        None if name is None else checked_unit(whole(name), "id"),
        exposed,
        None if metric in (None, PRIMARY) else checked_unit(metric, "metric"),
    )


def _number(value: Any) -> float | Pair:
    if isinstance(value, list) and len(value) == 2:
        numerator, denominator = map(_number, value)
        if isinstance(numerator, float) and isinstance(denominator, float):
            return Pair(numerator, denominator)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError("value", f"value must be a number (got {value!r:.60})")
    try:
        return float(value)
    except OverflowError:
        raise InputError("value", "value is too large") from None


def _time(at: object) -> float | None:
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at)  # type: ignore[arg-type]
        if moment.tzinfo is not None:
            seconds = moment.timestamp()
            if not EARLIEST <= seconds < LATEST:
                raise InputError("at", f"at must lie in the years 1970 to 9998 (got {at!r:.60})")
            return seconds
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        "at", f"at must be a time with its zone, as 2026-01-31T12:00:00+00:00 (got {at!r:.60})"
    )


def _receipt_data(receipt: Receipt) -> dict[str, Any]:
    return {"accepted": receipt.accepted, "reason": receipt.reason, "detail": receipt.detail}
