"""The page of API keys: create a key, copy it with an example of its use, and revoke a key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from bascule.core.errors import InputError
from bascule.presentation.numbers import when
from bascule.service.auth import access
from bascule.service.auth.keys import ROLES, Caller, Key, create_key, list_keys, revoke_key
from bascule.service.page.render import page
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import Problem

router = APIRouter()

UNSET = {"label": "", "role": "client", "experiment": ""}

ROLE_WORDS = {
    "client": "Client: assigns units and records outcomes",
    "viewer": "Viewer: reads this dashboard",
    "admin": "Admin: does everything",
}
"""Descriptions of the roles, for the form."""


async def key_admin(
    caller: Annotated[Caller, Depends(access.page_admin)],
) -> Caller:
    """Authenticate an admin for all tests: a limited key could otherwise create a wider one."""
    if caller.is_limited:
        raise Problem(403, "your key is limited to some tests: an admin for all tests manages keys")
    return caller


KeyAdmin = Annotated[Caller, Depends(key_admin)]
Changer = Annotated[Caller, Depends(access.require_csrf)]


@router.get("/keys")
async def show_keys(request: Request, caller: KeyAdmin) -> Response:
    """Show all keys: their names, their roles and experiments, and who created them."""
    return await _key_page(request, caller)


@router.post("/keys")
async def create(request: Request, caller: KeyAdmin, _: Changer) -> Response:
    """Create a key and show it; it is never shown again."""
    fields = await access.form_of(request)
    typed = {name: fields.get(name, default).strip() for name, default in UNSET.items()}
    tests = [typed["experiment"]] if typed["experiment"] else []
    store = request.app.state.store

    def make() -> str:
        return create_key(store, typed["role"], tests, typed["label"], creator=caller.name)

    try:
        made = await calls_of(request).short(make)
    except InputError as error:
        field = "experiment" if error.field == "name" else error.field
        return await _key_page(request, caller, 422, typed=typed, problems={field: str(error)})
    request.app.state.keys.forget()
    test = typed["experiment"] or "TEST"
    return await _key_page(request, caller, made=made, role=typed["role"], test=test)


@router.post("/keys/{number}/revoke")
async def revoke(number: str, request: Request, caller: KeyAdmin, _: Changer) -> Response:  # noqa: ARG001
    """Revoke a key; it is refused within a second."""
    await calls_of(request).short(revoke_key, request.app.state.store, number)
    request.app.state.keys.forget()
    return RedirectResponse("/keys", 303)


async def _key_page(
    request: Request, caller: Caller, status: int = 200, **shown: object
) -> Response:
    keys = await calls_of(request).short(list_keys, request.app.state.store)
    values = {"made": "", "typed": UNSET, "problems": {}, **shown}
    rows = [(key, when(key.created), _state(key)) for key in reversed(keys)]
    return page("keys.html", caller, status, rows=rows, roles=_roles(), **values)


def _roles() -> list[tuple[str, str]]:
    """Return each role with a description of its rights."""
    return [(role, ROLE_WORDS[role]) for role in ROLES]


def _state(key: Key) -> str:
    """Return the state of a key: valid, or when it was revoked."""
    return "valid" if key.revoked is None else f"revoked {when(key.revoked)}"
