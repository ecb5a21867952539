"""`python -m bench.honesty`: whether errors stay below what is stated when someone tries to cheat.

Each cell plays many tests through the public interface: pure functions, `simulate`, or a live
store. The adversary knows the truth and acts on all outcomes seen so far. Seeds are fixed, so the
page changes only when the package does.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import bascule as bs
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule
from bench.honesty_logs import ERROR, answered, log_cells

OUT = Path("docs/explanation/honesty.md")

CLOSE = 1e-9
"""Arms this far apart are told apart by nothing but chance, and yet one is the worse."""

Play = Callable[[bs.Design, np.random.Generator], bool]
"""One test against an adversary -> whether something wrong was said."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: how often something wrong was said, against what is stated."""

    mode: str
    rule: str
    arms: int
    adversary: str
    guarantee: str
    stated: float
    runs: int
    wrong: int

    @property
    def measured(self) -> float:
        """The share of tests in which something wrong was said."""
        return self.wrong / self.runs

    @property
    def deviation(self) -> float:
        """The standard error of a share that is just as stated."""
        return math.sqrt(self.stated * (1.0 - self.stated) / self.runs)

    @property
    def kept(self) -> bool:
        """Whether the share is compatible with the stated error."""
        return self.measured <= self.stated + 3.0 * self.deviation


def means_of(arms: int) -> list[float]:
    """Return means of which each is hardly below the one before: the first arm is the best."""
    return [-CLOSE * arm for arm in range(arms)]


def wrong_pair(effects: tuple[bs.Effect, ...]) -> tuple[str, str] | None:
    """Return a better and a worse arm of which the worse one has beaten the better one."""
    for effect in effects:
        if effect.high <= 0.0:
            return effect.first, effect.second
    return None


# Pure functions


def fold_next(design: bs.Design, seen: bs.Statistics, rng: np.random.Generator) -> bs.Statistics:
    """Return the statistics after the next block or unit, with normal outcomes."""
    arms = len(design.arms)
    if design.procedure.assigns == "units":
        arm = bs.next_arm(design, seen)
        return bs.record(design, seen, arm, float(rng.normal() - CLOSE * arm))
    block = bs.next_block(design, seen)
    outcomes = []
    for arm in range(arms):
        values = rng.normal(-CLOSE * arm, 1.0, block.units[arm])
        outcomes.append(bs.ArmStatistics(len(values), float(values.sum()), float(values @ values)))
    return bs.fold_block(design, seen, outcomes)


def remove_after_looking(steps: int) -> Play:
    """Return the adversary that waits for a wrong pair and then removes all other arms."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.Statistics.empty(len(design.arms))
        for _ in range(steps):
            seen = fold_next(design, seen, rng)
            reached = bs.decision(design, seen)
            if reached is None and not seen.removed and seen.dropped:
                pair = wrong_pair(bs.effects(design, seen))
                if pair is not None:
                    for name in design.arms:
                        if name not in pair:
                            seen = bs.remove_arm(design, seen, name)
                    reached = bs.decision(design, seen)
            if reached is not None:
                left = [a for a in range(len(design.arms)) if a not in seen.removed]
                return reached.arm != left[0]
        return False

    return play


def pause_when_behind(steps: int) -> Play:
    """Return the adversary that gives an arm no units while it looks worse than the first.

    Wrong is a lower end of the first difference that is ever above the truth.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        arms = len(design.arms)
        seen = bs.Statistics.empty(arms)
        for _ in range(steps):
            behind = seen.arms[1].units >= 3 and seen.arms[1].mean < seen.arms[0].mean
            for arm in range(arms):
                if not (behind and arm == 1):
                    seen = bs.record(design, seen, arm, float(rng.normal()))
            if bs.effects(design, seen)[0].low > 0.0:
                return True
        return False

    return play


