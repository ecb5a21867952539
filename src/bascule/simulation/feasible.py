"""Checks, before a simulation starts, that a design can be simulated and that its runs can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bascule.core.design import Design
from bascule.core.errors import InfeasibleError, InputError, invalid
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.simulation.worlds.world import World
from bascule.theory.prediction.predict import with_known_spread
from bascule.theory.prediction.straight_path import (
    information,
    rounds_at_best,
    rounds_to_win,
    units_to_convince,
)
from bascule.theory.solve import units_at_width

UNITS_LIMIT = 10**9
"""Number of units at which a run without a cap is stopped, undecided."""

HOPELESS = 10
"""If a decision needs this many times the cap on units, almost every run ends at the cap."""


def units_limit(design: Design) -> int:
    """Return the number of units that ends a run without a cap; it is smaller if outcomes recur."""
    return design.outcome.most_units or UNITS_LIMIT


def units_cap(design: Design) -> int:
    """Return the number of units at which a run ends at the latest."""
    return design.max_units or units_limit(design)


def check_simulated(design: Design, world: World) -> None:
    """Raise an `InputError` for features that simulations lack, or do not support together."""
    if design.metrics and design.covariates is not None:
        raise invalid(
            "covariates are not simulated together with other metrics: leave the metrics out, or "
            "the covariates",
        )
    if world.correlation and design.covariates is None:
        raise invalid(
            "correlation belongs to a design with a covariate, and this one has none: leave it "
            'out, or give the design covariates=[Covariate("name")]',
        )
    if design.rule.uses_signals and world.delay is not None and world.delay.events is None:
        raise InputError(
            "events",
            f"{design.rule.label} uses events in open windows, and the delay of the world "
            "does not say when they come: give it events, as in Delay(35_000, events=5_000)",
        )
    has_window = design.measure is not None and design.measure.window is not None
    if has_window and world.missing:
        raise invalid(
            "missing outcomes are not simulated for a design with a measure, in which a unit "
            "without an outcome counts as the measure says: leave missing out, and give means that "
            "include such units",
        )
    daily = world.units_per_day is not None and world.delay is None
    if has_window and daily and design.procedure.assigns != "blocks":
        raise InputError(
            "units_per_day",
            f"{design.rule.label} is not simulated with a conversion window, during which a live "
            "test assigns units as if each pending outcome were its arm's mean: leave "
            "units_per_day out, or use Tilt(tilt)",
        )


def check_feasible(design: Design, world: World) -> None:
    """Raise an `InputError` that says what to change if no run would decide with these means.

    Equal best means are accepted if the test ends anyway: with a cap, a horizon or a `min_effect`.
    If the means change during the test, those with the larger gap between the best two count.
    """
    CHECKS.get(design.procedure.kind, _check_arriving)(design, world)


def _check_arriving(design: Design, world: World) -> None:
    """Raise `InputError` if a test in which units arrive one by one would not decide."""
    most_units = design.outcome.most_units
    if most_units is not None and (design.max_units or 0) > most_units:
        raise invalid(
            f"max_units must be at most {most_units} to simulate {design.outcome!r} "
            f"(got {design.max_units})",
        )
    if design.procedure.has_horizon:
        return
    last = world.at(units_cap(design))
    matters = design.min_effect or 0.0
    if design.max_units is None and min(rival_gaps(last)) == 0 and not matters:
        raise invalid(
            f"means must have one best arm ({max(last):g} occurs twice), or the test never "
            "ends: change means, set max_units to study a test without a difference, "
            "or min_effect to find that none matters",
        )
    means = max(world.start, last, key=lambda means: min(rival_gaps(means)))
    gap = min(rival_gaps(means))
    # A test also ends when it has found that a gap is smaller than what matters.
    gap = max(gap, matters - gap)
    if gap == 0:
        return
    noise = (world.noise or design.outcome.noise(means)).spread(max(means))
    if not design.outcome.estimated:
        design = replace(design, covariates=None)
    needed = _even_split(with_known_spread(design, noise), max(means), gap)
    # A covariate removes the share of the variance that it explains, and saves this share of units.
    needed *= 1.0 - world.correlation * world.correlation
    if design.max_units is None and needed > units_limit(design):
        raise InputError(
            "means",
            f"the gap between the best means ({gap:g}) is too small: even an even split would need "
            f"about {needed:.1g} units a run; widen the gap or set max_units",
        )
    if design.max_units is not None and needed > HOPELESS * design.max_units:
        raise InfeasibleError(
            "max_units",
            f"max_units ({design.max_units}) would end nearly every run undecided: the gap {gap:g} "
            f"needs about {needed:.1g} units; raise max_units to that, widen the gap, or make the "
            "best means equal to study a test without a difference",
        )


def _even_split(design: Design, best: float, gap: float) -> float:
    """Return about the smallest number of units that distinguishes two arms, half in each arm."""
    procedure = design.procedure
    # For other kinds of procedures no such number is known: 0 accepts all of them.
    arm_units = ARM_UNITS.get(procedure.kind)
    return 0.0 if arm_units is None else 2 * arm_units(design, procedure, best, gap)


def _of_blocks(design: Design, procedure: BlockProcedure, best: float, gap: float) -> float:
    if procedure.boundary(1.0) is not None:
        return 2 * information(procedure, gap)
    if design.outcome.binary:
        return rounds_to_win(best, best - gap, procedure.threshold)
    return rounds_at_best(gap / design.outcome.scale, procedure.threshold)


def _of_intervals(design: Design, procedure: IntervalProcedure, _best: float, gap: float) -> float:
    if procedure.pairwise:
        return units_to_convince(design, gap)
    return units_at_width(design, gap / 2)


CHECKS: dict[str, Callable[[Design, World], None]] = {}
"""Checks that other packages add, by kind of procedure; the default is `_check_arriving`."""

ARM_UNITS: dict[str, Callable[[Design, Any, float, float], float]] = {
    "blocks": _of_blocks,
    "intervals": _of_intervals,
    "recurrent": lambda design, _procedure, _best, gap: units_at_width(design, gap / 2),
}
"""By kind of procedure, a function of (design, procedure, best mean, gap): the fewest units in each
of two arms that can distinguish them."""
