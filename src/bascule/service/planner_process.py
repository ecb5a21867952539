"""What the process beside the service does: it calls functions and sends their results."""

from __future__ import annotations

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

PLANNERS: dict[type[Model], Callable[..., Any]] = {
    NewPlan: partial(plan, threads=1),
    RolloutRequest: plan_rollout,
}


def arguments(asked: Model) -> dict[str, Any]:
    """Return the arguments of the function that plans what is asked for."""
    values = {name: getattr(asked, name) for name in type(asked).model_fields}
    if values.get("sample") is not None:
        values["sample"] = Sample.of(values["sample"], cap=values["cap"])
    return values


def plan_json(asked: Model) -> bytes:
    """The plan for a request as JSON, as the command line prints it."""
    # As many runs as on the command line, so that the same question has the same answer.
    return encode(PLANNERS[type(asked)](**arguments(asked)).to_dict())


class Interrupted(BaseException):
    """Raised in a plan whose result nobody waits for."""


def result_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result of a call, or the error in what was given."""
    try:
        return function(*arguments)
    except InputError as problem:
        return problem
    except Exception:
        # Numbers that nobody has thought of must not end the process: others wait for it.
        traceback.print_exc()
        return InputError(
            "request", "nothing can be computed for this: ask for less extreme numbers"
        )


def answer_all(pipe: Connection) -> None:
    """Say that it is ready, then make calls and send their results until there are no more."""
    is_calling = False

    def interrupt(*_: object) -> None:
        # A signal that comes when the result is on its way has nothing to interrupt.
        if is_calling:
            raise Interrupted

    # Ctrl+C is for the service, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError):
        signal.signal(signal.SIGUSR1, interrupt)
    # What most plans need is compiled now, and not in the time of whoever asks first.
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
