from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import bascule as bs
from bascule.presentation.figures import rendered
from bascule.research.comparison.contenders import RuleFamily
from bascule.research.comparison.frontier import Frontier
from bascule.research.comparison.frontier_report import draw_frontier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def full() -> Frontier:
    return bs.research.frontier([0.0, 1.0], effect=1.0, runs=50)


def boxes_of(figure: Figure) -> list[Bbox]:
    (axis,) = figure.axes
    legend = axis.get_legend()
    assert legend is not None
    return [artist.get_window_extent() for artist in (*axis.texts, legend)]


def test_every_point_is_named_and_no_name_covers_another(full: Frontier) -> None:
    figure = draw_frontier(full)
    names = [text.get_text() for text in figure.axes[0].texts[1:]]
    assert len(names) == len(full.points)
    assert not any(one.overlaps(other) for one, other in combinations(boxes_of(figure), 2))


def test_efficient_points_are_filled_and_the_others_hollow(full: Frontier) -> None:
    (axis,) = draw_frontier(full).axes
    marks = [line for line in axis.lines if len(np.atleast_1d(line.get_xdata())) == 1]
    filled = {
        (float(np.ravel(mark.get_xdata())[0]), float(np.ravel(mark.get_ydata())[0]))
        for mark in marks
        if mark.get_markerfacecolor() != "white"
    }
    assert len(marks) == len(full.points)
    assert filled == {(p.decision_time.mean, p.regret.mean) for p in full.efficient}


def test_the_legend_names_each_family(full: Frontier) -> None:
    legend = draw_frontier(full).axes[0].get_legend()
    assert legend is not None
    drawn = [family.words for family in RuleFamily if full.of(family)]
    assert [text.get_text() for text in legend.get_texts()] == drawn


def test_a_few_curves_have_their_rules_in_full() -> None:
    result = bs.research.frontier(
        [0.0, 1.0], alphas=[2.0, 4.0], tilts=[3.0], runs=50, rules=["peeling", "tilt"]
    )
    names = {text.get_text() for text in draw_frontier(result).axes[0].texts[1:]}
    assert names == {"UCB$_{2}$", "UCB$_{4}$", "ETC′", "ETC", "Tilt$_{3}$"}


def test_a_wide_range_of_regret_gets_a_log_scale(full: Frontier) -> None:
    assert draw_frontier(full).axes[0].get_yscale() == "log"
    narrow = bs.research.frontier([0.0, 1.0], runs=50, rules=["tilt"])
    assert draw_frontier(narrow).axes[0].get_yscale() == "linear"


def test_the_same_frontier_gives_the_same_picture() -> None:
    small = bs.research.frontier([0.0, 1.0], runs=50, rules=["tilt"])
    assert rendered(draw_frontier(small), "svg") == rendered(draw_frontier(small), "svg")
