"""Research: the paper's results, comparisons and audits of rules, static populations, rivals."""

from __future__ import annotations

from bascule.research.comparison.audit import Audit, AuditRow, audit
from bascule.research.comparison.frontier import Frontier, frontier
from bascule.research.static import Look, Static, look, smallest_gap
from bascule.research.variants import BoundedUnits, ETCPrinted, UCBBernstein, UnitMeans

__all__ = [
    "Audit",
    "AuditRow",
    "BoundedUnits",
    "ETCPrinted",
    "Frontier",
    "Look",
    "Static",
    "UCBBernstein",
    "UnitMeans",
    "audit",
    "frontier",
    "look",
    "smallest_gap",
]
