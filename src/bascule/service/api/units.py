"""Calls that programs make for units: assign, link names, record outcomes, show data, erase.

Names of units are sent in bodies, not in paths, which proxies write to their logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from bascule.core.inputs.serialization import readable
from bascule.core.metrics.metric import PRIMARY
from bascule.core.outcomes import Pair
from bascule.live.api import ERASED, Event, Experiment, Receipt, Store
from bascule.service.api.calls import (
    Admin,
    answer_long,
    change,
    checked,
    read,
    take,
)
from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import described
from bascule.service.auth.access import allow, client
from bascule.service.auth.keys import Caller
from bascule.service.reading.shared import ExperimentCache
from bascule.service.reading.store_calls import StoreCalls, calls_of
from bascule.service.responses import MEDIA_TYPE, DataResponse, Problem

PART = 100
"""Maximum number of outcomes per commit; other writers get their turn between two commits."""

router = APIRouter(prefix="/v1", tags=["units"])
"""Calls about a unit in all experiments."""

calls = APIRouter(prefix="/v1", tags=["units"])
"""Calls that programs make for every unit. They are described like all others, and answered by a
plain router in front of FastAPI: see `UnitRouter` in `bascule.service.server.middleware`."""


@calls.post(
    "/experiments/{name}/assign",
    response_model=answers.AssignedArm,
    **described(sent=models.Unit),
)
async def assign(request: Request) -> Response:
    """Assign a unit to an arm that it keeps; the assignment is on disk before the answer is sent.

    A test that takes no new units answers with the winner or the control, and `enrolled` is false;
    with `strict` it answers 409.
    """
    name = request.path_params["name"]
    await client(request)
    body = await read(request, models.Unit)
    _, evaluation = await request.app.state.directory.evaluate(
        name, body.unit, body.context, body.covariates
    )
    if body.strict and not evaluation.enrolled:
        raise Problem(409, evaluation.detail, field=evaluation.why)
    answer = {"arm": evaluation.arm, "value": evaluation.value, "reason": evaluation.reason}
    return DataResponse(
        {"experiment": name, "unit": body.unit, **answer, "enrolled": evaluation.enrolled}
    )


@router.post(
    "/units/link",
    response_model=answers.Linked,
    **described(sent=models.Link, experiment=False),
)
async def link(request: Request) -> Response:
    """Link two names of one person in all open tests that the key is valid for, at a sign-in.

    A test that is created later does not know of the link, so call this at every sign-in.
    """
    caller = await client(request)
    body = await read(request, models.Link)
    store: Store = request.app.state.store
    # Linking in many tests takes several transactions. It is a long call, so that it does not delay
    # the reading of keys. Links are made one at a time, since there is only one writer.
    async with request.app.state.links.turn(caller.name):
        if await request.is_disconnected():
            # With thousands of tests this takes seconds, and the client may have hung up meanwhile.
            raise ClientDisconnect
        experiments = await existing(request, caller)
        arms = await calls_of(request).long(store.link, body.unit, body.other, experiments)
    return DataResponse({"unit": body.unit, "other": body.other, "arms": arms})


@calls.post(
    "/experiments/{name}/outcomes",
    response_model=answers.Receipts,
    **described(sent=models.NewOutcomes),
)
async def record(request: Request) -> Response:
    """Record outcomes; each has a receipt of its own, and its `id` makes a retry harmless.

    If all outcomes are rejected, the status is 422 and the body is problem details with the same
    counts, reasons and receipts.
    """
    name = request.path_params["name"]
    await client(request)
    limit = request.app.state.settings.largest_batch
    events = await read(request, models.NewOutcomes, partial(events_of, limit=limit))
    test = (await request.app.state.directory.find(name)).test
    receipts = await receipts_of(calls_of(request), test, events)
    results = Counter(
        "accepted" if receipt.accepted else str(receipt.reason) for receipt in receipts
    )
    for result, count in results.items():
        request.app.state.metrics.outcomes.labels(result).inc(count)
    return receipts_response(receipts)


def receipts_response(receipts: Sequence[Receipt]) -> Response:
    """Build the response to recorded outcomes: counts, reasons of rejection, and all receipts.

    >>> receipts_response([Receipt(False, "late", "it came after the window")]).status_code
    422
    """
    reasons = Counter(str(one.reason) for one in receipts if one.is_rejected)
    accepted, rejected = sum(map(bool, receipts)), reasons.total()
    data: dict[str, Any] = {
        "accepted": accepted,
        "rejected": rejected,
        "duplicates": len(receipts) - accepted - rejected,
        "reasons": dict(reasons.most_common()),
        "outcomes": [asdict(receipt) for receipt in receipts],
    }
    if not rejected or rejected < len(receipts):
        return DataResponse(data)
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    words = f"none of the outcomes counts ({listed}); the first: {receipts[0].detail}"
    problem = Problem(422, words, field="outcomes")
    return DataResponse({**problem.to_dict(), **data}, 422, media_type=MEDIA_TYPE)


@router.post(
    "/units/data",
    response_model=answers.UnitData,
    **described(sent=models.OneUnit, experiment=False),
)
async def data(request: Request, caller: Admin) -> Response:
    """Return all that is known of a unit: assignments, outcomes, and excluded outcomes."""
    unit = (await read(request, models.OneUnit)).unit
    store: Store = request.app.state.store
    return await answer_long(request, store.unit_data, unit, await existing(request, caller))


@router.post(
    "/units/erase",
    response_model=answers.Erased,
    **described(sent=models.UnitToErase, experiment=False),
)
async def erase(request: Request, caller: Admin) -> Response:
    """Erase a unit for good: its name and outcomes are deleted; statistics and decisions stay."""
    body = await read(request, models.UnitToErase)
    wanted = body.experiments
    for name in wanted or ():
        allow(caller, name)
    store: Store = request.app.state.store
    experiments = await existing(request, caller) if wanted is None else wanted
    erased = await change(request, caller, store.erase, body.unit, experiments)
    return DataResponse({"erased": list(erased), "note": ERASED})


async def existing(request: Request, caller: Caller) -> list[str] | None:
    """Return the experiments of a caller's key that exist; None if the key is valid for all."""
    if caller.experiments is None:
        return None
    directory: ExperimentCache = request.app.state.directory
    names = {entry.name for entry in await directory.all(age=0.0)} | directory.damaged.keys()
    return [name for name in caller.experiments if name in names]


