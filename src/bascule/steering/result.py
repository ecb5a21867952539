"""The result of a run: what was read, what it shows, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bascule.core.ending import winner_promise
from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.effects import Contrast, Effect, contrasts, effects, lifts
from bascule.core.presenter import COLUMNS, Reported
from bascule.presentation.differences import effect_words
from bascule.presentation.figures import Intervals
from bascule.presentation.guarantees import contrast_words
from bascule.presentation.numbers import Amounts, count
from bascule.presentation.report import Fact, Report, Table
from bascule.steering.definition import SteeredTest
from bascule.steering.evidence import SteeringEvidence
from bascule.steering.ledger import Row, Shares

State = Literal["running", "decided"]

ENDED = {
    "horizon": "it has reached its horizon",
    "futility": "it is unlikely to find the planned difference by its horizon",
    "cap": "it has reached its cap on units",
    "deadline": "it has reached its deadline",
}
"""Why a test is over without a decision, in words."""


@dataclass(frozen=True, slots=True, repr=False)
class SteeringRun(Reported):
    """The result of one run of a steered test."""

    test: SteeredTest
    at: datetime
    before: Shares
    """Shares that the run found."""
    after: Shares
    """Shares that it left."""
    evidence: SteeringEvidence | None = None
    """The evidence of the log; None at the start, and after a decision."""
    newest: datetime | None = None
    """Up to when both tables of the log have rows."""
    rows: int = 0
    """Rows that were read."""
    elsewhere: int = 0
    """Units that do not count yet, or that came while shares were changing."""
    decided: Row | None = None
    """The line of the ledger with the decision of an earlier run."""
    reason: str | None = None
    """Why the test is over without a decision."""
    everyone: str | None = None
    """The arm that everyone gets, once the test is over."""
    withheld: datetime | None = None
    """When the decision is announced, if the design asks for a minimum duration."""
    notes: tuple[str, ...] = ()
    dry_run: bool = False

    WIDTH = COLUMNS
    PAGE = "Steered test"

    @property
    def state(self) -> State:
        """Whether the test goes on."""
        return "running" if self.everyone is None else "decided"

    @property
    def winner(self) -> str | None:
        """The name of what was decided; None while nothing is, or if the test ended undecided."""
        if self.decided is not None:
            name = self.decided["winner"]
            return None if name is None else str(name)
        decision = None if self.evidence is None else self.evidence.decision
        return None if decision is None or self.everyone is None else decision.name

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The differences of the arms, with their intervals."""
        if self.evidence is None:
            return ()
        return effects(self.test.design, self.evidence.statistics)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Each arm minus the control."""
        if self.evidence is None:
            return ()
        design = self.test.design
        control = self.evidence.statistics.arms[design.control_index]
        mean = control.mean if control.units else None
        bounds = lifts(design, self.evidence.statistics)
        return contrasts(design, self.effects, control, mean, bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain data, as JSON has it."""
        evidence = self.evidence
        arms = (
            {}
            if evidence is None
            else dict(zip(self.test.design.arms, evidence.statistics.arms, strict=True))
        )
        data: dict[str, Any] = finite_data(
            {
                "test": self.test.name,
                "at": self.at.isoformat(),
                "state": self.state,
                "winner": self.winner,
                "reason": self.reason,
                "everyone": self.everyone,
                "dry_run": self.dry_run,
                "shares": {"before": dict(self.before), "after": dict(self.after)},
                "log": {
                    "rows": self.rows,
                    "newest": None if self.newest is None else self.newest.isoformat(),
                    "not_counted": self.elsewhere,
                },
                "arms": {
                    name: {"units": arm.units, "mean": arm.mean if arm.units else None}
                    for name, arm in arms.items()
                },
                "effects": list(self.contrasts),
                "decided": self.decided,
                "notes": list(self.notes),
            }
        )
        return data

    def report(self) -> Report:
        """Return what there is to say: what to do, what was read, shares, differences."""
        amounts = Amounts(self.test.design.outcome.binary)
        facts = [Fact("Test", self.test.name, f"({self.test.design.rule.label}, {self.state})")]
        if self.evidence is not None:
            units = self.evidence.statistics.units
            end = "" if self.newest is None else f"up to {self.newest:%Y-%m-%d %H:%M} UTC"
            facts += [
                Fact("Log", f"{count(self.rows)} rows", end),
                Fact("Units", count(units), f"and {count(self.elsewhere)} that do not count (yet)"),
            ]
        said = [contrast_words(contrast, amounts) for contrast in self.contrasts]
        promise = winner_promise(self.test.design, self.test.design.procedure.empty())
        return Report(
            self._headline(amounts),
            "A dry run: neither the flag nor the ledger was changed." if self.dry_run else "",
            tuple(facts),
            (self._arms(amounts),),
            (*said, *self.notes, f"Guarantee: {promise}"),
            Intervals.of([(effect.name, effect) for effect in self.effects], amounts),
        )

    def _headline(self, amounts: Amounts) -> str:
        if self.everyone is None:
            moved = "the shares stay" if dict(self.before) == dict(self.after) else "new shares"
            return f"Keep running: {moved}"
        if self.winner is None:
            return (
                f"The test has ended undecided: {ENDED[str(self.reason)]}; everyone gets "
                f"{self.everyone}"
            )
        if self.winner not in self.test.design.arms:
            return f"{self.winner.capitalize()}: everyone gets {self.everyone}"
        goal = self.test.design.goal
        return f"Ship {self.winner}{effect_words(self.contrasts, self.winner, goal, amounts)}"

    def _arms(self, amounts: Amounts) -> Table:
        design, rows = self.test.design, []
        for place, name in enumerate(design.arms):
            arm = None if self.evidence is None else self.evidence.statistics.arms[place]
            mean = None if arm is None or not arm.units else arm.mean
            shares = (f"{100 * split.get(name, 0.0):.3g} %" for split in (self.before, self.after))
            rows.append((name, count(0 if arm is None else arm.units), amounts.mean(mean), *shares))
        return Table((("arm", "units", "mean", "share before", "share after"), *rows))
