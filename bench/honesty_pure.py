"""Adversaries of the pure functions, for `python -m bench.honesty`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.ending import end_reason
from bascule.core.rules import Rule
from bench.honesty_cells import CLOSE, Cell, Play, cell_of, design_of, drawn


def wrong_pair(effects: tuple[bs.progress.Effect, ...]) -> tuple[str, str] | None:
    """Return a better and a worse arm of which the worse one has beaten the better one."""
    for effect in effects:
        if effect.low >= 0.0:
            return effect.second, effect.first
    return None


def fold_next(
    design: bs.Design, seen: bs.progress.Statistics, rng: np.random.Generator
) -> bs.progress.Statistics:
    """Return the statistics after the next block or unit."""
    arms = len(design.arms)
    if design.procedure.assigns == "units":
        arm = bs.progress.next_arm(design, seen)
        return bs.progress.record(design, seen, arm, float(drawn(design, rng, arm, 1)[0]))
    block = bs.progress.next_block(design, seen)
    outcomes = []
    for arm in range(arms):
        values = drawn(design, rng, arm, block.units[arm])
        outcomes.append(
            bs.progress.ArmStatistics(len(values), float(values.sum()), float(values @ values))
        )
    return bs.progress.fold_block(design, seen, outcomes)


def remove_after_looking(steps: int) -> Play:
    """Return the adversary that waits for a wrong pair and then removes all other arms."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.progress.Statistics.empty(len(design.arms))
        for _ in range(steps):
            seen = fold_next(design, seen, rng)
            reached = bs.progress.decision(design, seen)
            if reached is None and end_reason(design, seen) is not None:
                return False
            if reached is None and not seen.removed and seen.dropped:
                pair = wrong_pair(bs.progress.effects(design, seen))
                if pair is not None:
                    for name in design.arms:
                        if name not in pair:
                            seen = bs.progress.remove_arm(design, seen, name)
                    reached = bs.progress.decision(design, seen)
            if reached is not None:
                left = [a for a in range(len(design.arms)) if a not in seen.removed]
                return reached.arm != left[0]
        return False

    return play


def pause_when_behind(steps: int) -> Play:
    """Return the adversary that gives an arm no units while it looks worse than the first.

    Wrong is an upper end of the first difference that is ever below the truth.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        arms = len(design.arms)
        seen = bs.progress.Statistics.empty(arms)
        for _ in range(steps):
            behind = seen.arms[1].units >= 3 and seen.arms[1].mean < seen.arms[0].mean
            for arm in range(arms):
                if not (behind and arm == 1):
                    seen = bs.progress.record(design, seen, arm, float(rng.normal()))
            if bs.progress.effects(design, seen)[0].high < 0.0:
                return True
        return False

    return play


def pause_the_lucky(steps: int) -> Play:
    """Return the adversary that pauses the luckier of two arms and gives the other one units.

    Luck is what makes the first arm look better than the second. Wrong is an upper end of
    their difference, the second minus the first, that is ever below the truth.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.progress.Statistics.empty(len(design.arms))
        for _ in range(3):
            for arm in range(len(design.arms)):
                seen = bs.progress.record(design, seen, arm, float(rng.normal()))
        for _ in range(steps):
            first, second = seen.arms[:2]
            luck = first.mean * math.sqrt(first.units), -second.mean * math.sqrt(second.units)
            arm = int(luck[1] < luck[0])
            seen = bs.progress.record(design, seen, arm, float(rng.normal()))
            if bs.progress.effects(design, seen)[0].high < 0.0:
                return True
        return False

    return play


def turn_the_knob(steps: int) -> Play:
    """Return the adversary that tilts towards whichever arm would mislead the most."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.progress.Statistics.empty(len(design.arms))
        for _ in range(steps):
            misled = bool(seen.pairs) and seen.pairs[0][0] < 0.0
            turned = replace(design, rule=design.rule.with_knob(8.0 if misled else 1.0))
            seen = fold_next(turned, seen, rng)
            reached = bs.progress.decision(turned, seen)
            if reached is not None:
                return reached.arm != 0
            if end_reason(turned, seen) is not None:
                return False
        return False

    return play


def turn_at_the_right_block(spreads: tuple[float, float], steps: int) -> Play:
    """Return the adversary of outcomes of unlike spread: tilt 50, and 1 where that is what b needs.

    At each block it chooses the tilt at which the evidence so far decides for the second arm, and
    stays at 50 while neither does.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        seen = bs.progress.Statistics.empty(2)
        patient, eager = (replace(design, rule=design.rule.with_knob(at)) for at in (50.0, 1.0))
        for _ in range(steps):
            block = bs.progress.next_block(patient, seen)
            outcomes = []
            for arm, spread in enumerate(spreads):
                values = rng.normal(-CLOSE * arm, spread, block.units[arm])
                total, squares, cubes = (float((values**power).sum()) for power in (1, 2, 3))
                sums = bs.progress.ArmStatistics(len(values), total, squares, cubes)
                outcomes.append(sums)
            seen = bs.progress.fold_block(patient, seen, outcomes)
            reached = [bs.progress.decision(one, seen) for one in (patient, eager)]
            if any(one is not None and one.arm == 1 for one in reached):
                return True
            if reached[0] is not None or end_reason(patient, seen) is not None:
                return False
        return False

    return play


