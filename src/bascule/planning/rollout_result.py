"""What the plan of a guarded rollout says: its cases, and what is guaranteed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from bascule.core.design import Design
from bascule.planning.arrivals import Arrivals, Returning
from bascule.planning.ramp import Steps

DAYS = "days: the median of the rollouts that ended by the deadline; none if fewer than half did"


@dataclass(frozen=True, slots=True)
class RolloutCase:
    """What is expected of a rollout if guardrails are as `name` says.

    `shipped` and `rolled_back` are probabilities by the deadline. `median_days` and `p90_days` are
    quantiles over the rollouts that ended by then, nan if none did: where few end, they say nothing
    of the others. `exposed` is the average number of users who get the new version before the end
    or the deadline.
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


@dataclass(frozen=True, slots=True)
class Rollout:
    """A guarded rollout: its design, the schedule, and what to expect."""

    design: Design
    ramp: Steps
    arrivals: Arrivals
    deadline_days: float
    runs: int
    cases: tuple[RolloutCase, ...]
    played: bool = False
    """Whether rollouts were played unit by unit, not by the paths of their evidence."""

    @property
    def origin(self) -> str:
        """Where the figures of the cases come from, in a sentence."""
        each = f"{self.runs:,} rollouts of each kind"
        if self.played:
            return f"{each}, played unit by unit"
        unknown = [one.name for one in self.design.guardrails if not one.outcome.known_spread]
        words = f"{each}, by normal paths of the evidence"
        if not unknown:
            return words
        return (
            f"{words}; approximate, because the spread of {' and '.join(unknown)} is not known "
            "and playing so many units takes long: set runs to play that many unit by unit"
        )

    @property
    def audience(self) -> dict[str, Any]:
        """Who gets into the test: twice the share of the new version, as half of it get that."""
        return {"ramp": [[at, min(1.0, 2.0 * share)] for at, share in self.ramp]}

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
                case.name: {
                    name: None if math.isnan(value) else value
                    for name in names
                    for value in [getattr(case, name)]
                }
                for case in self.cases
            },
        }

    @property
    def promises(self) -> list[str]:
        """What is guaranteed, and the schedule, a sentence each."""
        steps = ", ".join(f"{100 * share:g} % after {at / 86400:g} d" for at, share in self.ramp)
        harm = f"{100 * self.design.harm_error:g} %"
        return [
            f"Guarded rollout of {' or '.join(self.design.arms[1:])}: {steps}",
            f"{self.arrivals.words}; a version that is not harmful is rolled back "
            f"with probability at most {harm}, over the whole ramp",
            *(
                f"a version worse by {metric.margin:g} or more on {metric.name} is rolled out with "
                f"probability at most {100 * metric.error:g} %"
                for metric in self.design.guardrails
            ),
        ]

    def lines(self) -> list[str]:
        """Return the plan in words."""
        result = self.promises
        result.append("")
        result.append(
            f"{'if the new version is':<44}{'out':>7}{'back':>7}{'open':>7}{'days':>6}"
            f"{'exposed':>11}"
        )
        for case in self.cases:
            days = "-" if math.isnan(case.shown_days) else f"{case.shown_days:.2g}"
            result.append(
                f"{case.name:<44}{100 * case.shipped:>5.0f} %{100 * case.rolled_back:>5.0f} %"
                f"{100 * case.undecided:>5.0f} %{days:>6}{case.exposed:>11,.0f}"
            )
        result += ["", f"({DAYS})", f"({self.origin})"]
        if isinstance(self.arrivals, Returning):
            result += ["", *self.arrivals.lines(self.design, self.ramp, self.deadline_days)]
        return result

    def __repr__(self) -> str:
        return "\n".join(self.lines())
