"""The description of an experiment: owner, hypothesis, text, links and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from bascule.core.errors import InputError

LONGEST, LONGEST_TEXT, MOST = 200, 10_000, 50
"""Characters of an owner, a tag or a link, and of a text; links or tags."""

TEXTS = ("hypothesis", "description")
LISTS = ("links", "tags")


@dataclass(frozen=True, slots=True)
class Description:
    """Words about an experiment; none of them is needed, and none changes what it does.

    >>> Description(owner="ann", tags=("checkout", "q3")).matches("CHECKOUT ann")
    True
    """

    owner: str = ""
    hypothesis: str = ""
    description: str = ""
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("owner", *TEXTS):
            _check_text(name, getattr(self, name), LONGEST if name == "owner" else LONGEST_TEXT)
        for name in LISTS:
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence) or len(given) > MOST:
                raise InputError(name, f"{name} must be a list of at most {MOST} texts")
            for text in given:
                _check_text(name, text, LONGEST)
            object.__setattr__(self, name, tuple(dict.fromkeys(t.strip() for t in given if t)))
        for link in self.links:
            # Anything else may run when somebody follows it.
            if urlsplit(link).scheme not in ("http", "https") or not urlsplit(link).netloc:
                raise InputError(
                    "links", f"a link is as in https://wiki.example/page (got {link!r:.60})"
                )

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Description:
        """Return a description from plain data."""
        unknown = data.keys() - {field.name for field in fields(cls)}
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise InputError("description", f"{min(unknown)!r:.60} is none of {known}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "links": list(self.links), "tags": list(self.tags)}

    def matches(self, search: str, name: str = "") -> bool:
        """Return whether every word of a search is in the words or in the experiment's name."""
        parts = (name, self.owner, self.hypothesis, self.description, *self.links, *self.tags)
        text = "\n".join(parts).casefold()
        return all(word in text for word in search.casefold().split())

    def lines(self) -> list[str]:
        """Return the words as lines of text; none where there are none.

        >>> Description(owner="ann", tags=["q3", "checkout"]).lines()
        ['owner: ann', 'tags: q3, checkout']
        """
        named = self.to_dict() | {"links": " ".join(self.links), "tags": ", ".join(self.tags)}
        return [f"{name}: {value}" for name, value in named.items() if value]

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def _check_text(field: str, text: object, longest: int) -> None:
    if not isinstance(text, str):
        raise InputError(field, f"{field} must be text (got {text!r:.60})")
    if len(text) > longest:
        raise InputError(field, f"{field} must have at most {longest:,} characters ({len(text):,})")
    if "\0" in text or not text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        raise InputError(field, f"{field} must be printable text (got {text!r:.60})")
