"""Rendering of templates into responses."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2s
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from bascule.service.page.fragments import Fragment

if TYPE_CHECKING:
    from jinja2 import Environment

    from bascule.service.auth.access import Caller
    from bascule.service.server.responses import Problem


def page(template: str, caller: Caller | None, status: int = 200, **shown: Any) -> HTMLResponse:
    """Render a whole page."""
    text = render(template, caller=caller, **shown)
    return HTMLResponse(text, status)


def render(template: str, **shown: Any) -> str:
    """Render a template; all text in it is escaped."""
    return _environment().get_template(template).render(**shown)


def fragment(id: str, **shown: Any) -> Fragment:  # noqa: A002
    """Render the part of a page whose template has this id."""
    return Fragment(id, render(f"parts/{id}.html", **shown))


def parts(text: str) -> HTMLResponse:
    """A response for htmx; 204 where nothing changed."""
    return HTMLResponse(text, 200 if text else 204)


def problem_page(request: Request, problem: Problem) -> HTMLResponse:
    """Render a refusal as a page."""
    answer = page("problem.html", None, problem.status, problem=problem, where=request.url.path)
    for name, value in problem.headers.items():
        answer.headers[name] = value
    return answer


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("bascule.service.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["static"] = static_address
    made.filters["tight"] = tight
    return made


def tight(text: str) -> str:
    """Keep numbers on one line with their percent signs.

    >>> tight("at most 5 %").split(" ")[-1][0]
    '5'
    """
    return text.replace(" %", "\u00a0%")


@lru_cache(maxsize=32)
def static_address(name: str) -> str:
    """The URL of a static file, which changes with its content, so that no old copy is used.

    >>> static_address("page.css").startswith("/static/page.css?")
    True
    """
    content = files("bascule.service.page").joinpath("static", *name.split("/")).read_bytes()
    return f"/static/{name}?{blake2s(content, digest_size=6).hexdigest()}"
