"""The loop for designs in blocks with guardrails: every metric on the same blocks.

Each metric draws from a stream of its own, so that what one draws does not depend on the others.
Guardrails have rows of their own, as the primary metric has, and are judged by
`core.metrics.guard_rule`, as in a live test. Secondary metrics decide nothing, so they are not
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bascule.core.evidence.families.rows import ACTIVE, BLOCK_UNITS, UNITS, Family, Params
from bascule.core.metrics.guard_rule import (
    HARMED,
    OPEN,
    all_harmed,
    allowed,
    harmed_on,
    is_harmful,
    look_is_due,
    none_can_ship,
    only_treatment,
    shipped,
    standing_of,
)
from bascule.core.procedures.blocks.steps import (
    GOES_ON,
    REFUSED,
    Scope,
    Share,
    begin_block,
    clear,
    steps_of,
)
from bascule.core.procedures.intervals.state import narrowed
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.blocks import BlockSettings
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Function,
    Kernel,
    RunColumns,
    finish_run,
)
from bascule.simulation.kernels.worlds.unit import NOISE, NORMAL, SPREAD, Source
from bascule.simulation.random import (
    WordArray,
    fill_normals,
    seed_stream,
)

KIND, MARGIN, LINE, TURNED, CENTRE, SCALE, NUMBERS = range(7)
"""Places in the numbers of a guardrail, and how many there are: which of the families of evidence
it has, the margin and the line of harm, whether outcomes are reflected, and about what, and the
scale of its outcomes."""


class Guards(NamedTuple):
    """The guardrails of a test: their numbers, and rows of the same kind as the primary metric's.

    `params` and `harm` have for each guardrail the numbers of `Params` but for the floors: those
    that its margin is judged by, and those that harm is. `arms` and `pairs` are the rows of each
    guardrail, `standings`, `lows` and `highs` what each says of each arm.
    """

    numbers: FloatArray
    params: FloatArray
    harm: FloatArray
    arms: FloatArray
    pairs: FloatArray
    standings: IntArray
    lows: FloatArray
    highs: FloatArray


class GuardedSettings(NamedTuple):
    """The settings of the loop: the worlds, the control, and how pairs are judged.

    `strict` are the numbers by which pairs are judged once an arm was removed.
    """

    seeds: WordArray
    worlds: FloatArray
    means: FloatArray
    control: int
    rollout: bool
    strict: Params


def params_of(numbers: FloatArray, floors: FloatArray) -> Params:
    """Return the numbers of a guardrail's evidence as its family takes them."""
    return Params(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
        numbers[7], numbers[8], numbers[9], numbers[10], numbers[11], numbers[12], numbers[13],
        numbers[14], numbers[15], numbers[16], numbers[17], floors,
    )  # fmt: skip


Draw = Callable[[Source, int, float], float]


def draw_nothing(source: Source, arm: int, mean: float) -> float:  # noqa: ARG001
    """Stand in for `outcome_of` where all outcomes are normal: that takes less compilation."""
    return mean


def by_kind(functions: Sequence[Function]) -> Function:
    """Return a function that calls one of some functions, by its number: the first argument.

    >>> [by_kind([min, max, sum])(kind, (1, 2, 3)) for kind in (0.0, 1.0, 2.0)]
    [1, 3, 6]
    """
    last, number = functions[-1], len(functions) - 1
    if number == 0:

        def only(kind: float, *arguments: Any) -> Any:  # noqa: ARG001
            return last(*arguments)

        return only
    others = by_kind(functions[:-1])

    def one(kind: float, *arguments: Any) -> Any:
        if kind == number:
            return last(*arguments)
        return others(kind, *arguments)

    return one


