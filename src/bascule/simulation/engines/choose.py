"""Which engine plays a procedure: a compiled loop for each family, plain Python for any other."""

from __future__ import annotations

from functools import singledispatch
from typing import get_args

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.procedures.base import Procedure
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.procedures.static.procedure import StaticProcedure
from bascule.simulation.engines.blocks import BlockRuns
from bascule.simulation.engines.intervals import IntervalRuns
from bascule.simulation.engines.plain import PlainRuns
from bascule.simulation.engines.runs import Runs
from bascule.simulation.engines.static import StaticRuns
from bascule.simulation.engines.worlds import WorldBlockRuns, WorldIntervalRuns
from bascule.simulation.random.draws import Draws, draws_of
from bascule.simulation.random.unit_draws import ShapeName
from bascule.simulation.recurrent.engines import EngineName, Fast, Plain
from bascule.simulation.recurrent.runs import UnitRuns
from bascule.simulation.rivals.rules import RivalProcedure
from bascule.simulation.rivals.runs import RivalRuns
from bascule.simulation.worlds.world import World


def runs_of(
    design: Design,
    world: World,
    seed: int,
    runs: int,
    engine: EngineName | None = None,
    shape: ShapeName = "normal",
) -> Runs:
    """Return the runs of a design in a world, ready to be played.

    `shape` is for recurring outcomes; `engine` is for those, and for rules in blocks.
    """
    checks.choice("shape", shape, get_args(ShapeName))
    if engine is not None:
        checks.choice("engine", engine, get_args(EngineName))
    procedure = design.procedure
    if engine is not None and shape == "normal" and isinstance(procedure, BlockProcedure):
        draws = quick_draws(design, world)
        if draws is not None:
            return BlockRuns(design, procedure, draws, world, seed, runs, engine)
    chosen = engine is not None or shape != "normal"
    if chosen and not isinstance(procedure, RecurrentProcedure):
        raise InputError(
            "engine",
            "engine and shape belong to Recurrent outcomes of units that arrive one by one, and "
            "engine to blocks of normal or 0/1 outcomes in a steady world, not to "
            f"{procedure.label} on {design.outcome!r}: leave them out",
        )
    if isinstance(procedure, RecurrentProcedure):
        return _recurrent_runs(design, procedure, world, seed, runs, engine, shape)
    return _runs(procedure, design, world, seed, runs)


@singledispatch
def _runs(procedure: Procedure, design: Design, world: World, seed: int, runs: int) -> Runs:
    """Play a procedure of any other family by calling it, uncompiled."""
    return PlainRuns(design, procedure, world, seed, runs)


@_runs.register
def _(procedure: StaticProcedure, design: Design, world: World, seed: int, runs: int) -> Runs:
    return StaticRuns(design, procedure, world, seed, runs)


@_runs.register
def _(procedure: BlockProcedure, design: Design, world: World, seed: int, runs: int) -> Runs:
    draws = quick_draws(design, world)
    if draws is not None:
        return BlockRuns(design, procedure, draws, world, seed, runs)
    return WorldBlockRuns(design, procedure, _written_out(design, world), seed, runs)


@_runs.register
def _(procedure: IntervalProcedure, design: Design, world: World, seed: int, runs: int) -> Runs:
    draws = quick_draws(design, world)
    # The quick loop decides by intervals that depend on units alone.
    if draws is not None and not procedure.follows_spread and design.min_effect is None:
        return IntervalRuns(design, procedure, draws, world, seed, runs)
    return WorldIntervalRuns(design, procedure, _written_out(design, world), seed, runs)


@_runs.register
def _(procedure: RivalProcedure, design: Design, world: World, seed: int, runs: int) -> Runs:
    return RivalRuns(design, procedure, _written_out(design, world), seed, runs)


def is_compiled(procedure: Procedure) -> bool:
    """Return whether a compiled loop plays a procedure; else it is called from plain Python."""
    return isinstance(procedure, RecurrentProcedure) or (
        _runs.dispatch(type(procedure)) is not _runs.dispatch(Procedure)
    )


def quick_draws(design: Design, world: World) -> Draws | None:
    """Return how a quick loop draws the outcomes of a steady world; None if it cannot."""
    if design.covariates is not None or not world.plain_for(design.outcome):
        return None
    return draws_of(design.outcome.noise(world.start))


def _written_out(design: Design, world: World) -> World:
    return world.for_outcome(design.outcome, len(design.arms))


def _recurrent_runs(
    design: Design,
    procedure: RecurrentProcedure,
    world: World,
    seed: int,
    runs: int,
    engine: EngineName | None,
    shape: ShapeName,
) -> Runs:
    weight, outcome = procedure.shape.weight, design.outcome
    if engine == "plain" or (engine is None and shape != "normal"):
        plain = Plain(outcome, weight, shape)
        return UnitRuns(design, procedure, plain, world, seed, runs)
    if shape != "normal":
        raise InputError(
            "engine", f'the fast engine is for normal units, not for "{shape}": use engine="plain"'
        )
    return UnitRuns(design, procedure, Fast(outcome, weight), world, seed, runs)
