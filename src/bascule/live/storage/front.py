"""How far metrics have counted whose windows close before those of their units."""

from __future__ import annotations

from typing import NamedTuple

from bascule.core.design import Design


class Front(NamedTuple):
    """Metrics that count `wait` seconds after a unit has come, before the unit itself does.

    `metrics` are their places in the design. The first `folded` units have counted in them. Of the
    block that is folded next, number `folding` and its part `part`, `units` have. `due` is when the
    next unit counts, None where no unit is known to wait.
    """

    wait: float
    metrics: tuple[int, ...]
    folded: int = 0
    folding: int = 1
    part: int = 0
    units: int = 0
    due: float | None = None


def fronts_of(design: Design) -> tuple[Front, ...]:
    """Return the metrics of a design that count before their units do, the shortest window first.

    >>> import bascule as bs
    >>> week, hour = bs.Measure("7d", "any"), bs.Measure("1h", "any")
    >>> failed = bs.Metric("failed", bs.Bernoulli(), margin=0.1, measure=hour)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=week, metrics=[failed])
    >>> fronts_of(design)[0][:2]
    (3600.0, (0,))
    """
    whole = design.matures(0.0) if design.procedure.counts == "blocks" else None
    if whole is None or design.withholds or design.measure_on:
        # With a calendar, units count in the order of time, each with all its metrics.
        return ()
    by_wait: dict[float, list[int]] = {}
    for which, metric in enumerate(design.metrics):
        if metric.measure is not None and metric.measure.matures(0.0) < whole:
            by_wait.setdefault(metric.measure.matures(0.0), []).append(which)
    return tuple(Front(wait, tuple(by_wait[wait])) for wait in sorted(by_wait))
