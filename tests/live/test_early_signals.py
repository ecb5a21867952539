"""Live tests whose blocks go by events of open windows: what is kept, and that it is verified."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.procedures.base import Signals
from bascule.core.progress import next_block
from bascule.live.reports.status import status_of
from bascule.live.storage import deals, statements
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import ExperimentState

pytestmark = pytest.mark.slow

WINDOW = 300
"""Units that arrive while a window is open, one an hour."""

HOUR = 3600.0


def design_of(mode: Any = "always", arms: int = 2, **more: Any) -> bs.Design:
    rule = bs.Tilt(5, effect=0.2, baseline=0.2, power=0.9, early_signals=mode)
    names = ["control", "green", "blue"][:arms]
    more.setdefault("measure", bs.Measure(WINDOW * HOUR, "any"))
    return bs.Design(names, bs.Bernoulli(), rule, error=0.05, sides=1, **more)


class Crowd:
    """Units that arrive every hour, and convert after a while."""

    def __init__(
        self, test: bs.Experiment, clock: bs.ManualClock, means: Any, lags: Any, seed: int
    ) -> None:
        self.test, self.clock, self.means, self.lags = test, clock, means, lags
        self.random = random.Random(seed)
        self.events: list[tuple[float, str]] = []
        self.units = 0
        self.regret = 0.0

    def arrive(self, count: int = 1) -> None:
        """Let units arrive, one an hour, while others convert."""
        for _ in range(count):
            name, arms = f"unit {self.units}", self.test.design.arms
            answer = self.test.evaluate(name)
            if answer.enrolled:
                self.units += 1
                arm = arms.index(answer.arm)
                self.regret += max(self.means) - self.means[arm]
                if self.random.random() < self.means[arm]:
                    wait = math.inf
                    while wait > WINDOW:
                        wait = self.random.expovariate(1.0 / self.lags[arm])
                    self.events.append((self.clock.now() + wait * HOUR, name))
            self.clock.advance(f"{int(HOUR)}s")
            due = [one for one in self.events if one[0] <= self.clock.now()]
            self.events = [one for one in self.events if one[0] > self.clock.now()]
            for _, who in due:
                self.test.record(who, 1)


def state_of(test: bs.Experiment) -> Any:
    return test._loaded().state


def put(test: bs.Experiment, text: str, *values: Any) -> None:
    """Change a row behind the store's back."""
    with test.store.writing() as connection:
        statements.execute(connection, text, (*values, test.id))


