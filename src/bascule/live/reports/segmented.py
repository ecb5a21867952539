"""The status of a live test with segments, and its verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bascule.live.reports.status import Status

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bascule.live.reports.verification.verify import Verification


@dataclass(frozen=True, slots=True)
class SegmentedStatus:
    """The status of a test with segments: that of each, by name.

    `error` bounds the probability that a worse arm is declared the winner in any segment.
    """

    name: str
    error: float
    attribute: str
    segments: Mapping[str, Status]

    @property
    def decisions(self) -> dict[str, str]:
        """What is decided in those segments that are decided."""
        found = {segment: one.decision for segment, one in self.segments.items()}
        return {name: decision.name for name, decision in found.items() if decision is not None}

    @property
    def units(self) -> int:
        """Units of all segments."""
        return sum(one.units for one in self.segments.values())

    @property
    def is_open(self) -> bool:
        """Whether a segment may still be decided."""
        return any(one.is_open for one in self.segments.values())

    @property
    def headline(self) -> str:
        """One line: what is decided, in which segments, and what is open."""
        decided = self.decisions
        rest = [segment for segment in self.segments if segment not in decided]
        if not decided:
            verb = "is decided yet" if self.is_open else "was decided"
            return f"None of {len(self.segments)} segments {verb}"
        said = "; ".join(f"{segment}: {name}" for segment, name in decided.items())
        left = "" if not rest else f"; undecided: {', '.join(rest)}"
        return f"{len(decided)} of {len(self.segments)} segments decided: {said}{left}"

    @property
    def promise(self) -> str:
        """What the error of the whole test bounds."""
        return (
            "a worse arm is declared the winner in any of the segments with probability at most "
            f"{100 * self.error:.3g} %"
        )

    def table(self) -> list[str]:
        """The segments, a line each below a heading."""
        lines = [
            f"{'segment':<20}{'state':<10}{'units':>10}{'matured':>10}{'evidence':>10}  result"
        ]
        for segment, one in self.segments.items():
            lines.append(
                f"{segment:<20}{one.state:<10}{one.units:>10,}{one.matured:>10,}"
                f"{100 * one.evidence:>8.0f} %  {one.headline}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None for what is not known."""
        return {
            "name": self.name,
            "headline": self.headline,
            "attribute": self.attribute,
            "error": self.error,
            "promise": self.promise,
            "units": self.units,
            "decisions": self.decisions,
            "segments": {segment: one.to_dict() for segment, one in self.segments.items()},
        }

    def __str__(self) -> str:
        return "\n".join([self.headline, self.promise, "", *self.table()])


def verify_segments(connection: Connection, tests: Mapping[str, Any]) -> tuple[Verification, ...]:
    """Compute every segment again from the raw log; a unit that is in two is a difference."""
    from bascule.live.reports.verification.verify import verify

    found = [verify(connection, test.id, test.name) for test in tests.values()]
    numbers = {test.id: segment for segment, test in tests.items()}
    listed = ", ".join(map(str, numbers))
    twice = connection.exec_driver_sql(
        "SELECT unit, min(experiment), max(experiment) FROM assignments "
        f"WHERE experiment IN ({listed}) "  # nosec B608: whole numbers
        "AND NOT EXISTS (SELECT 1 FROM erased e WHERE e.experiment = assignments.experiment "
        "AND e.number = assignments.number) "
        "GROUP BY unit HAVING count(*) > 1 ORDER BY unit LIMIT 100"
    )
    for unit, first, other in twice:
        at = list(numbers).index(other)
        difference = f"unit {unit!r:.60} is in segment {numbers[first]} too"
        found[at] = replace(found[at], differences=(*found[at].differences, difference))
    return tuple(found)
