"""The audit: rows with intervals, verdicts that are right, and marks where a promise is broken."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bascule as bs
from bascule.research.comparison.audit import BATTERY, usual_means

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blocks() -> bs.research.Audit:
    return bs.research.audit(bs.Tilt(3), [0.0, 0.2], runs=100, seed=1)


@pytest.fixture(scope="module")
def ucb() -> bs.research.Audit:
    worlds = ["steady", "steep", "null+steep"]
    return bs.research.audit(bs.UCB(2), [0.0, 0.2], runs=200, seed=1, worlds=worlds)


def test_every_world_of_the_battery_has_a_row(blocks: bs.research.Audit) -> None:
    assert tuple(row.name for row in blocks.rows) == BATTERY
    for row in blocks.rows:
        assert row.error_interval[0] <= row.error_rate <= row.error_interval[1]


def test_blocks_keep_their_promise_wherever_it_holds(blocks: bs.research.Audit) -> None:
    assert not any(row.broken for row in blocks.rows)
    covered = {row.name for row in blocks.rows if row.reason is None}
    assert set(BATTERY) - covered == {"change", "heavy-tails"}
    for row in blocks.rows:
        assert row.promised == (0.1 if row.name.startswith("null") else 0.05)


def test_a_trend_breaks_the_promise_of_ucb_where_it_is_not_given(ucb: bs.research.Audit) -> None:
    steady, steep, null = ucb.rows
    assert steady.reason is None
    assert not steady.broken
    assert null.broken
    assert null.error_rate > 0.9
    for row in (steep, null):
        assert row.reason is not None
    words = repr(ucb)
    assert "Not covered by the proof:" in words
    assert "More wrong decisions than promised" in words
    assert "100! (98-100)" in words


def test_a_row_is_the_simulation_of_its_world(ucb: bs.research.Audit) -> None:
    again = bs.simulate(ucb.design, [0.0, 0.2], runs=200, seed=1, world="steep")
    row = ucb.rows[1]
    assert row.wrong == again.wrong.sum()
    assert row.regret == again.summary()["regret"]
    assert ucb.design.max_units is not None
    assert ucb.design.max_units >= 20_000


def test_a_world_that_the_outcomes_cannot_have_is_left_out_unless_it_is_asked_for() -> None:
    coins = bs.research.audit(bs.Tilt(3), [0.1, 0.5], bs.Bernoulli(), runs=20, max_units=2000)
    assert {row.name for row in coins.rows} == set(BATTERY) - {"heavy-tails"}
    assert coins.design.max_units == 2000
    with pytest.raises(bs.InputError, match="without limits"):
        bs.research.audit(bs.Tilt(3), [0.1, 0.5], bs.Bernoulli(), runs=20, worlds=["heavy-tails"])
    with pytest.raises(bs.InputError, match="choose from"):
        bs.research.audit(bs.Tilt(3), runs=20, worlds=["risng"])


def test_progress_names_each_world() -> None:
    told: list[tuple[str, int, int]] = []
    bs.research.audit(
        *(bs.Tilt(3), [0, 1]),
        runs=10,
        worlds=["steady", "batches"],
        progress=lambda *news: told.append(news),
    )
    assert told == [("steady", 0, 2), ("batches", 1, 2)]


def test_it_is_plain_data_and_a_frame_too(blocks: bs.research.Audit) -> None:
    data = json.loads(json.dumps(blocks.to_dict(), allow_nan=False))
    assert data["rule"] == "Tilt_3"
    assert [world["name"] for world in data["worlds"]] == list(BATTERY)
    assert bs.worlds.World.from_dict(data["worlds"][1]["world"]) == blocks.rows[1].world
    frame = blocks.to_frame()
    assert len(frame) == len(BATTERY)
    assert np.allclose(frame["regret"], [row.regret.mean for row in blocks.rows])


def test_the_table_fits_a_terminal(blocks: bs.research.Audit, ucb: bs.research.Audit) -> None:
    for report in (blocks, ucb):
        assert max(map(len, repr(report).splitlines())) <= 80
    assert "<table" in blocks._repr_html_()
    assert "Not covered" in blocks._repr_html_()


@pytest.mark.parametrize("outcome", [bs.Gaussian(3), bs.Bernoulli(), bs.Bounded(-1, 5)])
def test_means_that_nobody_gave_fit_the_outcomes(outcome: bs.Gaussian) -> None:
    low, high = usual_means(outcome)
    assert low < high
    for mean in (low, high):
        outcome.check_mean(mean)


def test_one_run_is_not_an_audit() -> None:
    with pytest.raises(bs.InputError, match="at least 2"):
        bs.research.audit(bs.Tilt(3), runs=1)
    assert math.isfinite(bs.research.audit(bs.Tilt(3), [0, 2], runs=2, worlds=["steady"]).seconds)


def test_a_design_is_audited_as_its_rule_is() -> None:
    design = bs.Design(
        ["arm 1", "arm 2"], bs.Gaussian(1), bs.Tilt(3), error=0.05, max_units=3000, sides=1
    )
    whole = bs.research.audit(design, [0, 1], runs=20, worlds=["steady"])
    parts = bs.research.audit(
        bs.Tilt(3), [0, 1], error=0.05, max_units=3000, runs=20, worlds=["steady"]
    )
    assert whole.rows == parts.rows
    with pytest.raises(bs.InputError, match="error is given twice"):
        bs.research.audit(design, [0, 1], error=0.01)


def test_worlds_that_outcomes_cannot_have_are_said_to_be_left_out() -> None:
    report = bs.research.audit(bs.Tilt(3), [0.2, 0.6], bs.Bernoulli(), runs=4)
    assert "heavy-tails" in dict(report.left_out)
    assert "Not played: heavy-tails" in repr(report)
    assert report.to_dict()["left_out"][0]["reason"] == "0/1 outcomes cannot have it"
