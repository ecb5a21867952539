"""Docstrings are plain text with `code` in single backticks, and fields are documented one by one.

A class that is a dataclass lists its fields as parameters, unless its docstring has a list of them:
each with the text below its declaration, or with the help and the choices of its option. A class
that only bascule creates is written with empty parentheses in a page. It then has no signature, and
its fields are listed with their types.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.inspect import stringify_signature
from sphinx.util.typing import stringify_annotation

from bascule.core.options import Option, options_of

SINGLE_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LISTED = re.compile(r"^- `(\w+)`", re.MULTILINE)
ANNOTATED = re.compile(r"Annotated\[")
KIND = re.compile(r"(?:, )?(?:\*, )?kind: [~\w.]*Literal\['[\w-]+'\] = '[\w-]+'")
"""The field that names a class in files: it has one value, which nobody passes."""
MODULES = re.compile(r"~?\b(?:\w+\.)+(?=[A-Za-z])")
LITERAL = re.compile(r"Literal\[([^\]]*)\]")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


RETURNED: set[Any] = set()
"""Classes that a page shows without a signature, because only bascule creates their objects."""

WRITTEN: list[str] = []
"""The docstring of the present property, as it stands in the code."""


def mark_code(_app: Sphinx, what: str, _name: str, value: object, *rest: Any) -> None:
    """List the fields of a dataclass, then double the backticks, line by line, in place."""
    lines: list[str] = rest[-1]
    if what in ("attribute", "property"):
        lines[:] = WRITTEN
    if what == "class" and is_dataclass(value):
        listed = set(LISTED.findall("\n".join(lines)))
        texts = {name: text for name, text in documented(value).items() if name not in listed}
        if value in RETURNED:
            # The fields of what changes are its own matter.
            listed |= set() if value.__dataclass_params__.frozen else set(_public(value))
            lines += ["", *_fields_of(value, listed, texts)]
        else:
            lines += ["", *(f":param {name}: {text}" for name, text in texts.items())]
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else _marked(line) for line in lines
    ]


def _fields_of(cls: Any, listed: set[str], texts: dict[str, str]) -> list[str]:
    """Return a list of the fields that a docstring does not list, with their types and texts."""
    hints = get_type_hints(cls)
    lines = []
    for name in _public(cls):
        if name in listed:
            continue
        hint = MODULES.sub("", stringify_annotation(hints[name], "smart"))
        hint = LITERAL.sub(lambda words: words[1].replace(", ", " | "), hint)
        lines.append(f"- `{name}` (`{hint}`)" + (f": {texts[name]}" if name in texts else ""))
    return lines


def _public(cls: Any) -> list[str]:
    """Return the names of the fields of a dataclass that a page shows."""
    return [one.name for one in fields(cls) if not one.name.startswith("_") and one.name != "kind"]


def _marked(line: str) -> str:
    """Return a line of text with its code and its references to pages marked up."""
    return PAGE.sub(r":doc:`/\1`", SINGLE_BACKTICKS.sub(r"``\1``", line))


def keep_sentence(_app: Sphinx, what: str, *rest: Any) -> None:
    """Keep the text of a property: Napoleon takes what precedes a colon in it as a type."""
    if what in ("attribute", "property"):
        WRITTEN[:] = rest[-1]


def documented(cls: Any) -> dict[str, str]:
    """Return the text of every documented field of a dataclass, its own and inherited ones."""
    texts = {name: _text(option) for name, option in options_of(cls).items() if option.help}
    for base in reversed(cls.__mro__):
        try:
            attributes = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        except PycodeError:
            continue
        for (owner, name), lines in attributes.items():
            if owner == base.__name__:
                texts[name] = " ".join(lines).strip()
    return {name: texts[name] for name in _public(cls) if name in texts}


def _text(option: Option) -> str:
    """Return the help of an option, followed by the words that it accepts."""
    literals = [choice for choice in option.choices if repr(choice) in str(option.type)]
    words = ", ".join(f'`"{choice}"`' for choice in literals)
    return f"{option.help} One of {words}." if words else option.help


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


def bare_types(
    _app: Sphinx, what: str, _name: str, value: Any, *rest: Any
) -> tuple[str, str] | None:
    """Write `Annotated[int, ...]` as `int` in a signature whose types could not be read."""
    signature, returns = rest[-2:]
    if signature == "()" and what == "class":
        RETURNED.add(value)
        return "", returns
    if what == "class" and is_dataclass(value):
        signature = _of_dataclass(value)
    return (KIND.sub("", _bare(signature)), returns) if signature else None


def _of_dataclass(cls: Any) -> str:
    """Return the signature of a dataclass; its generated `__init__` cannot read its own types."""
    hints, shown = get_type_hints(cls), inspect.signature(cls)
    parameters = [
        one.replace(annotation=hints.get(one.name, one.annotation))
        for one in shown.parameters.values()
    ]
    shown = shown.replace(parameters=parameters)
    return stringify_signature(shown, show_return_annotation=False, unqualified_typehints=True)


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
    # Napoleon has the usual priority, 500.
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("autodoc-before-process-signature", read_types)
    app.connect("autodoc-process-signature", bare_types)
    app.connect("autodoc-skip-member", skip_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
