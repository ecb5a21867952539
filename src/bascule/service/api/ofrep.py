"""OFREP, the OpenFeature Remote Evaluation Protocol: tests are flags whose value is a unit's arm.

Evaluating one flag enrols the unit. Evaluating all flags enrols nobody: a page load must not put a
user into every test.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from bascule.core.errors import InputError
from bascule.core.inputs.serialization import readable_part
from bascule.live.api import Evaluation
from bascule.live.api.reads import Summary, evaluations_of_unit
from bascule.service.api.calls import checked, read
from bascule.service.api.schemas import answers
from bascule.service.api.schemas import requests as models
from bascule.service.api.schemas.openapi import body
from bascule.service.auth.access import client
from bascule.service.responses import OFREP_PATH, DataResponse, Problem, encode

PATH = OFREP_PATH

router = APIRouter(prefix="/ofrep/v1", tags=["OFREP"])


KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "The flag: an experiment.",
    "schema": models.NAME_SCHEMA,
}
KNOWN = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the last answer.",
    "schema": {"type": "string"},
}


@router.post(
    "/evaluate/flags/{key}",
    response_model=answers.FlagEvaluation,
    openapi_extra={"parameters": [KEY], **body(models.EvaluationRequest)},
)
async def evaluate(request: Request) -> Response:
    """Evaluate one flag, and enrol the unit if it is new.

    Attributes of the context with the name of a covariate of the design are the unit's covariates.
    """
    key = request.path_params["key"]
    await client(request)
    unit, context = await _context(request)
    try:
        entry, evaluation = await request.app.state.directory.evaluate(key, unit, context=context)
    except InputError as problem:
        if problem.kind == "not_found":
            raise Problem(404, f"there is no experiment {key!r:.100}") from None
        raise _refused(problem) from None
    return DataResponse(flag(entry, evaluation))


@router.post(
    "/evaluate/flags",
    response_model=answers.Evaluations,
    responses={304: {"description": "The answer has not changed."}},
    openapi_extra={"parameters": [KNOWN], **body(models.EvaluationRequest)},
)
async def evaluate_all(request: Request) -> Response:
    """Evaluate all flags that need no enrolment: this call enrols nobody.

    They are the flags of tests in which the unit has an arm, and of stopped tests in which everyone
    gets one arm.
    """
    caller = await client(request)
    unit, context = await _context(request)
    entries: list[Summary] = await request.app.state.directory.all()
    visible = [entry for entry in entries if caller.sees(entry.name)]
    state = request.app.state
    try:
        known = await state.calls.short(evaluations_of_unit, state.store, visible, unit, context)
    except InputError as problem:
        raise _refused(problem) from None
    flags = [flag(entry, known[entry.test.id]) for entry in visible if entry.test.id in known]
    content = encode({"flags": flags, "metadata": {}})
    # The ETag is a hash of the answer itself, which often stays the same when its inputs change.
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(content, headers={"ETag": tag}, media_type="application/json")


def flag(entry: Summary, evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation of a flag in the format of the protocol."""
    return {
        "key": entry.name,
        "value": evaluation.value,
        "reason": evaluation.reason,
        "variant": evaluation.arm,
        "metadata": {"experiment": entry.name, "enrolled": evaluation.enrolled},
    }


def _refused(problem: InputError) -> Problem:
    code = "INVALID_CONTEXT" if problem.field in ("context", "covariates") else "GENERAL"
    return Problem(400, str(problem), code=code)


async def _context(request: Request) -> tuple[str, dict[str, Any]]:
    """Read the unit's name and all attributes of the context from an OFREP request."""
    context = (await read(request, models.EvaluationRequest, _evaluation_request)).context
    attributes = context.model_extra or {}
    return context.targetingKey, {"targetingKey": context.targetingKey, **attributes}


def _evaluation_request(data: object) -> models.EvaluationRequest:
    try:
        return checked(models.EvaluationRequest, data)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise Problem(400, str(readable_part(first, "request")), code=_code(first)) from None


def _code(first: Mapping[str, Any]) -> str:
    """Return the OFREP error code for the first validation error."""
    if not first["loc"]:
        return "PARSE_ERROR"
    is_key = first["loc"] == ("context", "targetingKey")
    is_absent = first["type"] == "missing" or first["input"] in ("", None)
    return "TARGETING_KEY_MISSING" if is_key and is_absent else "INVALID_CONTEXT"
