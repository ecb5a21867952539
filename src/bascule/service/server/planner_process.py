"""`python -m bascule.service.server.planner_process`: reads plan requests and writes the plans.

The service keeps one such process beside it: a plan takes seconds of a processor.
"""

from __future__ import annotations

import base64
import pickle  # nosec B403: it only writes
import sys
from typing import IO, Any

from pydantic import TypeAdapter

from bascule.core.errors import InputError
from bascule.planning import plan
from bascule.planning.request.sample import Sample
from bascule.planning.rollout import plan_rollout
from bascule.service.api.schemas.requests import NewPlan, RolloutRequest

REQUEST: TypeAdapter[NewPlan | RolloutRequest] = TypeAdapter(NewPlan | RolloutRequest)


def arguments(asked: NewPlan | RolloutRequest) -> dict[str, Any]:
    """Return the arguments of `bascule.plan`, or of `bascule.plan_rollout`, for a request."""
    given = {name: getattr(asked, name) for name in type(asked).model_fields}
    if given.get("sample") is not None:
        given["sample"] = Sample.of(given["sample"], cap=given["cap"])
    return given


def answer(line: bytes) -> bytes:
    """The plan for a request, or the error in the request, as a line."""
    made: object
    try:
        # As many runs as on the command line, so that the same question has the same answer.
        asked = REQUEST.validate_json(line)
        rollout = isinstance(asked, RolloutRequest)
        made = plan_rollout(**arguments(asked)) if rollout else plan(threads=1, **arguments(asked))
    except InputError as problem:
        made = problem
    except (ArithmeticError, MemoryError):
        made = InputError(
            "request", "nothing can be computed for this: ask for less extreme numbers"
        )
    return base64.b64encode(pickle.dumps(made)) + b"\n"


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests, a line each, until there are no more."""
    for line in requests:
        replies.write(answer(line))
        replies.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
