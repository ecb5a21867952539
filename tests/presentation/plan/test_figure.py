"""The figure and the drawing of a terminal: the recommended design is in both."""

from __future__ import annotations

import bascule as bs
from bascule.presentation.figures import rendered
from bascule.presentation.plan.figure import affordable, main_curve
from bascule.presentation.plan.text_plot import HEIGHT, MARGIN, WIDTH, text_plot


def test_the_figure_has_every_design_that_is_not_far_too_dear(spending: bs.Plan) -> None:
    (axis,) = spending.plot().axes
    curve, ucb = axis.lines[0], axis.lines[1]
    assert len(curve.get_xdata()) == len(main_curve(spending))  # type: ignore[arg-type]
    rest = [point for point in spending.frontier if isinstance(point.rule, bs.UCB)]
    assert len(ucb.get_xdata()) == len(affordable(spending, rest))  # type: ignore[arg-type]
    _, names = axis.get_legend_handles_labels()
    assert f"recommended: {spending.rule.label}" in names


def test_the_figure_is_the_same_whenever_it_is_drawn(spending: bs.Plan) -> None:
    for kind in ("png", "svg"):
        assert rendered(spending.plot(), kind) == rendered(spending.plot(), kind)


def test_an_impossible_wish_is_drawn_too(impossible: bs.Plan) -> None:
    assert impossible.plot().axes


def test_the_terminal_shows_the_recommended_design_once(
    spending: bs.Plan, default: bs.Plan, impossible: bs.Plan
) -> None:
    for answer in (spending, default, impossible):
        legend, *lines = text_plot(answer)
        assert "*" in legend
        drawing = [line[MARGIN + 2 :] for line in lines[:HEIGHT]]
        assert sum(line.count("*") for line in drawing) == 1
        assert max(map(len, drawing)) <= WIDTH


def test_cheaper_is_lower_and_sooner_is_further_left(default: bs.Plan) -> None:
    lines = text_plot(default)[1 : HEIGHT + 1]
    rows = {sign: next(i for i, line in enumerate(lines) if sign in line) for sign in "F*"}
    places = {sign: lines[rows[sign]].index(sign) for sign in "F*"}
    assert rows["F"] < rows["*"]
    assert places["F"] < places["*"]
