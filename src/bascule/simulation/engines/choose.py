"""Choice of the engine that plays a procedure: the compiled loop of its kind, or plain calls.

The compiled loops know the families of rules that the package has. A procedure of another kind is
played here, slowly, with the same random numbers as its trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.metrics.guardrails import harmed
from bascule.core.procedures.base import Procedure
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent import RecurrentProcedure
from bascule.core.types import NO_DIFFERENCE, NOBODY, IntArray
from bascule.simulation.guardrails import GuardedRuns, can_compile
from bascule.simulation.kernels.blocks import BlockRuns
from bascule.simulation.kernels.compiled import FINISHED, STEPS, STOP
from bascule.simulation.kernels.guards import guarded_metrics
from bascule.simulation.kernels.intervals import IntervalRuns
from bascule.simulation.kernels.worlds.blocks import WorldBlockRuns
from bascule.simulation.kernels.worlds.intervals import WorldIntervalRuns
from bascule.simulation.random import Draws, draws_of
from bascule.simulation.recurrent.runs import EngineName, Fast, Plain, UnitRuns, crowd_in
from bascule.simulation.runs import Runs
from bascule.simulation.trace import steps_of
from bascule.simulation.worlds.world import World


class PlainRuns(Runs):
    """Runs that call the procedure, uncompiled, for every unit or block.

    Every unit gives one outcome of each metric, drawn independently of the others. What guardrails
    do is written into `guarded`.
    """

    def __init__(
        self, design: Design, world: World, seed: int, runs: int, guarded: GuardedRuns | None
    ) -> None:
        super().__init__(design if guarded else replace(design, metrics=()), world, seed, runs)
        label = design.rule.label
        if not design.procedure.supports("trace"):
            raise InputError("rule", f"{label} counts by stages in a way that no engine can play")
        calendar = design.withholds and world.units_per_day is not None
        if calendar or not world.plain_for(design.outcome):
            raise InputError(
                "world",
                f"{label} is simulated in a steady world, without windows and calendar: give means "
                "alone, or use Tilt(tilt)",
            )
        self.guarded = guarded
        means = guarded.means if guarded else {}
        self.others = [means[metric.name] for metric in self.design.metrics]

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on."""
        means = tuple(self.means.tolist())
        for run in range(first_run, first_run + runs):
            last, row, removed_at = None, run - self.first_run, dict[int, int]()
            for step in steps_of(self.design, means, int(self.seed), run, self.others):
                last = step
                if control[STOP]:
                    return
                for arm in step.statistics.removed - removed_at.keys():
                    removed_at[arm] = step.statistics.units
            winner, units = NOBODY, [0] * self.arms
            if last is not None:
                units = [arm.units for arm in last.statistics.arms]
                if last.decision is not None:
                    arm_of = last.decision.arm
                    winner = NO_DIFFERENCE if arm_of is None else arm_of
            if self.guarded is not None and last is not None:
                for arm in harmed(last.statistics):
                    removed_at[arm] = sum(units)
                self.guarded.by_harm[row] = bool(last.decision and last.decision.harm)
                for arm, at in removed_at.items():
                    self.guarded.removed_at[row, arm] = at
            self.times[row], self.winners[row] = sum(units), winner
            self.units[row] = units
            control[FINISHED] += 1
            control[STEPS] += sum(units)


class Order(NamedTuple):
    """A request to play runs, with the engine that the caller has named, if any."""

    design: Design
    world: World
    seed: int
    runs: int
    engine: EngineName | None
    guarded: GuardedRuns | None = None

    @property
    def written_out(self) -> World:
        """The world, with the noise of the design's outcome model if it has none of its own."""
        return self.world.for_outcome(self.design.outcome, len(self.design.arms))

    def refuse_engine(self) -> None:
        """Raise `InputError` if the caller named an engine although there is no choice."""
        if self.engine is not None:
            raise invalid(
                "engine belongs to Recurrent outcomes of units that arrive one by one, and to "
                "blocks of normal or 0/1 outcomes in a steady world, not to "
                f"{self.design.procedure.label} on {self.design.outcome!r}: leave it out",
            )


