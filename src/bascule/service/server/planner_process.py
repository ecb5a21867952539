"""`python -m bascule.service.server.planner_process`: reads plan requests and writes the plans.

The service keeps one such process beside it: a plan takes seconds of a processor.
"""

from __future__ import annotations

import base64
import pickle  # nosec B403: it only writes
import sys
from typing import IO

from bascule.core.errors import InputError
from bascule.planning import plan
from bascule.planning.request.sample import Sample
from bascule.service.api.schemas import Wish


def answer(line: bytes) -> bytes:
    """The plan for a request, or the error in the request, as a line."""
    wish = Wish.model_validate_json(line)
    made: object
    try:
        given = wish.model_dump(exclude={"outcome", "metrics", "covariate", "sample"})
        sample = None if wish.sample is None else Sample.of(wish.sample, cap=wish.cap)
        # As many runs as on the command line, so that the same question has the same answer.
        made = plan(
            wish.outcome,
            threads=1,
            metrics=wish.metrics,
            covariate=wish.covariate,
            sample=sample,
            **given,
        )
    except InputError as problem:
        made = problem
    except (ArithmeticError, MemoryError):
        made = InputError("wish", "nothing can be computed for this: ask for less extreme numbers")
    return base64.b64encode(pickle.dumps(made)) + b"\n"


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests, a line each, until there are no more."""
    for line in requests:
        replies.write(answer(line))
        replies.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