def test_an_event_counts_once_and_until_its_block_is_folded(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("once", design_of())
    arms = {unit: test.assign(unit) for unit in ("ann", "bob", "cid", "dee")}
    assert state_of(test).signals.early == ()
    test.record("ann", 0)
    assert state_of(test).signals.early == ()
    test.record("ann", 1)
    test.record("ann", 1)
    events = tuple(int(arm == arms["ann"]) for arm in ("control", "green"))
    assert state_of(test).signals.early == (((1, 1), events),)
    receipts = test.record_many([("bob", 1), ("bob", 1), ("nobody", 1), ("cid", 0), ("cid", 1)])
    assert [one.accepted for one in receipts] == [True, True, False, True, True]
    assert sum(state_of(test).signals.early[0][1]) == 3
    assert test.verify().agrees
    clock.advance(f"{WINDOW}h")
    test.record("dee", 1)
    test.settle()
    state = state_of(test)
    assert (state.folding.folded, state.signals.early) == (4, ())
    assert sum(count for count, _, _ in state.signals.delays) == 3
    assert test.verify().agrees


def test_blocks_follow_early_events_and_the_choice_is_verified(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("follows", design_of())
    arms = {f"unit {i}": test.assign(f"unit {i}") for i in range(100)}
    for unit, arm in arms.items():
        if arm == "green" and int(unit.split()[1]) % 2:
            test.record(unit, 1)
    later = [test.assign(f"unit {i}") for i in range(100, 160)]
    assert later.count("green") == 50
    assert test.verify().agrees
    # The same design by matured outcomes alone would share evenly.
    assert next_block(test.design, state_of(test).once, None).units == (1, 1)
    with test.store.writing() as connection:
        rows = statements.fetch(
            connection, "SELECT number, slots FROM blocks WHERE experiment = ?", test.id
        )
    used = [json.loads(slots)[0][2] for _, slots in rows if len(json.loads(slots)[0]) > 2]
    assert len(used) == len(rows)
    folded, knob, (early, delays) = used[-1]
    assert (folded, knob, delays) == (0, 5.0, [])
    again = next_block(test.design, state_of(test).once, Signals(early, delays))
    assert again.units == (1, 5)
    number, slots = rows[-1]
    changed = json.loads(slots)
    changed[0][2][2] = []
    put(
        test,
        "UPDATE blocks SET slots = ? WHERE number = ? AND experiment = ?",
        json.dumps(changed),
        number,
    )
    (finding,) = test.verify().differences
    sizes = "(1, 5), but those that follow from its stored inputs are (1, 1)"
    assert finding == f"block {number} has sizes {sizes}"


def test_a_wrong_sum_is_found(store: bs.Store) -> None:
    test = store.create("wrong", design_of())
    test.assign("ann")
    test.record("ann", 1)
    state = json.loads(_state_text(test))
    state["signals"]["early"][0][1] = [7, 7]
    put(test, "UPDATE experiments SET state = ? WHERE id = ?", json.dumps(state))
    (finding,) = test.verify().differences
    assert finding.startswith("early stored as (((1, 1), (7, 7)),), computed as (((1, 1), (")


def _state_text(test: bs.Experiment) -> str:
    with test.store.writing() as connection:
        rows = statements.fetch(connection, "SELECT state FROM experiments WHERE id = ?", test.id)
    return str(rows[0][0])


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("mode", ["auto", "always"])
def test_a_whole_test_is_verified_with_whatever_operators_do(
    store: bs.Store, clock: bs.ManualClock, mode: Any, arms: int
) -> None:
    test = store.create("whole", design_of(mode, arms, max_units=900))
    crowd = Crowd(test, clock, (0.2, 0.3, 0.25)[:arms], (30.0, 30.0, 120.0)[:arms], seed=arms)
    crowd.arrive(90)
    store.erase("unit 3")
    store.erase("unit 80")
    test.link("unit 81", "someone")
    test.record("someone", 1)
    crowd.arrive(60)
    test.knob(tilt=3)
    crowd.arrive(90)
    assert test.verify().agrees
    crowd.arrive(200)
    store.erase("unit 150")
    if arms == 3:
        test.drop_arm("blue")
    crowd.arrive(60)
    found = test.verify()
    assert found.agrees, found
    assert found.erased == 3
    clock.advance("40d")
    test.settle()
    assert test.verify().agrees
    state = state_of(test)
    assert sum(count for count, _, _ in state.signals.delays) > 20
    store.erase("unit 200")
    assert test.verify().agrees


def test_erasing_a_pending_unit_after_the_end_removes_its_event(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("ended", design_of())
    for unit in ("ann", "bob"):
        test.assign(unit)
        test.record(unit, 1)
    test.stop()
    assert state_of(test).signals.early == (((1, 1), (1, 1)),)
    store.erase("ann")
    assert sum(state_of(test).signals.early[0][1]) == 1
    assert test.verify().agrees


def test_a_store_that_is_opened_again_goes_on_with_its_signals(
    tmp_path: Any, clock: bs.ManualClock
) -> None:
    place = tmp_path / "tests.db"
    with bs.Store(place, clock=clock) as store:
        test = store.create("again", design_of("auto"))
        Crowd(test, clock, (0.2, 0.4), (20.0, 20.0), seed=4).arrive(WINDOW + 20)
        before = state_of(test)
    with bs.Store(place, clock=clock) as store:
        test = store.get("again")
        assert state_of(test) == before
        assert before.signals.delays
        assert test.verify().agrees


def test_live_tests_cost_what_simulated_ones_do() -> None:
    means, lags, runs = (0.2, 0.4), (20.0, 60.0), 6
    regrets = []
    for seed in range(runs):
        clock = bs.ManualClock()
        with bs.Store(":memory:", clock=clock) as store:
            test = store.create("plays", design_of())
            crowd = Crowd(test, clock, means, lags, seed)
            while test.status().state == "running":
                crowd.arrive(25)
            regrets.append(crowd.regret)
            assert test.verify().agrees
    world = bs.worlds.World(means, delay=bs.worlds.Delay(WINDOW, events=lags))
    simulated = bs.simulate(design_of(measure=None), world=world, runs=4000, seed=2)
    error = np.std(regrets, ddof=1) / math.sqrt(runs)
    assert abs(np.mean(regrets) - simulated.regret.mean()) < 3 * error


QUICK, SLOW = (400, 2_000, 20_000), (400, 16_000, 800_000)
"""Delays of an arm: events of matured units, and the sums of their steps and of the squares."""


@pytest.mark.parametrize(
    ("mode", "delays", "use"),
    [
        (None, (), None),
        ("auto", (), "gentle"),
        ("auto", (QUICK, QUICK), "on"),
        ("auto", (QUICK, SLOW), "off"),
        ("always", (QUICK, SLOW), "on"),
    ],
)
def test_the_status_says_how_early_signals_are_used(mode: Any, delays: Any, use: Any) -> None:
    design = design_of(mode)
    state = ExperimentState.empty(design)._replace(signals=deals.StoredSignals((), delays))
    test = Loaded(1, "signals", 0.0, design, "running", state, 0)
    status = status_of(test, 0.0)
    assert status.early_signals == use
    assert status.to_dict()["early_signals"] == use
    said = [one for one in ("on", "gentle", "off") if f"Early signals {one}:" in str(status)]
    assert said == ([] if use is None else [use])
    # Nothing is dealt any more.
    assert status_of(test._replace(phase="stopped"), 0.0).early_signals is None
