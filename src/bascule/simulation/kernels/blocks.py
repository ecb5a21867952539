"""The loop for rules that run in blocks: one run after the other, a block at a time."""

from __future__ import annotations

import math

import numpy as np

from bascule.core.evidence.betting import bet, log_shifted_wealth, log_wealth
from bascule.core.evidence.normal import log_informed, log_mixture
from bascule.core.procedures.blocks import betting as betting_state
from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.state import (
    PARTS,
    Criterion,
    Evidence,
    begin_block,
    last_in,
)
from bascule.core.procedures.blocks.steps import BlockSteps
from bascule.core.procedures.horizon import state as horizon_state
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.control import STOP, Chunk, Kernel, RunColumns, finish_run
from bascule.simulation.random.draws import Draws
from bascule.simulation.random.streams import (
    DONE,
    WordArray,
    begin_uniform,
    outside_layer,
    seed_stream,
    uniform,
)

COUNTING = (betting_state.observe, horizon_state.observe)
"""Functions that keep nothing of a block of 0/1 outcomes but how many each arm has."""

HALVINGS = 24
"""Steps in search of a floor: any result is valid, and a sharper one would save nothing."""


def deal_slots(
    state: FloatArray, arms: int, slots: IntArray, front: int, streams: WordArray
) -> None:
    """Write who the units of the block join, in random order, every order equally likely.

    The leader's units are alike, so it is enough to put the others among them one by one.
    """
    size = int(state[2 * arms + front])
    for i in range(size):
        slots[i] = front
    for arm in range(arms):
        if arm != front:
            for _ in range(int(state[2 * arms + arm])):
                place = int(uniform(streams, 0) * (size + 1))
                slots[size] = slots[place]
                slots[place] = arm
                size += 1


def build_floors(evidence: Evidence, fingerprint: str) -> Kernel:
    """The loop that finds, for each part, a total below which its clocks have too little evidence.

    For a given total the evidence falls as the clock grows, so what is too little at the beginning
    of a part is too little everywhere in it.
    """

    def find_floors(floors: FloatArray, threshold: float, effect: float) -> None:
        made_of = fingerprint  # noqa: F841
        for part in range(floors.size):
            octave = part // PARTS
            clock = math.ldexp(0.5 + 0.5 * (part - octave * PARTS) / PARTS, octave)
            low, high = 0.0, 4.0 * (1.0 + math.sqrt(clock)) * (2.0 + threshold)
            if part == 0:
                # Everything below the first octave lies here too.
                high = 0.0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if evidence(middle, clock, effect) < threshold:
                    low = middle
                else:
                    high = middle
            floors[part] = low

    return find_floors


def build(
    steps: BlockSteps, draws: Draws, fixed_arms: int, fingerprint: str, by_sums: bool = False
) -> Kernel:
    """The loop for one rule; `fixed_arms` above 0 lets the compiler unroll the loops over arms.

    With `by_sums` the outcomes of an arm in a block are drawn at once, as their sum. Only rules
    that use nothing of a block but its sums may be played so.
    """
    clear, leader, share_of = steps.clear, steps.leader, steps.share
    observe, fold, drop, within = steps.observe, steps.fold, steps.drop, steps.within
    split, prepare, over = steps.split, steps.prepare, steps.over
    evidence, can_reach, boundary = steps.evidence, steps.can_reach, steps.boundary
    fill, outcome, total, ones = draws.fill, draws.outcome, draws.total, draws.ones
    begin, shape = draws.begin, steps.shape
    sums = observe is block_state.observe and fold is block_state.fold
    # Then a 0 changes nothing, and the order of the others is indifferent.
    counted = ones and observe in COUNTING
    pair = fixed_arms == 2 and (sums or counted) and not by_sums

    def play(
        state: FloatArray,
        streams: WordArray,
        slots: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        max_units: int,
        means: FloatArray,
        sigma: float,
        precision: float,
        tilt: float,
        batch: int,
        effect: float,
        threshold: float,
        margin: float,
        floors: FloatArray,
        plan: FloatArray,
        ziggurat: FloatArray,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        arms = fixed_arms if fixed_arms > 0 else any_arms
        rounds = batch if split else 1
        each = 1 if split else batch
        if shape is not None:
            effect = shape
        criterion = Criterion(evidence, can_reach, boundary, effect, threshold)
        # One arm of a pair has a single unit in a block: its place tells the arm of each outcome.
        single = pair and each == 1
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            clear(state, 0, arms)
            prepare(state, 0, arms, plan)
            units = size = 0
            last = before = -1
            of_front = of_other = 0.0
            winner = NOBODY
            ended = 0
            while winner == NOBODY and ended == 0 and control[STOP] == 0:
                front, ahead = leader(state, 0, arms)
                share = share_of(ahead, tilt)
                if not single or share != last or front != before:
                    # Rare for a pair, so the processor need not wait for the share.
                    last, before = share, front
                    size = begin_block(state, 0, arms, front, share * each, each)
                    of_front, of_other = means[front], means[0 if front else 1]
                if units + rounds * size > max_units:
                    break
                for _ in range(rounds):
                    if by_sums:
                        fill(streams, 0, noise, 0, arms, ziggurat)
                        for arm in range(arms):
                            count = state[2 * arms + arm]
                            if count > 0.0:
                                value = total(means[arm], sigma, count, noise[arm])
                                if ones:
                                    for _ in range(int(value)):
                                        observe(state, 0, arms, arm, 1.0)
                                else:
                                    observe(state, 0, arms, arm, value)
                    elif single:
                        a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                        number, _, a, b, c, counter = begin_uniform(a, b, c, counter, ziggurat)
                        place = int(number * size)
                        added = other = 0.0
                        for i in range(size):
                            number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
                            if layer != DONE:
                                streams[0], streams[1], streams[2], streams[3] = a, b, c, counter
                                number = outside_layer(streams, 0, layer, number, ziggurat)
                                a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                            other = number if i == place else other
                            added += 0.0 if i == place else outcome(of_front, sigma, number)
                        streams[0], streams[1], streams[2], streams[3] = a, b, c, counter
                        other = outcome(of_other, sigma, other)
                        if counted:
                            for _ in range(int(added)):
                                observe(state, 0, arms, before, 1.0)
                            if other > 0.0:
                                observe(state, 0, arms, 1 - before, 1.0)
                        else:
                            state[3 * arms + before] = added
                            state[3 * arms + 1 - before] = other
                    else:
                        deal_slots(state, arms, slots, front, streams)
                        fill(streams, 0, noise, 0, size, ziggurat)
                        for i in range(size):
                            arm = slots[i]
                            observe(
                                state, 0, arms, arm, outcome(means[np.uint64(arm)], sigma, noise[i])
                            )
                    units += size
                    fold(state, 0, arms, precision)
                drop(state, 0, arms, criterion, floors)
                winner = last_in(state, 0, arms)
                if margin > 0.0 and winner == NOBODY and within(state, 0, arms, criterion, margin):
                    winner = NO_DIFFERENCE
                if winner == NOBODY:
                    ended = over(state, 0, arms, plan)
            if control[STOP] != 0:
                break
            finish_run(state, 0, arms, row, units, winner, columns)

    return play


CALLED = (
    finish_run,
    seed_stream,
    outside_layer,
    log_mixture,
    log_informed,
    bet,
    log_wealth,
    log_shifted_wealth,
)
"""Functions that the loop calls rarely enough to leave them outside."""
