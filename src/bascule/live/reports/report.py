"""The report of a live test: its status and its history, as one object to share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bascule.core.inputs.serialization import finite_data
from bascule.core.presenter import Reported, presenter
from bascule.live.reports.history import HistoryPoint
from bascule.live.reports.status import Status


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
