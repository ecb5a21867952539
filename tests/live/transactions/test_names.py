"""Names linked, erased, linked again and restored, in random orders, against a model of them.

A person has three names. A unit keeps its arm until it has counted, under every name that leads to
it; then an erased one is forgotten, and its names are those of strangers.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

import bascule as bs

STEP, WINDOW = 5, 24
"""Hours of a step, and of the conversion window; no unit counts exactly at a step."""

ENDLESS = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-6, measure=bs.Measure("1d", "any")
)
"""A design that comes to no decision here."""


@dataclass(eq=False)
class Unit:
    """A unit as it has to be: its arm, when it came, its outcome, and what is known of it."""

    arm: str
    hour: int
    value: float = 0.0
    is_erased: bool = False
    is_forgotten: bool = False


@dataclass(eq=False)
class Group:
    """Names that were linked, and the units that were assigned under them, the first one first."""

    names: set[str]
    units: list[Unit] = field(default_factory=list)

    @property
    def unit(self) -> Unit | None:
        """The first unit that is not forgotten: all names lead to it."""
        return next((unit for unit in self.units if not unit.is_forgotten), None)


@dataclass
class Model:
    """What a store has to know of names."""

    hour: int = 0
    units: list[Unit] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Names that were erased, and lead to units by their hashes until all of these have counted."""

    def group(self, name: str) -> Group:
        """Return the group of a name."""
        return self.groups.setdefault(name, Group({name}))

    def has_counted(self, unit: Unit) -> bool:
        """Return whether the window of a unit is over."""
        return self.hour - unit.hour > WINDOW

    def assign(self, name: str, arm: str) -> None:
        """Check the arm of a name, or add a unit for its group."""
        group = self.group(name)
        if group.unit is None:
            self.units.append(Unit(arm, self.hour))
            group.units.append(self.units[-1])
        elif arm != group.unit.arm:
            raise AssertionError(f"{name} was in {group.unit.arm} and is in {arm}")

    def link(self, first: str, other: str) -> str | None:
        """Link two names, and return the arm of both: that of the unit that came first."""
        one, two = self.group(first), self.group(other)
        if one is not two:
            units = [unit for unit in self.units if unit in one.units or unit in two.units]
            merged = Group(one.names | two.names, units)
            self.groups |= dict.fromkeys(merged.names, merged)
        unit = self.group(first).unit
        return None if unit is None else unit.arm

    def erase(self, name: str) -> None:
        """Erase the units of a name and of those linked to it; without a unit, only the links."""
        group = self.group(name)
        if group.unit is None:
            self._dissolve(group)
            return
        for unit in group.units:
            unit.is_erased = True
        self.hidden |= group.names
        self.forget()

    def forget(self) -> None:
        """Forget erased units that have counted, and the names that lead to no other."""
        for unit in self.units:
            if unit.is_erased and self.has_counted(unit):
                unit.is_forgotten = True
        for group in [*self.groups.values()]:
            if group.units and group.unit is None:
                self._dissolve(group)
        if not any(unit.is_erased and not unit.is_forgotten for unit in self.units):
            for name in self.hidden:
                self.groups.pop(name).names.remove(name)
            self.hidden.clear()

    def _dissolve(self, group: Group) -> None:
        for name in group.names:
            self.groups.pop(name, None)
        self.hidden -= group.names