def build(
    family: Family,
    share_of: Share,
    scope: Scope,
    kinds: Sequence[Family],
    draw: Draw,
    fingerprint: str,
) -> Kernel:
    """The loop for a family, and guardrails of any families; any number of arms.

    Normal outcomes are drawn in bursts, and all others by `draw`.
    """
    leader, fold, drop, winner_of, over, interval, _ = steps_of(family, scope)
    observe, split = family.observe, family.split
    arm_columns, pair_columns = family.arm_columns, family.pair_columns
    of_kinds = [steps_of(one, Scope(two_arms=False, intervals=True)) for one in kinds]
    observe_any = by_kind([one.observe for one in kinds])
    fold_any = by_kind([one.fold for one in of_kinds])
    interval_any = by_kind([one.interval for one in of_kinds])

    def look(guards: Guards, floors: FloatArray, count: int, control_arm: int) -> None:
        """Narrow the interval of every arm on every guardrail, and see who is harmful."""
        numbers, lows, highs, standings = (
            guards.numbers, guards.lows, guards.highs, guards.standings
        )  # fmt: skip
        for which in range(numbers.shape[0]):
            its, arms, pairs = numbers[which], guards.arms[which], guards.pairs[which]
            params = params_of(guards.params[which], floors)
            strict = params_of(guards.harm[which], floors)
            for arm in range(count):
                at = which * count + arm
                low, high = 0.0, 0.0
                if arm != control_arm:
                    _, low, high = interval_any(
                        its[KIND], arms, pairs, count, arm, control_arm, params
                    )
                    low, high = its[SCALE] * low, its[SCALE] * high
                lows[at], highs[at] = narrowed(lows[at], highs[at], low, high)
                harmful = standings[at] == HARMED
                # An interval at a higher threshold is wider.
                wider = strict.threshold >= params.threshold
                if not harmful and not (wider and high >= -its[LINE]):
                    high = 0.0
                    if arm != control_arm:
                        _, _, high = interval_any(
                            its[KIND], arms, pairs, count, arm, control_arm, strict
                        )
                    harmful = is_harmful(its[SCALE] * high, its[LINE])
                standings[at] = standing_of(lows[at], highs[at], its[MARGIN], harmful)

    def come_back(
        arms: FloatArray, pairs: FloatArray, count: int, removed: IntArray, params: Params
    ) -> None:
        """Make dropped arms active again if only removed arms have beaten them."""
        for arm in range(count):
            if removed[arm] == 0 and arms[arm][ACTIVE] == 0.0:
                beaten = False
                for rival in range(count):
                    if rival != arm and removed[rival] == 0 and not beaten:
                        _, low, _ = interval(arms, pairs, count, rival, arm, params)
                        beaten = low >= 0.0
                arms[arm][ACTIVE] = 0.0 if beaten else 1.0

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        guards: Guards,
        streams: WordArray,
        cell: FloatArray,
        noise: FloatArray,
        out: IntArray,
        removed: IntArray,
        count: int,
        chunk: Chunk,
        settings: BlockSettings,
        guarded: GuardedSettings,
        columns: RunColumns,
        removed_at: IntArray,
        by_harm: IntArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (_, first_run, runs), control = chunk, columns.control
        max_units, _, _, tilt, batch, margin, usual, ziggurat = settings
        seeds, worlds, means, control_arm, rollout, strict = guarded
        numbers, standings = guards.numbers, guards.standings
        guardrails = numbers.shape[0]
        rounds = batch if split else 1
        each = 1 if split else batch
        for row in range(runs):
            for which in range(guardrails + 1):
                seed_stream(streams[which], 0, seeds[which], np.uint64(first_run + row))
            clear(arms, pairs, count, arm_columns, pair_columns)
            for which in range(guardrails):
                its_arms, its_pairs = guards.arms[which], guards.pairs[which]
                clear(its_arms, its_pairs, count, its_arms.shape[1], its_pairs.shape[1])
            for i in range(guardrails * count):
                standings[i] = OPEN
                guards.lows[i] = -math.inf
                guards.highs[i] = math.inf
            for arm in range(count):
                out[arm] = 0
                removed[arm] = 0
                removed_at[row * count + arm] = -1
            # Once an arm is removed, every pair is judged more strictly.
            gone, params = 0, usual
            units, winner, ended = 0, NOBODY, 0
            waits, harm = False, False
            while winner == NOBODY and ended == 0 and control[STOP] == 0:
                # The guardrails compare the arm that waits for them with the control.
                back = waits and out[control_arm] != 0 and removed[control_arm] == 0
                if back:
                    arms[control_arm][ACTIVE] = 1.0
                front, ahead = leader(arms, pairs, count, params)
                share = share_of(ahead, tilt)
                size = begin_block(arms, count, front, share * each, each)
                if back:
                    arms[control_arm][ACTIVE] = 0.0
                if units + rounds * size > max_units:
                    break
                for done in range(rounds):
                    for which in range(guardrails + 1):
                        # The primary metric is the first; then come the guardrails.
                        guard = max(which - 1, 0)
                        its, its_arms = numbers[guard], guards.arms[guard]
                        bell = worlds[which, NOISE] == NORMAL
                        mean_of, spread = means[which], worlds[which, SPREAD]
                        source = Source(
                            streams[which], cell, worlds[which], mean_of, noise, noise, ziggurat
                        )
                        for arm in range(count):
                            dealt = int(arms[arm][BLOCK_UNITS])
                            if which > 0:
                                its_arms[arm][BLOCK_UNITS] = dealt
                            if bell:
                                fill_normals(streams[which], 0, noise, 0, dealt, ziggurat)
                            for i in range(dealt):
                                if bell:
                                    value = mean_of[arm] + spread * noise[i]
                                else:
                                    value = draw(source, arm, mean_of[arm])
                                if which == 0:
                                    observe(arms[arm], value)
                                else:
                                    if its[TURNED] > 0.0:
                                        value = its[CENTRE] - value
                                    observe_any(its[KIND], its_arms[arm], value)
                        if which > 0:
                            its_params = params_of(guards.params[guard], usual.floors)
                            fold_any(its[KIND], its_arms, guards.pairs[guard], count, its_params)
                    fold(arms, pairs, count, params)
                    units += size
                    if done == rounds - 1 and not rollout:
                        drop(arms, pairs, count, params)
                    waits = must_wait(arms, count, out, standings, guardrails, control_arm)
                    if look_is_due(units - size, units, rollout or waits):
                        look(guards, usual.floors, count, control_arm)
                for arm in range(count):
                    if removed[arm] == 0 and harmed_on(standings, count, guardrails, arm):
                        if removed_at[row * count + arm] < 0:
                            removed_at[row * count + arm] = units
                        if count - gone > 2:
                            gone += 1
                            params = strict
                            removed[arm] = 1
                            arms[arm][ACTIVE] = 0.0
                            come_back(arms, pairs, count, removed, params)
                waits = must_wait(arms, count, out, standings, guardrails, control_arm)
                harm = all_harmed(removed, standings, count, guardrails, control_arm)
                winner = winner_of(arms, pairs, count, margin, params)
                if harm:
                    winner = control_arm
                else:
                    winner = shipped(
                        winner, rollout, out, standings, count, guardrails, control_arm
                    )
                if winner == NOBODY and (rollout or waits):
                    stuck = none_can_ship(out, standings, count, guardrails, control_arm)
                    ended = REFUSED if stuck else GOES_ON
                elif winner == NOBODY:
                    ended = over(arms, pairs, count, params)
            if control[STOP] != 0:
                break
            by_harm[row] = 1 if harm else 0
            finish_run(arms[:, UNITS], row, units, winner, columns)

    return play


def must_wait(
    arms: FloatArray,
    count: int,
    out: IntArray,
    standings: IntArray,
    guardrails: int,
    control_arm: int,
) -> bool:
    """Whether the only arm that is left waits for its guardrails; `out` is written anew."""
    for arm in range(count):
        out[arm] = 0 if arms[arm][ACTIVE] > 0.0 else 1
    only = only_treatment(out, count, control_arm)
    return only != NOBODY and not allowed(standings, count, guardrails, only, control_arm)
