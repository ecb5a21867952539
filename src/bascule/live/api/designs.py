"""Read designs from `Design` objects, plain data or files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bascule.core.design import Design
from bascule.core.design_parts import Reports
from bascule.core.errors import InputError, invalid
from bascule.core.metrics.measure import Measure


def read_design(
    design: Design | Mapping[str, Any] | str | Path,
    measure: Measure | None = None,
    reports: Reports | None = None,
) -> Design:
    """Read a design from a `Design`, plain data or a file; add `measure` and `reports` if given."""
    if isinstance(design, Mapping):
        design = Design.from_dict(dict(design))
    if isinstance(design, str | Path):
        design = Design.load(design)
    if not isinstance(design, Design):
        raise invalid(
            f"design must be a Design, its data or a file (got a {type(design).__name__}): the "
            "design of a plan is plan.design"
        )
    return completed(design, measure, reports)


def check_readable(design: Design) -> None:
    """Raise `InputError` unless reading the stored form of a design gives the same design.

    A rule or an outcome model that is not registered cannot: nobody could use the test then.
    """
    try:
        again = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    except (InputError, TypeError, ValueError) as problem:
        raise InputError(
            "design",
            f"the design could not be read again ({problem}): register its rule with "
            "RULES.register, and its outcome model with OUTCOMES.register",
        ) from None
    if again != design:
        raise InputError(
            "design",
            f"the design would be read as another one ({again.rule!r:.80}): register the class of "
            f"{design.rule!r:.80} under a kind of its own",
        )


def completed(design: Design, measure: Measure | None, reports: Reports | None) -> Design:
    """Return the design with `measure` or `reports` set; raise if it already has one of them."""
    if measure is None and reports is None:
        return design
    if design.measure is not None or design.reports is not None:
        field = "measure" if measure is not None else "reports"
        option = "measure" if design.measure is not None else "reports"
        raise InputError(field, f"{field} cannot be given: the design already has its {option}")
    return replace(design, measure=measure, reports=reports)
