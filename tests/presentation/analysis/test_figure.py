"""The figure: the arm that is ahead, its intervals and the day of the decision."""

from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.presentation.analysis.figure import against, costs, decision_place
from bascule.presentation.figures import rendered


@pytest.fixture(scope="module")
def found() -> bs.analysis.Analysis:
    rng = np.random.default_rng(0)
    arm = rng.integers(2, size=3000)
    return bs.analyze(
        {
            "unit": range(3000),
            "arm": [("old", "new")[i] for i in arm],
            "value": (rng.random(3000) < np.array([0.1, 0.2])[arm]).astype(int).tolist(),
            "time": [f"2026-03-{1 + i // 150:02}" for i in range(3000)],
        }
    )


def test_tables_figures_and_words_have_treatments_minus_the_control() -> None:
    rng = np.random.default_rng(1)
    arm = np.arange(6000) % 3
    log = {
        "unit": range(6000),
        "arm": [("control", "new", "other")[i] for i in arm],
        "value": (rng.random(6000) < np.array([0.2, 0.1, 0.15])[arm]).astype(int).tolist(),
        "time": [f"2026-03-{1 + i // 300:02}" for i in range(6000)],
    }
    analysis = bs.analyze(log, control="control")
    assert analysis.leader == "control"
    rows = {one.name: (one.difference, one.low, one.high) for one in analysis.contrasts}
    rivals = against(analysis)
    shown = {one.now.name: one.now.interval for one in rivals}
    assert shown == rows
    last = [[*one.days.values()][-1] for one in rivals]
    assert all(effect.difference == rows[effect.name][0] < 0.0 for effect in last)
    (legend,) = analysis.plot().legends
    assert [text.get_text() for text in legend.get_texts()] == [*shown]
    text = str(analysis)
    assert "control - " not in text + analysis.html()


def test_the_decision_is_the_first_day_above_zero(found: bs.analysis.Analysis) -> None:
    (one,) = against(found)
    place = decision_place(found)
    assert place is not None
    lows = [effect.low for effect in one.days.values()]
    assert lows[place] >= 0.0
    assert all(low < 0.0 for low in lows[:place])


def test_the_cost_of_the_days_ends_at_that_of_the_test(found: bs.analysis.Analysis) -> None:
    seen = costs(found)
    assert found.cost == pytest.approx(seen[-1])
    place = decision_place(found)
    assert place is not None
    assert found.saved == pytest.approx(seen[-1] - seen[place])


def test_the_figure_shows_both_and_is_the_same_whenever_it_is_drawn(
    found: bs.analysis.Analysis,
) -> None:
    left, right = found.plot().axes
    assert left.get_title(loc="left") == "new - old (points)"
    assert "conversions" in right.get_title(loc="left")
    assert "decision allowed" in [text.get_text() for text in left.texts]
    assert rendered(found.plot(), "svg") == rendered(found.plot(), "svg")


def test_a_long_title_is_not_cut_and_pairs_named_in_the_text_are_drawn() -> None:
    names = [f"arm with a rather long name {number}" for number in (1, 2, 10)]
    n = 3000
    log = {
        "unit": list(range(3 * n)),
        "arm": [name for name in names for _ in range(n)],
        "value": [int(i % 100 < rate) for rate in (10, 40, 80) for i in range(n)],
    }
    found = bs.analyze(log)
    assert found.design.arms == tuple(names)
    figure = found.plot()
    figure.canvas.draw()
    title = figure.get_suptitle()
    assert title.replace("\n", " ") == found.headline
    (text,) = [one for one in figure.texts if one.get_text() == title]
    assert text.get_window_extent().x1 <= figure.bbox.x1
    # The log has no times, so there is a single look without a date.
    left, right = figure.axes
    assert [len(panel.get_xticks()) for panel in (left, right)] == [0, 0]
    assert right.lines[0].get_marker() == "o"
    (standing, *_) = found.report().figures
    assert {name for name, _ in standing.effects} == {effect.name for effect in found.effects}
    # The names of the pairs are below the panels, and cover nothing.
    (legend,) = figure.legends
    shown = legend.get_window_extent()
    assert shown.x0 >= 0.0
    assert shown.x1 <= figure.bbox.x1
    panel = left.get_tightbbox()
    assert panel is not None
    assert shown.y1 <= panel.y0
    figure = standing.plot()
    figure.canvas.draw()
    (axis,) = figure.axes
    (label,) = (text for text in figure.texts if text.get_text() == figure.get_supxlabel())
    for text in (*axis.get_yticklabels(), label):
        assert text.get_window_extent().x0 >= 0.0
        assert text.get_window_extent().x1 <= figure.bbox.x1
    assert axis.bbox.width > 0.3 * figure.bbox.width


@pytest.mark.parametrize("arms", [4, 12])
def test_every_pair_of_a_table_is_drawn(arms: int) -> None:
    n = 200
    log = {
        "unit": range(arms * n),
        "arm": [f"v{i % arms + 1}" for i in range(arms * n)],
        "value": [int(i % 7 == 0) for i in range(arms * n)],
    }
    found = bs.analyze(log)
    (standing, *_) = found.report().figures
    drawn = {name for name, _ in standing.effects}
    shown = found.report().whole
    tables = (table for part in (shown, *shown.parts) for table in part.tables)
    pairs = next(table.rows[1:] for table in tables if table.rows[0][0] == "difference")
    assert {str(row[0]) for row in pairs} <= drawn
