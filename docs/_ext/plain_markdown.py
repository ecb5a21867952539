"""Pages that read well as raw Markdown: links to the glossary, and index entries in comments.

`[interval](glossary.md#interval)` becomes a reference to the term, and `<!-- index: a, b -->` the
directive of the index.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from bascule.service.page.words import anchor, terms

TERM = re.compile(r"\[([^\]]+)\]\((?:(?:\.\./)?using/)?glossary\.md#([a-z0-9-]+)\)")
INDEX = re.compile(r"^<!-- index: (.*?) -->$", re.MULTILINE | re.DOTALL)


def as_directives(text: str) -> str:
    """Return a page with the roles and directives that its links and comments stand for.

    >>> as_directives("an [interval](glossary.md#interval)")
    'an {term}`interval <interval>`'
    """
    names = {anchor(name): name for name in terms()}

    def term(link: re.Match[str]) -> str:
        if link[2] not in names:
            raise ExtensionError(f"the glossary has no {link[2]!r}")
        return f"{{term}}`{' '.join(link[1].split())} <{names[link[2]]}>`"

    def index(comment: re.Match[str]) -> str:
        return f"```{{index}} {' '.join(comment[1].split())}\n```"

    return INDEX.sub(index, TERM.sub(term, text))


def read(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Replace the text of a page as it is read."""
    source[0] = as_directives(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
