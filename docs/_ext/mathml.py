"""Formulas as MathML, written into the page when it is built: no script, no font, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

UNTRANSLATED = ("\\", "<mi>&</mi>")
"""What a formula holds when the converter met a command that it does not know."""


FUNCTION = re.compile(r"<m[io]>(log|exp|max|min)</m[io]>(<mo stretchy=\"false\">&#x00028;)?")


def spaced(function: re.Match[str]) -> str:
    """A function's name as an operator, with a thin space before what is not in brackets."""
    name, bracket = function[1], function[2] or ""
    after = "0em" if bracket else "0.17em"
    return f'<mo form="prefix" lspace="0.1em" rspace="{after}">{name}</mo>{bracket}'


def rendered(node: nodes.Element, display: str) -> str:
    """The formula as MathML; a formula that did not come through whole fails the build."""
    markup: str = convert(node.astext(), display=display)
    if any(sign in markup for sign in UNTRANSLATED):
        logger.warning("no MathML for %s", node.astext(), location=node)
    return FUNCTION.sub(spaced, markup)


def inline_math(self: HTML5Translator, node: nodes.math) -> None:
    """A formula inside a sentence."""
    self.body.append(rendered(node, "inline"))
    raise nodes.SkipNode


def display_math(self: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(rendered(node, "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer to Sphinx; `html_math_renderer = "mathml"` chooses it."""
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
