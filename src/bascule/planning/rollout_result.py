"""What the plan of a guarded rollout says: its cases, and what is guaranteed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from bascule.core.design import Design
from bascule.core.presenter import presenter
from bascule.planning.forecast import finite_data
from bascule.planning.ramp import traffic_of
from bascule.planning.request.arrivals import Arrivals, TrafficSteps


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
class Rollout:
    """A guarded rollout: its design, the schedule, and what to expect."""

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

    def __repr__(self) -> str:
        return "\n".join(presenter("report").lines(self.report(), width=0))

    def _repr_html_(self) -> str:
        return str(presenter("notebook").shown(self.report()))
