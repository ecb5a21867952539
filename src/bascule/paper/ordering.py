"""A claim that one rule stays below another, from comparisons run against run."""

from __future__ import annotations

from collections.abc import Sequence

from bascule.paper.claims import Claim, Measured
from bascule.paper.compare import MARGIN, Comparison

COMPARING = (
    f"every difference above is more than {MARGIN:g} standard errors over 0 on average over its "
    f"points, and at none of them more than {MARGIN:g} below 0"
)


def _compared(comparison: Comparison) -> tuple[Measured, ...]:
    """The difference on average, and at the point that speaks least for it."""
    what = comparison.quantity.replace("_", " ")
    title = f"{what}, {comparison.higher} less {comparison.lower}"
    level, weakest = min(
        zip(comparison.grid, comparison.margins, strict=True),
        key=lambda pair: pair[1].mean / max(pair[1].se, 1e-12),
    )
    return (
        Measured.of(f"{title}: average over {len(comparison.grid)} points", comparison.average),
        Measured.of(f"{title}: least clear point, log(1/δ) = {level:g}", weakest),
    )


def comparing(name: str, section: str, statement: str, comparisons: Sequence[Comparison]) -> Claim:
    """A claim that every one of these comparisons has to show."""
    measured = tuple(each for one in comparisons for each in _compared(one))
    return Claim(name, section, statement, measured, COMPARING, all(c.holds for c in comparisons))
