"""Static populations: all units are assigned by a hash from the start.

Every unit gives an outcome at every stage. The test ends when the difference of the arms' means has
reached a threshold: at one stage fixed beforehand (the horizon), or at any stage. There is no next
unit to allocate, so that the only question is when to stop. The proofs are in
docs/research/static-populations.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal

from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration, peel
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.core.options import Option
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.rules.base import RULES, Rule, refuse_delta
from bascule.research.static.procedure import StaticProcedure
from bascule.research.static.thresholds import (
    Threshold,
    any_time,
    mixture,
    one_look,
    open_look,
    planned_looks,
)

StaticStop = Literal["horizon", "intervals", "looks", "mixture"]
"""What ends a static test: one look at the horizon, the paper's bound for every stage, planned
looks that stay open, or the evidence of a normal mixture."""

THRESHOLDS: dict[str, Threshold] = {
    "horizon": one_look,
    "intervals": any_time,
    "looks": open_look,
    "mixture": mixture,
}

MOST_UNITS = 10**12
LAST_STAGE = 10**9


@RULES.register
@dataclass(frozen=True, slots=True)
class Static(Rule):
    """A static population: `population` units, which all give an outcome at every stage.

    The outcome model is `Recurrent`.

    - `population`: the number of units in all, split evenly, or the number in each arm; it must be
      given.
    - `horizon`: the last stage.
    - `stop`: "horizon", the default with a horizon, looks once, at the last stage. The others look
      at every stage, with or without a horizon: "intervals", the default without one, is the
      paper's; "looks" and "mixture" decide sooner. "looks" is proven for noise that is alike at
      every stage, "mixture" for normal units and noise.

    >>> Static(10_000, horizon=30).stop, Static([5012, 4988]).stop
    ('horizon', 'intervals')
    """

    population: Annotated[
        int | Sequence[int], Option("How many units there are in all.", kind="whole")
    ] = 0
    horizon: Annotated[
        int | None,
        Option("The last stage; without one the test has no end.", limits=(1, LAST_STAGE)),
    ] = None
    stop: Annotated[StaticStop | None, Option("What ends a test.")] = field(
        default=None, kw_only=True
    )
    kind: Literal["static"] = field(default="static", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", _checked_population(self.population))
        if self.stop is None:
            stop = "intervals" if self.horizon is None else "horizon"
            object.__setattr__(self, "stop", stop)
        Rule.__post_init__(self)
        if self.stop == "horizon" and self.horizon is None:
            raise InputError(
                "horizon",
                'horizon is missing: stop="horizon" looks only once, at the end; '
                "give the last stage, as in Static(10_000, horizon=30)",
            )

    @property
    def label(self) -> str:
        """The name of the rule: `Static`, followed by `stop` unless this is "intervals"."""
        return "Static" if self.stop == "intervals" else f"Static {self.stop}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return "static population, split by a hash"

    def explain(self, arms: int) -> str:
        """Explain how the population is split and what ends a test."""
        return (
            "Every unit is there from the start and stays in the arm that a hash of its name gives "
            "it. The test ends when the difference of the arms is large enough."
        )

    def procedure(self, design: Setting) -> StaticProcedure:
        """Return how a test of a static population proceeds."""
        return StaticProcedure(
            design,
            self.label,
            self.sizes(len(design.arms)),
            self.horizon,
            self.stop == "horizon",
            self.threshold,
            self.looks(design.outcome),
        )

    @property
    def threshold(self) -> Threshold:
        """The function that computes the threshold of a stage."""
        return THRESHOLDS[str(self.stop)]

    def sizes(self, arms: int) -> tuple[int, ...]:
        """Return the number of units of each arm.

        >>> Static(10).sizes(3)
        (4, 3, 3)
        """
        if isinstance(self.population, int):
            size, over = divmod(self.population, arms)
            return tuple(size + (arm < over) for arm in range(arms))
        return tuple(self.population)

    def looks(self, outcome: Outcome) -> int:
        """Return the number of planned looks, 0 if it is infinite; 1 unless `stop` is "looks"."""
        if self.stop != "looks":
            return 1
        last = math.inf if self.horizon is None else float(self.horizon)
        return planned_looks(*outcome.unit_spreads, last)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Divide the error evenly among the pairs of the best arm, and find the delta for it."""
        rivals = arms - 1
        differ, noisy = (spread > 0 for spread in outcome.unit_spreads)
        if self.stop not in ("horizon", "intervals"):
            refuse_delta(error, delta)
            assert error is not None
            kind: Literal["gaussian", "proven"]
            kind = "gaussian" if self.stop == "mixture" else "proven"
            return Calibration(error / rivals, error, kind)
        if delta is not None:
            one_pair = delta if self.stop == "horizon" else proven_error(delta, differ, noisy)
            proven = min(1.0, rivals * one_pair)
            return Calibration(delta, proven, "proven" if proven < 1 else "as published")
        assert error is not None
        level = (
            error / rivals if self.stop == "horizon" else delta_for(error / rivals, differ, noisy)
        )
        return Calibration(level, error, "proven")

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise an error unless units give outcomes repeatedly."""
        if not outcome.recurring:
            raise InputError(
                "outcome",
                f"{self.label} is for units that give outcomes again and again, not for "
                f"{outcome!r}: use Recurrent(sigma_unit, sigma_noise), or another rule",
            )
        Rule.check_outcome(self, outcome)

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise an error for a cap on units, or for a population that does not fit the arms."""
        if max_units is not None:
            raise InputError(
                "max_units",
                "max_units does not go with Static, whose units are all there from the start: "
                "leave it out, and set horizon to end the test at a stage",
            )
        if not isinstance(self.population, int) and len(self.population) != arms:
            raise InputError(
                "population",
                f"population must give one number per arm: {arms} arms, but {len(self.population)} "
                "numbers; or give one number for all, to be split evenly",
            )
        if min(self.sizes(arms)) < 1:
            raise InputError(
                "population",
                f"population must have a unit for each of {arms} arms (got {self.population})",
            )


def proven_error(delta: float, differ: bool, noisy: bool) -> float:
    """Return a bound on the probability that the paper's threshold ever fails on one side.

    If units do not differ, or if there is no noise, the part of the bound for it is 0.

    >>> round(proven_error(0.0257, True, True), 3)
    0.05
    """
    of_units = delta / 2.0 if differ else 0.0
    return min(1.0, of_units + (peel(delta / 3.0) if noisy else 0.0))


@lru_cache(maxsize=1024)
def delta_for(error: float, differ: bool, noisy: bool) -> float:
    """Return the largest delta below 1 for which `proven_error` is at most `error`.

    >>> round(delta_for(0.05, True, True), 4)
    0.0257
    """

    def within(level: float) -> bool:
        return proven_error(math.exp(level), differ, noisy) <= error

    return math.exp(
        math.nextafter(turning_point(within, math.log(error) - 30.0, -1e-12), -math.inf)
    )


def _checked_population(population: object) -> int | tuple[int, ...]:
    remedy = "give the number of all units, or one number per arm"
    if (
        not isinstance(population, str)
        and hasattr(population, "__len__")
        and hasattr(population, "__iter__")
    ):
        return tuple(checks.whole("population", size, 1, remedy, MOST_UNITS) for size in population)
    return checks.whole("population", population, 2, remedy, MOST_UNITS)
