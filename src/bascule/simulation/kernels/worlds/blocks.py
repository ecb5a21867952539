"""Runs of rules in blocks, in any world, played one after the other.

A block is added to the statistics when all of its outcomes have come or are known to be missing,
and in the order of the blocks, even if a later one is complete before. A block with missing
outcomes counts with its other outcomes. The next block depends on the blocks added so far. Open
blocks and their units wait in rings, whose length is a power of two. No unit is assigned while the
cap leaves no room for a batch, or while the units under way suffice for the horizon: the test waits
for their outcomes, and time goes on as if units were assigned. A rule that uses early signals also
depends on the events of open blocks that are known so far. A guardrail counts when the unit does,
or after its own window if that is shorter (`worlds.ring`). `core.course` decides when a test ends.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bascule.core.course import course_of, fits
from bascule.core.course_rows import AHEAD, HELD, UNTIL, Course, CourseScope, Terms
from bascule.core.covariates import adjusted, coefficients
from bascule.core.covariates import fold as fold_covariates
from bascule.core.covariates import observe as observe_covariates
from bascule.core.design import Design
from bascule.core.evidence.families.rows import ACTIVE, BLOCK_UNITS, Family
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.signals import DIFFERENT, add_events, blend, most_tilt
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.block_draws import deal_slots
from bascule.simulation.kernels.blocks import block_terms, needs_intervals, room_for
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.covariates import draw_covariates, drawn_covariates, spreads_of
from bascule.simulation.kernels.guards import (
    GuardedMetrics,
    guard_source,
    keep_guards,
    observer_of,
    room_for_test,
    seed_guards,
)
from bascule.simulation.kernels.worlds.ring import (
    BEGIN,
    END,
    FOLLOWING,
    MISSING,
    READY,
    Covariates,
    Dealt,
    Fronts,
    Place,
    Ring,
    add_to_pending,
    close_block,
    concluding,
    due_in,
    front_steps,
    fronts_of,
    next_due,
    room_for_covariates,
    room_for_ring,
)
from bascule.simulation.kernels.worlds.signals import (
    FRONT,
    MODES,
    SHARE,
    Early,
    add_delay,
    clear_signals,
    expect_event,
    has_signals,
    judged,
    room_for_signals,
    show_events,
)
from bascule.simulation.kernels.worlds.unit import (
    LAG,
    NoiseSource,
    UnitSteps,
    event_at,
    outcome_of,
    source_of,
    units_of,
)
from bascule.simulation.random import seed_stream
from bascule.simulation.recurrent.runs import EngineName
from bascule.simulation.runs import WorldRuns, ring
from bascule.simulation.worlds.world import World


class WorldLoop(NamedTuple):
    """Features that a loop has to support; with fewer of them it compiles faster."""

    units: UnitSteps
    """The functions that simulate a unit."""
    adjusts: bool
    """Whether outcomes are adjusted by covariates."""
    signals: bool
    """Whether the rule uses early signals, the events of windows that are still open."""
    ahead: bool
    """Whether guardrails with shorter windows count before their units do."""


def build(
    family: Family, kinds: tuple[Family, ...], course: Course, compiled_for: WorldLoop,
    fingerprint: str,
) -> Kernel:  # fmt: skip
    """Build the loop for one kind of evidence, and for guardrails with the given kinds.

    A loop without covariates, early signals, guardrails or fronts is called with None as the
    argument for them.
    """
    (draw, mean_and_gap, arrival), adjusts, signals, ahead_too = compiled_for
    start, choose, begin, may_begin, fold = course[:5]
    announce, harmful_arm, bring_back = course.announce, course.harmful_arm, course.bring_back
    conclude = concluding(course, len(kinds) > 0)
    observe, spread, guarded = family.observe, family.spread, len(kinds) > 0
    observe_guard: Any = observer_of(kinds) if guarded else None
    fold_front = front_steps(course, observe_guard)

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        assigned: FloatArray,
        sizes: FloatArray,
        slots: IntArray,
        ring: Ring,
        count: int,
        chunk: Chunk,
        terms: Terms,
        test: FloatArray,
        marks: IntArray,
        guards: Any,
        source: NoiseSource,
        columns: RunColumns,
        regrets: FloatArray,
        given_covariates: Covariates,
        early: Early,
        fronts: Fronts,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        owners, values, blocks, pending = ring
        if adjusts:
            drawn, spreads, ranges, sums, block, theta, xs = given_covariates
            covariates = drawn.rows.shape[0]
        rails = guards
        if guarded:
            rails = guards.rails
        streams, cell, world, means, _, _, ziggurat = source
        turn = owners.size - 1
        each, rounds = terms.each, terms.rounds
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            if guarded:
                seed_guards(guards, first_run + row)
            start(test, marks, arms, pairs, rails, count)
            for arm in range(count):
                assigned[arm] = 0.0
            for pair in range(pending.size):
                pending[pair] = 0.0
            if adjusts:
                for i in range(sums.size):
                    sums[i] = 0.0
            if signals:
                clear_signals(early)
            if ahead_too:
                for i in range(fronts.folded.size):
                    fronts.folded[i] = 0
            units, clock, counted, shown, matured = 0, 0, 0, 0, 0
            opened, folded, latest = 0, 0, 0
            size, dealt, left, front, share, ready = 0, 0, 0, 0, 0, 0
            last = True
            enrols, tries, until = True, True, 0
            regret = 0.0
            winner, ended = NOBODY, GOES_ON
            while (
                winner == NOBODY
                and ended == GOES_ON
                and (tries or folded < opened or until > clock)
                and control[STOP] == 0
            ):
                if dealt == size:
                    if left == 0:
                        tilt, delays = terms.tilt, DIFFERENT
                        if signals:
                            # Delays are judged in the arms that the block will have.
                            back = guarded and bring_back(test, marks, arms, count, terms)
                            delays = judged(early, arms, count)
                            if back:
                                arms[terms.control, ACTIVE] = 0.0
                            tilt = most_tilt(delays, terms.tilt)
                        if delays == DIFFERENT:
                            front, share = choose(test, marks, arms, pairs, count, tilt, terms)
                        else:
                            params = terms.usual
                            deviation, scale = spread(arms, count, params), 1.0 / params.precision
                            blend(early.seen, pairs, early.sums, early.sign, deviation, scale)
                            front, share = choose(test, marks, arms, early.seen, count, tilt, terms)
                        size = begin(test, marks, arms, count, front, share, terms)
                        begins = may_begin(
                            test, marks, arms, pairs, count, units - counted, pending, terms
                        )
                        enrols = fits(units, rounds * size, terms.max_units) and begins > 0.0
                        tries = enrols
                        for arm in range(count):
                            sizes[arm] = arms[arm, BLOCK_UNITS]
                        left = rounds
                        if enrols:
                            ahead = rounds * share * each / (share + 1.0)
                            add_to_pending(pending, count, front, ahead, 0.5 * rounds * each)
                    if enrols:
                        # All blocks of a batch have the same sizes, except for removed arms.
                        size = 0
                        for arm in range(count):
                            arms[arm, BLOCK_UNITS] = sizes[arm]
                            size += int(sizes[arm])
                        deal_slots(arms, count, slots, front, streams)
                        at = opened & turn
                        blocks[at, BEGIN] = units
                        blocks[at, FRONT] = front
                        blocks[at, SHARE] = share
                        if signals:
                            for arm in range(count):
                                early.dealt[at, arm] = arms[arm, BLOCK_UNITS]
                        dealt = 0
                        left -= 1
                        if size == 0:
                            # All arms of the block were removed, so it has no units.
                            close_block(blocks, at, Dealt(units, latest, ready, left))
                            opened += 1
                    else:
                        # No unit is enrolled until the next block is added to the statistics, or
                        # until signals lead to a block for which the test has room.
                        dealt, size, left = 0, 0, 0
                        if not signals and (folded < opened or until > clock):
                            next_time = blocks[folded & turn, READY] if folded < opened else until
                            if until > clock:
                                next_time = min(next_time, until)
                            if ahead_too:
                                due_ahead = next_due(fronts, ring, opened, world)
                                next_time = int(min(float(next_time), due_ahead))
                            clock = max(clock, next_time - 1)
                if enrols and dealt < size:
                    arm = slots[dealt]
                    mean, gap = mean_and_gap(world, means, arm, clock)
                    value = draw(source, arm, mean)
                    if adjusts:
                        deviation = (value - mean) / spreads[arm]
                        at = (units & turn) * covariates
                        draw_covariates(streams, drawn, deviation, xs, at, cell, ziggurat)
                    seen_at, came = arrival(streams, world, clock, value)
                    values[0, units & turn] = value
                    if guarded:
                        for rail in range(len(guards.seeds)):
                            values[1 + rail, units & turn] = outcome_of(
                                guard_source(guards, rail), arm, guards.means[rail][arm]
                            )
                    owners[units & turn] = arm if came else MISSING
                    if signals and came and value == early.event:
                        known_at, wait = event_at(streams, world, early.lags[arm], clock)
                        expect_event(early, units, opened, known_at, wait)
                    # Blocks are counted in order, so none is ready before an earlier one.
                    ready, latest = max(ready, seen_at), clock + 1
                    if signals:
                        early.closes[units & turn] = ready
                    regret += gap
                    assigned[arm] += 1.0
                    units += 1
                    dealt += 1
                    if dealt == size:
                        close_block(blocks, opened & turn, Dealt(units, latest, ready, left))
                        opened += 1
                if enrols or folded < opened or until > clock:
                    clock += 1
                while signals and shown < clock:
                    shown += 1
                    show_events(early, shown, owners)
                while signals and matured < units and early.closes[matured & turn] <= clock:
                    arm = owners[matured & turn]
                    if arm != MISSING and values[0, matured & turn] == early.event:
                        add_delay(early, matured, arm, world[LAG])
                    matured += 1
                while (
                    winner == NOBODY
                    and ended == GOES_ON
                    and folded < opened
                    and blocks[folded & turn, READY] <= clock
                ):
                    due = folded & turn
                    due_front, due_share = blocks[due, FRONT], blocks[due, SHARE]
                    for arm in range(count):
                        arms[arm, BLOCK_UNITS] = 0.0
                        if guarded:
                            for rail in range(len(guards.seeds)):
                                rails.arms[rail][arm][BLOCK_UNITS] = 0.0
                    if adjusts:
                        coefficients(sums, covariates, ranges, drawn.most, theta)
                    for unit in range(blocks[due, BEGIN], blocks[due, END]):
                        arm = owners[unit & turn]
                        if signals and arm != MISSING and values[0, unit & turn] == early.event:
                            add_events(early.sums, early.dealt[due], count, arm, -1.0)
                        if arm != MISSING:
                            arms[arm, BLOCK_UNITS] += 1.0
                            value = values[0, unit & turn]
                            if adjusts:
                                at = (unit & turn) * covariates
                                observe_covariates(block, covariates, xs, at, value)
                                value = adjusted(value, covariates, theta, xs, at)
                            observe(arms[arm], value)
                            if guarded:
                                for rail in range(len(guards.seeds)):
                                    if not ahead_too or fronts.of_rails[rail] < 0:
                                        rails.arms[rail][arm][BLOCK_UNITS] += 1.0
                                        value = values[1 + rail, unit & turn]
                                        observe_guard(guards, rail, arm, value)
                    last, end = blocks[due, FOLLOWING] == 0, blocks[due, END]
                    fold(test, marks, arms, pairs, rails, count, counted, end, last, terms)
                    if adjusts:
                        fold_covariates(sums, block, covariates)
                    counted = end
                    if last:
                        ahead = -rounds * due_share * each / (due_share + 1.0)
                        add_to_pending(pending, count, due_front, ahead, -0.5 * rounds * each)
                        winner, ended, size, opened = conclude(
                            test, marks, arms, pairs, rails, ring, slots, sizes, count, counted,
                            clock, Place(dealt, size, opened), Dealt(units, latest, ready, left),
                            terms,
                        )  # fmt: skip
                        until = 0
                        if test[HELD] != NOBODY:
                            until = math.ceil(test[UNTIL])
                    folded += 1
                    # Try again: the next batch may be smaller, or the horizon further away.
                    tries = True
                if ahead_too:
                    for number in range(fronts.waits.size):
                        while (
                            winner == NOBODY
                            and ended == GOES_ON
                            and due_in(fronts, number, ring, opened, world) <= clock
                        ):
                            ends = blocks[fronts.folded[number] & turn, FOLLOWING] == 0
                            fold_front(fronts, number, ring, guards, count, terms)
                            # A test is judged between batches of the primary metric.
                            if last and (ends or harmful_arm(test, marks, rails, count) != NOBODY):
                                winner, ended, size, opened = conclude(
                                    test, marks, arms, pairs, rails, ring, slots, sizes, count,
                                    counted, clock, Place(dealt, size, opened),
                                    Dealt(units, latest, ready, left), terms,
                                )  # fmt: skip
                                tries = True
                if winner == NOBODY:
                    winner = announce(test, float(clock))
            if control[STOP] != 0:
                break
            regrets[row] = regret
            if guarded:
                keep_guards(guards, test, marks, row, count)
            finish_run(assigned, row, clock, winner, columns)

    return play


class WorldBlockRuns(WorldRuns):
    """Runs of a procedure in blocks, in any world."""

    def __init__(
        self,
        design: Design,
        procedure: BlockProcedure,
        world: World,
        seed: int,
        runs: int,
        engine: EngineName | None = None,
        guarded: GuardedMetrics | None = None,
    ) -> None:
        super().__init__(design, world, seed, runs)
        self.engine, self.guarded = engine, guarded
        self.family = procedure.drawn_evidence
        self.largest_block = procedure.largest_block
        self.terms = block_terms(design, procedure, self.cap, world.units_per_day or 0.0)
        self.signals = MODES[procedure.early_signals], procedure.slack, world.delay
        self.drawn = drawn_covariates(design, world)
        self.spreads = spreads_of(world)
        self.fronts = fronts_of(design, world)
        self.compiled_for = WorldLoop(
            units_of(world),
            design.covariates is not None,
            has_signals(MODES[procedure.early_signals], world.delay),
            guarded is not None and self.fronts.waits.size > 0,
        )
        kinds = guarded.kinds if guarded else ()
        withholds = self.terms.least > 0.0 or self.terms.week > 0.0
        asked = needs_intervals(design, procedure), procedure.has_horizon
        scope = CourseScope(self.arms == 2, *asked, bool(kinds), withholds)
        course = course_of(self.family, kinds, procedure.share, scope)
        parts = self.family, kinds, course, self.compiled_for
        self.loop = build(*parts, "") if engine == "plain" else compile_loop(build, *parts)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + self.largest_block)
        arms, pairs = room_for(self.family, self.arms)
        source, guards, metrics = source_of(self.world), None, 1
        if self.guarded is not None:
            guards = self.guarded.room(source, self.first_run, chunk)
            guards.rails.numbers[:, AHEAD] = self.fronts.of_rails >= 0
            metrics += len(self.guarded.seeds)
        # In a loop that is not compiled, NumPy warns of arithmetic modulo 2^64.
        with np.errstate(over="ignore"):
            self.loop(
                arms,
                pairs,
                np.empty(self.arms),
                np.empty(self.arms),
                np.empty(self.largest_block, np.int64),
                room_for_ring(length, metrics, len(pairs)),
                self.arms,
                chunk,
                self.terms,
                *room_for_test(self.arms),
                guards,
                source,
                columns,
                self.regrets_of(first_run, runs),
                room_for_covariates(self.drawn, self.spreads, length)
                if self.compiled_for.adjusts
                else None,
                room_for_signals(*self.signals, self.arms, length)
                if self.compiled_for.signals
                else None,
                self.fronts._replace(folded=self.fronts.folded.copy())
                if self.compiled_for.ahead
                else None,
            )
