"""The schedule of a rollout: which share of the traffic gets a new version, and since when.

With several new versions, it is the share of all of them together. All arms of the test get equally
many users, so with K arms the test has K / (K - 1) times that share of the traffic.
"""

from __future__ import annotations

from collections.abc import Sequence

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.written_numbers import amount, tidy
from bascule.core.metrics.measure import seconds
from bascule.planning.request.arrivals import TrafficSteps

Ramp = Sequence[tuple[float | str, float]]
"""Pairs of a time since the start and the share of the traffic that gets a new version then."""


def ramp_of(text: str) -> list[tuple[str, float]]:
    """Return the steps of a ramp as people write them.

    >>> ramp_of("0d:1%, 1d:5%")
    [('0d', 0.01), ('1d', 0.05)]
    """
    steps = []
    for step in text.split(","):
        at, colon, share = step.partition(":")
        if not colon:
            raise InputError("ramp", f"ramp must be steps such as 0d:1%,1d:5% (got {step!r:.60})")
        steps.append((at.strip(), amount("ramp", share, "5% or 0.05")))
    return steps


def most_share(arms: int) -> float:
    """Return the largest share that can get a new version, to three digits: 0.667 is two thirds."""
    return round((arms - 1) / arms, 3)


def traffic_of(steps: TrafficSteps, arms: int) -> TrafficSteps:
    """Return the shares of the traffic that are in the test, given those with a new version.

    >>> traffic_of(((0.0, 0.05), (86400.0, 0.5)), 2)
    ((0.0, 0.1), (86400.0, 1.0))
    >>> traffic_of(((0.0, 0.05), (86400.0, 0.667)), 3)
    ((0.0, 0.075), (86400.0, 1.0))
    """
    return tuple((at, min(1.0, tidy(share * arms / (arms - 1)))) for at, share in steps)


def checked_ramp(ramp: object, arms: int = 2) -> TrafficSteps:
    """Return the steps of a ramp with times in seconds; raise if they do not rise from 0 on."""
    remedy = 'give pairs such as ("0d", 0.01), ("1d", 0.1), ("3d", 0.5), from 0 on and rising'
    if isinstance(ramp, str) or not isinstance(ramp, list | tuple) or not ramp:
        raise InputError("ramp", f"ramp must be a list of pairs (got {ramp!r:.60}): {remedy}")
    steps: list[tuple[float, float]] = []
    for step in ramp:
        if not isinstance(step, list | tuple) or len(step) != 2:
            raise InputError("ramp", f"ramp has {step!r:.60}, which is no pair: {remedy}")
        at, share = seconds("ramp", step[0]), checks.finite("ramp", step[1], remedy)
        if not 0.0 < share <= most_share(arms):
            raise InputError(
                "ramp",
                f"shares of a ramp of {arms} arms must lie between 0 and {most_share(arms):g} (got "
                f"{share:g}): a share is that of all new versions together, and the old version "
                "needs as many users as each new one, for comparison, until the end",
            )
        if (not steps and at != 0.0) or (steps and (at <= steps[-1][0] or share <= steps[-1][1])):
            raise InputError("ramp", f"ramp must begin at 0 and rise (got {ramp!r:.60}): {remedy}")
        steps.append((at, share))
    return tuple(steps)
