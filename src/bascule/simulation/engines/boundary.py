"""The boundary of an evidence at many clocks at once, each to full precision, compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bascule.core.errors import InputError
from bascule.core.evidence import normal
from bascule.core.evidence.normal import (
    informed_boundary,
    mixture_boundary,
    mixture_boundary_from,
)
from bascule.core.inputs import checks
from bascule.core.types import FloatArray
from bascule.simulation.kernels.compiled import compile_loop


def boundary(
    clocks: FloatArray | Sequence[float], level: float, effect: float | None = None
) -> FloatArray:
    """The total that has to be reached at each clock, for a false alarm of `level` at most.

    Without an `effect` the evidence is `log_mixture`, with one `log_informed`.

    >>> boundary([1, 100, 10_000], level=0.05).round(3)
    array([  4.092,  31.415, 311.434])
    """
    threshold = -math.log(checks.probability("level", level, "0.05 is usual"))
    flat = np.array(clocks, dtype=np.float64).ravel()
    if flat.size and not (flat.min() >= 0.0 and flat.max() < math.inf):
        raise InputError("clocks", "clocks must be finite and at least 0: give only such clocks")
    if effect is not None:
        checks.positive("effect", effect, "give the effect worth finding, in standard deviations")
    order = np.argsort(flat) if effect is None else np.arange(flat.size)
    totals = np.empty_like(flat)
    compile_loop(_build, CALLED)(flat, order, threshold, effect or 0.0, totals)
    return totals.reshape(np.shape(clocks))


CALLED = (normal.tail_series, mixture_boundary, normal.tilted, mixture_boundary_from)
"""Functions that the loop calls rarely enough to leave them outside."""


def _build(fingerprint: str) -> Callable[..., None]:
    def fill(
        clocks: FloatArray,
        order: NDArray[np.intp],
        log_threshold: float,
        effect: float,
        totals: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        past = 0.0
        before = 0.0
        latest = 0.0
        total = 0.0
        for i in range(order.size):
            clock = clocks[order[i]]
            if effect > 0.0:
                total = informed_boundary(clock, log_threshold, effect)
            elif i < 2 or latest == past:
                past, before = latest, total
                total = mixture_boundary(clock, log_threshold)
                latest = clock
            elif clock > latest:
                # The boundary is concave: the chord of the two totals before leads above it.
                slope = max(0.0, (total - before) / (latest - past))
                start = total + slope * (clock - latest)
                past, before = latest, total
                total = mixture_boundary_from(start, clock, log_threshold)
                latest = clock
            totals[order[i]] = total

    return fill
