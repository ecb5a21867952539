"""The report of a live test: its status, its results over time, and its audit log as sentences."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from bascule.core.design import Design
from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.effects import Effect, effects
from bascule.core.presenter import Reported, presenter
from bascule.core.procedures.base import AnyStatistics
from bascule.live.clock import moment
from bascule.live.reports.status import Status, arm_means

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A point of a test's history, after `matured` units have counted.

    With recurring outcomes, `matured` is the number of closed stages. `means` and `units` are those
    of each arm; a mean is None before the arm's first outcome. With rules in blocks, these and the
    `effects` are those of the complete blocks, so that `units` may add up to less than `matured`.
    `time` is in ISO 8601.
    """

    time: str
    matured: int
    means: tuple[float | None, ...]
    units: tuple[int, ...]
    effects: tuple[Effect, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with None for unknown values."""
        data: dict[str, Any] = finite_data(self)
        return data


@lru_cache(maxsize=4096)
def point_of(design: Design, statistics: AnyStatistics, matured: int, time: float) -> HistoryPoint:
    """Return the point of a test's history that these statistics give."""
    return HistoryPoint(
        moment(time).isoformat(),
        matured,
        tuple(arm_means(design, statistics)),
        tuple(arm.units for arm in statistics.arms),
        effects(design, statistics),
    )


def spread(points: Sequence[Item], places: Sequence[int], limit: int | None) -> list[Item]:
    """Return at most `limit` points, spread evenly over the range of `places`, with the last one.

    >>> spread("abcdefg", [1, 2, 3, 4, 6, 9, 10], 3)
    ['d', 'f', 'g']
    """
    if limit is None or len(points) <= limit:
        return list(points)
    wanted = (places[-1] * (i + 1) / limit for i in range(limit))
    kept = {bisect_left(places, place) for place in wanted}
    return [points[i] for i in sorted(kept)]


Detail = Mapping[str, Any]

WORDS: dict[str, Callable[[Detail], str]] = {
    "create": lambda detail: f"Created, with the arms {', '.join(detail.get('arms', []))}",
    "import": lambda _: "Imported",
    "delete": lambda _: "Deleted",
    "start": lambda _: "Started",
    "pause": lambda _: "Paused",
    "stop": lambda detail: f"Stopped for good{_to('everyone gets', detail)}",
    "release": lambda detail: f"Released the winner, {detail['arm']}",
    "drop arm": lambda detail: f"Dropped {detail['arm']}{_to('its users get', detail)}",
    "harm": lambda entry: (
        f"Removed {entry['arm']}, which is harmful: {', '.join(entry['metrics'])}"
    ),
    "knob": lambda one: f"Turned {one['knob']} from {one['before']:g} to {one['now']:g}",
    "share": lambda detail: (
        f"Share of traffic from {100 * detail['before']:g} % to {100 * detail['now']:g} %"
    ),
    "describe": lambda _: "Described",
    "erase": lambda one: f"Erased {one['units']:,} unit{'' if one['units'] == 1 else 's'}",
    "alarm": lambda detail: f"Alarm: {detail['message']}",
    "end": lambda one: (
        f"Ended undecided: {one['reason']}" if "reason" in one else "Ended undecided"
    ),
    "decide": lambda one: (
        f"Kept {one['name']}: all else is harmful ({', '.join(one['harm'])})"
        if one.get("harm")
        else f"Decided: {one['name']}"
    ),
}
"""For each action of the audit log, a function that describes an entry in words."""


def _to(words: str, detail: Detail) -> str:
    return f"; {words} {detail['to']}" if detail.get("to") else ""


def audit_words(entry: Mapping[str, Any]) -> str:
    """Return an entry of the audit log as a sentence; a damaged entry is shown as stored.

    >>> audit_words({"action": "knob", "detail": {"knob": "tilt", "before": 3.0, "now": 8.0}})
    'Turned tilt from 3 to 8'
    """
    action, detail = str(entry["action"]), entry["detail"]
    try:
        return WORDS[action](detail)
    except (LookupError, TypeError, ValueError, AttributeError):
        return f"{action.capitalize()}: {detail}" if detail else action.capitalize()


@dataclass(frozen=True, slots=True)
class ExperimentReport(Reported):
    """The status of a test with its diagnostics, its history, and the changes made to it."""

    PAGE = "Test report"

    status: Status
    """The status, with diagnostics."""
    history: tuple[HistoryPoint, ...]
    """The means, units and differences over time."""
    changes: tuple[tuple[str, str], ...]
    """Time and description of each change that was made to the test."""

    def report(self) -> Any:
        """Return the report of the status, with a figure of the history and a table of changes."""
        return presenter("status").experiment_report(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with None for unknown values."""
        return {
            "status": self.status.to_dict(),
            "history": [point.to_dict() for point in self.history],
            "changes": [{"time": time, "change": change} for time, change in self.changes],
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each point of the history and each pair of arms, as plain data."""
        names = ("difference", "low", "high")
        return [
            {
                "time": point.time,
                "matured": point.matured,
                "contrast": effect.name,
                **finite_data(dict(zip(names, effect.interval, strict=True))),
            }
            for point in self.history
            for effect in point.effects
        ]

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.to_rows())
