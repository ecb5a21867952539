"""Parts of a page that are updated: the browser sends their versions, and gets what is new.

A fragment carries its own version in a hidden field named `seen`. The poll sends these fields, and
the answer has only the fragments whose version is another one; htmx puts them in place. So nothing
is read out, redrawn or loses its focus unless it says something new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2s

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page, as HTML."""

    id: str
    html: str

    @property
    def version(self) -> str:
        """A hash of the text."""
        return blake2s(self.html.encode(), digest_size=8).hexdigest()

    def __html__(self) -> str:
        return self._wrapped("")

    @property
    def out_of_band(self) -> Markup:
        """The fragment as HTML that replaces the one on the page."""
        return Markup(self._wrapped(' hx-swap-oob="true"'))

    def _wrapped(self, attributes: str) -> str:
        # The id is ours, and the text was escaped by its template.
        seen = f'<input type="hidden" name="seen" value="{self.id}.{self.version}">'
        return f'<div class="fragment" id="{self.id}"{attributes}>{self.html}{seen}</div>'


def changed(fragments: Mapping[str, Fragment], seen: Iterable[str]) -> list[Fragment]:
    """The fragments that a page does not have in this version.

    >>> one, other = Fragment("one", "1"), Fragment("other", "2")
    >>> found = changed({"one": one, "other": other}, [f"one.{one.version}", "other.old"])
    >>> [fragment.id for fragment in found]
    ['other']
    """
    has = set(seen)
    return [found for found in fragments.values() if f"{found.id}.{found.version}" not in has]