def play(seed: int, folder: Path, steps: int = 60) -> None:
    """Play a random sequence of operations on a store and on the model, and compare both."""
    chance, clock, model = random.Random(seed), bs.ManualClock(), Model()
    people = [[f"{person}-{name}" for name in range(3)] for person in range(4)]
    with ExitStack() as opened:
        store = opened.enter_context(bs.open(":memory:", clock=clock))
        test = store.create("names", ENDLESS)
        for step in range(steps):
            names = chance.sample(chance.choice(people), 2)
            what = chance.choices(
                ["assign", "link", "erase", "record", "wait", "restore"], [6, 4, 4, 3, 2, 0.3]
            )[0]
            if what == "assign":
                model.assign(names[0], test.assign(names[0]))
            elif what == "link":
                assert test.link(*names) == model.link(*names)
            elif what == "erase":
                erase(store, model, names[0])
            elif what == "record":
                unit = model.group(names[0]).unit
                receipt = test.record(names[0], 1.0)
                assert receipt.accepted == (unit is not None and not model.has_counted(unit))
                if unit is not None and receipt.accepted:
                    unit.value = 1.0
            elif what == "wait":
                clock.advance(timedelta(hours=STEP).total_seconds())
                model.hour += STEP
                test.settle()
                model.forget()
            else:
                store.backup(folder / f"{step}.db")
                store = opened.enter_context(bs.open(folder / f"{step}.db", clock=clock))
                test = store.get("names")
            compare(test, model, [name for some in people for name in some])
        clock.advance("2d")
        test.settle()
        assert test.status().matured == len(model.units)
        found = {
            arm.name: (arm.units, round((arm.mean or 0) * arm.units)) for arm in test.status().arms
        }
        assert found == {
            arm: (len(values), sum(values))
            for arm in ("a", "b")
            for values in [[unit.value for unit in model.units if unit.arm == arm]]
        }
        assert test.verify().differences == ()


def erase(store: bs.Store, model: Model, name: str) -> None:
    """Erase a name in a store and in the model; a store refuses one that it does not have."""
    if store.unit_data(name)["experiments"]:
        store.erase(name)
        model.erase(name)
    else:
        with pytest.raises(bs.InputError, match="there is no unit"):
            store.erase(name)


def compare(test: bs.Experiment, model: Model, names: list[str]) -> None:
    """Compare what a store knows of names with the model."""
    for name in names:
        unit = model.group(name).unit
        if unit is None:
            assert test.assignment(name) is None, name
        else:
            assert test.assign(name) == unit.arm, name
    assert test.status().units == len(model.units)


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))]
)
def test_no_order_of_links_and_erasures_moves_a_unit(seed: int, tmp_path: Path) -> None:
    play(seed, tmp_path)


TESTS, ERROR = 200, 0.2

EQUAL = bs.Design(
    ["a", "b"],
    bs.Gaussian(1),
    bs.Tilt(1, effect=1.2, power=0.8),
    error=ERROR,
    measure=bs.Measure("1d", "last", missing=0.0),
)


def play_adversary(
    store: bs.Store, test: bs.Experiment, chance: random.Random, clock: bs.ManualClock
) -> bool:
    """Return whether b wins against an operator who wants people with good outcomes to be in b.

    People have two names, which are linked before and after their assignments. Whoever is in the
    wrong arm for the outcome that is to come is erased and comes again, in a random order.
    """
    for day in range(12):
        for person in range(6):
            first, second = (f"{day}-{person}-{name}" for name in range(2))
            value = chance.gauss(0, 1)
            if chance.random() < 0.5:
                test.link(*chance.sample([first, second], 2))
                erase_known(store, first)
                erase_known(store, second)
            arm = test.assign(first)
            for _ in range(3):
                if (arm == "b") == (value > 0):
                    break
                for what in chance.sample(["erase", "link", "erase other", "assign other"], 4):
                    if what == "link":
                        test.link(second, first)
                    elif what == "assign other":
                        arm = test.assign(second)
                    else:
                        erase_known(store, first if what == "erase" else second)
                arm = test.assign(chance.choice([first, second]))
            test.record(first, value)
        clock.advance("25h")
        test.settle()
        if test.state != "running":
            break
    decision = test.status().decision
    return decision is not None and decision.name == "b"


def erase_known(store: bs.Store, name: str) -> None:
    """Erase a name that a store has."""
    if store.unit_data(name)["experiments"]:
        store.erase(name)


@pytest.mark.slow
def test_an_operator_who_erases_by_arm_gets_no_winner() -> None:
    """A wins or b does with probability at most the error; either has at most half of it."""
    chance, clock, wins = random.Random(1), bs.ManualClock(), 0
    order = random.Random(2)
    with bs.open(":memory:", clock=clock, shuffle=order.shuffle) as store:
        for number in range(TESTS):
            test = store.create(f"test-{number}", EQUAL)
            wins += play_adversary(store, test, chance, clock)
            test.stop()
    side = ERROR / 2
    assert wins <= TESTS * side + 3 * (TESTS * side * (1 - side)) ** 0.5, wins
