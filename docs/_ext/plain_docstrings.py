"""Docstrings are plain text with `code` in single backticks; tell reStructuredText so."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

SINGLE_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def mark_code(_app: Sphinx, _what: str, _name: str, _object: object, *rest: Any) -> None:
    """Double the backticks, line by line, in place."""
    lines: list[str] = rest[-1]
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else SINGLE_BACKTICKS.sub(r"``\1``", line)
        for line in lines
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Run before autodoc hands a docstring to the parser."""
    app.connect("autodoc-process-docstring", mark_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