def pause_the_lucky(steps: int) -> Play:
    """Return the adversary that pauses the luckier of two arms and gives the other one units.

    Luck is what makes the first arm look better than the second. Wrong is a lower end of their
    difference that is ever above the truth.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.Statistics.empty(len(design.arms))
        for _ in range(3):
            for arm in range(len(design.arms)):
                seen = bs.record(design, seen, arm, float(rng.normal()))
        for _ in range(steps):
            first, second = seen.arms[:2]
            luck = first.mean * math.sqrt(first.units), -second.mean * math.sqrt(second.units)
            arm = int(luck[1] < luck[0])
            seen = bs.record(design, seen, arm, float(rng.normal()))
            if bs.effects(design, seen)[0].low > 0.0:
                return True
        return False

    return play


def turn_the_knob(steps: int) -> Play:
    """Return the adversary that tilts towards whichever arm would mislead the most."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.Statistics.empty(len(design.arms))
        for _ in range(steps):
            misled = bool(seen.pairs) and seen.pairs[0].total < 0.0
            turned = replace(design, rule=design.rule.with_knob(8.0 if misled else 1.0))
            seen = fold_next(turned, seen, rng)
            reached = bs.decision(turned, seen)
            if reached is not None:
                return reached.arm != 0
        return False

    return play


# A live store


def _tests_of_one_store() -> Callable[
    [bs.Design, np.random.Generator], tuple[bs.Experiment, random.Random]
]:
    """Return a function that makes a new test in a store in memory, which all tests share."""
    order = random.Random()
    stores: list[bs.Store] = []

    def new_test(
        design: bs.Design, rng: np.random.Generator
    ) -> tuple[bs.Experiment, random.Random]:
        order.seed(int(rng.integers(2**31)))
        if not stores:
            stores.append(bs.open(":memory:", shuffle=order.shuffle))
        (store,) = stores
        return store.create(f"test-{len(store.experiments())}", design), order

    return new_test


def drop_in_a_store(batches: int, each: int) -> Play:
    """Return the adversary of a live test: `drop_arm` after a wrong pair, outcomes in batches."""

    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, _ = new_test(design, rng)
        out: set[str] = set()
        for batch in range(batches):
            units = [f"{batch}-{i}" for i in range(each)]
            arms = test.assign_many(units)
            values = [float(rng.normal() - CLOSE * design.arms.index(arm)) for arm in arms]
            test.record_many(list(zip(units, values, strict=True)))
            seen, decision = _shown(test)
            if decision is None and not out:
                pair = wrong_pair(bs.effects(design, seen))
                if pair is not None:
                    for name in design.arms:
                        if name not in pair:
                            test.drop_arm(name)
                            out.add(name)
                    _, decision = _shown(test)
            if decision is not None:
                left = [name for name in design.arms if name not in out]
                return decision != left[0]
        return False

    return play


def meddle_in_a_store(batches: int, each: int) -> Play:
    """Return the adversary of a live test that turns the knob, pauses arms and delays outcomes.

    It tilts towards the arm that misleads, pauses the best arm while that is ahead, and holds the
    better outcomes of the best arm and the worse ones of the others back for a batch.
    """

    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, order = new_test(design, rng)
        best = design.arms[0]
        held: list[tuple[str, float]] = []
        paused = False
        for batch in range(batches):
            units = [f"{batch}-{i}" for i in range(each)]
            told = held
            held = []
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                value = float(rng.normal() - CLOSE * design.arms.index(arm))
                late = value > 0.5 if arm == best else value < -0.5
                (held if late and batch < batches - 1 else told).append((unit, value))
            order.shuffle(told)
            test.record_many(told)
            seen, decision = _shown(test)
            if decision is not None:
                return decision != best
            means = [one.mean if one.units else 0.0 for one in seen.arms]
            misled = max(means) > means[0]
            test.knob(tilt=8.0 if misled else 1.0)
            active = len(design.arms) - len(seen.out)
            if misled == paused and 0 not in seen.out and (paused or active > 2):
                (test.resume_arm if paused else test.pause_arm)(best)
                paused = not paused
        return False

    return play


