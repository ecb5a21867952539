"""Base classes for rules and outcome models of your own, and the check of their contract."""

from __future__ import annotations

from bascule.contract import check_contract
from bascule.core.errors import InfeasibleError
from bascule.core.evidence.calibration import Calibration
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Procedure
from bascule.core.rules import BlockAllocation, Knob, Rule

__all__ = [
    "BlockAllocation",
    "Calibration",
    "InfeasibleError",
    "Knob",
    "Outcome",
    "Procedure",
    "Rule",
    "check_contract",
]
