"""Procedures that are played by a compiled loop of their own and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

from bascule.core.evidence.families.rows import Difference
from bascule.core.procedures.base import AnyStatistics, Procedure
from bascule.core.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SimulatedProcedure(Procedure):
    """A procedure that is only simulated; `refusal` says why it runs no test."""

    refusal: ClassVar[str]
    counts = "units"
    assigns = "units"

    @property
    def end_error(self) -> float:
        """Raise: the loop keeps what intervals would need."""
        self._simulated()

    def check_live(self) -> None:
        """Raise: the procedure is for simulation."""
        self._simulated()

    def empty(self) -> Statistics:
        """Return the statistics before the first unit."""
        return Statistics.empty(self.arms)

    def winner(self, statistics: AnyStatistics) -> int:  # noqa: ARG002
        """Raise: the loop keeps more than these statistics hold."""
        self._simulated()

    def differences(self, statistics: AnyStatistics) -> list[Difference]:  # noqa: ARG002
        """Raise: the procedure has intervals in its loop only."""
        self._simulated()

    def _simulated(self) -> NoReturn:
        self._refuse(self.refusal)
