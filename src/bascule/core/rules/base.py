"""What every rule of the i.i.d. setting tells the rest of the package about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bascule.core.arms import Steps


@dataclass(frozen=True, slots=True)
class Shape:
    """Which radius a rule uses and how its proof adds up.

    `factor` and `count` shape the radius; the proven error is `sequences * peel(delta / count)`.
    """

    factor: float
    count: float
    sequences: int


class Rule(Protocol):
    """Allocation with stopping: who gets the next unit, and is there a decision."""

    @property
    def kind(self) -> str:
        """The name the rule has in a design file and on the command line."""

    @property
    def label(self) -> str:
        """The name the rule has in tables and figures."""

    @property
    def alpha(self) -> float:
        """The knob between regret (1) and decision time (infinity)."""

    def shape(self, arms: int) -> Shape:
        """The radius and the proof for a test of this many arms."""

    def steps(self) -> Steps:
        """The functions that allocate and stop."""
