"""Which worlds a design's guarantee covers; docs/research/coverage.md has the proofs."""

from __future__ import annotations

import math

from bascule.core.design import Design
from bascule.core.gaps import rival_gaps
from bascule.core.outcomes.noise import Noise
from bascule.simulation.worlds.world import Trend, World

SLOW = 0.05
"""Maximum move of a trend within a block, in standard deviations; it adds 0.125 % of variance."""


def why_not_covered(design: Design, world: World) -> str | None:
    """Return why the guarantee of a design does not cover a world; None if it does.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> why_not_covered(design, bs.worlds.World([0, 0.1], batch=50))
    >>> why_not_covered(design, bs.worlds.World([0, 0.1], noise=bs.worlds.Normal(2)))
    'outcomes spread more than sigma says'
    """
    if design.calibration.guarantee != "proven":
        return f"nothing is proven about this design ({design.calibration.guarantee})"
    noise = design.outcome.noise(world.start) if world.noise is None else world.noise
    return (
        _of_noise(design, noise)
        or _of_change(design, world)
        or _of_trend(design, world.trend)
        or _of_delay(design, world)
    )


def promised_error(design: Design, world: World) -> float:
    """Return the probability of a wrong decision that the guarantee allows, if it covers the world.

    If two arms tie for the first place, either of them may be declared the better one.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> from bascule.worlds import World
    >>> promised_error(design, World([0, 0])), promised_error(design, World([0, 1]))
    (0.1, 0.05)
    """
    error = design.calibration.error
    means = [design.oriented(mean) for mean in world.start]
    return min(1.0, 2 * error) if min(rival_gaps(means)) == 0 else error


def _of_noise(design: Design, noise: Noise) -> str | None:
    if not design.outcome.known_spread:
        return None
    if math.isinf(noise.proxy):
        return "outcomes have heavier tails than any sigma allows"
    return None if noise.proxy <= design.outcome.sigma else "outcomes spread more than sigma says"


def _of_change(design: Design, world: World) -> str | None:
    best = max if design.goal == "increase" else min
    start, end = (tuple(m == best(means) for m in means) for means in (world.start, world.end))
    if start != end:
        return "another arm becomes the best, and old outcomes still count"
    return None


def _of_trend(design: Design, trend: Trend | None) -> str | None:
    procedure = design.procedure
    if trend is None or trend.size == 0:
        return None
    if procedure.largest_block is None:
        return "a trend looks like a difference between the arms"
    if not design.outcome.known_spread:
        return None
    steepest = abs(trend.size) / trend.span * (2 * math.pi if trend.kind == "wave" else 1.0)
    if steepest * procedure.largest_block > SLOW * design.outcome.sigma:
        return "the trend moves too far within one block"
    return None


def _of_delay(design: Design, world: World) -> str | None:
    delay = world.delay
    if delay is None or delay.high_outcomes == 1:
        return None
    if delay.window is not None:
        return "slow outcomes count as missing, and they differ from others"
    if design.procedure.counts == "blocks" or design.procedure.even:
        return None
    return "the rule does not wait for late outcomes, which differ"
