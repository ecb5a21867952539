"""Diagnostics: checks for drift, late outcomes and lost units, which decisions do not reveal."""

from __future__ import annotations

from bascule.core.diagnostics.allocation import AllocationStatistics
from bascule.core.diagnostics.diagnose import diagnose
from bascule.core.diagnostics.result import Diagnostic

__all__ = ["AllocationStatistics", "Diagnostic", "diagnose"]
