"""The plan of a test with segments in words."""

from __future__ import annotations

from bascule.core.approximate import about
from bascule.planning.segments import SegmentedPlan
from bascule.presentation.guarantees import at_most
from bascule.presentation.numbers import percent


def answer(plan: SegmentedPlan) -> list[str]:
    """Return how long each segment takes, then the plan of the smallest."""
    least = min(plan.weights, key=plan.weights.__getitem__)
    parts = list(plan.design.by_segment.values())
    error = sum(one.calibration.error for one in parts)
    lines = [
        f"{len(parts)} segments, one design ({plan.design.rule.label}) at {at_most(error)} for "
        f"all of them together, {at_most(parts[0].calibration.error)} for each",
        *(
            f"  {name:<20} {percent(plan.weights[name]):>6} of the units, decided after about "
            f"{about(days)}"
            for name, days in plan.expected_days.items()
        ),
        "",
        f"The plan of the smallest, {least}:",
    ]
    return [*lines, *repr(plan.smallest).splitlines()]
