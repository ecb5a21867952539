"""The glossary of the page, which the documentation has too: `glossary.md`."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from markupsafe import Markup, escape

BEGIN, END = "```{glossary}\n", "\n```"


@lru_cache(maxsize=1)
def terms() -> dict[str, str]:
    """Return all terms with their meanings, as plain text without links to other pages.

    >>> terms()["unit"]
    'What is assigned: a user, a session, a server, a patient.'
    """
    text = files("bascule.service.page").joinpath("glossary.md").read_text(encoding="utf-8")
    text = re.sub(r" See \[\]\([^)]*\)( for [^.]*)?\.", "", text.split(BEGIN)[1].split(END)[0])
    text = re.sub(r"\{term\}`([^<`]*?)(?: <[^>]*>)?`", r"\1", text).replace("`", "")
    entries = (entry.strip().split("\n", 1) for entry in text.split("\n\n"))
    return {name: meaning.strip() for name, meaning in entries}


def anchor(term: str) -> str:
    """Return the fragment of a term's address.

    >>> anchor("sample ratio mismatch")
    'sample-ratio-mismatch'
    """
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def term(name: str, text: str | None = None) -> Markup:
    """Return a link to a term, which templates put where it first occurs on a page.

    >>> term("arm", "Arms")
    Markup('<a class="term" href="/glossary#arm">Arms</a>')
    """
    if name not in terms():
        raise KeyError(f"{name!r} is not in the glossary of the page")
    shown = escape(text or name)
    return Markup('<a class="term" href="/glossary#{}">{}</a>').format(anchor(name), shown)
