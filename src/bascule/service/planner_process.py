"""The main loop of the planner's process: it calls functions and sends back their results."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from bascule.core.errors import InputError
from bascule.planning import plan
from bascule.planning.request.sample import Sample
from bascule.planning.rollout import plan_rollout
from bascule.service.api.schemas.requests import Model, NewPlan, RolloutRequest
from bascule.service.responses import encode

WARM_RUNS = 20

NICE = 3
"""Increase of the process's nice value, so that it gives way to others, above all to the
service."""

PLANNERS: dict[type[Model], Callable[..., Any]] = {
    NewPlan: partial(plan, threads=1),
    RolloutRequest: plan_rollout,
}


def arguments(asked: Model) -> dict[str, Any]:
    """Return the arguments of the planning function for a request."""
    values = {name: getattr(asked, name) for name in type(asked).model_fields}
    if values.get("sample") is not None:
        values["sample"] = Sample.of(values["sample"], cap=values["cap"])
    return values


def plan_json(asked: Model) -> bytes:
    """Return the plan for a request as JSON, the same as the command line prints."""
    # As many runs as on the command line, so that the same question has the same answer.
    return encode(PLANNERS[type(asked)](**arguments(asked)).to_dict())


class Interrupted(BaseException):
    """Raised inside the computation of a plan that no caller waits for any more."""


def result_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call, or the `InputError` that says what is wrong with its input."""
    try:
        return function(*arguments)
    except InputError as problem:
        return problem
    except Exception:
        # An unexpected error must not end the process, since other callers wait for it.
        traceback.print_exc()
        return InputError(
            "request", "nothing can be computed for this: ask for less extreme numbers"
        )


def answer_all(pipe: Connection) -> None:
    """Report readiness, then answer calls until the pipe is closed."""
    is_calling = False

    def interrupt(*_: object) -> None:
        # A signal that comes after the call has ended has nothing to interrupt.
        if is_calling:
            raise Interrupted

    with suppress(AttributeError):
        os.nice(NICE)
    # Ctrl+C is left to the service, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError):
        signal.signal(signal.SIGUSR1, interrupt)
    # Compile the code that most plans need, so that the first caller need not wait for it.
    plan(runs=WARM_RUNS, threads=1, progress=False)
    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            function, arguments = pipe.recv()
            result = None
            try:
                is_calling = True
                result = result_of(function, arguments)
                is_calling = False
            except Interrupted:
                is_calling = False
            pipe.send(result)
