"""Runs of the rules that work in blocks: one run after the other, a block at a time.

The steps are those of `core.course`, compiled for a family of evidence. Here outcomes come at once;
`worlds.blocks` has the loop for outcomes that come later.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from bascule.core.course import course_of, fits
from bascule.core.course_rows import Course, CourseScope, Terms, terms_of
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.families.known_spread import KNOWN_SPREAD, NO_FLOORS, PARTS, log_evidence
from bascule.core.evidence.families.rows import (
    ARM_OF_CUBES,
    UNITS,
    Family,
    Params,
)
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.progress import block_procedure
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels import block_differences
from bascule.simulation.kernels.block_draws import (
    BlockSettings,
    Draw,
    draw_single,
    draw_slots,
    draw_sums,
)
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    arms_to_fix,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.guards import (
    GuardedMetrics,
    draw_metrics,
    keep_guards,
    room_for_test,
    seed_guards,
)
from bascule.simulation.kernels.worlds.unit import source_of
from bascule.simulation.random import (
    NORMAL,
    WORDS,
    Draws,
    WordArray,
    seed_stream,
)
from bascule.simulation.runs import AnyArray, Runs
from bascule.simulation.worlds.world import World

HALVINGS = 24
"""Number of bisection steps that find a floor. Any smaller floor is valid too, and more steps would
save no time."""


def build_floors(fingerprint: str) -> Kernel:
    """Build the loop that finds, for each range of a pair's clock, a total too small to decide.

    For a given total the evidence falls as the clock grows, so a total that is too small at the
    beginning of a range is too small everywhere in it.
    """

    def find_floors(floors: FloatArray, params: Params) -> None:
        made_of = fingerprint  # noqa: F841
        for part in range(floors.size):
            octave = part // PARTS
            clock = math.ldexp(0.5 + 0.5 * (part - octave * PARTS) / PARTS, octave)
            low, high = 0.0, 4.0 * (1.0 + math.sqrt(clock)) * (2.0 + params.threshold)
            if part == 0:
                # The first part also covers clocks below the first octave: no total is too small.
                high = 0.0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if log_evidence(middle, clock, 1.0, params) < params.threshold:
                    low = middle
                else:
                    high = middle
            floors[part] = low

    return find_floors


def build(
    course: Course, draw: Draw, fixed_arms: int, single: bool, guarded: bool, fingerprint: str
) -> Kernel:
    """Build the loop for outcomes that come at once; it uses `guards` only if `guarded` is true."""
    start, choose, begin, _, fold = course[:5]
    conclude = course.conclude

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        streams: WordArray,
        slots: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: BlockSettings,
        test: FloatArray,
        marks: IntArray,
        guards: Any,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        terms = settings.terms
        rails = guards
        if guarded:
            rails = guards.rails
        count = fixed_arms if fixed_arms > 0 else any_arms
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            if guarded:
                seed_guards(guards, first_run + row)
            start(test, marks, arms, pairs, rails, count)
            units = size = 0
            last = before = -1
            winner, ended = NOBODY, GOES_ON
            while winner == NOBODY and ended == GOES_ON and control[STOP] == 0:
                front, share = choose(test, marks, arms, pairs, count, terms.tilt, terms)
                if not single or share != last or front != before:
                    # With two arms the share rarely changes, and the processor predicts that.
                    last, before = share, front
                    size = begin(test, marks, arms, count, front, share, terms)
                if not fits(units, terms.rounds * size, terms.max_units):
                    break
                for k in range(terms.rounds):
                    draw(arms, streams, slots, noise, guards, settings, before, size, count)
                    units += size
                    fold(
                        test, marks, arms, pairs, rails, count, units - size, units,
                        k + 1 == terms.rounds, terms,
                    )  # fmt: skip
                winner, ended = conclude(
                    test, marks, arms, pairs, rails, count, units, float(units), terms
                )
            if control[STOP] != 0:
                break
            if guarded:
                keep_guards(guards, test, marks, row, count)
            finish_run(arms[:, UNITS], row, units, winner, columns)

    return play


def build_alone(
    course: Course, draw: Draw, fixed_arms: int, single: bool, fingerprint: str
) -> Kernel:
    """Build the loop for outcomes that come at once, in tests without guardrails."""
    play_any = build(course, draw, fixed_arms, single, False, fingerprint)

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        streams: WordArray,
        slots: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: BlockSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        # Arguments for guardrails are not used here: other arrays take their places.
        play_any(
            arms, pairs, streams, slots, noise, any_arms, chunk, settings, arms, slots, arms,
            columns,
        )  # fmt: skip

    return play


def compiled_params(procedure: BlockProcedure) -> Params:
    """Return the parameters of the evidence in the form that compiled loops take."""
    floors = np.zeros(len(NO_FLOORS))
    # Simulations report no relative lifts, so the evidence need not compute intervals for them.
    params = procedure.params._replace(floors=floors, direction=0.0)
    if procedure.drawn_evidence is KNOWN_SPREAD:
        compile_loop(build_floors)(floors, params)
    return params


def block_terms(design: Design, procedure: BlockProcedure, cap: int, daily: float = 0.0) -> Terms:
    """Return the numeric settings of the steps of a test; `daily` is the units per day."""
    usual = compiled_params(procedure)
    strict = compiled_params(block_procedure(design.stricter)) if design.guardrails else usual
    split, batch = procedure.drawn_evidence.split, procedure.batch
    return terms_of(design, usual, strict, daily)._replace(
        max_units=cap,
        rounds=batch if split else 1,
        each=1 if split else batch,
        tilt=procedure.tilt,
        margin=procedure.margin,
    )


def needs_intervals(design: Design, procedure: BlockProcedure) -> bool:
    """Return whether runs need the intervals of the primary metric.

    Runs need them for a margin, and to find out which arms come back after another one is removed.
    """
    searching = any(metric.harm_line is not None for metric in design.guardrails)
    return procedure.margin > 0.0 or (searching and len(design.arms) > 2)


def room_for(family: Family, arms: int) -> tuple[FloatArray, FloatArray]:
    """Return empty arrays for the statistics of all arms and of all pairs of arms."""
    pairs = arms * (arms - 1) // 2
    return np.empty((arms, family.arm_columns)), np.empty((pairs, family.pair_columns))


class BlockRuns(Runs):
    """Runs of rules in blocks, in a steady world in which outcomes come at once.

    Without guardrails, outcomes have to be normal or 0/1: `draws` has the functions that draw them.
    """

    def __init__(
        self,
        design: Design,
        procedure: BlockProcedure,
        draws: Draws | None,
        world: World,
        seed: int,
        runs: int,
        engine: Literal["fast", "plain"] | None = None,
        guarded: GuardedMetrics | None = None,
    ) -> None:
        super().__init__(design, world, seed, runs)
        self.engine, self.guarded, self.world = engine, guarded, world
        self.sigma = design.outcome.noise(world.start).spread(world.start[0])
        self.procedure = procedure
        self.terms = block_terms(design, procedure, self.cap)
        self.intervals = needs_intervals(design, procedure)
        self.draws = draws or NORMAL
        self.fixed_arms = arms_to_fix(self.arms, 0 if guarded else runs)
        if engine == "fast" and not self.can_draw_sums:
            raise InputError(
                "engine",
                f"{procedure.label} on {design.outcome!r} uses more of a block than its sums, "
                'which the fast engine draws at once: use engine="plain"',
            )

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of the rule from which the loop is built."""
        return self.procedure.drawn_evidence, self.procedure.share

    def build(self, draws: Draws, by_sums: bool, endless: bool) -> Kernel:  # noqa: ARG002
        """Return the loop, uncompiled, for a test without guardrails."""
        return build_alone(*self._parts(draws, self.arms, by_sums), "")

    def _course(self, fixed_arms: int) -> Course:
        kinds = self.guarded.kinds if self.guarded else ()
        horizon = self.procedure.has_horizon
        scope = CourseScope(fixed_arms == 2, self.intervals, horizon, bool(kinds), withholds=False)
        return course_of(self.procedure.drawn_evidence, kinds, self.procedure.share, scope)

    def _parts(
        self, draws: Draws, fixed_arms: int, by_sums: bool
    ) -> tuple[Course, Draw, int, bool]:
        """Return the arguments of `build_alone`, for a test without guardrails."""
        family, batch = self.procedure.drawn_evidence, self.procedure.batch
        sums = draws.ones or family.arm_columns < ARM_OF_CUBES
        single = fixed_arms == 2 and sums and not by_sums and (family.split or batch == 1)
        draw = draw_sums if by_sums else draw_single if single else draw_slots
        return self._course(fixed_arms), draw(family, draws), fixed_arms, single

    @property
    def can_draw_sums(self) -> bool:
        """Whether the rule uses only the sums of a block, so that each sum can be drawn at once."""
        return self.draws.ones or self.procedure.drawn_evidence.arm_columns < ARM_OF_CUBES

    def scratch(self) -> tuple[AnyArray, ...]:
        """Return the work arrays of the loop."""
        largest = self.procedure.largest_block
        return (
            *room_for(self.procedure.drawn_evidence, self.arms),
            np.empty(WORDS, np.uint64),
            np.empty(largest, np.int64),
            np.empty(largest),
        )

    def settings(self, endless: bool = False) -> tuple[BlockSettings]:  # noqa: ARG002
        """Return the arguments of the loop that are the same for all runs."""
        return (BlockSettings(self.means, self.sigma, self.ziggurat, self.terms),)

    @property
    def can_draw_differences(self) -> bool:
        """Whether one random number per block suffices: two arms, normal, no margin or horizon."""
        procedure = self.procedure
        return (
            self.arms == 2
            and self.draws is NORMAL
            and procedure.drawn_evidence is KNOWN_SPREAD
            and not procedure.has_horizon
            and procedure.margin == 0.0
        )

    def _difference_settings(self) -> tuple[Any, ...]:
        procedure, params = self.procedure, self.terms.usual
        shares = np.arange(procedure.largest_block // procedure.batch)
        weights = procedure.batch * shares / (shares + 1.0)
        return (
            self.cap,
            float(self.means[0] - self.means[1]) * params.precision,
            procedure.tilt,
            procedure.batch,
            params,
            weights,
            self.sigma * params.precision * np.sqrt(weights),
            self.ziggurat,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""
        fast = self.engine == "fast"
        chunk, columns = self.order(first_run, runs, control)
        if self.guarded is not None:
            self._play_guarded(self.guarded, chunk, columns)
        elif fast and self.can_draw_differences:
            streams = np.empty(WORDS, np.uint64)
            loop = compile_loop(block_differences.build, self.procedure.share)
            loop(np.empty(2), streams, chunk, *self._difference_settings(), columns)
        else:
            loop = compile_loop(build_alone, *self._parts(self.draws, self.fixed_arms, fast))
            loop(*self.scratch(), self.arms, chunk, *self.settings(), columns)

    def _play_guarded(self, metrics: GuardedMetrics, chunk: Chunk, columns: RunColumns) -> None:
        scratch = self.scratch()
        source = source_of(self.world, scratch[2])
        draw = draw_metrics(*self.functions[:1], metrics.kinds, metrics.are_normal(source))
        parts = self._course(self.fixed_arms), draw, self.fixed_arms, False, True
        guards = metrics.room(source, self.first_run, chunk)
        loop = build(*parts, "") if self.engine == "plain" else compile_loop(build, *parts)
        # In a loop that is not compiled, NumPy warns of arithmetic modulo 2^64.
        with np.errstate(over="ignore"):
            loop(
                *(*scratch, self.arms, chunk, *self.settings()),
                *(*room_for_test(self.arms), guards, columns),
            )
