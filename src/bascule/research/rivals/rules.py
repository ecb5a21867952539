"""Rules of other tools and papers, reduced to how they allocate units and stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import STATED, Calibration
from bascule.core.inputs import checks
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.rules.base import Knob, Rule, refuse_delta
from bascule.research.rivals import steps
from bascule.research.simulated import SimulatedProcedure


@dataclass(frozen=True, slots=True)
class RivalProcedure(SimulatedProcedure):
    """The procedure of a rival rule, which only a compiled loop can simulate."""

    step: int = 0
    setting: float = 0.0
    sigma: float = 0.0
    kind: ClassVar[str] = "rival"
    refusal = (
        "is another tool's rule, without a guarantee: it can be simulated, audited and compared, "
        "not run"
    )


@dataclass(frozen=True, slots=True)
class Rival(Rule):
    """A rule of another tool or paper; `source` names the tool or the authors."""

    step: ClassVar[int]
    source: ClassVar[str]
    known_spread: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The name of the rule, with its setting if it has one."""
        return self.kind if self.knob is None else f"{self.kind}_{self.knob.value:g}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"{self.kind}, {self.source}"

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise an error if outcomes recur."""
        if outcome.recurring:
            raise InputError(
                "outcome",
                f"{self.label} needs one outcome per unit, not {outcome!r}: use Gaussian(sigma) or "
                "Bernoulli()",
            )

    def calibrate(
        self,
        outcome: Outcome,  # noqa: ARG002
        arms: int,  # noqa: ARG002
        error: float | None,
        delta: float | None,
    ) -> Calibration:
        """Return the error that the authors of the rule state; this package does not prove it."""
        refuse_delta(error, delta)
        assert error is not None
        return Calibration(error, error, STATED)

    def procedure(self, design: Setting) -> RivalProcedure:
        """Return the procedure that the compiled loop simulates."""
        known = self.known_spread and design.outcome.known_spread
        knob = self.knob
        setting = 0.0 if knob is None else knob.value
        sigma = design.outcome.sigma if known else 0.0
        return RivalProcedure(design, self.label, self.step, setting, sigma)


@dataclass(frozen=True, slots=True)
class TrackAndStop(Rival):
    """Track-and-stop as TensorZero has it, with estimated variances.

    Units are allocated so that the weakest evidence grows fastest; the test ends when
    `gap^2 / (2 (s_1^2 / n_1 + s_2^2 / n_2)) > log((1 + log N) / error)` against every rival.

    >>> TrackAndStop().label
    'track-and-stop'
    """

    step = steps.TRACK
    source = "as TensorZero"
    kind: Literal["track-and-stop"] = field(default="track-and-stop", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Thompson(Rival):
    """Thompson sampling with a minimum share, until an arm is best with probability 1 - error.

    The posterior is normal with estimated variances, as in GrowthBook.

    >>> Thompson(0.05).label
    'thompson_0.05'
    """

    floor: float = 0.01
    step = steps.THOMPSON
    source = "as GrowthBook"
    kind: Literal["thompson"] = field(default="thompson", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", checks.probability("floor", self.floor, "0.01 is usual"))

    def check_size(self, arms: int, max_units: int | None) -> None:  # noqa: ARG002
        """Raise an error if the minimum shares of all arms sum to more than 1."""
        if self.floor * arms > 1.0:
            raise invalid(
                f"floor must be at most 1/{arms} with {arms} arms (got {self.floor:g}): it is the "
                "least share of each arm"
            )

    @property
    def knob(self) -> Knob:
        """The setting `floor`; a larger minimum share increases regret and decides sooner."""
        return Knob("floor", self.floor, 1e-6, regret_grows=True)


@dataclass(frozen=True, slots=True)
class TopTwo(Rival):
    """Top-two Thompson sampling with the stop of track-and-stop (Qin, Russo 2024).

    The arm that is best in a draw from the posterior gets the unit with probability `leader`.
    Otherwise draws are repeated until another arm is best, which then gets the unit. The spread is
    known if the outcome model states it.

    >>> TopTwo(0.8).label
    'top-two_0.8'
    """

    leader: float = 0.5
    step = steps.TOP_TWO
    source = "Qin and Russo"
    known_spread = True
    kind: Literal["top-two"] = field(default="top-two", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        leader = checks.probability("leader", self.leader, "0.5 is usual")
        object.__setattr__(self, "leader", leader)

    @property
    def knob(self) -> Knob:
        """The setting `leader`; a larger probability reduces regret and decides later."""
        return Knob("leader", self.leader, 0.5, regret_grows=False)


@dataclass(frozen=True, slots=True)
class MixtureAdaptive(Rival):
    """The mixture adaptive design: Thompson sampling mixed with a fading even split.

    The even part is `N^-0.24` after N units. Outcomes are weighted by the inverse probability of
    their arm, and an asymptotic confidence sequence of the difference decides (Liang, Bojinov).

    >>> MixtureAdaptive().label
    'mad'
    """

    step = steps.MIXTURE
    source = "Liang and Bojinov"
    kind: Literal["mad"] = field(default="mad", kw_only=True, repr=False)


RIVALS: dict[str, type[Rival]] = {
    str(rule().kind): rule for rule in (TrackAndStop, Thompson, TopTwo, MixtureAdaptive)
}
"""Every rival by its name."""