def pure_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells of pure functions; `times` says how often a cell is played."""
    mode = "pure functions"
    removal, pause = "removes arms after looking", "pauses an arm that is behind"
    lucky, knob = "pauses the luckier of two arms", "turns the knob"
    many, few = remove_after_looking(40), remove_after_looking(150)
    planned: dict[str, Any] = {"effect": 0.8, "power": 0.9}

    def of(arms: int, rule: Rule, error: float = 0.3) -> bs.Design:
        return design_of(arms, rule, error)

    def coins(arms: int, rule: Rule, error: float = 0.3) -> bs.Design:
        return design_of(arms, rule, error, bs.Bernoulli())

    runs = times(240)
    runs_of = {0.05: 1900, 0.1: 900}
    bets = bs.Tilt(3, batch=10, effect=0.3, baseline=0.3)
    ahead = bs.Tilt(1, effect=0.3, baseline=0.3, power=0.9)
    return [
        cell_of(mode, of(20, bs.Tilt(1, batch=50)), removal, many, runs),
        cell_of(mode, of(20, bs.Tilt(1, batch=50), 0.05), removal, many, times(1900)),
        cell_of(mode, coins(20, bs.Tilt(1, batch=50)), removal, many, runs),
        cell_of(mode, of(6, bs.Tilt(3, batch=10)), removal, many, runs),
        cell_of(mode, of(6, bs.Tilt(3, batch=10, effect=0.5)), removal, many, runs),
        cell_of(mode, of(6, bs.Tilt(3, batch=2, **planned, futility=0.2)), removal, many, runs),
        cell_of(mode, of(6, bs.Tilt(3, **planned, guarantee="gaussian")), removal, many, runs),
        cell_of(mode, coins(6, bs.Tilt(3, batch=10)), removal, many, runs),
        cell_of(mode, coins(6, bets), removal, many, runs),
        cell_of(mode, coins(6, ahead), removal, few, runs),
        cell_of(mode, of(4, bs.UCB(2, radius="mixture")), removal, few, runs),
        cell_of(mode, of(6, bs.ETC(stop="mixture")), removal, few, runs),
        cell_of(mode, of(3, bs.ETC(stop="mixture")), pause, pause_when_behind(60), times(570), 0.5),
        cell_of(mode, of(3, bs.ETC(stop="mixture")), lucky, pause_the_lucky(150), times(570), 0.5),
        cell_of(
            mode, of(5, bs.ETC(stop="mixture")), lucky, pause_the_lucky(100), times(1240), 0.25
        ),
        cell_of(mode, of(2, bs.ETC()), pause, pause_when_behind(60), runs),
        cell_of(mode, of(2, bs.Tilt(1), 0.1), knob, turn_the_knob(150), times(900)),
        cell_of(mode, of(2, bs.Tilt(1, **planned), 0.1), knob, turn_the_knob(150), times(900)),
        cell_of(
            mode,
            of(2, bs.Tilt(1, **planned, guarantee="gaussian"), 0.1),
            knob,
            turn_the_knob(150),
            times(900),
        ),
        cell_of(mode, coins(2, replace(bets, batch=1)), knob, turn_the_knob(150), runs),
        cell_of(mode, coins(2, ahead), knob, turn_the_knob(150), runs),
        *[
            cell_of(
                mode,
                design_of(2, bs.Tilt(50, effect=0.4, power=0.9), error, bs.Numeric()),
                f"turns the tilt from 50 to 1 at the right block, spreads {words}",
                turn_at_the_right_block(spreads, 2000),
                times(runs_of[error]),
            )
            for error in (0.05, 0.1)
            for words, spreads in (("1 and 0.02", (1.0, 0.02)), ("0.02 and 1", (0.02, 1.0)))
        ],
    ]
