"""What the endpoints of experiments share: who calls, which test, and calls of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from bascule.core.errors import InputError
from bascule.live.api import acting_as
from bascule.live.api.reads import Summary
from bascule.service.auth.access import Caller, admin, allow, viewer
from bascule.service.reading.shared_renders import SharedRenders
from bascule.service.reading.store_calls import StoreCalls

Result = TypeVar("Result")

Viewer = Annotated[Caller, Depends(viewer)]
Admin = Annotated[Caller, Depends(admin)]


async def allow_test(request: Request, caller: Caller, name: str) -> None:
    """Raise unless the caller's key is valid for an experiment, or for the test it is part of."""
    if not caller.sees(name):
        known = {entry.name: entry for entry in await request.app.state.directory.all()}
        allow(caller, known[name].test_name if name in known else name)


async def find(request: Request, caller: Caller, name: str) -> Summary:
    """The experiment that a path names, if the caller's key is valid for it."""
    await allow_test(request, caller, name)
    entry: Summary = await request.app.state.directory.find(name)
    return entry


def calls_of(request: Request) -> StoreCalls:
    """How an endpoint calls the store."""
    calls: StoreCalls = request.app.state.calls
    return calls


def renders_of(request: Request) -> SharedRenders:
    """What callers who ask at about the same time share."""
    renders: SharedRenders = request.app.state.renders
    return renders


async def change(
    request: Request, caller: Caller, do: Callable[..., Result], *given: Any, **named: Any
) -> Result:
    """Change something in the store, in the caller's name."""
    with acting_as(caller.name):
        try:
            return await calls_of(request).short(do, *given, **named)
        except InputError as problem:
            if caller.is_limited and problem.field in ("holdout", "layer"):
                # The message names the other test.
                words = f"another test has this {problem.field} with other units: give another"
                raise InputError(problem.field, words, kind=problem.kind) from None
            raise
        finally:
            request.app.state.directory.forget()
            renders_of(request).forget()
