"""Windows and calendars in simulations: what is played where a world has units per day."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bascule as bs
from bascule.core.calendar import announced_after
from bascule.simulation import Simulation

pytestmark = pytest.mark.slow

DAILY, RUNS = 100, 500
PLAIN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
MEANS = (0.0, 0.3)


def played(design: bs.Design, means: tuple[float, ...] = MEANS, **world: float) -> Simulation:
    world = {"units_per_day": DAILY, **world}
    return bs.simulate(design, means, RUNS, seed=5, threads=1, world=world)


@pytest.fixture(scope="module")
def at_once() -> Simulation:
    """Runs of a test of 3 to 5 days without a calendar, in the loop that plays calendars too."""
    return played(replace(PLAIN, min_days=0.01))


@pytest.mark.parametrize(("min_days", "whole_weeks"), [(6, False), (None, True), (8, True)])
def test_a_decision_is_announced_when_the_calendar_says(
    at_once: Simulation, min_days: float | None, whole_weeks: bool
) -> None:
    """Runs draw the same numbers, so that each decision is the same one, later."""
    design = replace(PLAIN, min_days=min_days, whole_weeks=whole_weeks)
    result = played(design)
    week = 7.0 * DAILY if whole_weeks else 0.0
    least = DAILY * (min_days or 0.0)
    expected = [math.ceil(announced_after(t, least, week)) for t in at_once.decision_time]
    assert result.decision_time.tolist() == expected
    assert result.winner.tolist() == at_once.winner.tolist()


def test_a_test_goes_on_while_its_decision_is_withheld(at_once: Simulation) -> None:
    """Both arms get units until then, the better one by the tilt."""
    result = played(replace(PLAIN, min_days=14))
    more = result.units.sum(axis=1) - at_once.units.sum(axis=1)
    waited = result.decision_time - at_once.decision_time
    assert np.abs(more - waited).max() <= 4
    both = (result.units - at_once.units).sum(axis=0)
    assert both[0] / both.sum() == pytest.approx(0.25, abs=0.01)
    cost = (result.regret - at_once.regret).mean()
    assert cost == pytest.approx(0.3 * both[0] / RUNS)


def test_the_error_is_that_of_the_test_without_a_calendar() -> None:
    design = replace(PLAIN, max_units=1000)
    without = played(replace(design, min_days=0.01), (0.0, 0.0))
    with_weeks = played(replace(design, whole_weeks=True), (0.0, 0.0))
    assert 0.0 < with_weeks.error_rate == without.error_rate <= 0.05
    assert (with_weeks.decision_time >= 7 * DAILY).all()


def test_several_arms_are_kept_while_the_decision_is_withheld() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), min_days=60)
    result = played(design, (0.0, 0.2, 0.5))
    assert set(result.decision_time.tolist()) == {60 * DAILY}
    sooner = played(replace(design, min_days=0.01), (0.0, 0.2, 0.5))
    assert result.winner.tolist() == sooner.winner.tolist()
    more = (result.units - sooner.units).mean(axis=0)
    # The last rival is kept, whichever it was.
    assert more[0] + more[1] == pytest.approx(0.25 * more.sum(), rel=0.05)


def test_a_horizon_ends_enrolment_while_a_decision_is_withheld() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, effect=0.3, power=0.9), min_days=20)
    result, sooner = played(design), played(replace(design, min_days=0.01))
    assert result.winner.tolist() == sooner.winner.tolist()
    decided = result.winner >= 0
    assert set(result.decision_time[decided].tolist()) == {20 * DAILY}
    # Enrolment ends at the horizon: an undecided test takes about 600 units, not 2,000.
    most = sooner.units.sum(axis=1)[~decided].max()
    assert result.units.sum(axis=1).max() <= 1.1 * most
    # An end without a decision claims nothing, and is not withheld.
    assert result.decision_time[~decided].tolist() == sooner.decision_time[~decided].tolist()


def test_futility_waits_for_the_minimum_duration() -> None:
    rule = bs.Tilt(1, effect=0.3, power=0.9, futility=0.3)
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, min_days=4)
    result = played(design, (0.0, 0.0))
    assert result.decision_time.min() >= 4 * DAILY
    assert played(replace(design, min_days=0.01), (0.0, 0.0)).decision_time.min() < 3 * DAILY


def test_the_window_of_a_design_is_played_with_units_per_day() -> None:
    design = replace(PLAIN, measure=bs.Measure("2d", grace="12h"))
    result = played(design)
    assert result.world.delay == bs.worlds.Delay(2.5 * DAILY)
    assert result.decision_time.min() > 2.5 * DAILY
    assert result.days.mean == pytest.approx(result.decision_time.mean() / DAILY)
    assert "days" in result.to_dict()
    assert "not played" not in repr(result)


def test_what_is_not_played_is_said() -> None:
    design = replace(PLAIN, measure=bs.Measure("2d"), whole_weeks=True)
    text = repr(bs.simulate(design, MEANS, 10, threads=1))
    assert "the window of 2 days (outcomes are known at once) and the calendar" in text
    assert "give the units per day" in text
    latency = bs.Metric(
        "latency", bs.Gaussian(1), margin=1.0, baseline=0.0, measure=bs.Measure("1d")
    )
    guarded = bs.simulate(replace(design, metrics=[latency]), MEANS, 10, threads=1)
    assert "give the units per day" in repr(guarded)
    assert guarded.to_dict()["not_played"] == ["window", "calendar"]
