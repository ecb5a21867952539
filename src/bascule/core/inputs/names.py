"""Wording of messages: suggestions for misspelled names, and indefinite articles."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LIKENESS = 0.6
"""Minimum similarity of two names, from 0 to 1, for one to be suggested for the other."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, ignoring case; None if none is similar.

    >>> nearest("reveneu", ["user", "Revenue"])
    'Revenue'
    """
    lower = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=LIKENESS)
    return lower[close[0]] if close else None


def meant(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the end of a message; empty if no known name is similar.

    >>> meant("bernouli", ["gaussian", "bernoulli"])
    "; did you mean 'bernoulli'?"
    >>> meant("poisson", ["gaussian", "bernoulli"])
    ''
    """
    near = nearest(name, known) if isinstance(name, str) else None
    return f"; did you mean {near!r}?" if near else ""


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, "a" or "an".

    >>> with_article("rule"), with_article("outcome")
    ('a rule', 'an outcome')
    """
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"
