"""The schedule of a rollout: which share of the traffic gets the new version, and since when."""

from __future__ import annotations

from collections.abc import Sequence

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.written_numbers import amount
from bascule.core.metrics.measure import seconds

MOST_SHARE = 0.5

Ramp = Sequence[tuple[float | str, float]]
"""Pairs of a time since the start and the share of the traffic that gets the new version then."""

Steps = tuple[tuple[float, float], ...]
"""Pairs of seconds since the start and the share from then on, in order."""


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


def checked_ramp(ramp: object) -> Steps:
    """Return the steps of a ramp with times in seconds; raise if they do not rise from 0 on."""
    remedy = 'give pairs such as ("0d", 0.01), ("1d", 0.1), ("3d", 0.5), from 0 on and rising'
    if isinstance(ramp, str) or not isinstance(ramp, list | tuple) or not ramp:
        raise InputError("ramp", f"ramp must be a list of pairs (got {ramp!r:.60}): {remedy}")
    steps: list[tuple[float, float]] = []
    for step in ramp:
        if not isinstance(step, list | tuple) or len(step) != 2:
            raise InputError("ramp", f"ramp has {step!r:.60}, which is no pair: {remedy}")
        at, share = seconds("ramp", step[0]), checks.finite("ramp", step[1], remedy)
        if not 0.0 < share <= MOST_SHARE:
            raise InputError(
                "ramp",
                f"shares of a ramp must lie between 0 and 0.5 (got {share:g}): an equal number "
                "of users keeps the old version for comparison, until everyone gets the new one",
            )
        if (not steps and at != 0.0) or (steps and (at <= steps[-1][0] or share <= steps[-1][1])):
            raise InputError("ramp", f"ramp must begin at 0 and rise (got {ramp!r:.60}): {remedy}")
        steps.append((at, share))
    return tuple(steps)
