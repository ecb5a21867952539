"""The result of a run: what was read, what it shows, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bascule.core.inputs.serialization import finite_data
from bascule.core.presenter import COLUMNS, Reported
from bascule.live.reports.status import Status
from bascule.presentation.numbers import count
from bascule.presentation.report import Fact, Report, Table
from bascule.steering.ledger import Row, Shares
from bascule.steering.reading import LogRead


@dataclass(frozen=True, slots=True, repr=False)
class SteeringRun(Reported):
    """The result of one run of a steered test."""

    test: str
    at: datetime
    before: Shares
    """Shares before the run."""
    after: Shares
    """Shares after the run."""
    log: LogRead | None = None
    """Summary of the rows that were read; None after the decision of an earlier run."""
    status: Status | None = None
    """What the log shows, as the status of a live test; None if nothing was judged."""
    decided: Row | None = None
    """The line of the ledger with the decision, once the test is over."""
    notes: tuple[str, ...] = ()
    dry_run: bool = False

    WIDTH = COLUMNS
    PAGE = "Steered test"

    @property
    def state(self) -> Literal["running", "decided"]:
        """State of the test: "running", or "decided" once it is over, even if undecided."""
        return "running" if self.decided is None else "decided"

    @property
    def winner(self) -> str | None:
        """The winner, or "no difference that matters"; None without a decision."""
        return None if self.decided is None else self.decided["winner"]

    @property
    def reason(self) -> str | None:
        """Why the test is over without a decision; None otherwise."""
        return None if self.decided is None else self.decided["reason"]

    @property
    def everyone(self) -> str | None:
        """The arm that everyone gets once the test is over; None before."""
        return None if self.decided is None else self.decided["everyone"]

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain data that can be written as JSON."""
        status = None if self.status is None else self.status.to_dict()
        if self.decided is not None:
            status = self.decided["status"]
        names = ("test", "state", "winner", "reason", "everyone", "dry_run", "notes")
        data: dict[str, Any] = finite_data(
            {
                **{name: getattr(self, name) for name in names},
                "at": self.at.isoformat(),
                "shares": {"before": dict(self.before), "after": dict(self.after)},
                "log": None if self.log is None else self.log.to_dict(),
                "status": status,
            }
        )
        return data

    def report(self) -> Report:
        """Return the report of the run: what to do, what was read, shares, and differences."""
        moved = "the shares stay" if dict(self.before) == dict(self.after) else "new shares"
        said = Report(f"Keep running: {moved}", facts=(Fact("Test", self.test),))
        if self.status is not None:
            said = self.status.report()
        if self.decided is not None and self.status is None:
            said = Report(self.decided["headline"], notes=tuple(self.decided["said"]))
        question = said.question
        if self.dry_run:
            question = f"A dry run: neither the flag nor the ledger was changed. {question}"
        facts = [fact for fact in said.facts if fact.name != "Counted"]
        if self.log is not None:
            facts += [
                Fact("Log", f"{count(self.log.rows)} rows", f"({self.log.end})"),
                Fact(
                    "Not counted",
                    f"{count(self.log.elsewhere)} units",
                    "(windows are open, or shares were changing)",
                ),
            ]
        return Report(
            said.headline,
            question.strip(),
            tuple(facts),
            (*said.tables, self._shares()),
            (*said.notes, *self.notes),
            said.figures,
        )

    def _shares(self) -> Table:
        rows = [
            (arm, *(f"{100 * split.get(arm, 0.0):.3g} %" for split in (self.before, self.after)))
            for arm in self.after
        ]
        return Table((("arm", "share before", "share after"), *rows))
