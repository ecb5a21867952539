"""Tilted blocks: the leader gets `tilt` units for each one of a challenger, block by block.

Both arms of a block live through the same moments, so a trend that they share cancels; and the
block's sizes are fixed before its outcomes, so the evidence is a martingale of one dimension. An
arm is dropped when the evidence that another one is better reaches (K - 1) / error. Where the
spread of an outcome is known, the evidence is a normal mixture; where only its limits are, a bet;
where neither is, a normal mixture with an estimated spread, which is right in the long run only.
The proof is in docs/explanation/tilted-blocks.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bascule.core import checks
from bascule.core.calibration import Calibration, Guarantee
from bascule.core.errors import InputError
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Problem
from bascule.core.procedures.block_steps import BETTING, INFORMED, UNINFORMED, BlockSteps
from bascule.core.procedures.blocks import BlockProcedure
from bascule.core.procedures.estimated.procedure import (
    ESTIMATED,
    ESTIMATED_INFORMED,
    EstimatedProcedure,
)
from bascule.core.procedures.many_arms import ManyArmsProcedure
from bascule.core.procedures.many_state import MANY
from bascule.core.procedures.many_steps import FOR_MANY_ARMS
from bascule.core.rules.base import Knob, Rule, refuse_delta, refuse_unknown_spread


@dataclass(frozen=True, slots=True)
class Tilt(Rule):
    """Tilted blocks: a larger `tilt` costs less regret, a smaller one decides sooner.

    `effect` is the difference worth finding, in outcome units: the test decides sooner around it
    and keeps its error for every other. `batch` units of each challenger are assigned at once.

    >>> Tilt(3).label
    'Tilt_3'
    """

    tilt: float = 3.0
    effect: float | None = None
    batch: int = field(default=1, kw_only=True)
    kind: Literal["tilt"] = field(default="tilt", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        tilt = checks.finite("tilt", self.tilt, "3 is a good start")
        if tilt < 1:
            raise InputError(
                "tilt",
                f"tilt must be at least 1 (got {tilt:g}): 1 is an even split; 3 is a good start",
            )
        object.__setattr__(self, "tilt", tilt)
        if self.effect is not None:
            effect = checks.positive("effect", self.effect, "it is the difference worth finding")
            object.__setattr__(self, "effect", effect)
        batch = checks.whole("batch", self.batch, 1, "units of each challenger in a block")
        object.__setattr__(self, "batch", batch)

    @property
    def label(self) -> str:
        """`Tilt_r`, with the effect when there is one."""
        about = "" if self.effect is None else f", effect {self.effect:g}"
        return f"Tilt_{self.tilt:g}{about}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"tilted blocks, tilt {self.tilt:g}"

    def explain(self, arms: int) -> str:
        """Say how blocks are made up and what ends a test."""
        if self.tilt == 1:
            active = "" if arms == 2 else " active"
            who = f"Units come in blocks with one unit of every{active} arm, in random order."
        else:
            others = "the other arm" if arms == 2 else "each other active arm"
            who = (
                "Units come in blocks, in random order: as the evidence grows, the arm that is "
                f"ahead gets up to {self.tilt:g} units for each one of {others}."
            )
        weighed = "" if self.effect is None else f", weighed for differences around {self.effect:g}"
        return (
            f"{who} An arm is dropped when the evidence that another one is better is strong "
            f"enough{weighed}."
        )

    @property
    def knob(self) -> Knob:
        """The tilt: the larger, the less regret and the later the decision."""
        return Knob("tilt", self.tilt, 1.0, regret_grows=False)

    def for_metric(self) -> Tilt:
        """Return tilted blocks of the same sizes without a planned effect."""
        return Tilt(self.tilt, batch=self.batch)

    def steps(self, outcome: Outcome) -> BlockSteps:
        """Return the steps for such outcomes: bets within limits, else a normal mixture."""
        if outcome.limited:
            return BETTING
        if outcome.estimated:
            return ESTIMATED if self.effect is None else ESTIMATED_INFORMED
        return UNINFORMED if self.effect is None else INFORMED

    def procedure(self, design: Problem) -> BlockProcedure:
        """Return how a test in tilted blocks proceeds."""
        steps, family = self.steps(design.outcome), BlockProcedure
        if design.outcome.estimated:
            family = EstimatedProcedure
        elif len(design.arms) > MANY:
            steps, family = FOR_MANY_ARMS[steps], ManyArmsProcedure
        return family(design, self.label, steps, self.tilt, self.batch, self.effect or 0.0)

    def check_outcome(self, outcome: Outcome) -> None:
        """Refuse recurring outcomes, unknown spreads, and an effect where it has no use."""
        if outcome.recurring:
            raise InputError(
                "rule",
                f"{self.label} compares units that give one outcome each, not Recurrent ones: "
                'use UCB(2, radius="mixture"), or ETC(stop="mixture") for an even split',
            )
        if not outcome.estimated:
            refuse_unknown_spread(self.label, outcome)
        if self.effect is not None and outcome.limited:
            raise InputError(
                "effect",
                f"effect belongs to outcomes with a known spread, not to {outcome!r}: leave it "
                "out; the bets on such outcomes suit every effect",
            )

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Compare each pair of arms at `error / (arms - 1)`."""
        refuse_delta(error, delta)
        assert error is not None
        if outcome.estimated and arms > MANY:
            raise InputError(
                "arms",
                f"arms must be at most {MANY} where the spread is estimated (got {arms}): compare "
                "fewer arms, or use Bounded(low, high) with a cap",
            )
        guarantee: Guarantee = "asymptotic" if outcome.estimated else "proven"
        return Calibration(error / (arms - 1), error, guarantee)
