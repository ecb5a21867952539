"""Rendering of templates into responses, and fragments of a page that are updated.

A fragment carries its own version in a hidden field named `seen`. The poll sends these fields, and
the answer has only the fragments whose version is another one; htmx puts them in place. So nothing
is read out, redrawn or loses its focus unless it says something new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2s
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from bascule.presentation.numbers import amount, duration, percent
from bascule.presentation.pages import environment
from bascule.service.page.creation import options
from bascule.service.page.glossary import term

if TYPE_CHECKING:
    from jinja2 import Environment

    from bascule.service.auth.access import Caller
    from bascule.service.responses import Problem


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page, as HTML."""

    id: str
    html: str
    version: str = field(init=False)
    """A hash of the text."""

    def __post_init__(self) -> None:
        version = blake2s(self.html.encode(), digest_size=8).hexdigest()
        object.__setattr__(self, "version", version)

    def __html__(self) -> str:
        return self._wrapped("")

    @property
    def out_of_band(self) -> Markup:
        """The fragment as HTML that replaces the one on the page."""
        # The template has escaped everything in it.
        return Markup(self._wrapped(' hx-swap-oob="true"'))  # nosec B704

    def _wrapped(self, attributes: str) -> str:
        # The id is ours, and the text was escaped by its template.
        marker = f'<input type="hidden" name="seen" value="{self.id}.{self.version}">'
        return f'<div class="fragment" id="{self.id}"{attributes}>{self.html}{marker}</div>'


def changed(fragments: Mapping[str, Fragment], known: Iterable[str]) -> list[Fragment]:
    """The fragments that a page does not have in this version.

    >>> one, other = Fragment("one", "1"), Fragment("other", "2")
    >>> result = changed({"one": one, "other": other}, [f"one.{one.version}", "other.old"])
    >>> [fragment.id for fragment in result]
    ['other']
    """
    has = set(known)
    return [
        fragment
        for fragment in fragments.values()
        if f"{fragment.id}.{fragment.version}" not in has
    ]


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
    made = environment("bascule.service.page")
    made.globals |= {"static": static_address, "term": term, "options": options}
    made.filters |= {"tight": tight, "duration": duration, "percent": percent, "amount": amount}
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
