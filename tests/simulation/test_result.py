from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bascule as bs

DESIGN = bs.Design(["control", "green"], bs.Gaussian(1), bs.UCB(2), error=0.05, sides=1)


@pytest.fixture(scope="module")
def result() -> bs.simulation.Simulation:
    return bs.simulate(DESIGN, [0.0, 1.0], runs=300, seed=1)


def test_regret_is_what_the_units_of_the_worse_arm_cost(result: bs.simulation.Simulation) -> None:
    assert np.array_equal(result.regret, result.units[:, 0])
    assert np.array_equal(result.units.sum(axis=1), result.decision_time)


def test_the_summary_has_means_with_standard_errors(result: bs.simulation.Simulation) -> None:
    regret = result.summary()["regret"]
    assert regret.mean == pytest.approx(result.regret.mean())
    assert regret.se == pytest.approx(result.regret.std(ddof=1) / math.sqrt(300))


def test_quantiles_are_those_of_the_columns(result: bs.simulation.Simulation) -> None:
    assert result.quantiles((0.5,))["decision_time"] == (np.median(result.decision_time),)


def test_the_plain_data_have_the_keys_of_the_command_line(result: bs.simulation.Simulation) -> None:
    data = result.to_dict()
    assert list(data) == [
        "rule", "runs", "regret", "decision_time", "error_rate", "undecided", "share",
        "guarantee", "delta", "steps", "seconds",
    ]  # fmt: skip
    assert data["steps"] == result.decision_time.sum()
    assert sum(data["share"]) == pytest.approx(1)
    json.dumps(data, allow_nan=False)


def test_one_run_has_no_standard_error() -> None:
    alone = bs.simulate(DESIGN, [0.0, 1.0], runs=1)
    assert alone.to_dict()["regret"]["se"] is None
    assert "regret" in repr(alone)


def test_the_frame_has_one_row_a_run(result: bs.simulation.Simulation) -> None:
    frame = result.to_frame()
    assert list(frame.columns) == [
        "run", "winner", "decision_time", "regret", "units_control", "units_green",
    ]  # fmt: skip
    assert len(frame) == 300
    assert frame["regret"].mean() == pytest.approx(result.regret.mean())


def test_it_reads_well(result: bs.simulation.Simulation) -> None:
    words = repr(result)
    assert words.startswith("UCB_2, 300 runs at means 0, 1")
    assert "false positive rate at most 10 %" in words
    assert "green" in words
    assert "<table>" in result._repr_html_()


def test_names_cannot_break_the_page() -> None:
    sly = bs.Design(["<script>", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    assert "<script>" not in bs.simulate(sly, [0.0, 1.0], runs=5)._repr_html_()


def test_with_tied_best_arms_any_decision_is_wrong() -> None:
    capped = bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), error=0.5, max_units=300, sides=1)
    null = bs.simulate(capped, [0.0, 0.0], runs=500, seed=1)
    assert null.error_rate > 0
    assert null.undecided + null.wrong.sum() == 500


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (bs.simulation.Estimate(1234.5678, 1.234), "1,234.6 ± 1.2"),
        (bs.simulation.Estimate(0.01234, 0.00056), "0.01234 ± 0.00056"),
        (bs.simulation.Estimate(52345.6, 123.4), "52,346 ± 123"),
        (bs.simulation.Estimate(3.0, 0.0), "3"),
    ],
)
def test_estimates_show_two_digits_of_their_error(
    estimate: bs.simulation.Estimate, words: str
) -> None:
    assert str(estimate) == words


def test_plot_draws_both_columns(result: bs.simulation.Simulation) -> None:
    assert len(result.plot().axes) == 2
