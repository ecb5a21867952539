"""Where a test stands and what happened to it, as the API says it."""

from __future__ import annotations

import math
from typing import Any

from bascule.core.diagnostics import Diagnostic
from bascule.live.api.experiment import Experiment
from bascule.live.clock import moment
from bascule.live.reports.status import Status


def status_data(status: Status) -> dict[str, Any]:
    """A status, with its headline; its diagnostics have a path of their own."""
    data = status.to_dict()
    del data["diagnostics"]
    return {"headline": status.headline, **data}


def experiment_data(test: Experiment, created: float) -> dict[str, Any]:
    """A test with its design and its status."""
    status = test.status()
    return {
        "name": test.name,
        "created": moment(created).isoformat(),
        "design": test.design.to_dict(),
        "status": status_data(status),
    }


def audit_data(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The audit log, with dates."""
    told = [{**entry, "time": moment(entry["time"]).isoformat()} for entry in entries]
    return {"audit": told}


def set_aside_data(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Outcomes that were set aside, with dates."""
    told = [
        {
            **row,
            "at": None if row["at"] is None else moment(row["at"]).isoformat(),
            "received": moment(row["received"]).isoformat(),
        }
        for row in rows
    ]
    return {"set_aside": told}


def diagnostic_data(found: Diagnostic) -> dict[str, Any]:
    """A diagnostic; None for what is not a finite number."""
    return {key: _finite(value) for key, value in found.to_dict().items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
