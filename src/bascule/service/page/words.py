"""Sentences of the web pages, and the glossary, which is the documentation's `glossary.md`."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from markupsafe import Markup, escape

from bascule.core.design import Design
from bascule.live.api import State, Status
from bascule.presentation.status import MISMATCH

Tone = Literal["good", "going", "waiting", "ended", "alarm"]
"""The tone of a test's state, which selects a colour and an icon."""

STATES: dict[State, str] = {
    "ready": "Not started",
    "running": "Running",
    "paused": "Paused",
    "decided": "Decided",
    "over": "Ended undecided",
    "stopped": "Stopped",
}


def announcement(status: Status, mismatch: bool = False) -> str:
    """Return the status for screen readers, without figures, since these change often."""
    if mismatch:
        return f"{MISMATCH}."
    if status.decision is not None:
        return f"{status.headline}."
    ahead = "" if status.leader is None else f" {status.leader} is ahead."
    return f"{STATES[status.state]}.{ahead}"


def tone(status: Status, mismatch: bool = False) -> Tone:
    """Return the tone of a test: "alarm" for a mismatch or harm, else by its state."""
    if mismatch:
        return "alarm"
    if status.decision is not None:
        return "alarm" if status.decision.harm else "good"
    if status.state == "running":
        return "going"
    return "waiting" if status.state in ("ready", "paused") else "ended"


def guarantee_kind(design: Design, status: Status) -> str:
    """Return the guarantee of the decision, made or to come, with the assumption that it needs."""
    if status.decision is None:
        return design.guarantee_label
    return ", ".join(filter(None, (status.decision.guarantee, design.procedure.assumes)))


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
    """Return the fragment of a term's URL in the glossary.

    >>> anchor("sample ratio mismatch")
    'sample-ratio-mismatch'
    """
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def term(name: str, text: str | None = None) -> Markup:
    """Return a link to a term of the glossary, to be used where a page first mentions it.

    >>> term("arm", "Arms")
    Markup('<a class="term" href="/glossary#arm">Arms</a>')
    """
    if name not in terms():
        raise KeyError(f"{name!r} is not in the glossary of the page")
    shown = escape(text or name)
    return Markup('<a class="term" href="/glossary#{}">{}</a>').format(anchor(name), shown)
