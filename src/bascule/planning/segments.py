"""`plan_segments`: one design for all segments of a test, chosen for the smallest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

from bascule.core.design import Design
from bascule.core.enrolment.segments import Segments
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule
from bascule.planning.api import plan
from bascule.planning.request.options import Lift, PlanOptions
from bascule.planning.request.read import plan_request
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan


class SegmentedPlan(NamedTuple):
    """The design of all segments, and the plan of the smallest: it takes longest of all."""

    design: Design
    smallest: Plan

    def to_dict(self) -> dict[str, Any]:
        """Both as plain data; `bascule plan --by ATTRIBUTE --json` prints it."""
        return {"design": self.design.to_dict(), "smallest": self.smallest.to_dict()}


def plan_segments(
    attribute: str,
    weights: Mapping[str, float],
    outcome: Outcome | PlanRequest | None = None,
    baseline: float | str | None = None,
    lift: Lift | None = None,
    *,
    rules: Sequence[Rule] = (),
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    **options: Unpack[PlanOptions],
) -> SegmentedPlan:
    """Return one design for all segments of a test, chosen for the smallest, and its plan.

    A segment with more units takes less time, in proportion, apart from the conversion window. All
    other arguments are those of `plan`, for the test as a whole: `units_per_day` is the number of
    units of all segments, and `error` bounds a wrong decision in any of them.

    - `attribute`: the attribute of the context that says which segment a unit belongs to.
    - `weights`: the segments, each with its share of the units.

    >>> import bascule as bs
    >>> weights = {"mobile": 0.75, "desktop": 0.25}
    >>> design, plan = bs.plan_segments("device", weights, bs.Bernoulli(), 0.1, "50%", runs=100)
    >>> plan.request.units_per_day, design.by_segment["mobile"].error
    (1250.0, 0.025)
    """
    if not isinstance(weights, Mapping):
        raise InputError("weights", f"weights must name the segments (got {weights!r:.60})")
    segments = Segments(attribute, list(weights))
    parts = {
        name: checks.positive("weights", one, "parts of all units") for name, one in weights.items()
    }
    request = plan_request(outcome, baseline, lift, **options)
    smallest = plan(of_smallest(request, parts), rules=rules, runs=runs, seed=seed, threads=threads)
    return SegmentedPlan(of_all(smallest.design, request, segments), smallest)


def of_smallest(request: PlanRequest, weights: Mapping[str, float]) -> PlanRequest:
    """Return the request of the smallest segment: its part of the units and of every error.

    >>> of_smallest(PlanRequest(), {"fr": 0.75, "de": 0.25}).units_per_day
    1250.0
    """
    parts, least = len(weights), min(weights.values()) / sum(weights.values())
    return replace(
        request,
        error=request.error / parts,
        harm_error=request.harm_error / parts,
        metrics=tuple(replace(metric, error=metric.error / parts) for metric in request.metrics),
        units_per_day=request.units_per_day * least,
    )


def of_all(design: Design, request: PlanRequest, segments: Segments) -> Design:
    """Return the design of all segments from that of one: with the whole errors again."""
    return replace(
        design,
        error=request.error,
        segments=segments,
        metrics=request.metrics,
        harm_error=request.harm_error,
    )
