"""Rules as printed in the paper, for which bascule otherwise uses a corrected version.

docs/research/slips.md lists the corrections and says which verdicts depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from bascule.core.procedures.intervals.procedure import Shape
from bascule.core.rules import ETC, RULES

PRINTED_FACTOR = 4.0
"""Factor under the root of a radius, so that two radii are 4 sqrt(sigma^2 / n log(...))."""


@RULES.register
@dataclass(frozen=True, slots=True)
class ETCPrinted(ETC):
    """ETC with the threshold that the paper prints for three or more arms.

    An arm is dropped at a difference of `4 sqrt((sigma^2 / n) log(3 K lg(n)^2 / delta))`, with
    `lg(n) = max(log n, log 2)`. `ETC` has `sqrt((8 sigma^2 / n) log(...))`, which is what the
    paper's bound on its decision time needs. The printed threshold is wider, so that the error of
    `ETC` bounds its error as well.

    >>> ETCPrinted().label
    'ETC as printed'
    """

    kind: Literal["etc-printed"] = field(  # type: ignore[assignment]
        default="etc-printed", kw_only=True, repr=False
    )

    @property
    def label(self) -> str:
        """The paper's name of the rule, followed by "as printed"."""
        return f"{ETC(stop=self.stop).label} as printed"

    def shape(self, arms: int) -> Shape:
        """Return the shape of the intervals: that of ETC, but wider with three or more arms."""
        corrected = ETC.shape(self, arms)
        if arms == 2 or self.stop == "mixture":
            return corrected
        return replace(corrected, factor=PRINTED_FACTOR)