def runs_of(
    design: Design,
    world: World,
    seed: int,
    runs: int,
    engine: EngineName | None = None,
    guarded: GuardedRuns | None = None,
) -> Runs:
    """Return the runs of a design in a world, ready to be played.

    `engine` is for recurring outcomes, and for rules in blocks. What guardrails do is written into
    `guarded`, which has the means of all metrics; it is needed for designs with guardrails.
    """
    if engine is not None:
        checks.choice("engine", engine, get_args(EngineName))
    procedure = design.procedure
    order = Order(design, world, seed, runs, engine, guarded if design.guardrails else None)
    if order.guarded is not None:
        if engine == "fast":
            raise invalid(
                'engine="fast" simulates a single metric, and this design has guardrails: leave '
                'engine out, or use engine="plain" to simulate without compilation',
            )
        if not can_compile(design):
            return PlainRuns(design, world, seed, runs, order.guarded)
    return ENGINES.get(procedure.kind, _by_its_steps)(procedure, order)


def is_compiled(procedure: Procedure) -> bool:
    """Return whether a compiled loop plays a procedure; otherwise plain Python calls its steps."""
    return procedure.kind in ENGINES


def comes_at_once(design: Design, world: World) -> bool:
    """Return whether the world is steady, without delays, covariates, or a calendar to keep to."""
    withholds = design.withholds and world.units_per_day is not None
    plain = design.covariates is None and world.plain_for(design.outcome)
    return plain and not withholds


def quick_draws(design: Design, world: World) -> Draws | None:
    """Return how a loop for steady worlds draws outcomes; None if it cannot play the design."""
    return draws_of(design.outcome.noise(world.start)) if comes_at_once(design, world) else None


def _by_its_steps(_: Procedure, order: Order) -> Runs:
    """Play a procedure by calling it, uncompiled."""
    order.refuse_engine()
    return PlainRuns(order.design, order.world, order.seed, order.runs, None)


def _blocks(procedure: BlockProcedure, order: Order) -> Runs:
    design, world, seed, runs, engine, guarded = order
    metrics = guarded_metrics(design, seed, guarded) if guarded is not None else None
    if metrics is not None and comes_at_once(design, world):
        return BlockRuns(design, procedure, None, order.written_out, seed, runs, engine, metrics)
    draws = quick_draws(design, world)
    if metrics is None and draws is not None:
        return BlockRuns(design, procedure, draws, world, seed, runs, engine)
    if metrics is None:
        order.refuse_engine()
    return WorldBlockRuns(design, procedure, order.written_out, seed, runs, engine, metrics)


def _intervals(procedure: IntervalProcedure, order: Order) -> Runs:
    order.refuse_engine()
    design, world, seed, runs, *_ = order
    draws = quick_draws(design, world)
    # The loop for steady worlds cannot decide that no difference matters.
    if draws is not None and design.min_effect is None:
        return IntervalRuns(design, procedure, draws, world, seed, runs)
    return WorldIntervalRuns(design, procedure, order.written_out, seed, runs)


def _recurrent(procedure: RecurrentProcedure, order: Order) -> Runs:
    design, world, seed, runs, engine, _ = order
    weight, outcome = procedure.shape.weight, design.outcome
    if not world.plain_for(outcome):
        if engine == "fast":
            raise invalid(
                "engine must be plain in this world, where each outcome is drawn on its own: leave "
                "engine out"
            )
        played = Plain(outcome, weight, crowd=crowd_in(world, outcome))
        return UnitRuns(design, procedure, played, world, seed, runs)
    played = (Plain if engine == "plain" else Fast)(outcome, weight)
    return UnitRuns(design, procedure, played, world, seed, runs)


ENGINES: dict[str, Callable[[Any, Order], Runs]] = {
    "blocks": _blocks,
    "intervals": _intervals,
    "recurrent": _recurrent,
}
"""Makers of the runs of compiled loops, by kind of procedure; other packages add their own."""
