"""Operators who want b to win, in every cell of the table of meetings, for `bench.honesty`.

A test takes a few days of a manual clock, through the public interface of a store. All arms are
alike. An operator knows the truth, all outcomes so far, and which places of the open block are
left; it wants an arm other than the first to win.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import bascule as bs
from bench.honesty_cells import Cell
from bench.honesty_meetings_table import (
    GUARD,
    NAME,
    Column,
    Row,
    allowed,
    stated,
)

MODE = "meetings"
STEPS, EACH = 6, 14
"""Half days of a test, and units that arrive in each."""

RAMP = bs.Audience(ramp=[("0d", 0.5), ("1d", 1)])


@dataclass
class Game:
    """A test, and all that its operator knows."""

    row: Row
    column: Column
    rng: np.random.Generator
    steps: int
    clock: bs.ManualClock = field(default_factory=bs.ManualClock)
    order: random.Random = field(default_factory=random.Random)
    step: int = 0
    arms: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    block: list[str] = field(default_factory=list)
    late: list[tuple[Any, ...]] = field(default_factory=list)
    folder: Path | None = None
    attack_works: bool = False
    """Whether outcomes are those that operators try to get: b by day only, and a by night."""

    def begin(self) -> None:
        """Create the test."""
        self.order.seed(int(self.rng.integers(2**31)))
        self.store = self.opened(":memory:")
        self.design = self.row.design(self.column)
        audience = RAMP if self.column.name == "ramp" else None
        self.test = self.store.create(NAME, self.design, audience=audience)
        self.procedure = self.test.design.procedure

    def opened(self, location: str | Path) -> bs.Store:
        """Open a store with the clock of the game."""
        return bs.open(location, clock=self.clock, shuffle=self.order.shuffle)

    @property
    def is_day(self) -> bool:
        """Whether outcomes are good at this hour."""
        return self.step % 2 == 1

    @property
    def is_staged(self) -> bool:
        """Whether units give an outcome every day."""
        return self.procedure.counts == "stages"

    def arrivals(self) -> list[str]:
        """Return who arrives in this step."""
        first = EACH * self.step
        return [f"unit-{first + i}" for i in range(EACH)]

    def assign(self, units: list[str]) -> None:
        """Assign units; what each would give is drawn whatever its arm is."""
        more: dict[str, Any] = {}
        if self.design.covariates is not None:
            more["covariates"] = [{"x": float(x)} for x in self.rng.normal(size=len(units))]
        before = state_of(self.test).units
        arms = self.test.assign_many(units, **more)
        if state_of(self.test).units - before == len(units):
            enrolled = [True] * len(units)
        else:
            enrolled = [self.test.assignment(unit) is not None for unit in units]
        for unit, arm, is_in in zip(units, arms, enrolled, strict=True):
            if is_in:
                self._joined(unit, arm)

    def assign_one(self, unit: str) -> None:
        """Assign a unit, which the test may turn away."""
        known = {"x": float(self.rng.normal())} if self.design.covariates is not None else None
        shown = self.test.evaluate(unit, covariates=known)
        if shown.enrolled:
            self._joined(unit, shown.arm)

    def _joined(self, unit: str, arm: str) -> None:
        hour = (1.0 if self.is_day else -1.0) * self.row.swings
        if self.attack_works:
            hour = 1.0 if arm == "b" else -1.0
        self.arms[unit], self.values[unit] = arm, self.row.draw(self.rng, hour)
        self.block.append(arm)
        if len(self.block) >= len(self.design.arms):
            self.block.clear()

    def known_next(self) -> str | None:
        """Return the arm of the next place where only one is left, in blocks of one unit an arm."""
        left = [arm for arm in self.design.arms if arm not in self.block]
        return left[0] if len(left) == 1 and self.block else None

    def suits(self) -> bool:
        """Return whether the operator wants somebody at the next place now."""
        arm = self.known_next()
        return arm is None or (arm != "a") == self.is_day

    def events(self, units: list[str]) -> list[tuple[Any, ...]]:
        """Return what is reported of units now."""
        found: list[tuple[Any, ...]] = []
        for unit in units:
            if self.rng.random() < self.row.lost:
                continue
            value = self.values[unit]
            if self.is_staged:
                value += float(self.rng.normal())
            found.append((unit, value, None, f"{unit}/{self.step}"))
            if self.design.metrics:
                number = value[0] if isinstance(value, tuple) else value
                found.append((unit, number, None, f"{unit}/{self.step}", GUARD))
        return found

    def record(self, events: list[tuple[Any, ...]]) -> None:
        """Record events."""
        if events and self.test.state == "running":
            self.test.record_many(events)

    def is_open(self) -> bool:
        """Settle the test, and return whether it runs."""
        self.test.settle()
        return self.test.state in ("running", "paused")

    def means(self) -> list[float]:
        """Return the mean of each arm, minus infinity where it has none."""
        seen = state_of(self.test).statistics
        if isinstance(seen, bs.progress.Statistics):
            return [one.mean if one.units else -math.inf for one in seen.arms]
        return [-math.inf if one.mean is None else one.mean for one in self.test.status().arms]

    def wrong(self) -> bool:
        """Return whether the test has declared another arm than the best one left the winner."""
        state = state_of(self.test)
        left = [i for i in range(len(self.design.arms)) if i not in state.statistics.removed]
        verdict = state.ending.verdict
        return verdict is not None and verdict.arm not in (None, left[0])


def state_of(test: bs.Experiment) -> Any:
    """Return what is stored of a test, without the forecasts and estimates of a status."""
    with test.store.reading() as connection:
        return test.store.load(connection, test.id, test.name).state


Step = Callable[[Game], None]


def paused(game: Game) -> None:
    """Pause a test while the next place had better wait, and start it again."""
    test, wanted = game.test, game.suits()
    if wanted and test.state == "paused":
        test.start()
    elif not wanted and test.state == "running":
        test.pause()


def shared(game: Game) -> None:
    """Set the share to 0 while the next place had better wait, and to 1 again."""
    test, wanted = game.test, float(game.suits())
    audience = test.audience
    is_changed = (1.0 if audience is None else audience.share) != wanted
    if is_changed and test.state == "running":
        test.set_share(wanted)


BEFORE: dict[str, Step] = {
    "pause": paused,
    "ramp": paused,
    "share": shared,
}
"""What an operator does before a unit arrives at a test."""


def turn_knob(game: Game) -> None:
    """Turn the knob towards the arm that leads by chance."""
    knob = game.test.design.rule.knob
    name = "tilt" if knob is None else knob.name
    if game.is_open():
        means = game.means()
        value = {"tilt": (1.0, 8.0), "alpha": (6.0, 2.0)}[name][max(means[1:]) > means[0]]
        game.test.knob(**{name: value})


def drop(game: Game) -> None:
    """Drop the arm that is furthest behind, so that the leader has fewer rivals."""
    control = game.design.control_index if game.design.metrics else None
    means = game.means()
    removed = state_of(game.test).statistics.removed
    left = [arm for arm in range(len(means)) if arm not in removed]
    lowest = min(left, key=means.__getitem__)
    is_early = game.step < 2 and not game.is_staged
    if game.is_open() and len(left) > 2 and lowest != control and not is_early:
        game.test.drop_arm(game.design.arms[lowest])


def erase(game: Game) -> None:
    """Erase units of the first arm whose outcomes are good and have not been recorded yet."""
    for unit in game.arrivals():
        if game.arms.get(unit) == "a" and _number(game.values[unit]) > 0.5:
            game.store.erase(unit)


def link(game: Game) -> None:
    """Link two names of a person, both in the test; a coin decides who signs in, not the arms."""
    arrived = [unit for unit in game.arrivals() if unit in game.arms]
    for first, second in zip(arrived[::4], arrived[2::4], strict=False):
        if game.rng.random() < 0.5:
            game.test.link(first, second)


def restore(game: Game) -> None:
    """Go on with a copy of the store, once."""
    if game.step != game.steps // 2:
        return
    assert game.folder is not None
    before = game.test.status()
    game.store.backup(game.folder / "copy.db")
    game.store = game.opened(game.folder / "copy.db")
    game.test = game.store.get(game.test.name)
    if game.test.status() != before:
        raise AssertionError(f"the copy of {game.row.name} differs from the store")


AFTER: dict[str, Step] = {
    "knob": turn_knob,
    "drop": drop,
    "restore": restore,
}
"""What an operator does after a look."""

PENDING: dict[str, Step] = {"erase": erase, "link": link}
"""What an operator does between the assignment of units and their outcomes."""


def held_back(game: Game, events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Hold bad outcomes of other arms than the first back for a step, and send good ones twice."""
    sent, game.late = game.late, []
    for event in events:
        if game.arms[event[0]] != "a" and len(event) == 4:
            if _number(event[1]) <= 0.5 and not game.is_staged:
                game.late.append(event)
                continue
            sent.append(event)
        sent.append(event)
    return sent


