"""`python -m bascule.service.planner_process`: reads plan requests and writes the plans.

The service keeps one such process beside it: a plan takes seconds of a processor.
"""

from __future__ import annotations

import base64
import pickle  # nosec B403: it only writes
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from pydantic import TypeAdapter

from bascule.core.errors import InputError
from bascule.planning import plan
from bascule.planning.request.sample import Sample
from bascule.planning.rollout import plan_rollout
from bascule.planning.segments import plan_segments
from bascule.service.api.schemas.requests import Model, NewPlan, RolloutRequest, SegmentsRequest

WARM_RUNS = 20

REQUEST: TypeAdapter[Model] = TypeAdapter(NewPlan | SegmentsRequest | RolloutRequest)

PLANNERS: dict[type[Model], Callable[..., object]] = {
    NewPlan: partial(plan, threads=1),
    SegmentsRequest: partial(plan_segments, threads=1),
    RolloutRequest: plan_rollout,
}


def arguments(asked: Model) -> dict[str, Any]:
    """Return the arguments of the function that plans what is asked for."""
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
        made = PLANNERS[type(asked)](**arguments(asked))
    except InputError as problem:
        made = problem
    except Exception:
        # Numbers that nobody has thought of must not end the process: others wait for it.
        traceback.print_exc()
        made = InputError(
            "request", "nothing can be computed for this: ask for less extreme numbers"
        )
    return base64.b64encode(pickle.dumps(made)) + b"\n"


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Say that it is ready, then answer requests, a line each, until there are no more."""
    # What most plans need is compiled now, and not in the time of whoever asks first.
    plan(runs=WARM_RUNS, threads=1)
    replies.write(b"\n")
    replies.flush()
    for line in requests:
        replies.write(answer(line))
        replies.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
