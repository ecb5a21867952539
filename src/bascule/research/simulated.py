"""Base of procedures that can only be simulated, each by a compiled loop of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

from bascule.core.evidence.families.rows import Difference
from bascule.core.procedures.base import AnyStatistics, Procedure
from bascule.core.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SimulatedProcedure(Procedure):
    """A procedure that can only be simulated; `refusal` is the reason that users are given."""

    refusal: ClassVar[str]
    counts = "units"
    assigns = "units"

    @property
    def end_error(self) -> float:
        """Raise an error: only the compiled loop has the intervals."""
        self._simulated()

    def check_live(self) -> None:
        """Raise an error: the procedure is for simulation only."""
        self._simulated()

    def empty(self) -> Statistics:
        """Return the statistics before the first unit."""
        return Statistics.empty(self.arms)

    def winner(self, statistics: AnyStatistics) -> int:  # noqa: ARG002
        """Raise an error: only the compiled loop has what a decision needs."""
        self._simulated()

    def differences(self, statistics: AnyStatistics) -> list[Difference]:  # noqa: ARG002
        """Raise an error: only the compiled loop has the intervals of differences."""
        self._simulated()

    def _simulated(self) -> NoReturn:
        self._refuse(self.refusal)
