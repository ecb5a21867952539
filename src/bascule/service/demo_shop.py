"""A shop whose visitors go through three tests at once: adaptive, even split and fixed horizon.

All random numbers come from a seed, and the clock moves only by the hours of the shop: the same
seed gives the same tests. `bascule demo` shows them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from bascule.core.design import Design
from bascule.core.metrics.measure import Measure
from bascule.core.outcomes import Bernoulli
from bascule.core.rules import Tilt
from bascule.live.api import OPEN, Experiment, ManualClock, Store
from bascule.simulation import Simulation, simulate
from bascule.simulation.worlds.world import Delay, World

BUY = {"control": 0.10, "green": 0.15}
"""The share of visitors that buy with each button; the tests do not know it."""

PER_HOUR, HOURS, DEADLINE_DAYS = 20, 24, 7
"""Visitors an hour, hours a day, and the days that a test may take."""

PER_DAY = HOURS * PER_HOUR

PLAN = f"--baseline 10% --lift 50% --units-per-day {PER_DAY} --deadline-days {DEADLINE_DAYS}"
"""The options with which `bascule plan` recommends the adaptive design."""

DESIGNS = {
    name: Design(
        arms=list(BUY),
        outcome=Bernoulli(),
        rule=Tilt(tilt, effect=0.05, power=0.9, baseline=0.1, futility=0.2),
        error=0.05,
        max_units=DEADLINE_DAYS * PER_DAY,
        measure=Measure("1d", "any"),
    )
    for name, tilt in (("adaptive", 3), ("even-split", 1))
}
"""Designs of the first two tests, which differ only in how they split visitors."""

FIXED = "fixed-horizon"
FIXED_UNITS = 915
"""Visitors per button of the fixed-horizon test, as computed by the plan."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one of the tests after some hours.

    `hours` is the number of hours until now, or until the end of the test. `visitors` is the number
    of visitors so far, including those whose outcome is not known yet, and `worse` the number of
    those who met the worse button. `winner` is the button that won; None without a decision.
    """

    hours: int
    visitors: int
    worse: int
    winner: str | None
    headline: str

    @property
    def days(self) -> float:
        """The days that have passed."""
        return self.hours / HOURS

    @property
    def lost(self) -> float:
        """The sales lost so far, on average, by the visitors who met the worse button."""
        return self.worse * (max(BUY.values()) - min(BUY.values()))


class FixedHorizonTest:
    """The usual kind of test: an even split, a fixed number of visitors, and one final look."""

    def __init__(self, seed: int) -> None:
        # Not for security: it draws the visitors of a demonstration.
        self._chance = random.Random(f"fixed horizon of {seed}")  # nosec B311
        self._due = 0
        self.units = dict.fromkeys(BUY, 0)
        self.bought = dict.fromkeys(BUY, 0)

    def pass_hour(self, mood: Mapping[str, float], hours: int) -> None:
        """Assign the visitors of an hour at random to the arms that are not full yet.

        `mood` has a random number from 0 to 1 for each visitor, who buys if it is below the
        button's share of buyers. `hours` is the number of hours that have passed.
        """
        for chance in mood.values():
            free = [arm for arm, units in self.units.items() if units < FIXED_UNITS]
            if free:
                arm = self._chance.choice(free)
                self.units[arm] += 1
                self.bought[arm] += chance < BUY[arm]
                self._due = hours + HOURS

    def is_over(self, hours: int) -> bool:
        """Return whether all visitors have come, and the last one has had a day to buy."""
        return min(self.units.values()) == FIXED_UNITS and hours >= self._due

    @property
    def winner(self) -> str | None:
        """The button that sells more if a two-sided test at 5 % is significant; else None."""
        old, green = (self.bought[arm] / self.units[arm] for arm in BUY)
        pooled = (old + green) / 2
        spread = math.sqrt(2 * pooled * (1 - pooled) / FIXED_UNITS)
        if abs(green - old) < NormalDist().inv_cdf(0.975) * spread:
            return None
        return "green" if green > old else "control"


class Shop:
    """A shop in which every visitor takes part in all tests."""

    def __init__(self, store: Store, clock: ManualClock, seed: int) -> None:
        self._clock = clock
        # Not for security: it draws the visitors of a demonstration.
        self._chance = random.Random(seed)  # nosec B311
        words = "Visitors who see a green button buy more often."
        # Created in reverse, since the page shows the newest test first.
        self._tests = {
            name: store.create(name, DESIGNS[name], description=words) for name in reversed(DESIGNS)
        }
        self._fixed = FixedHorizonTest(seed)
        self.hours = 0
        self.ended: dict[str, int] = {}
        """The hours that each ended test took, by its name."""

    def pass_hour(self) -> None:
        """Let the visitors of one hour come, and advance the clock by an hour.

        What visitors would do with each button is drawn before they are assigned: a visitor who
        buys with the worse button buys with the better one too.
        """
        first = self.hours * PER_HOUR
        mood = {f"visitor-{first + i}": self._chance.random() for i in range(PER_HOUR)}
        running = [test for test in self._tests.values() if test.name not in self.ended]
        for test in running:
            arms = dict(zip(mood, test.assign_many(list(mood)), strict=True))
            test.record_many([(unit, 1.0) for unit, arm in arms.items() if mood[unit] < BUY[arm]])
        self._clock.advance("1h")
        self.hours += 1
        if FIXED not in self.ended:
            self._fixed.pass_hour(mood, self.hours)
            if self._fixed.is_over(self.hours):
                self.ended[FIXED] = self.hours
        for test in running:
            # Mature outcomes are counted now, before the visitors of the next hour come.
            test.settle()
            if test.state not in OPEN:
                self.ended[test.name] = self.hours

    def standings(self) -> dict[str, Standing]:
        """Return the state of each test, by its name."""
        standings = {name: self._standing(self._tests[name]) for name in DESIGNS}
        return standings | {FIXED: self._fixed_standing()}

    def _standing(self, test: Experiment) -> Standing:
        status = test.status()
        units = {arm.name: arm.units for arm in status.arms}
        worse = units[min(BUY, key=BUY.__getitem__)]
        winner = None if status.decision is None else status.decision.name
        hours = self.ended.get(test.name, self.hours)
        return Standing(hours, status.units, worse, winner, status.headline)

    def _fixed_standing(self) -> Standing:
        units, winner = self._fixed.units, self._fixed.winner if FIXED in self.ended else None
        worse = units[min(BUY, key=BUY.__getitem__)]
        hours = self.ended.get(FIXED, self.hours)
        words = f"Ship {winner}" if winner else "No difference was found"
        return Standing(hours, sum(units.values()), worse, winner, words)


def shuffle(seed: int) -> Callable[[list[int]], None]:
    """Return the function that shuffles the arms of a block, seeded for one shop."""
    return random.Random(f"blocks of {seed}").shuffle  # nosec B311


def simulate_both(runs: int, seed: int) -> dict[str, Simulation]:
    """Simulate both designs many times on one thread, to leave the other threads to the shop."""
    window = Delay(PER_DAY)
    world = World(tuple(BUY.values()), delay=window)
    return {
        name: simulate(design, world=world, runs=runs, seed=seed, threads=1)
        for name, design in DESIGNS.items()
    }
