"""Routes of the web pages: each authenticates the caller, reads data, and renders."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import escape

from bascule.core.errors import InputError, invalid
from bascule.service.api.calls import change, renders_of
from bascule.service.auth import access, oidc
from bascule.service.auth.keys import Caller
from bascule.service.page.api_page import calls
from bascule.service.page.changes import ask, make
from bascule.service.page.creation.form import Creations, Form, problem_words
from bascule.service.page.planned import FormAnswer, answer_form, no_plan
from bascule.service.page.render import (
    TestParts,
    changed,
    diagnostic_fragments,
    list_fragments,
    page,
    parts,
    render,
    shared_caller,
    test_parts,
)
from bascule.service.page.words import anchor, terms
from bascule.service.planner import Planner
from bascule.service.reading.shared import MOST_PAGES
from bascule.service.reading.store_calls import calls_of
from bascule.service.responses import Problem

Viewer = Annotated[Caller, Depends(access.page_viewer)]
Search = Annotated[str, Query(max_length=200)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=MOST_PAGES)]
Admin = Annotated[Caller, Depends(access.page_admin)]
Changer = Annotated[Caller, Depends(access.require_csrf)]

REFUSAL_SECONDS = 0.5
"""Seconds to wait before the form shows that no plan could be made."""

LONGEST_TOKEN = 200
"""Maximum length of the token of a link, in characters."""

TOKEN = "TOKEN-OF-THE-LINK"  # nosec B105: a placeholder

router = APIRouter()


@router.get("/glossary")
async def show_glossary(request: Request) -> Response:
    """Show the glossary, to everyone: the sign-in page links to it, and it names no test."""
    caller = await _caller_or_none(request)
    return HTMLResponse(_public_glossary() if caller is None else _glossary(caller))


def _glossary(caller: Caller | None) -> str:
    return render("glossary.html", caller=caller, terms=terms(), anchor=anchor)


@cache
def _public_glossary() -> str:
    return _glossary(None)


@router.get("/docs")
async def show_calls(request: Request) -> Response:
    """Show the reference of the API to everyone, like the OpenAPI description: it names no test."""
    state = request.app.state
    description = await state.description.newer_than(float("-inf"))
    return HTMLResponse(await state.calls.compute(partial(_calls_page, description)))


@cache
def _calls_page(description: bytes) -> str:
    return render("api.html", caller=None, listed=calls(json.loads(description)))


@router.get("/")
async def show_list(
    request: Request, caller: Viewer, search: Search = "", number: PageNumber = 1
) -> Response:
    """Show the list of tests."""
    parts = await _list(request, caller, search.strip(), number)
    return page("list.html", caller, fragments=parts, search=search.strip(), number=number)


@router.get("/live")
async def renew_list(
    request: Request, caller: Viewer, search: Search = "", number: PageNumber = 1
) -> Response:
    """Return the parts of the list that have changed."""
    return _new_parts(request, await _list(request, caller, search.strip(), number))


@router.get("/tests/{name}")
async def show_test(name: str, request: Request, caller: Viewer) -> Response:
    """Show a test."""
    parts = await _test_parts(request, name, caller)
    shown: dict[str, Any] = {"facts": parts.facts, "description": parts.description}
    return page("test.html", caller, name=name, fragments=parts.for_caller(caller), **shown)


@router.get("/tests/{name}/live")
async def renew_test(name: str, request: Request, caller: Viewer) -> Response:
    """Return the parts of a test's page that have changed."""
    return _new_parts(request, (await _test_parts(request, name, caller)).for_caller(caller))


@router.get("/tests/{name}/diagnostics")
async def renew_diagnostics(name: str, request: Request, _: Viewer) -> Response:
    """Return the diagnostics of a test, if they have changed."""
    entry = await request.app.state.directory.find(name)
    key, look = ("diagnostics", entry.test.id), diagnostic_fragments
    parts = await renders_of(request).get(key, look, request.app.state.store, name)
    return _new_parts(request, parts)


