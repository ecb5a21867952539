"""Worlds that have a name: each turns a plain world into one in which something goes wrong.

To add a world, write a function and list it in `NAMED`. Sizes depend on the spread of the outcomes
and on the gap between the best means, so that a name means the same for every design.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from bascule.core.errors import InputError, invalid
from bascule.core.gaps import rival_gaps
from bascule.core.outcomes import Outcome
from bascule.core.outcomes.noise import StudentT
from bascule.simulation.worlds.world import Change, Delay, Trend, World

WAIT = 200
"""Units in a batch, and the delay of an outcome in units."""

PROMPT, LATE = 600, 3000
"""Mean delays, in units, of the outcomes that come sooner and of those that come later."""

ROOM = 0.8
"""Largest trend, as a fraction of the distance from the means to a limit of the outcomes."""

SMALLEST_GAP = 0.1
"""Gap, in standard deviations, that a change assumes if the best means are equal."""

Maker = Callable[[World, float], World]
"""(world, spread of its outcomes) -> the world of that name."""


def steady(world: World, spread: float) -> World:  # noqa: ARG001
    """Nothing happens: the world is returned unchanged."""
    return world


def rising(world: World, spread: float) -> World:
    """All outcomes begin half a standard deviation lower and rise over some 2,000 units."""
    return _with_trend(world, Trend("fading", -0.5 * spread, 2000))


def steep(world: World, spread: float) -> World:
    """All outcomes begin a whole standard deviation lower and rise over some 500 units."""
    return _with_trend(world, Trend("fading", -spread, 500))


def wave(world: World, spread: float) -> World:
    """All outcomes go up and down by half a standard deviation every 1,000 units."""
    return _with_trend(world, Trend("wave", 0.5 * spread, 1000))


def change(world: World, spread: float) -> World:
    """Early in the test, the best mean falls by twice its distance to the second best."""
    means = world.start
    best = means.index(max(means))
    gap = min(rival_gaps(means)) or SMALLEST_GAP * spread
    assert world.noise is not None
    by = max(-2 * gap, world.noise.low - means[best])
    return replace(world, change=Change(best, by, math.ceil(10 * (spread / gap) ** 2)))


def heavy_tails(world: World, spread: float) -> World:
    """Outcomes with the same standard deviation and far more extreme values."""
    if world.noise is not None and (world.noise.limited or math.isinf(world.noise.proxy)):
        raise InputError(
            "world",
            "heavy-tails belongs to outcomes without limits: choose another world, or an outcome "
            "model without limits",
        )
    return replace(world, noise=StudentT(3.0, spread))


def batches(world: World, spread: float) -> World:  # noqa: ARG001
    """Outcomes are reported in batches, after every 200 units."""
    return replace(world, batch=WAIT)


def delay(world: World, spread: float) -> World:  # noqa: ARG001
    """Each outcome takes 200 units to come."""
    return replace(world, delay=Delay(WAIT))


def random_delay(world: World, spread: float) -> World:  # noqa: ARG001
    """Each outcome takes 200 units on average to come."""
    return replace(world, delay=Delay(WAIT, "random"))


def late_successes(world: World, spread: float) -> World:  # noqa: ARG001
    """Outcomes above the middle take 3,000 units on average to come, others 600."""
    return replace(world, delay=Delay(PROMPT, "random", high_outcomes=LATE / PROMPT))


def late_failures(world: World, spread: float) -> World:  # noqa: ARG001
    """Outcomes below the middle take 3,000 units on average to come, others 600."""
    return replace(world, delay=Delay(LATE, "random", high_outcomes=PROMPT / LATE))


def missing(world: World, spread: float) -> World:  # noqa: ARG001
    """One outcome in five never comes."""
    return replace(world, missing=0.2)


def null(world: World, spread: float) -> World:  # noqa: ARG001
    """No arm differs from the first."""
    arms = len(world.start)
    noise = None if world.noise is None else world.noise.like_first(arms)
    return replace(world, means=(world.start[0],) * arms, noise=noise)


NAMED: dict[str, Maker] = {
    "steady": steady,
    "rising": rising,
    "steep": steep,
    "wave": wave,
    "change": change,
    "heavy-tails": heavy_tails,
    "batches": batches,
    "delay": delay,
    "random-delay": random_delay,
    "late-successes": late_successes,
    "late-failures": late_failures,
    "missing": missing,
    "null": null,
}
"""Functions that make the named worlds, by name."""


def named_world(name: str, base: World, outcome: Outcome, lowest: bool = False) -> World:
    """Return a named world made from a base world; names are combined as in `null+rising`.

    With `lowest` the arm with the lowest mean is the best.

    >>> from bascule.core.outcomes import Gaussian
    >>> named_world("rising", World([0.0, 0.1]), Gaussian(2.0)).words
    'trend -1 exp(-t / 2000)'
    """
    noise = outcome.noise(base.start) if base.noise is None else base.noise
    means = base.start
    made = replace(base, noise=noise)
    for part in name.split("+"):
        if part not in NAMED:
            raise invalid(f"world {part!r} does not exist: choose from {', '.join(NAMED)}")
        spread = noise.spread(sum(means) / len(means))
        if lowest and NAMED[part] is change:
            made = change(made.reflected(outcome), spread).reflected(outcome)
        else:
            made = NAMED[part](made, spread)
    return replace(made, noise=base.noise) if made.noise == noise else made


def _with_trend(world: World, trend: Trend) -> World:
    """Return the world with a trend, made smaller if a mean would reach a limit of outcomes."""
    lowest, highest = trend.extremes
    assert world.noise is not None
    room = math.inf
    if lowest < 0:
        room = min(room, (min(world.start) - world.noise.low) / -lowest)
    if highest > 0:
        room = min(room, (world.noise.high - max(world.start)) / highest)
    return replace(world, trend=replace(trend, size=trend.size * min(1.0, ROOM * room)))
