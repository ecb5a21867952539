"""The audit log in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def audit_words(entry: Mapping[str, Any]) -> str:
    """A line of the audit log as a sentence.

    >>> audit_words({"action": "knob", "detail": {"knob": "tilt", "before": 3.0, "now": 8.0}})
    'Turned tilt from 3 to 8'
    """
    action, detail = str(entry["action"]), entry["detail"]
    if action == "knob":
        return f"Turned {detail['knob']} from {detail['before']:g} to {detail['now']:g}"
    if action == "create":
        return f"Created, with the arms {', '.join(detail.get('arms', []))}"
    named = {
        "start": "Started",
        "pause": "Paused",
        "stop": "Stopped for good",
        "release": "Released the winner, {arm}",
        "drop arm": "Took {arm} out",
        "pause arm": "Paused {arm}",
        "resume arm": "Resumed {arm}",
        "delete": "Deleted",
    }
    if action in named:
        arm = str(detail.get("arm", "")) if isinstance(detail, Mapping) else ""
        return named[action].replace("{arm}", arm)
    if action == "alarm":
        return f"Alarm: {detail['message']}"
    if action == "end":
        why = detail.get("reason")
        return f"Ended undecided: {why}" if why else "Ended undecided"
    if action == "decide":
        return f"Decided: {detail.get('name', '')}"
    told = ", ".join(f"{key} {value}" for key, value in dict(detail).items())
    return f"{action.capitalize()}{': ' if told else ''}{told}"
