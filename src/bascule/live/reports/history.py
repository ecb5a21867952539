"""The history of a live test: what it had shown at a time, and what was done to it, in words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, TypeVar

from bascule.core.design import Design
from bascule.core.metrics.effects import Effect, effects
from bascule.core.procedures.base import AnyStatistics
from bascule.live.clock import moment
from bascule.live.reports.status import arm_means, finite

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A point of a test's history, after `matured` units."""

    time: str
    matured: int
    means: tuple[float | None, ...]
    units: tuple[int, ...]
    effects: tuple[Effect, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None for what is not known."""
        data: dict[str, Any] = finite(asdict(self))
        return data


@lru_cache(maxsize=4096)
def point_of(design: Design, statistics: AnyStatistics, matured: int, time: float) -> HistoryPoint:
    """A point of a test's history."""
    return HistoryPoint(
        moment(time).isoformat(),
        matured,
        tuple(arm_means(design, statistics)),
        tuple(arm.units for arm in statistics.arms),
        effects(design, statistics),
    )


def spread(points: Sequence[Item], places: Sequence[int], most: int | None) -> list[Item]:
    """At most `most` of the points, spread evenly over their places, the last one included.

    >>> spread("abcdefg", [1, 2, 3, 4, 6, 9, 10], 3)
    ['d', 'f', 'g']
    """
    if most is None or len(points) <= most:
        return list(points)
    wanted = (places[-1] * (i + 1) / most for i in range(most))
    kept = {bisect_left(places, place) for place in wanted}
    return [points[i] for i in sorted(kept)]


def audit_words(entry: Mapping[str, Any]) -> str:
    """Return an entry of the audit log as a sentence.

    >>> audit_words({"action": "knob", "detail": {"knob": "tilt", "before": 3.0, "now": 8.0}})
    'Turned tilt from 3 to 8'
    """
    action, detail = str(entry["action"]), entry["detail"]
    if action == "harm":
        return f"Removed {detail['arm']}, which is harmful: {', '.join(detail['metrics'])}"
    if action == "knob":
        return f"Turned {detail['knob']} from {detail['before']:g} to {detail['now']:g}"
    if action == "share":
        return f"Share of traffic from {100 * detail['before']:g} % to {100 * detail['now']:g} %"
    if action == "create":
        return f"Created, with the arms {', '.join(detail.get('arms', []))}"
    named = {
        "start": "Started",
        "pause": "Paused",
        "stop": "Stopped for good",
        "release": "Released the winner, {arm}",
        "drop arm": "Dropped {arm}",
        "pause arm": "Paused {arm}",
        "resume arm": "Resumed {arm}",
        "delete": "Deleted",
        "import": "Imported",
    }
    to = detail.get("to") if isinstance(detail, Mapping) else None
    if action == "stop" and to:
        return f"Stopped for good; everyone gets {to}"
    if action == "drop arm" and to:
        return f"Dropped {detail['arm']}; its users get {to}"
    if action in named:
        arm = str(detail.get("arm", "")) if isinstance(detail, Mapping) else ""
        return named[action].replace("{arm}", arm)
    if action == "describe":
        return f"Described: {', '.join(detail)}"
    if action == "erase":
        return f"Erased {detail['units']:,} unit{'' if detail['units'] == 1 else 's'}"
    if action == "alarm":
        return f"Alarm: {detail['message']}"
    if action == "end":
        why = detail.get("reason")
        return f"Ended undecided: {why}" if why else "Ended undecided"
    if action == "decide" and detail.get("harm"):
        return f"Kept {detail.get('name', '')}: all else is harmful ({', '.join(detail['harm'])})"
    if action == "decide":
        return f"Decided: {detail.get('name', '')}"
    parts = ", ".join(f"{key} {value}" for key, value in dict(detail).items())
    return f"{action.capitalize()}{': ' if parts else ''}{parts}"