def _shown(test: bs.Experiment) -> tuple[bs.Statistics, str | None]:
    """Return what a live test has shown and its decision, without the forecasts of a status."""
    test.settle()
    with test.store.reading() as connection:
        state = test.store.load(connection, test.id, test.name).state
    assert isinstance(state.statistics, bs.Statistics)
    return state.statistics, None if state.verdict is None else state.verdict.name


# Cells


@dataclass(frozen=True, slots=True)
class Cell:
    """What is played, how often, and at which stated error."""

    mode: str
    design: bs.Design
    adversary: str
    play: Play
    runs: int
    share: float = 1.0
    """Which part of the design's error is stated for what is counted."""


def design_of(arms: int, rule: Rule, error: float, outcome: Outcome | None = None) -> bs.Design:
    """Return a design with arms named in the order of their means."""
    return bs.Design(
        [f"arm{i:02}" for i in range(arms)],
        outcome or bs.Gaussian(1),
        rule,
        error,
        reports="always",
    )


def cells(scale: float = 1.0) -> list[Cell]:
    """Return all cells that are played test by test; `scale` multiplies how often.

    Most state an error of 30 %, of which 90 tests show an excess by a half.
    """
    removal, pause = "removes arms after looking", "pauses an arm that is behind"
    lucky = "pauses the luckier of two arms"
    meddling = "turns the knob, pauses the best arm, delays outcomes"
    pure, live = "pure functions", "live store"
    many, few = remove_after_looking(40), remove_after_looking(150)

    def of(arms: int, rule: Rule, error: float = 0.3) -> bs.Design:
        return design_of(arms, rule, error)

    def times(runs: int) -> int:
        return max(10, int(scale * runs))

    runs = times(90)
    return [
        Cell(pure, of(20, bs.Tilt(1, batch=50)), removal, many, runs),
        Cell(pure, of(20, bs.Tilt(1, batch=50), 0.05), removal, many, runs),
        Cell(pure, of(6, bs.Tilt(3, batch=10)), removal, many, times(200)),
        Cell(pure, of(4, bs.UCB(2, radius="mixture")), removal, few, runs),
        Cell(pure, of(6, bs.ETC(stop="mixture")), removal, few, runs),
        Cell(pure, of(3, bs.ETC(stop="mixture")), pause, pause_when_behind(60), times(200), 0.5),
        Cell(pure, of(3, bs.ETC(stop="mixture")), lucky, pause_the_lucky(150), times(150), 0.5),
        Cell(pure, of(5, bs.ETC(stop="mixture")), lucky, pause_the_lucky(100), runs, 0.25),
        Cell(pure, of(2, bs.ETC()), pause, pause_when_behind(60), times(300)),
        Cell(pure, of(2, bs.Tilt(1), 0.1), "turns the knob", turn_the_knob(150), times(300)),
        Cell(live, of(4, bs.Tilt(1)), removal, drop_in_a_store(6, 60), runs),
        Cell(
            live, of(4, bs.Tilt(3, batch=5)), f"{removal}, in batches", drop_in_a_store(6, 80), runs
        ),
        Cell(live, of(3, bs.Tilt(3)), meddling, meddle_in_a_store(8, 40), runs),
        Cell(live, of(5, bs.Tilt(3)), meddling, meddle_in_a_store(8, 60), runs),
    ]


def analysed(scale: float = 1.0) -> list[Row]:
    """Return a row for each kind of log that `analyze` answers."""
    rows = []
    for seed, cell in enumerate(log_cells(lambda runs: max(10, int(scale * runs)))):
        answers = [answered(cell, np.random.default_rng([seed, log])) for log in range(cell.runs)]
        wrong = sum(is_wrong for is_wrong, _ in answers)
        guarantee = answers[0][1]
        about = ("analyze", cell.outcome, cell.arms, cell.name, guarantee)
        rows.append(Row(*about, ERROR, cell.runs, wrong))
    return rows


