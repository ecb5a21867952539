"""Enrolment that ends in time: nobody is enrolled while the units under way suffice."""

from __future__ import annotations

import math
from typing import Any

import pytest

import bascule as bs
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.live.clock import moment

pytestmark = pytest.mark.slow

WEEK = bs.Measure("7d", "last", missing=0)


def first_enrolment(rule: bs.Tilt, arms: int = 2) -> int:
    """Return how many units suffice, in even blocks of outcomes with a known spread."""
    design = bs.Design([f"arm {i}" for i in range(arms)], bs.Gaussian(1), rule)
    procedure = design.procedure
    assert isinstance(procedure, BlockProcedure)
    assert procedure.horizon is not None
    clock = (procedure.horizon.reach / procedure.effect) ** 2
    # A block adds half a unit to the clock of each pair.
    return arms * math.ceil(clock / 0.5)


def enrol(test: bs.Experiment, units: range) -> int:
    """Let units arrive, and return how many of them are enrolled."""
    return sum(test.evaluate(f"unit {i}").enrolled for i in units)


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_test_enrols_what_its_horizon_takes_and_waits(
    store: bs.Store, clock: bs.ManualClock, arms: int, batch: int
) -> None:
    rule = bs.Tilt(3, effect=0.5, power=0.9, batch=batch)
    names = [f"arm {i}" for i in range(arms)]
    design = bs.Design(names, bs.Gaussian(1), rule, measure=WEEK)
    test = store.create("waits", design)
    enough = first_enrolment(rule, arms)
    enough += -enough % (arms * batch)
    assert enrol(test, range(enough + 30)) == enough
    assert test.status().headline == (
        f"Enrolment is complete: waiting for {enough} units until "
        f"{moment(clock.now() + 7 * 86400):%-d %b}"
    )
    assert test.status().to_dict()["waiting"]["is_enough"] is True
    late = test.evaluate("late")
    assert (late.arm, late.reason, late.why) == ("arm 0", "DISABLED", "enrolment")
    assert "waits for" in late.detail
    assert test.verify().agrees
    # All outcomes are equal, so it ends at its horizon, and nobody was enrolled for nothing.
    clock.advance("8d")
    test.settle()
    status = test.status()
    assert (status.state, status.ended_by, status.units) == ("over", "horizon", enough)
    assert test.verify().agrees


def test_the_simulator_enrols_as_many(store: bs.Store) -> None:
    rule = bs.Tilt(3, effect=0.5, power=0.9)
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05)
    delay = bs.worlds.Delay(2000)
    result = bs.simulate(design, world=bs.worlds.World([0.0, 0.5], delay=delay), runs=50, seed=1)
    assert set(result.units.sum(axis=1)) == {first_enrolment(rule)}
    live = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, reports="always")
    test = store.create("as-many", live)
    assert enrol(test, range(500)) == first_enrolment(rule) < 500


def test_enrolment_resumes_when_outcomes_vary_more_than_was_planned(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    rule = bs.Tilt(1, effect=0.1, power=0.8, baseline=0.1)
    design = bs.Design(["a", "b"], bs.Bernoulli(), rule, measure=bs.Measure("7d", "any"))
    test = store.create("resumes", design)
    first = enrol(test, range(2000))
    assert 0 < first < 2000
    for i in range(0, first, 2):
        test.record(f"unit {i}", 1)
    clock.advance("8d")
    test.settle()
    # Half of all convert: their variance is 0.25, and the plan took it for about 0.13.
    more = enrol(test, range(3000, 3000 + first))
    assert 0.5 * first < more < first
    assert test.status().waiting is not None
    assert test.verify().agrees


def test_a_winner_that_waits_for_its_guardrails_enrols_more(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    latency = bs.Metric("latency", bs.Gaussian(30), margin=2, measure=WEEK)
    design = bs.Design(
        ["a", "b"],
        bs.Gaussian(1),
        bs.Tilt(1, effect=0.5, power=0.9),
        measure=WEEK,
        metrics=[latency],
    )
    test = store.create("guarded", design)
    first = enrol(test, range(500))
    assert first == first_enrolment(bs.Tilt(1, effect=0.5, power=0.9))
    for i in range(first):
        arm = test.evaluate(f"unit {i}").arm
        test.record(f"unit {i}", 2.0 if arm == "b" else 0.0)
        test.record(f"unit {i}", 100.0, metric="latency")
    clock.advance("8d")
    test.settle()
    assert test.status().guarded is not None
    assert enrol(test, range(500, 1000)) == 500


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"overflow": "winner", "rule": bs.Tilt(3)}, "overflow must be"),
    ],
)
def test_designs_that_cannot_be_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(bs.InputError, match=problem):
        bs.Design(["a", "b"], bs.Gaussian(1), **given)
