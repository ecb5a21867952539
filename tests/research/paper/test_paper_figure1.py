from __future__ import annotations

import csv
import io
import math

import pytest

import bascule as bs
from bascule.core.inputs.files import csv_text
from bascule.research.paper.figures.curves import figure1
from bascule.research.paper.iid import GRID
from bascule.research.paper.measure import Measurements

pytestmark = pytest.mark.slow

COLUMNS = [
    "rule",
    "log_inverse_delta",
    "delta",
    "regret",
    "regret_se",
    "decision_time",
    "decision_time_se",
    "error_rate",
    "runs",
]


def test_the_table_has_a_row_for_each_rule_and_delta(measurements: Measurements) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(figure1.table(measurements)))))
    assert list(rows[0]) == COLUMNS
    assert [(row["rule"], float(row["log_inverse_delta"])) for row in rows] == [
        (rule, level)
        for rule in ("UCB_1.5", "UCB_2", "UCB_4", "UCB_32", "ETC", "ETC'")
        for level in range(2, 21, 2)
    ]
    for row in rows:
        assert math.isclose(
            float(row["delta"]), math.exp(-float(row["log_inverse_delta"])), rel_tol=1e-6
        )
        assert 0 < float(row["regret_se"]) < float(row["regret"]) < float(row["decision_time"])
        assert row["runs"] == "100"


def test_a_row_is_what_simulate_gives(measurements: Measurements) -> None:
    design = bs.Design(["A", "B"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-12))
    alone = bs.simulate(design, means=[0.0, 1.0], runs=100, seed=3).summary()
    (row,) = [
        row
        for row in figure1.table(measurements)
        if row["rule"] == "UCB_2" and row["log_inverse_delta"] == 12
    ]
    assert row["regret"] == alone["regret"].mean
    assert row["decision_time_se"] == alone["decision_time"].se


def test_both_panels_show_every_rule(measurements: Measurements) -> None:
    left, right = figure1(measurements, 3).figure.axes
    assert left.get_yscale() == "linear"
    assert right.get_yscale() == "log"
    assert "log scale" in right.get_ylabel()
    for panel in (left, right):
        assert len(panel.containers) == len(figure1.labels)
        assert list(panel.get_xticks()) == list(GRID)
    legend = right.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == len(figure1.labels)