def simulated(scale: float = 1.0) -> list[Row]:
    """Return a row for each rule that `simulate` plays at arms which hardly differ."""
    kinds = [
        (bs.Gaussian(1), bs.Tilt(1), 2),
        (bs.Gaussian(1), bs.Tilt(8, batch=10), 3),
        (bs.Bernoulli(), bs.Tilt(3), 2),
        (bs.Gaussian(1), bs.UCB(2), 2),
        (bs.Gaussian(1), bs.UCB(2, stop="mixture"), 2),
        (bs.Gaussian(1), bs.ETC(stop="mixture"), 2),
        (bs.Bernoulli(), bs.Tilt(3), 20),
        (bs.Gaussian(1), bs.UCB(2, radius="mixture"), 5),
    ]
    rows = []
    for outcome, rule, arms in kinds:
        design = replace(design_of(arms, rule, 0.05, outcome), max_units=4000)
        runs = max(100, int(scale * 2000))
        means = [0.3] * arms
        played = bs.simulate(design, means=means, runs=runs, seed=1)
        # Arms are equal: the first is beaten as often as a best arm would be at the most.
        wrong = int(np.sum(played.winner > 0))
        rows.append(_row("simulate", design, "looks at every step", 0.05, runs, wrong))
    return rows


def play(cell: Cell, seed: int) -> Row:
    """Play all tests of a cell."""
    rng = np.random.default_rng(seed)
    wrong = sum(cell.play(cell.design, rng) for _ in range(cell.runs))
    stated = cell.share * cell.design.calibration.error
    return _row(cell.mode, cell.design, cell.adversary, stated, cell.runs, wrong)


def _row(mode: str, design: bs.Design, adversary: str, stated: float, runs: int, wrong: int) -> Row:
    guarantee = design.calibration.guarantee
    label = f"{design.rule.label}, {type(design.outcome).__name__}"
    return Row(mode, label, len(design.arms), adversary, guarantee, stated, runs, wrong)


HEAD = """# Honesty

*`make honesty` measures this page anew, in a few minutes.*

Errors are stated for whoever looks at every moment and acts on what was seen. Here adversaries
try to get more wrong statements out of a test than are stated. They know the truth, act on all
outcomes so far, and play through the public interface: the pure functions, `simulate`, a
live test in a store, or `analyze` on a log, where a winner on any of 20 days counts. Arms are
equal, or a billionth apart, the first one best. Counted are
tests in which a worse arm was declared the winner (of the arms that were not removed), and for
pauses tests in which the lower end of one difference was ever above the truth. ± is one
standard error of a share that is just as stated; a cell fails if it is more than three of them
above. Where tests are slow to play the stated error is large, so that few of them show an excess.

"""


def page(rows: list[Row]) -> str:
    """Return the page with its table."""
    lines = [
        "| mode | rule | arms | adversary | guarantee | stated | measured | tests |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        verdict = "" if row.kept else " **too many**"
        lines.append(
            f"| {row.mode} | {row.rule} | {row.arms} | {row.adversary} | {row.guarantee} | "
            f"{100 * row.stated:.3g} % | {100 * row.measured:.1f} ± {100 * row.deviation:.1f} %"
            f"{verdict} | {row.runs:,} |"
        )
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Measure all cells, write the page, and return 1 if an error was exceeded."""
    started = time.perf_counter()
    # Adversaries play short tests of small arrays, for which threads are of no use.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows = [play(cell, seed) for seed, cell in enumerate(cells())] + analysed() + simulated()
    OUT.write_text(page(rows), encoding="utf-8")
    print(page(rows))
    print(f"{time.perf_counter() - started:.0f} s, written to {OUT}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
