"""The fields of a plan request, described once.

`PlanRequest` checks its numbers by this table, and the schema of HTTP requests, the form and the
options of the command line take labels, explanations and defaults from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bascule.core.inputs import checks
from bascule.planning.request.amounts import amount

Place = Literal["form", "command"]
"""Where a request can be made, beside Python and HTTP, which have every field."""


@dataclass(frozen=True, slots=True)
class RequestField:
    """A field of a plan request as people see it.

    `default` is the usual value as people write it, empty where there is none, and `unset` says
    what a field that is left out stands for where that is not the default. `kind` says which
    numbers are accepted; they may also be written as text, "5%" or "5k". `option` is the name on
    the command line where it is another one. A field of a `rollout` belongs to guarded rollouts
    too. `absent` says why a place does not have the field.
    """

    label: str
    help: str
    default: str = ""
    kind: Literal["number", "positive", "probability"] | None = None
    unset: str = ""
    limits: tuple[int, int] | None = None
    option: str = ""
    rollout: bool = False
    absent: Mapping[Place, str] = field(default_factory=dict)

    def checked(self, name: str, value: object) -> float:
        """Return the number that a value is, or that it has as text; raise `InputError` if none.

        >>> FIELDS["error"].checked("error", "5%")
        0.05
        """
        end = f"{self.default} is usual" if self.default else "leave it out if there is none"
        remedy = f"{self.help[:1].lower()}{self.help[1:].rstrip('.')}; {end}"
        check = {"positive": checks.positive, "probability": checks.probability}
        return check.get(self.kind or "", checks.finite)(name, amount(name, value, remedy), remedy)


FIELDS = {
    "outcome": RequestField(
        "Outcome", "Outcome model.", unset="as sigma, limits or sample suggest, else bernoulli"
    ),
    "baseline": RequestField(
        "Baseline", "Mean of the first arm, as 5% or 0.05.", "5%",
        unset="that of the sample, or 5% of 0/1 outcomes",
    ),
    "lift": RequestField(
        "Minimum detectable effect",
        "What a new arm adds. With % a part of the baseline: 5% and 20% make 6%. Without, in "
        "outcome units: 0.05 and 0.01 make 0.06.",
        "20%", unset="20% of 0/1 outcomes, -20% where the goal is to decrease",
    ),
    "arms": RequestField(
        "Arms", "How many arms; in Python and over HTTP also their names.", unset="2"
    ),
    "goal": RequestField("Goal", "Whether the highest mean is the best or the lowest.", "increase"),
    "control": RequestField(
        "Control", "The arm that others are compared with.", unset="the first"
    ),
    "error": RequestField(
        "Error",
        "Probability of declaring a worse arm the winner, at most, however often you look; auto "
        "chooses it for the population.",
        "5%", "probability",
    ),
    "sides": RequestField(
        "What the error bounds",
        "2: the error bounds that either of two equal arms wins, a two-sided error, and 5% gives "
        "95 % intervals. 1: that a worse arm wins.",
        "1", limits=(1, 2),
    ),
    "choose_error": RequestField(
        "Choose the error", "Choose the error for the population.",
        absent={"form": "its error may be auto", "command": "its error may be auto"},
    ),
    "power": RequestField(
        "Decided in time", "Probability of a decision by the deadline at this lift.",
        "90%", "probability",
    ),
    "guarantee": RequestField(
        "Guarantee",
        "The weakest guarantee that is accepted: proven, gaussian (exact for normal outcomes) or "
        "asymptotic (right in the long run).",
        "proven",
    ),
    "futility": RequestField(
        "Stop for futility",
        "End a test with a horizon early once its probability to find the lift is below this.",
        kind="probability", unset="never",
    ),
    "units_per_day": RequestField(
        "Units per day", "Traffic of the test, all arms together.", "5000", "positive",
        rollout=True,
    ),
    "deadline_days": RequestField(
        "Maximum duration in days", "When the test ends at the latest, undecided.", "28",
        "positive", rollout=True,
    ),
    "waiting_cost": RequestField(
        "Cost of waiting", "What a day of waiting is worth, in outcome units.", kind="positive",
        absent={"form": "its designs are listed from the cheapest to the quickest, to choose from"},
    ),
    "population": RequestField(
        "Population",
        "All units that the decision is for: take the design by which they lose the least.",
        kind="positive",
    ),
    "switch_cost": RequestField(
        "Cost of switching",
        "What changing to another arm costs, in outcome units; needs a population.", kind="number",
    ),
    "spread": RequestField(
        "Spread", "Standard deviation of outcomes within limits, as it really is.",
        kind="positive", unset="that of the sample",
        absent={"form": "earlier outcomes show it", "command": "it is sigma of bounded outcomes"},
    ),
    "outcomes_per_day": RequestField(
        "Outcomes per day", "For recurrent outcomes: how many each unit gives a day.",
        kind="positive", unset="1", absent={"form": "it has no recurrent outcomes"},
    ),
    "covariate": RequestField(
        "Covariate",
        "A number known of each unit before its assignment: its name, or name:low:high, which "
        "conversions and limited outcomes need.",
    ),
    "correlation": RequestField(
        "Correlation", "Of the covariate with the outcome: 0.7 halves the units.", "0", "number"
    ),
    "metrics": RequestField(
        "Other metrics",
        "Guardrails and secondary metrics, as latency; gaussian 30; decrease; margin 5.",
        option="metric", rollout=True,
    ),
    "harm_error": RequestField(
        "Error of removing an arm",
        "Probability of removing an arm that no guardrail calls harmful, at most.",
        "5%", "probability", rollout=True,
    ),
    "sample": RequestField(
        "Earlier outcomes", "Outcomes from before the test, for baseline and spread."
    ),
    "cap": RequestField(
        "Cap", "Count outcomes from 0 up to this amount: 500, or a quantile of the sample: 99%."
    ),
}  # fmt: skip
"""All fields, and the cap, which is given with a request and becomes the limits of its outcome."""
