"""The loop for designs in blocks with guardrails: every metric on the same blocks.

Each metric draws from a stream of its own, so that what one draws does not depend on the others.
The numbers of a guardrail lie in one stretch of a flat array, under the names below; the guardrails
themselves are judged by `core.metrics.guard_rule`, as in a live test. Secondary metrics
decide nothing, so they are not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bascule.core.evidence.betting import shift_ruled_out, shifted_wealth_and_slope
from bascule.core.evidence.normal import mixture_and_slope, mixture_boundary
from bascule.core.metrics.guard_rule import (
    HARMED,
    OPEN,
    all_harmed,
    allowed,
    harmed_on,
    is_harmful,
    look_is_due,
    only_treatment,
    shipped,
    standing_of,
)
from bascule.core.procedures.blocks.state import Criterion, begin_block, last_in
from bascule.core.procedures.blocks.steps import BlockSteps, advantage
from bascule.core.procedures.intervals.bounds import narrowed
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.blocks import CALLED as CALLED_BY_BLOCKS
from bascule.simulation.kernels.control import STOP, Chunk, Kernel, RunColumns, finish_run
from bascule.simulation.kernels.worlds.unit import NOISE, NORMAL, SPREAD, Source, outcome_of
from bascule.simulation.random.noise_kernel import beta, gamma, normal, pick, student_t
from bascule.simulation.random.streams import WordArray, fill_normals, seed_stream

FIRST, KIND, SCALE, SHAPE, THRESHOLD, HARM_THRESHOLD = range(6)
MARGIN, LINE, TURNED, CENTRE, NUMBERS = range(6, 11)
"""Places in the numbers of a guardrail, and how many there are: where its state begins, which of
the kinds of evidence it has, the scale of its outcomes, what shapes its evidence, the evidence that
is needed for its margin and for harm, both lines, and whether outcomes are reflected, and about
what."""

KINDS = 3
"""Kinds of evidence that the guardrails of one loop can have."""


Draw = Callable[[Source, int, float], float]


def draw_nothing(source: Source, arm: int, mean: float) -> float:  # noqa: ARG001
    """Stand in for `outcome_of` where all outcomes are normal: that takes less compilation."""
    return mean


class GuardSteps(NamedTuple):
    """What is done with guardrails of any kind of evidence that a loop knows; its first argument.

    `observe` and `fold` are those of `BlockSteps`, and `advantage` is given (kind, states, first,
    arms, arm, control, shape, threshold, scale).
    """

    observe: Callable[[float, FloatArray, int, int, int, float], None]
    fold: Callable[[float, FloatArray, int, int, float], None]
    advantage: Callable[..., tuple[float, float]]


def steps_of_kinds(kinds: Sequence[BlockSteps]) -> GuardSteps:
    """The steps that choose among up to `KINDS` kinds of evidence by their number."""
    parts: list[tuple[Any, ...]] = [
        (one.observe, one.fold, one.pair_ends, one.evidence, one.can_reach, one.boundary)
        for one in kinds
    ]
    # The last kind stands in for those that are missing, which no guardrail asks for.
    first_kind, second_kind, third_kind = [*parts, *parts[-1:] * (KINDS - len(parts))]
    observe_0, fold_0, ends_0, evidence_0, can_reach_0, line_0 = first_kind
    observe_1, fold_1, ends_1, evidence_1, can_reach_1, line_1 = second_kind
    observe_2, fold_2, ends_2, evidence_2, can_reach_2, line_2 = third_kind

    def observe_any(
        kind: float, states: FloatArray, first: int, arms: int, arm: int, value: float
    ) -> None:
        if kind == 0.0:
            observe_0(states, first, arms, arm, value)
        elif kind == 1.0:
            observe_1(states, first, arms, arm, value)
        else:
            observe_2(states, first, arms, arm, value)

    def fold_any(kind: float, states: FloatArray, first: int, arms: int, precision: float) -> None:
        if kind == 0.0:
            fold_0(states, first, arms, precision)
        elif kind == 1.0:
            fold_1(states, first, arms, precision)
        else:
            fold_2(states, first, arms, precision)

    def advantage_any(
        kind: float,
        states: FloatArray,
        first: int,
        arms: int,
        arm: int,
        control: int,
        shape: float,
        level: float,
        scale: float,
    ) -> tuple[float, float]:
        if kind == 0.0:
            criterion = Criterion(evidence_0, can_reach_0, line_0, shape, level)
            ends = advantage(states, first, arms, arm, control, ends_0, criterion, scale)
        elif kind == 1.0:
            criterion = Criterion(evidence_1, can_reach_1, line_1, shape, level)
            ends = advantage(states, first, arms, arm, control, ends_1, criterion, scale)
        else:
            criterion = Criterion(evidence_2, can_reach_2, line_2, shape, level)
            ends = advantage(states, first, arms, arm, control, ends_2, criterion, scale)
        return ends

    return GuardSteps(observe_any, fold_any, advantage_any)


def build(steps: BlockSteps, kinds: Sequence[BlockSteps], draw: Draw, fingerprint: str) -> Kernel:
    """The loop for a rule, and guardrails with up to `KINDS` kinds of evidence; any number of arms.

    Normal outcomes are drawn in bursts, and all others by `draw`.
    Where the rule has no interval of a single pair, no arm may be removed from among three or more.
    """
    clear, leader, share_of = steps.clear, steps.leader, steps.share
    observe, fold, drop, within = steps.observe, steps.fold, steps.drop, steps.within
    split, prepare, over = steps.split, steps.prepare, steps.over
    evidence, can_reach, boundary = steps.evidence, steps.can_reach, steps.boundary
    # Without intervals of pairs no arm is judged again, so that these steps are never called.
    judge = kinds[0] if steps.pair_ends is None else steps
    pair_ends: Any = judge.pair_ends
    judged_by, judged_if, judged_at = judge.evidence, judge.can_reach, judge.boundary
    observe_any, fold_any, advantage_any = steps_of_kinds(kinds)

    def look(
        states: FloatArray,
        numbers: FloatArray,
        arms: int,
        control_arm: int,
        lows: FloatArray,
        highs: FloatArray,
        standings: IntArray,
    ) -> None:
        """Narrow the interval of every arm on every guardrail, and see who is harmful."""
        for which in range(numbers.shape[0]):
            its = numbers[which]
            for arm in range(arms):
                at = which * arms + arm
                low, high = advantage_any(
                    its[KIND], states, int(its[FIRST]), arms, arm, control_arm,
                    its[SHAPE], its[THRESHOLD], its[SCALE],
                )  # fmt: skip
                lows[at], highs[at] = narrowed(lows[at], highs[at], low, high)
                harmful = standings[at] == HARMED
                # An interval at a higher threshold is wider.
                wider = its[HARM_THRESHOLD] >= its[THRESHOLD]
                if not harmful and not (wider and high >= -its[LINE]):
                    _, high = advantage_any(
                        its[KIND], states, int(its[FIRST]), arms, arm, control_arm,
                        its[SHAPE], its[HARM_THRESHOLD], its[SCALE],
                    )  # fmt: skip
                    harmful = is_harmful(high, its[LINE])
                standings[at] = standing_of(lows[at], its[MARGIN], harmful)

    def come_back(
        state: FloatArray, arms: int, removed: IntArray, effect: float, threshold: float
    ) -> None:
        """Make dropped arms active again if only removed arms have beaten them."""
        criterion = Criterion(judged_by, judged_if, judged_at, effect, threshold)
        for arm in range(arms):
            if removed[arm] == 0 and state[arms + arm] == 0.0:
                beaten = False
                for rival in range(arms):
                    if rival != arm and removed[rival] == 0 and not beaten:
                        low, _ = advantage(state, 0, arms, rival, arm, pair_ends, criterion, 1.0)
                        beaten = low >= 0.0
                state[arms + arm] = 0.0 if beaten else 1.0

    def play(
        state: FloatArray,
        states: FloatArray,
        streams: WordArray,
        cell: FloatArray,
        noise: FloatArray,
        standings: IntArray,
        lows: FloatArray,
        highs: FloatArray,
        out: IntArray,
        removed: IntArray,
        arms: int,
        seeds: WordArray,
        chunk: Chunk,
        max_units: int,
        worlds: FloatArray,
        means: FloatArray,
        numbers: FloatArray,
        control_arm: int,
        rollout: bool,
        precision: float,
        tilt: float,
        batch: int,
        effects: FloatArray,
        thresholds: FloatArray,
        margin: float,
        floors: FloatArray,
        plan: FloatArray,
        ziggurat: FloatArray,
        columns: RunColumns,
        removed_at: IntArray,
        by_harm: IntArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (_, first_run, runs), control = chunk, columns.control
        guardrails = numbers.shape[0]
        rounds = batch if split else 1
        each = 1 if split else batch
        for row in range(runs):
            for which in range(guardrails + 1):
                seed_stream(streams[which], 0, seeds[which], np.uint64(first_run + row))
            clear(state, 0, arms)
            prepare(state, 0, arms, plan)
            for i in range(states.size):
                states[i] = 0.0
            for i in range(guardrails * arms):
                standings[i] = OPEN
                lows[i] = -math.inf
                highs[i] = math.inf
            for arm in range(arms):
                out[arm] = 0
                removed[arm] = 0
                removed_at[row * arms + arm] = -1
            # Once an arm is removed, every pair is judged more strictly.
            gone, level = 0, 0
            criterion = Criterion(evidence, can_reach, boundary, effects[0], thresholds[0])
            units, winner, ended = 0, NOBODY, 0
            waits, harm = False, False
            while winner == NOBODY and ended == 0 and control[STOP] == 0:
                # The guardrails compare the arm that waits for them with the control.
                back = waits and out[control_arm] != 0 and removed[control_arm] == 0
                if back:
                    state[arms + control_arm] = 1.0
                front, ahead = leader(state, 0, arms)
                share = share_of(ahead, tilt)
                size = begin_block(state, 0, arms, front, share * each, each)
                if back:
                    state[arms + control_arm] = 0.0
                if units + rounds * size > max_units:
                    break
                for done in range(rounds):
                    for which in range(guardrails + 1):
                        # The primary metric is the first; then come the guardrails.
                        its = numbers[max(which - 1, 0)]
                        first, kind = int(its[FIRST]), its[KIND]
                        if which > 0:
                            for arm in range(arms):
                                states[first + 2 * arms + arm] = state[2 * arms + arm]
                                states[first + 3 * arms + arm] = 0.0
                        bell = worlds[which, NOISE] == NORMAL
                        mean_of, spread = means[which], worlds[which, SPREAD]
                        source = Source(
                            streams[which], cell, worlds[which], mean_of, noise, noise, ziggurat
                        )
                        for arm in range(arms):
                            count = int(state[2 * arms + arm])
                            if bell:
                                fill_normals(streams[which], 0, noise, 0, count, ziggurat)
                            for i in range(count):
                                if bell:
                                    value = mean_of[arm] + spread * noise[i]
                                else:
                                    value = draw(source, arm, mean_of[arm])
                                if which == 0:
                                    observe(state, 0, arms, arm, value)
                                else:
                                    if its[TURNED] > 0.0:
                                        value = its[CENTRE] - value
                                    observe_any(kind, states, first, arms, arm, value)
                        if which > 0:
                            fold_any(kind, states, first, arms, 1.0 / its[SCALE])
                    fold(state, 0, arms, precision)
                    units += size
                    if done == rounds - 1 and not rollout:
                        drop(state, 0, arms, criterion, floors[level])
                    waits = must_wait(state, arms, out, standings, guardrails, control_arm)
                    if look_is_due(units - size, units, rollout or waits):
                        look(states, numbers, arms, control_arm, lows, highs, standings)
                for arm in range(arms):
                    if removed[arm] == 0 and harmed_on(standings, arms, guardrails, arm):
                        if removed_at[row * arms + arm] < 0:
                            removed_at[row * arms + arm] = units
                        if arms - gone > 2:
                            gone += 1
                            level = 1
                            criterion = Criterion(
                                evidence, can_reach, boundary, effects[1], thresholds[1]
                            )
                            removed[arm] = 1
                            state[arms + arm] = 0.0
                            come_back(state, arms, removed, effects[1], thresholds[1])
                waits = must_wait(state, arms, out, standings, guardrails, control_arm)
                harm = all_harmed(removed, standings, arms, guardrails, control_arm)
                winner = last_in(state, 0, arms)
                if margin > 0.0 and winner == NOBODY:
                    none_matters = within(state, 0, arms, criterion, margin)
                    winner = NO_DIFFERENCE if none_matters else NOBODY
                if harm:
                    winner = control_arm
                else:
                    winner = shipped(winner, rollout, out, standings, arms, guardrails, control_arm)
                if winner == NOBODY and not rollout and not waits:
                    ended = over(state, 0, arms, plan)
            if control[STOP] != 0:
                break
            by_harm[row] = 1 if harm else 0
            finish_run(state, 0, arms, row, units, winner, columns)

    return play


def must_wait(
    state: FloatArray,
    arms: int,
    out: IntArray,
    standings: IntArray,
    guardrails: int,
    control_arm: int,
) -> bool:
    """Whether the only arm that is left waits for its guardrails; `out` is written anew."""
    for arm in range(arms):
        out[arm] = 0 if state[arms + arm] > 0.0 else 1
    only = only_treatment(out, arms, control_arm)
    return only != NOBODY and not allowed(standings, arms, guardrails, only, control_arm)


CALLED = (
    *CALLED_BY_BLOCKS,
    advantage,
    outcome_of,
    beta,
    gamma,
    student_t,
    pick,
    normal,
    fill_normals,
    mixture_boundary,
    mixture_and_slope,
    shift_ruled_out,
    shifted_wealth_and_slope,
    must_wait,
    look_is_due,
)
"""Functions that the loop calls rarely enough to leave them outside."""