@router.get("/tests/{name}/ask/{action}")
async def ask_first(
    name: str, action: str, request: Request, caller: Admin, value: str = "", arm: str = ""
) -> Response:
    """Ask for the confirmation of a change, saying what it will do."""

    def look() -> Any:
        test = request.app.state.store.get(name)
        return ask(action, test.design, test.status(), test, value, arm)

    problem, question = None, None
    try:
        question = await calls_of(request).long(look)
    except InputError as error:
        if error.kind == "not_found":
            raise
        problem = str(error)
    shown = {"name": name, "question": question, "problem": problem}
    if _is_htmx(request):
        return parts(render("parts/question.html", caller=caller, **shown))
    return page("question.html", caller, 200 if problem is None else 422, **shown)


@router.post("/tests/{name}/do/{action}")
async def do(name: str, action: str, request: Request, caller: Changer) -> Response:
    """Make a change that was confirmed."""
    fields = await access.form_of(request)
    store = request.app.state.store

    def do_it() -> str:
        typed = (fields.get(field, "") for field in ("value", "arm", "to"))
        return make(store.get(name), action, *typed)

    problem, message = None, ""
    try:
        message = await change(request, caller, do_it)
    except InputError as error:
        if error.kind == "not_found" or not _is_htmx(request):
            raise
        problem = str(error)
    if not _is_htmx(request):
        return RedirectResponse(f"/tests/{name}", 303)
    rendered = (await _test_parts(request, name, caller)).for_caller(caller)
    text = "".join(part.out_of_band for part in changed(rendered, fields.getlist("seen")))
    answer = parts(text + render("parts/notice.html", done=message, problem=problem))
    answer.headers["HX-Trigger"] = "changed"
    return answer