async def receipts_of(
    calls: StoreCalls, test: Experiment, events: list[Event | Receipt]
) -> list[Receipt]:
    """Record the valid events of a batch and return all receipts, in the order of the batch."""
    fit = {at: event for at, event in enumerate(events) if isinstance(event, Event)}
    receipts = {at: event for at, event in enumerate(events) if isinstance(event, Receipt)}
    places = list(fit)
    for first in range(0, len(places), PART):
        part = places[first : first + PART]
        recording = test.soon.record_many([fit[at] for at in part])
        receipts |= dict(zip(part, await calls.in_time(recording, "record"), strict=True))
    return [receipts[at] for at in range(len(events))]


def events_of(data: object, limit: int) -> list[Event | Receipt]:
    """Parse up to `limit` outcomes: each gives an event, or a receipt that says what is invalid."""
    outcomes = take(models.NewOutcomes, data).outcomes
    if len(outcomes) > limit:
        message = (
            f"outcomes must be at most {limit} at once (got {len(outcomes)}): send several requests"
        )
        raise Problem(413, message, field="outcomes")
    return [event_of(outcome) for outcome in outcomes]


def event_of(outcome: object) -> Event | Receipt:
    """Parse an outcome: an event, or a receipt that says why it is invalid.

    >>> event_of({"unit": "user-42", "value": 1})
    Event(unit='user-42', value=1.0, at=None, id=None, exposed=True, metric=None)
    >>> event_of({"id": "request-7", "value": [True, 1]}).value
    Pair(numerator=1.0, denominator=1.0)
    >>> event_of({"unit": "user-42"}).detail
    'value is missing from the outcome'
    """
    try:
        checked_outcome = checked(models.NewOutcome, outcome)
    except ValidationError as problem:
        return Receipt(False, "invalid", str(readable(problem, "outcome")))
    if checked_outcome.unit is None and checked_outcome.id is None:
        return Receipt(False, "invalid", "unit is missing from the outcome, and so is an id")
    value = (
        Pair(*map(float, checked_outcome.value))
        if isinstance(checked_outcome.value, list)
        else float(checked_outcome.value)
    )
    metric = None if checked_outcome.metric == PRIMARY else checked_outcome.metric
    return Event(
        checked_outcome.unit or "",
        value,
        checked_outcome.at,
        checked_outcome.id,
        checked_outcome.exposed,
        metric,
    )
