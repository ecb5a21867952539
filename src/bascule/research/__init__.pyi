from .comparison.audit import Audit, AuditRow, audit
from .comparison.frontier import Frontier, frontier
from .static import Look, Static, look, smallest_gap
from .variants import BoundedUnits, ETCPrinted, UCBBernstein, UnitMeans

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
