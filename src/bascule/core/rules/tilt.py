"""Tilted blocks: in each block the leader gets up to `tilt` units for each unit of a challenger.

All arms of a block are observed over the same time, so a common trend cancels; and the block's
sizes are fixed before its outcomes, so the evidence is a one-dimensional martingale. An arm is
dropped when the evidence that another one is better reaches (K - 1) / error, for K arms. If the
spread of an outcome is known, the evidence is a normal mixture; if only its limits are known, a
bet; otherwise a normal mixture with an estimated spread, whose guarantee is asymptotic.
The proof is in docs/research/tilted-blocks.md. With a `power` the test has an information
horizon: docs/research/horizon.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Literal, Self

from bascule.core.errors import InputError, invalid
from bascule.core.evidence.betting import ORDINARY, central_share
from bascule.core.evidence.calibration import Calibration, Guarantee
from bascule.core.evidence.families.bets import BETTING
from bascule.core.evidence.families.estimated_spread import ESTIMATED_SPREAD
from bascule.core.evidence.families.following_bets import FOLLOWING_BETS
from bascule.core.evidence.families.four_sums import FOUR_SUMS
from bascule.core.evidence.families.known_spread import KNOWN_SPREAD
from bascule.core.evidence.families.ratio import RATIO
from bascule.core.evidence.families.rows import Family
from bascule.core.evidence.horizon import normal_constant, power_of_each, reach_for
from bascule.core.options import Option
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.blocks.horizon import Horizon
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.signals import EarlySignals, slack_of
from bascule.core.rules.base import Knob, Rule, refuse_delta

HorizonGuarantee = Literal["proven", "gaussian"]
"""Kind of guarantee of a test with a horizon."""


OnFutility = Literal["end", "advise"]
"""Whether a futile test ends, or goes on with advice to end it."""

MOST_ARMS = 50
"""Maximum number of arms, since every pair of arms is compared."""

USUAL_TILT = 3.0
"""Tilt for which a horizon is planned, whatever the tilt of the rule."""

LIMITED, STAKED = 1.01, 1.5
"""Factor on the reach for outcomes within limits, and coefficient of a bet's additional loss when
looks are coarse; both were chosen by simulations so that the requested power is reached."""

MANY = 20
"""Number of arms above which the evidence of bets is stored as four sums for each pair."""


@dataclass(frozen=True, slots=True, repr=False)
class Tilt(Rule):
    """Tilted blocks: a larger `tilt` costs less regret, a smaller one decides sooner.

    With an `effect` and a `power` (or a `reach`) the test has an information horizon, at which it
    ends, and its error is spent up to the horizon instead of over an endless test.

    - `tilt`: units of the leader for each unit of another arm, once the evidence is strong; 1 is an
      even split.
    - `effect`: the difference that the test is to find, in outcome units, and above 0 whatever the
      goal. The test decides sooner for differences near it, and its error holds for all.
    - `batch`: units of each challenger that are assigned at once.
    - `power`: the minimum probability that an arm that is better than every other by `effect` wins
      by the horizon.
    - `baseline`: the mean of 0/1 outcomes without the effect. With a horizon it is only a first
      guess, which the outcomes correct. Without one it fixes the size of the bets, and 0/1 outcomes
      with an `effect` need it.
    - `guarantee`: with a horizon only: "gaussian" assumes that outcomes with a known spread are
      normal. The default is proven, or asymptotic if the spread is estimated.
    - `reach`: another way to set the horizon, instead of `power`: the test ends when `effect` is as
      large as `reach` standard errors of the estimated difference.
    - `futility`: the test ends undecided once the probability of finding `effect` by the horizon
      is below this. That never increases the error.
    - `on_futility`: with "advise" a futile test goes on, and its status says so.
    - `early_signals`: for 0/1 outcomes: the next block also uses events of units whose windows are
      open, which saves cost if conversions take equally long in every arm. With "auto" the tilt is
      at most 3 until matured units show that the delays are alike, and signals are not used if they
      differ; "always" does not check; if not given, they are not used. Decisions use matured
      outcomes only.

    >>> Tilt(3).label, Tilt(3, effect=0.1, power=0.9).label
    ('Tilt_3', 'Tilt_3, effect 0.1, power 0.9')
    """

    tilt: Annotated[
        float,
        Option("1 is an even split, more saves regret.", limits=(1, math.inf), group="basics"),
    ] = 3.0
    effect: Annotated[float | None, Option("The difference to find.", kind="positive")] = None
    batch: Annotated[
        int, Option("Units of each challenger that are assigned at once.", limits=(1, 10**9))
    ] = field(default=1, kw_only=True)
    power: Annotated[
        float | None,
        Option("Probability of finding the effect; it sets when a test ends.", kind="probability"),
    ] = field(default=None, kw_only=True)
    baseline: Annotated[
        float | None, Option("The mean of 0/1 outcomes without the effect.", needs=("effect",))
    ] = field(default=None, kw_only=True)
    guarantee: Annotated[
        HorizonGuarantee | None,
        Option("With a power: gaussian assumes normal outcomes.", unset="proven"),
    ] = field(default=None, kw_only=True)
    reach: Annotated[
        float | None,
        Option(
            "Instead of a power: the effect in standard errors at the end of the test.",
            kind="positive",
            excludes=("power",),
        ),
    ] = field(default=None, kw_only=True)
    futility: Annotated[
        float | None,
        Option(
            "With a power: end a test whose chance to find the effect is below this.",
            kind="probability",
        ),
    ] = field(default=None, kw_only=True)
    on_futility: Annotated[
        OnFutility | None,
        Option(
            "Whether futility ends a test or is only reported.", unset="end", needs=("futility",)
        ),
    ] = field(default=None, kw_only=True)
    early_signals: Annotated[
        EarlySignals | None,
        Option(
            "Use events of open windows for the next block: auto checks that delays agree.",
            unset="off",
        ),
    ] = field(default=None, kw_only=True)
    kind: Literal["tilt"] = field(default="tilt", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        if self.has_horizon and self.effect is None:
            name = "reach" if self.power is None else "power"
            raise InputError(
                "effect", f"{name} needs effect, the difference that the test is to find"
            )
        for name in ("guarantee", "futility"):
            if getattr(self, name) is not None and not self.has_horizon:
                raise invalid(f"{name} belongs to a test with a horizon: give power too")
        if self.power is not None and self.futility is not None and self.futility >= self.power:
            raise invalid(
                f"futility must be below power, {self.power:g} (got {self.futility:g}), or the "
                "test ends before it begins: 0.2 is usual"
            )

    def __repr__(self) -> str:
        shown = ("tilt", "effect", "batch")
        parts = [(field.name, getattr(self, field.name)) for field in fields(self) if field.repr]
        stated = [
            f"{name}={value!r}" for name, value in parts if name in shown or value is not None
        ]
        return f"Tilt({', '.join(stated)})"

    @property
    def has_horizon(self) -> bool:
        """Whether a test ends at an information horizon."""
        return self.power is not None or self.reach is not None

    @property
    def label(self) -> str:
        """The name `Tilt_r`, followed by the effect, power, reach and futility that are set."""
        parts = ("effect", "power", "reach", "futility")
        named = [(name, getattr(self, name)) for name in parts]
        about = "".join(f", {name} {value:g}" for name, value in named if value is not None)
        normal = ", gaussian" if self.guarantee == "gaussian" else ""
        early = {"auto": ", early signals", "always": ", early signals always"}
        return f"Tilt_{self.tilt:g}{about}{normal}{early.get(self.early_signals or '', '')}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"tilted blocks, tilt {self.tilt:g}"

    def explain(self, arms: int) -> str:
        """Return a few sentences on how blocks are composed and what ends a test."""
        if self.tilt == 1:
            active = "" if arms == 2 else " active"
            enrolment = f"Units come in blocks with one unit of every{active} arm, in random order."
        else:
            rivals = "the other arm" if arms == 2 else "each other active arm"
            enrolment = (
                "Units come in blocks, in random order: as the evidence grows, the arm that is "
                f"ahead gets up to {self.tilt:g} units for each one of {rivals}."
            )
        if self.early_signals is not None:
            enrolment += (
                " Events of units that have not counted yet also affect which arm is ahead."
            )
        sensitive = (
            ""
            if self.effect is None
            else f"; the evidence is most sensitive to differences around {self.effect:g}"
        )
        ending = ""
        if self.power is not None:
            ending = (
                " The test ends without a decision once it has had enough units to find a "
                f"difference of {self.effect:g} with probability {self.power:g}."
            )
        elif self.reach is not None:
            ending = (
                f" The test ends without a decision once a difference of {self.effect:g} is "
                f"{self.reach:.3g} standard errors."
            )
        if self.futility is not None and self.on_futility != "advise":
            ending += f" It ends sooner if the chance to find it falls below {self.futility:g}."
        return (
            f"{enrolment} An arm is dropped when the evidence that another one is better is strong "
            f"enough{sensitive}.{ending}"
        )

    @property
    def planned_effect(self) -> float | None:
        """The planned effect of the rule; None if it has none."""
        return self.effect

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also depends on events in windows that are still open."""
        return self.early_signals is not None

    @property
    def knob(self) -> Knob:
        """The tilt: the larger, the less regret and the later the decision."""
        return Knob("tilt", self.tilt, 1.0, regret_grows=False)

    def without_futility(self) -> Tilt:
        """Return the rule without futility, so that futile tests go on to their horizon."""
        return replace(self, futility=None, on_futility=None)

    def with_signals(self, early_signals: EarlySignals | None) -> Tilt:
        """Return the rule with this use of early signals."""
        return replace(self, early_signals=early_signals)

    def for_metric(self) -> Tilt:
        """Return tilted blocks of the same sizes without a planned effect."""
        return Tilt(self.tilt, batch=self.batch)

    def evidence(self, outcome: Outcome, arms: int = 2) -> Family:
        """Return the kind of evidence: bets for outcomes within limits, otherwise a normal mixture.

        With a horizon the evidence is bets that follow a flat boundary, or with the guarantee
        "gaussian" or "asymptotic" that boundary itself.
        """
        if outcome.estimated:
            return RATIO if outcome.pairs else ESTIMATED_SPREAD
        if self.has_horizon:
            return KNOWN_SPREAD if self.guarantee == "gaussian" else FOLLOWING_BETS
        if outcome.limited:
            return FOUR_SUMS if arms > MANY else BETTING
        return KNOWN_SPREAD

    def procedure(self, design: Setting) -> BlockProcedure:
        """Return the procedure of a test in tilted blocks."""
        horizon = None
        if self.has_horizon:
            horizon = Horizon(
                self._reach(design),
                self._variance(design.outcome),
                self.futility or 0.0,
                self.on_futility == "advise",
            )
        return BlockProcedure(
            design,
            self.label,
            self.evidence(design.outcome, len(design.arms)),
            self.tilt,
            self.batch,
            self.effect or 0.0,
            horizon,
            self._centre(design.outcome),
            early_signals=self.early_signals,
            slack=slack_of(self.effect or 0.0, self.baseline),
        )

    def _centre(self, outcome: Outcome) -> float:
        """Return the share of its wealth that the central bet stakes, for the planned effect."""
        variance = self._variance(outcome)
        if variance is None or self.has_horizon:
            return ORDINARY
        return central_share((self.effect or 0.0) / outcome.scale, variance, self.tilt)

    def _reach(self, design: Setting) -> float:
        """Return the planned effect in standard errors of its estimate at the horizon."""
        if self.power is None:
            assert self.reach is not None
            return self.reach
        rivals = len(design.arms) - 1
        # All comparisons with the best arm use its units, so they are correlated. The correlation
        # depends on the tilt, but a change of the tilt must not move the horizon.
        power_each = power_of_each(self.power, rivals, 1.0 / (1.0 + USUAL_TILT))
        constant = normal_constant(design.calibration.delta)
        futility = 0.0 if self.on_futility == "advise" else self.futility or 0.0
        reach = reach_for(power_each, constant, self._look(design), futility)
        return LIMITED * reach if design.outcome.limited else reach

    def _look(self, design: Setting) -> float:
        """Return the standard deviation of a total's change between looks, in units of the effect.

        It is 0 if the spread is unknown before the test.
        """
        assert self.effect is not None
        outcome = design.outcome
        if outcome.estimated:
            return 0.0
        spread = outcome.scale * math.sqrt(self._variance(outcome) or 1.0)
        family = self.evidence(outcome, len(design.arms))
        units = (1 if family.split else self.batch) * USUAL_TILT / (USUAL_TILT + 1.0)
        look = self.effect / spread * math.sqrt(units)
        return look * (1.0 + STAKED * look) if family.split else look

    def _variance(self, outcome: Outcome) -> float | None:
        """Return the planned variance of an outcome in units of the scale, or None."""
        if self.baseline is None:
            return None
        assert self.effect is not None
        middle = self.baseline + 0.5 * self.effect
        planned = outcome.variance(min(middle, outcome.high))
        return None if not planned else planned / outcome.scale**2

    def with_fixed_plan(self, design: Setting) -> Self:
        """Return the rule with its horizon as a `reach` instead of a `power`."""
        if not self.has_horizon:
            return self
        return replace(self, power=None, reach=self._reach(design))

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` for unsupported outcomes, and for settings that do not suit them."""
        if not outcome.supports("tilt"):
            raise InputError(
                "rule",
                f"{self.label} compares units that give one outcome each, not Recurrent ones: "
                'use UCB(2, radius="mixture"), or ETC(stop="mixture") for an even split',
            )
        if not outcome.estimated:
            Rule.check_outcome(self, outcome)
        elif self.guarantee is not None:
            raise invalid(
                f'guarantee "{self.guarantee}" needs a known spread or limits, not {outcome!r}, '
                "whose evidence is asymptotic: leave it out"
            )
        unplanned = self.effect is not None and self.baseline is None and not self.has_horizon
        if unplanned and outcome.limited:
            remedy = "give baseline too, the mean without the effect" if outcome.binary else ""
            raise invalid(
                f"effect alone does not say how {outcome.words} vary: "
                f"{remedy or 'give power too'}, or leave effect out"
            )
        if self.effect is not None and self.effect >= outcome.high - outcome.low:
            raise invalid(
                f"effect must be below {outcome.high - outcome.low:g}, the largest difference "
                f"there can be (got {self.effect:g})"
            )
        if self.guarantee == "gaussian" and outcome.limited:
            raise invalid(
                f'guarantee "gaussian" is for outcomes that are normal, not for {outcome!r}: '
                "leave it out, and the guarantee is proven"
            )
        if self.baseline is not None:
            self._check_baseline(outcome)
        if self.early_signals is not None and not outcome.binary:
            raise invalid(
                f"early_signals are events that make an outcome 1, and {outcome!r} is not 0 or 1: "
                "leave them out, or use Bernoulli()"
            )

    def _check_baseline(self, outcome: Outcome) -> None:
        assert self.baseline is not None
        if not outcome.binary:
            raise invalid(f"baseline says how 0/1 outcomes vary, not {outcome!r}: leave it out")
        if not outcome.low < self.baseline < outcome.high:
            raise invalid(
                f"baseline must lie between {outcome.low:g} and {outcome.high:g} "
                f"(got {self.baseline:g}): it is the mean without the effect; 5 % is 0.05"
            )

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise `InputError` if there are more than `MOST_ARMS` arms."""
        if arms > MOST_ARMS:
            raise invalid(
                f"arms must be at most {MOST_ARMS} with {self.label}, which compares every pair of "
                f"them (got {arms}): compare fewer arms, or use UCB(alpha) or ETC()"
            )

    def check_design(self, design: Setting) -> None:
        """Raise `InputError` for an effect without a horizon if many arms have bounded outcomes."""
        endless = self.effect is not None and not self.has_horizon
        if endless and design.outcome.limited and len(design.arms) > MANY:
            raise invalid(
                f"effect with {design.outcome!r} is for at most {MANY} arms without a horizon "
                f"(got {len(design.arms)}): give power too, leave it out, or compare fewer arms"
            )

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Return the calibration that compares each pair of arms at `error / (arms - 1)`."""
        refuse_delta(error, delta)
        assert error is not None
        guarantee: Guarantee = "asymptotic" if outcome.estimated else self.guarantee or "proven"
        return Calibration(error / (arms - 1), error, guarantee)
