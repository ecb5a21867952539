"""Run all diagnostics of a test in one call."""

from __future__ import annotations

from collections.abc import Sequence

from bascule.core.diagnostics.allocation import AllocationStatistics, allocation_any_time
from bascule.core.diagnostics.drift import late_outcomes, trend
from bascule.core.diagnostics.result import Diagnostic, checked_level
from bascule.core.errors import InputError
from bascule.core.statistics import Statistics


def diagnose(
    periods: Sequence[Statistics] | None = None,
    *,
    prompt: Sequence[Statistics] | None = None,
    late: Sequence[Statistics] | None = None,
    allocation: AllocationStatistics | None = None,
    level: float = 0.01,
    look: int | None = None,
) -> tuple[Diagnostic, ...]:
    """Run the diagnostics that the given data allow, each with false alarm rate `level`.

    `periods` are statistics of the units assigned in consecutive stretches of the test, for example
    days; `prompt` and `late`, given together, divide the outcomes of the same periods by the time
    at which they came.

    Without `look` some of the p-values hold for one look only, as their `validity` says. If you
    look repeatedly, give the number of the look, counted from 1: then all p-values hold at all
    looks together. Do not count a look at the same data again.

    >>> import bascule as bs
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> day = Statistics((ArmStatistics(500, 50.0, 50.0), ArmStatistics(500, 60.0, 60.0)))
    >>> for check in diagnose([day, day]):
    ...     print(check.name, check.flagged)
    trend False
    """
    level = checked_level(level)
    if (prompt is None) != (late is None):
        raise InputError("late", "prompt and late belong together: give both or neither")
    diagnostics: list[Diagnostic] = []
    if periods is not None:
        diagnostics.append(trend(periods, level))
    if prompt is not None and late is not None:
        diagnostics.append(late_outcomes(prompt, late, level))
    if allocation is not None:
        diagnostics.append(allocation_any_time(allocation, level))
    if not diagnostics:
        raise InputError("periods", "there is nothing to diagnose: give periods, for example")
    if look is None:
        return tuple(diagnostics)
    return tuple(diagnostic.at_look(look) for diagnostic in diagnostics)
