"""The plan of a guarded rollout: its schedule, its cases, and what is guaranteed.

The schedule says which share of the traffic gets a new version, and since when. With several new
versions it is the share of all of them together. All arms of the test get equally many users, so
with K arms the test has K / (K - 1) times that share of the traffic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.enrolment.audience import checked_ramp
from bascule.core.errors import InputError
from bascule.core.inputs.checks import amount, tidy
from bascule.core.inputs.serialization import finite_data
from bascule.core.presenter import Reported, presenter
from bascule.planning.request.arrivals import Arrivals, TrafficSteps

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


def rollout_steps(ramp: object, arms: int = 2) -> TrafficSteps:
    """Return the steps of a ramp with times in seconds; raise if they do not rise from 0 on."""
    steps, most = checked_ramp(ramp), most_share(arms)
    if not steps or steps[0][0] != 0.0:
        raise InputError("ramp", f"ramp must begin at 0 (got {ramp!r:.60}): begin with 0d")
    wrong = next((share for _, share in steps if not 0.0 < share <= most), None)
    if wrong is not None:
        raise InputError(
            "ramp",
            f"shares of a ramp of {arms} arms must lie between 0 and {most:g} (got {wrong:g}): a "
            "share is that of all new versions together, and the old version needs as many users "
            "as each new one, for comparison, until the end",
        )
    return steps


@dataclass(frozen=True, slots=True)
class RolloutCase:
    """What is expected of a rollout if guardrails are as `name` says.

    `shipped` and `rolled_back` are probabilities by the deadline. `median_days` and `p90_days` are
    quantiles over the rollouts that ended by then, nan if none did: where few end, they say nothing
    of the others. `exposed` is the average number of users who get the new version before the end
    or the deadline; of several new versions any of them counts.
    """

    name: str
    shipped: float
    rolled_back: float
    median_days: float
    p90_days: float
    exposed: float

    @property
    def undecided(self) -> float:
        """The probability of neither by the deadline."""
        return max(0.0, 1.0 - self.shipped - self.rolled_back)

    @property
    def shown_days(self) -> float:
        """The median of the days, nan where fewer than half of the rollouts ended."""
        return self.median_days if self.shipped + self.rolled_back >= 0.5 else math.nan


@dataclass(frozen=True, slots=True, repr=False)
class Rollout(Reported):
    """A guarded rollout: its design, the schedule, and what to expect."""

    PAGE = "Rollout plan"

    design: Design
    ramp: TrafficSteps
    arrivals: Arrivals
    deadline_days: float
    runs: int
    cases: tuple[RolloutCase, ...]
    played: bool = False
    """Whether rollouts were played unit by unit, not by the paths of their evidence."""

    @property
    def traffic(self) -> TrafficSteps:
        """The steps with the shares of the traffic that are in the test."""
        return traffic_of(self.ramp, len(self.design.arms))

    @property
    def audience(self) -> dict[str, Any]:
        """Who gets into the test: those with a new version and those compared with them."""
        return {"ramp": [[at, share] for at, share in self.traffic]}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        names = ("shipped", "rolled_back", "undecided", "median_days", "p90_days", "exposed")
        return {
            "design": self.design.to_dict(),
            "audience": self.audience,
            **asdict(self.arrivals),
            "deadline_days": self.deadline_days,
            "runs": self.runs,
            "played": self.played,
            "cases": {
                case.name: finite_data({name: getattr(case, name) for name in names})
                for case in self.cases
            },
        }

    def report(self) -> Any:
        """Return what the plan has to say: headline, tables and notes."""
        return presenter("plan.rollout").report(self)
