"""Segments: parts of the units, named before the test, each with a decision of its own.

The error of a design is split among them, so that it bounds a wrong decision in any segment.
docs/research/segments.md has the proof.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bascule.core.errors import InputError
from bascule.core.inputs import checks

NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")

MOST_SEGMENTS = 100


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a test, by an attribute of a unit's context.

    A unit belongs to the segment that the attribute names when it is assigned, and stays in it.

    - `attribute`: the attribute of the context, such as "country".
    - `names`: the values of the attribute that are segments.
    - `other`: a segment for all other units; without it, they are refused.
    - `shares`: the parts of the error that the segments get, in the order of their names with
      `other` last; equal parts if not given.

    >>> Segments("country", ["fr", "de"], other="rest").segment_of({"country": "it"})
    'rest'
    """

    attribute: str
    names: Sequence[str]
    other: str | None = None
    shares: Sequence[float] | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str) or not 0 < len(self.attribute) <= 100:
            raise InputError(
                "segments",
                f"attribute must be the name of an attribute of the context, as country "
                f"(got {self.attribute!r:.60})",
            )
        if isinstance(self.names, str) or not isinstance(self.names, (list, tuple)):
            raise InputError("segments", f"segments must be a list of names (got {self.names!r})")
        object.__setattr__(self, "names", tuple(self.names))
        for name in self.all:
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise InputError(
                    "segments",
                    "a segment must be named with 1 to 50 letters, digits, dashes or underscores "
                    f"(got {name!r:.60})",
                )
        twice = sorted({name for name in self.all if self.all.count(name) > 1})
        if twice:
            raise InputError("segments", f"segments must differ ({twice[0]!r} occurs twice)")
        if not 2 <= len(self.all) <= MOST_SEGMENTS:
            raise InputError(
                "segments",
                f"segments must be 2 to {MOST_SEGMENTS} (got {len(self.all)}); a test without "
                "segments needs none",
            )
        if self.shares is not None:
            object.__setattr__(self, "shares", self._checked_shares(self.shares))

    def _checked_shares(self, shares: object) -> tuple[float, ...]:
        names = ", ".join(self.all)
        if not isinstance(shares, (list, tuple)) or len(shares) != len(self.all):
            raise InputError(
                "shares", f"shares must be a part of the error for each of {names} (got {shares!r})"
            )
        parts = tuple(
            checks.positive("shares", one, "each is a part of the error") for one in shares
        )
        if not math.isclose(sum(parts), 1.0, abs_tol=1e-9):
            raise InputError("shares", f"shares must add up to 1 (got {sum(parts):g})")
        return parts

    @property
    def all(self) -> tuple[str, ...]:
        """The names of all segments, with that of all other units last."""
        return (*self.names, *(() if self.other is None else (self.other,)))

    def part(self, error: float, name: str) -> float:
        """Return the part of an error that a segment gets.

        >>> Segments("country", ["fr", "de"], shares=[0.5, 0.5]).part(0.05, "fr")
        0.025
        """
        if self.shares is None:
            return error / len(self.all)
        return error * self.shares[self.all.index(name)]

    def found(self, context: Mapping[str, object] | None) -> str | None:
        """Return the segment of a new unit by its context; None where it belongs to none."""
        given = (context or {}).get(self.attribute)
        value = str(given).lower() if isinstance(given, bool) else given
        is_named = isinstance(value, (str, int)) and str(value) in self.names
        return str(value) if is_named else self.other

    def segment_of(self, context: Mapping[str, object] | None, segment: str | None = None) -> str:
        """Return the segment of a new unit: the one that is named, or that of its context."""
        if context is not None and not isinstance(context, Mapping):
            raise InputError("context", f"context must have names and values (got {context!r:.60})")
        given, value = (context or {}).get(self.attribute), self.found(context)
        names = ", ".join(self.names)
        if segment is not None and segment not in self.all:
            message = f"segment {segment!r:.60} was not named beforehand: it is "
            raise InputError("segment", message + ", ".join(self.all))
        if segment is not None and given is not None and value != segment:
            raise InputError(
                "segment",
                f"segment {segment!r:.60} is given, and the context says {value}: leave one of "
                "them out",
            )
        if segment is not None or value is not None:
            return segment or str(value)
        if given is None:
            raise InputError(
                "segment",
                f"segment is missing: give {self.attribute} in the context ({names}), or the "
                "segment itself",
            )
        raise InputError(
            "segment",
            f"{self.attribute} {given!r:.60} is none of the segments {names}: they are fixed "
            "before the test; a design with other=NAME has one for all other units",
        )


class Member(NamedTuple):
    """Which segment of which test an experiment is, and the error of the whole test."""

    test: str
    segment: str
    segments: Segments
    error: float


def member_name(test: str, segment: str) -> str:
    """Return the name of the experiment that a segment of a test is.

    >>> member_name("checkout", "fr")
    'checkout.fr'
    """
    return f"{test}.{segment}"
