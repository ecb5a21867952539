"""The figure of a plan: the recommended design and the others."""

from __future__ import annotations

import bascule as bs
from bascule.presentation.figures import rendered
from bascule.presentation.plan.figure import main_curve


def test_the_figure_has_the_curve_of_the_recommended_design(spending: bs.planning.Plan) -> None:
    (axis,) = spending.plot().axes
    curve = axis.lines[0]
    assert len(curve.get_xdata()) == len(main_curve(spending))  # type: ignore[arg-type]
    _, names = axis.get_legend_handles_labels()
    assert f"recommended: {spending.rule.label}" in names


def test_the_figure_is_the_same_whenever_it_is_drawn(spending: bs.planning.Plan) -> None:
    for kind in ("png", "svg"):
        assert rendered(spending.plot(), kind) == rendered(spending.plot(), kind)


def test_an_impossible_wish_is_drawn_too(impossible: bs.planning.Plan) -> None:
    assert impossible.plot().axes
