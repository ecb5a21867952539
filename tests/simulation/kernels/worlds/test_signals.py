"""Simulated tests with early signals, against a plain loop that adds events up block by block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.procedures.base import Signals
from bascule.core.procedures.blocks.signals import window_part

pytestmark = pytest.mark.slow

WINDOW = 300


def design_of(mode: Any, tilt: float = 5.0, goal: Any = "increase", arms: int = 2) -> bs.Design:
    rule = bs.Tilt(tilt, effect=0.2, baseline=0.2, power=0.9, early_signals=mode)
    names = [f"arm {i}" for i in range(arms)]
    return bs.Design(names, bs.Bernoulli(), rule, error=0.05, sides=1, goal=goal)


def played(design: bs.Design, means: Any, lags: Any, runs: int, seed: int = 5) -> Any:
    world = bs.worlds.World(means, delay=bs.worlds.Delay(WINDOW, events=lags))
    return bs.simulate(design, world=world, runs=runs, seed=seed)


class Plain:
    """One test, unit by unit: blocks are lists, and every sum is made anew."""

    def __init__(self, design: bs.Design, means: Any, lags: Any, random: Any) -> None:
        self.design, self.means, self.lags, self.random = design, means, lags, random
        self.blocks: list[dict[str, Any]] = []
        self.seen = bs.progress.Statistics.empty(2)
        self.time = self.folded = 0
        self.regret = 0.0
        self.delays = [[0, 0, 0], [0, 0, 0]]

    def signals(self) -> Signals:
        rows = []
        for block in self.blocks[self.folded :]:
            events = [0, 0]
            for arm, _, event in block["units"]:
                events[arm] += event is not None and event[0] <= self.time
            rows.append((block["sizes"], events))
        return Signals(rows, self.delays)

    def unit(self, arm: int) -> tuple[int, int, Any]:
        self.regret += max(self.means) - self.means[arm]
        value = int(self.random.random() < self.means[arm])
        event = None
        if value:
            wait = math.inf
            while wait > WINDOW:
                wait = self.random.exponential(self.lags[arm])
            event = self.time + 1 + math.ceil(wait), wait
        return arm, self.time + 1 + WINDOW, event

    def run(self) -> tuple[int, float]:
        slots: list[int] = []
        while True:
            if not slots:
                block = bs.progress.next_block(self.design, self.seen, self.signals())
                fronts = [(block["front"], block["ahead"]) for block in self.blocks[self.folded :]]
                under_way = [(front, units, 1) for front, units in fronts]
                left = self.design.procedure.blocks_left(self.seen, block, under_way)
                if not under_way or left > 0:
                    slots = [arm for arm in (0, 1) for _ in range(block.units[arm])]
                    self.random.shuffle(slots)
                    ahead = max(block.units)
                    front = block.units.index(ahead)
                    sizes = {"sizes": block.units, "front": front, "ahead": ahead}
                    self.blocks.append({**sizes, "units": [], "size": len(slots)})
                else:
                    self.time = max(self.time, self.blocks[self.folded]["units"][-1][1] - 1)
            if slots:
                self.blocks[-1]["units"].append(self.unit(slots.pop()))
            self.time += 1
            if self.folds():
                return self.time, self.regret

    def folds(self) -> bool:
        while self.folded < len(self.blocks):
            block = self.blocks[self.folded]
            units = block["units"]
            if len(units) < block["size"] or units[-1][1] > self.time:
                return False
            sums = [bs.progress.ArmStatistics()] * 2
            for arm, _, event in units:
                one = float(event is not None)
                sums[arm] += bs.progress.ArmStatistics(1, one, one)
                if event is not None:
                    step = window_part(event[1], WINDOW)
                    for k, number in enumerate((1, step, step * step)):
                        self.delays[arm][k] += number
            self.seen = bs.progress.fold_block(self.design, self.seen, sums)
            self.folded += 1
            if bs.progress.decision(self.design, self.seen) is not None:
                return True
            if self.design.procedure.end_reason(self.seen) is not None:
                return True
        return False


@pytest.mark.parametrize(
    ("mode", "lags"), [("always", (30.0, 30.0)), ("auto", (30.0, 30.0)), ("auto", (20.0, 200.0))]
)
def test_the_loop_does_what_a_plain_one_does(mode: Any, lags: Any) -> None:
    means, runs = (0.2, 0.4), 40
    random = np.random.default_rng(3)
    plain = [Plain(design_of(mode), means, lags, random).run() for _ in range(runs)]
    found = played(design_of(mode), means, lags, 4000)
    for mine, theirs in (
        (found.decision_time, [time for time, _ in plain]),
        (found.regret, [regret for _, regret in plain]),
    ):
        error = math.hypot(np.std(mine) / math.sqrt(4000), np.std(theirs) / math.sqrt(runs))
        assert abs(np.mean(mine) - np.mean(theirs)) < 3 * error


def test_signals_save_cost_where_delays_are_alike() -> None:
    without = played(design_of(None), (0.2, 0.4), 30.0, 2000)
    used = played(design_of("always"), (0.2, 0.4), 30.0, 2000)
    assert used.regret.mean() < 0.8 * without.regret.mean()


def test_auto_stops_using_signals_that_mislead() -> None:
    means, lags = (0.2, 0.4), (10.0, 250.0)
    always, auto = (played(design_of(mode), means, lags, 2000) for mode in ("always", "auto"))
    assert auto.regret.mean() < always.regret.mean()


@pytest.mark.parametrize("lags", [(10.0, 250.0), (250.0, 10.0)])
def test_the_error_holds_whatever_the_delays(lags: Any) -> None:
    runs = 4000
    found = played(design_of("always", 8.0), (0.3, 0.3), lags, runs)
    for arm in (0, 1):
        assert (found.winner == arm).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_where_events_are_for_the_worse_signals_point_to_the_arm_with_fewer() -> None:
    world = bs.worlds.World((0.4, 0.2), delay=bs.worlds.Delay(WINDOW, events=(30.0, 90.0)))
    down = bs.simulate(design_of("always", goal="decrease"), world=world, runs=3000, seed=5)
    matured = bs.simulate(design_of(None, goal="decrease"), world=world, runs=3000, seed=5)
    assert down.regret.mean() < matured.regret.mean()
    assert (down.units[:, 1] > down.units[:, 0]).mean() > 0.9


def test_more_arms_use_signals_too() -> None:
    means = (0.2, 0.2, 0.4)
    without = played(design_of(None, arms=3), means, 30.0, 500)
    used = played(design_of("always", arms=3), means, 30.0, 500)
    assert used.regret.mean() < without.regret.mean()


def test_a_window_without_event_times_is_refused() -> None:
    world = bs.worlds.World((0.2, 0.4), delay=bs.worlds.Delay(WINDOW))
    with pytest.raises(bs.InputError, match="does not say when they come"):
        bs.simulate(design_of("always"), world=world, runs=10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bs.worlds.Delay(10, "random", events=3), "belong to a fixed delay"),
        (lambda: bs.worlds.Delay(10, events=(3, -1)), "events"),
        (
            lambda: bs.simulate(
                design_of("always"),
                world=bs.worlds.World((0.2, 0.4), delay=bs.worlds.Delay(9, events=(1, 2, 3))),
            ),
            "one for each of 2 arms",
        ),
        (
            lambda: bs.simulate(
                bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)),
                world=bs.worlds.World((0, 1), delay=bs.worlds.Delay(9, events=3)),
            ),
            "0 or 1",
        ),
    ],
)
def test_events_that_make_no_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        make()


def test_a_world_with_events_survives_being_written_down() -> None:
    world = bs.worlds.World((0.2, 0.4), delay=bs.worlds.Delay(900, events=(30, 90)))
    assert bs.worlds.World.from_dict(world.to_dict()) == world
    assert "events after 30 and 90 on average" in world.words