async def _answer(request: Request, caller: Caller, form: Form, **options: Any) -> FormAnswer:
    """Return the planner's answer to the form, or the reason why there is none."""
    planner: Planner = request.app.state.planner
    ask = partial(answer_form, form.typed, **options)
    try:
        answered: FormAnswer = await planner.make_for(request, caller.name, ask)
    except (InputError, Problem) as problem:
        # A caller above the limit of plans has to wait, since rendering refusals takes time, too.
        await asyncio.sleep(REFUSAL_SECONDS)
        return no_plan(form.typed, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    return answered


def _form_page(
    caller: Caller, form: Form, answer: FormAnswer, status: int = 200, tried: bool = False
) -> Response:
    token = secrets.token_urlsafe(16)
    shown = {"form": form, "answer": answer, "problems": answer.problems}
    return page("new.html", caller, status, token=token, tried=tried, **shown)


@router.get("/new")
async def blank(request: Request, caller: Admin) -> Response:  # noqa: ARG001
    """Show the form for a new test; the browser asks for its plan after it has loaded the form."""
    return _form_page(caller, Form.read({}), FormAnswer())


@router.get("/new/plan")
async def answer(request: Request, caller: Admin) -> Response:
    """Return the plan for the fields of the form."""
    parameters = request.query_params
    options = {"whole": "whole" in parameters, "tried": "tried" in parameters}
    shown = await _answer(request, caller, Form.read(parameters), **options)
    return parts(render("parts/answered.html", caller=caller, answer=shown))


@router.post("/new")
async def create(request: Request, caller: Changer) -> Response:
    """Create the test that the form describes; only once, even if the form is sent again."""
    fields = await access.form_of(request)
    form, token = Form.read(fields), fields.get("token", "")
    creations: Creations = request.app.state.creations
    name = form["name"].strip()
    if token in creations.names:
        return RedirectResponse(f"/tests/{creations.names[token]}", 303)
    planned = await _answer(request, caller, form, tried=True, shown=fields.get("shown", ""))
    if not caller.sees(name):
        own = ", ".join(caller.experiments or ())
        refused = invalid(f"name must be one that your key is for, {own} (got {name!r:.60})")
        words = {**problem_words({"name": refused}), **planned.problems}
        planned = replace(planned, problems=words)
    if planned.problems or planned.design is None:
        return _form_page(caller, form, planned, 422, tried=True)
    options = {
        "start": bool(form["start"]),
        "description": form["description"],
        "audience": planned.audience,
    }
    store = request.app.state.store
    async with creations.lock:
        try:
            if not token or token not in creations.names:
                await change(request, caller, store.create, name, planned.design, **options)
                creations.remember(token, name)
        except InputError as error:
            wrong = replace(planned, problems=problem_words({error.field: error}))
            return _form_page(caller, form, wrong, 422, tried=True)
    return RedirectResponse(f"/tests/{creations.names.get(token, name)}", 303)


@router.get("/sign-in")
async def ask_key(request: Request, token: str | None = None) -> Response:
    """Ask for a key, or show the button of a one-time link."""
    # A link only shows a button: a token is used up by a form that a person sends, not by
    # whatever follows links (previews, scanners, an image on another site).
    if token is not None and len(token) > LONGEST_TOKEN:
        raise Problem(400, "this link is not valid: copy it again, or sign in with a key")
    return _sign_in_page(request, token=token)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Open a session for a key or for a one-time link."""
    fields = await access.form_of(request)
    try:
        if "token" in fields:
            session = await access.sign_in_with_link(request, fields["token"])
        else:
            session = await access.sign_in_with_key(request, fields.get("key", ""))
    except Problem as problem:
        refused = _sign_in_page(request, problem)
        refused.headers.update(problem.headers)
        return refused
    answer = RedirectResponse("/", 303)
    access.remember(answer, request, session)
    return answer


router.get(oidc.PATH)(oidc.begin)


@router.get(f"{oidc.PATH}/callback")
async def from_provider(request: Request) -> Response:
    """Open a session for the person that the identity provider names."""
    try:
        return await oidc.finish(request)
    except Problem as problem:
        return _sign_in_page(request, problem)


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    access.check_same_site(request)
    answer = RedirectResponse("/sign-in", 303)
    await access.sign_out(request, answer)
    return answer


async def _list(request: Request, caller: Caller, search: str, number: int) -> Mapping[str, Any]:
    directory = request.app.state.directory
    shared = shared_caller(caller)

    async def render() -> Mapping[str, Any]:
        entries = await directory.all(age=0.0)
        calls = calls_of(request)
        return await calls.long(list_fragments, directory, entries, shared, search, number)

    if search:
        return await render()
    parts: Mapping[str, Any] = await renders_of(request).wait(("list", shared, number), render)
    return parts


async def _test_parts(request: Request, name: str, caller: Caller) -> TestParts:
    shared = shared_caller(caller)
    # The key has the test's number: a new test may have the name of a deleted one.
    entry = await request.app.state.directory.find(name)
    return await renders_of(request).get(
        ("test", entry.test.id, shared), test_parts, request.app.state.store, name, shared
    )


async def _caller_or_none(request: Request) -> Caller | None:
    if access.COOKIE not in request.cookies:
        return None
    try:
        return await access.page_viewer(request)
    except Problem:
        return None


def _new_parts(request: Request, rendered: Mapping[str, Any]) -> Response:
    known = request.query_params.getlist("seen")
    return parts("".join(part.out_of_band for part in changed(rendered, known)))


def _sign_in_page(
    request: Request, problem: Problem | None = None, token: str | None = None
) -> Response:
    status, detail = (200, None) if problem is None else (problem.status, problem.detail)
    has_oidc = bool(request.app.state.settings.oidc_issuer)
    text = _sign_in_text(detail, token is not None, has_oidc)
    return HTMLResponse(text.replace(TOKEN, escape(token or "")), status)


@lru_cache(maxsize=64)
def _sign_in_text(problem: str | None, has_token: bool, has_oidc: bool) -> str:
    """Render the sign-in page once, with the placeholder `TOKEN` for the token of a link."""
    token = TOKEN if has_token else None
    return render("sign-in.html", caller=None, problem=problem, token=token, oidc=has_oidc)


def _is_htmx(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"