def _number(value: Any) -> float:
    return float(value[0] / value[1] if isinstance(value, tuple) else value)


def play(
    row: Row,
    column: Column,
    seed: int,
    steps: int = STEPS,
    verify: bool = False,
    attack_works: bool = False,
) -> bool:
    """Play one test of a cell to its end, and return whether its decision is wrong.

    With `verify` the log is replayed afterwards, which raises an error where it differs.
    """
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng([*map(ord, f"{row.name}/{column.name}"), seed])
        game = Game(row, column, rng, steps, folder=Path(folder), attack_works=attack_works)
        game.begin()
        for step in range(steps):
            game.step = step
            if not game.is_open():
                break
            _half_day(game)
        game.record(game.late)
        game.clock.advance("4d")
        game.test.settle()
        if verify and not (found := game.test.verify()).agrees:
            raise AssertionError(f"{row.name}, {column.name}: {found.differences}")
        wrong = game.wrong()
        game.store.close()
        return wrong


def _half_day(game: Game) -> None:
    name = game.column.name
    if name not in BEFORE:
        game.assign(game.arrivals())
    for unit in game.arrivals() if name in BEFORE else ():
        BEFORE[name](game)
        game.assign_one(unit)
    if name in PENDING:
        PENDING[name](game)
    units = [unit for unit in game.arrivals() if unit in game.arms]
    if game.is_staged:
        units = [*game.arms] if game.is_day else []
    events = game.events(units)
    game.record(held_back(game, events) if name == "late" else events)
    game.clock.advance("12h")
    if name in AFTER:
        AFTER[name](game)


def meeting_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells of the table that can be played."""

    def one(row: Row, column: Column) -> Cell:
        error, guarantee = stated(row, column)

        def count(first: int, last: int) -> int:
            return sum(play(row, column, seed) for seed in range(first, last))

        arms = row.arms + column.more_arms
        return Cell(MODE, row.name, arms, column.name, guarantee, error, times(column.runs), count)

    return [one(row, column) for row, column in allowed()]
