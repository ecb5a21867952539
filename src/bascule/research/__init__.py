"""Research: the paper reproduced, rules compared and audited, and rules of other tools."""

from __future__ import annotations

from bascule.research.comparison.audit import Audit, AuditRow, audit
from bascule.research.comparison.frontier import Frontier, frontier

__all__ = ["Audit", "AuditRow", "Frontier", "audit", "frontier"]
