"""Docstrings are plain text with `code` in single backticks, and fields are documented one by one.

A class that is a dataclass lists its fields as parameters, unless its docstring has a list of them:
each with the text below its declaration, or with the help of its option.
"""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

from bascule.core.options import options_of

SINGLE_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LISTED = re.compile(r"^- `(\w+)`", re.MULTILINE)
ANNOTATED = re.compile(r"Annotated\[")


def mark_code(_app: Sphinx, what: str, _name: str, value: object, *rest: Any) -> None:
    """List the fields of a dataclass, then double the backticks, line by line, in place."""
    lines: list[str] = rest[-1]
    if what == "class" and is_dataclass(value):
        listed = set(LISTED.findall("\n".join(lines)))
        texts = documented(value).items()
        lines += ["", *(f":param {name}: {text}" for name, text in texts if name not in listed)]
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else SINGLE_BACKTICKS.sub(r"``\1``", line)
        for line in lines
    ]


def documented(cls: Any) -> dict[str, str]:
    """Return the text of every documented field of a dataclass, its own and inherited ones."""
    texts = {name: option.help for name, option in options_of(cls).items() if option.help}
    for base in reversed(cls.__mro__):
        try:
            attributes = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        except PycodeError:
            continue
        for (owner, name), lines in attributes.items():
            if owner == base.__name__:
                texts[name] = " ".join(lines).strip()
    return {field.name: texts[field.name] for field in fields(cls) if field.name in texts}


def skip_field(app: Sphinx, _what: str, name: str, *_: Any) -> bool | None:
    """Leave a field out of the members of its class, which lists it as a parameter."""
    place = app.env.temp_data
    module = sys.modules.get(place.get("autodoc:module") or "")
    cls = getattr(module, place.get("autodoc:class") or "", None)
    return True if is_dataclass(cls) and name in {one.name for one in fields(cls)} else None


def read_types(_app: Sphinx, value: Any, _bound: bool) -> None:
    """Replace the types of a function by what they mean, where they can be read."""
    with contextlib.suppress(Exception):
        value.__annotations__ = get_type_hints(value)


def bare_types(_app: Sphinx, _what: str, _name: str, *rest: Any) -> tuple[str, str] | None:
    """Write `Annotated[int, ...]` as `int` in a signature whose types could not be read."""
    signature, returns = rest[-2:]
    return (_bare(signature), returns) if signature else None


def _bare(text: str) -> str:
    """Return the text with every `Annotated[X, ...]` replaced by `X`."""
    while match := ANNOTATED.search(text):
        depth, at, comma, quote = 1, match.end(), None, ""
        while depth:
            sign = text[at]
            if quote:
                quote = "" if sign == quote and text[at - 1] != "\\" else quote
            elif sign in "'\"":
                quote = sign
            else:
                depth += (sign in "[(") - (sign in "])")
                if sign == "," and depth == 1 and comma is None:
                    comma = at
            at += 1
        text = text[: match.start()] + text[match.end() : comma] + text[at:]
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Run before autodoc hands a docstring to the parser."""
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("autodoc-before-process-signature", read_types)
    app.connect("autodoc-process-signature", bare_types)
    app.connect("autodoc-skip-member", skip_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
