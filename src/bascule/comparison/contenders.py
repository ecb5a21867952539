"""Who takes part in a comparison: every rule along its knob, all held to one proven error.

How often a rule is played follows from what a run of it is expected to take, so that a rule which
waits long costs about as much computing as one which does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bascule.comparison.information import spread_between
from bascule.core import checks
from bascule.core.calibration import Calibration
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.radius import radius
from bascule.core.gaps import rival_gaps
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.procedures.intervals import IntervalProcedure
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Tilt
from bascule.core.rules.ucb import STALLS_BELOW
from bascule.simulation.engines.intervals import LARGEST_TABLE
from bascule.theory import corollary_delta, mean_path
from bascule.theory.prediction import rounds_to_win

ALPHAS = (1.2, 1.5, 2.0, 4.0, 16.0)
TILTS = (1.0, 2.0, 3.0, 5.0, 10.0)

AFFORDABLE = 100_000
"""Units a run may take before its rule is played less often."""

FEWEST = 50
"""A rule that takes part is played this often, or as often as was asked for."""

TOO_MANY = 5_000_000
"""A rule whose runs take more units than this is left out."""

ARMS_WEIGHT, STOP_WEIGHT, BERNSTEIN_WEIGHT, RADIUS_WEIGHT = 30.0, 4.0, 20.0, 40.0
"""How much longer a unit takes among many arms at most, with a mixture's stop, with Bernstein's
radius, and with a mixture's radius that is not in the simulator's table."""


class Family(StrEnum):
    """Rules that differ by their knob only."""

    PUBLISHED = "published"
    PEELING = "peeling"
    RADIUS = "mixture-radius"
    BERNSTEIN = "bernstein-radius"
    STOP = "mixture-stop"
    TILT = "tilt"
    EFFECT = "tilt-effect"

    @property
    def words(self) -> str:
        """What a table and a figure call the family."""
        return WORDS[self]


WORDS = {
    Family.PUBLISHED: "the paper's rules as published",
    Family.PEELING: "the paper's rules, delta by peeling",
    Family.RADIUS: "UCB with a mixture radius",
    Family.BERNSTEIN: "UCB with Bernstein's radius",
    Family.STOP: "UCB and ETC with a mixture stop",
    Family.TILT: "tilted blocks",
    Family.EFFECT: "tilted blocks, informed of the effect",
}


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule at the delta that its family's proof asks for."""

    design: Design
    family: Family
    error: float

    @property
    def label(self) -> str:
        """What no other rule of a comparison is called."""
        label = self.design.rule.label
        if self.family is Family.EFFECT:
            return f"{short_name(label)} informed"
        return f"{label} as published" if self.family is Family.PUBLISHED else label

    @property
    def calibration(self) -> Calibration:
        """The delta in use and the error that the family's own proof gives it."""
        return Calibration(self.design.calibration.delta, self.error, "proven")


def short_name(label: str) -> str:
    """The rule and its knob, which say enough within a family.

    >>> short_name("UCB_2 mixture radius"), short_name("Tilt_3, effect 1")
    ('UCB_2', 'Tilt_3')
    """
    return label.split(" ", maxsplit=1)[0].removesuffix(",")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that was not played, and why."""

    label: str
    family: Family
    reason: str


def contenders(
    arms: int,
    outcome: Outcome,
    error: float,
    effect: float | None = None,
    alphas: Sequence[float] = ALPHAS,
    tilts: Sequence[float] = TILTS,
    families: Sequence[Family] = tuple(Family),
) -> list[Contender]:
    """Every rule of these families that ends without a cap, along its knob.

    >>> import bascule as bs
    >>> [entry.label for entry in contenders(2, bs.Gaussian(1), 0.05, alphas=[2], tilts=[3])]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['UCB_2 as published', "ETC' as published", 'ETC as published', 'UCB_2', "ETC'", 'ETC',
     'UCB_2 mixture radius', 'UCB_2 mixture stop', 'ETC mixture', 'Tilt_3']
    """
    names = [f"arm {i + 1}" for i in range(arms)]
    for alpha in alphas:
        if alpha <= 1:
            raise InputError(
                "alphas",
                f"alphas must be above 1 (got {alpha:g}): at 1 a test need not end; "
                "1.2 is a small one",
            )
    entries = []
    for family in families:
        for rule in _rules(family, outcome, alphas, tilts, effect):
            design = Design(names, outcome, rule, error=error)
            if family is Family.PUBLISHED:
                design = Design(names, outcome, rule, delta=corollary_delta(error, design))
            entries.append(Contender(design, family, error))
    return entries


def checked_families(families: Iterable[str]) -> tuple[Family, ...]:
    """Accept the names of families.

    >>> checked_families(["tilt"])
    (<Family.TILT: 'tilt'>,)
    """
    known = {family.value: family for family in Family}
    asked = [families] if isinstance(families, str) else list(families)
    for name in asked:
        if name not in known:
            raise InputError(
                "families", f"families must be among {', '.join(known)} (got {name!r})"
            )
    return tuple(known[name] for name in asked)


def checked_knobs(field: str, values: object) -> tuple[float, ...]:
    """Accept any numbers, and put them into their order.

    >>> checked_knobs("tilts", [3, 1, 3])
    (1.0, 3.0)
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(field, f"{field} must be a list of numbers (got {values!r})")
    return tuple(sorted({checks.number(field, value, "give numbers") for value in values}))


def stalling(alphas: Sequence[float]) -> list[LeftOut]:
    """The rules that cannot take part, because nothing makes their runs end.

    >>> [entry.label for entry in stalling([1.5, 2])]
    ['UCB_1.5 mixture stop']
    """
    reason = f"can stall below alpha {STALLS_BELOW:g}"
    return [
        LeftOut(UCB(alpha, stop="mixture").label, Family.STOP, reason)
        for alpha in alphas
        if alpha < STALLS_BELOW
    ]


def runs_for(design: Design, means: Sequence[float], runs: int) -> int:
    """How many of `runs` are played; none if even a few of them would take too long.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.5), error=0.05)
    >>> [runs_for(design, [0.0, gap], 1000) for gap in (0.1, 0.05, 0.005)]
    [1000, 326, 0]
    """
    units = expected_units(design, means)
    effort = units * _weight(design, units)
    if effort > TOO_MANY:
        return 0
    return max(min(runs, FEWEST), min(runs, int(runs * AFFORDABLE / effort)))


def too_long(entry: Contender, means: Sequence[float]) -> LeftOut:
    """A rule of which even a few runs would take too long.

    >>> import bascule as bs
    >>> entry = contenders(2, bs.Gaussian(1), 0.05, tilts=[3], families=[Family.TILT])[0]
    >>> too_long(entry, [0.0, 0.001]).reason
    'about 72,000,000 units a run'
    """
    units = expected_units(entry.design, means)
    slow = ", slow to simulate" if _weight(entry.design, units) > 1 else ""
    reason = f"about {float(f'{units:.2g}'):,.0f} units a run{slow}"
    return LeftOut(entry.label, entry.family, reason)


def expected_units(design: Design, means: Sequence[float]) -> float:
    """The predicted decision time, or where there is no prediction a rough one.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=0.05)
    >>> round(expected_units(design, [0.05, 0.06]))
    31206
    """
    rule, gaps = design.rule, rival_gaps(means)
    if isinstance(rule, UCB) and rule.radius == "bernstein":
        # It comes to know the spread, and is then about as wide as a mixture's that knows it.
        known = Gaussian(spread_between(means, design.outcome))
        alike = Design(design.arms, known, UCB(rule.alpha, radius="mixture"), error=design.error)
        return mean_path(alike, gaps).decision_time
    if not isinstance(rule, Tilt) or isinstance(design.outcome, Gaussian):
        return mean_path(design, gaps).decision_time
    best = max(means)
    pairs = rounds_to_win(best, best - min(gaps), -math.log(design.calibration.delta))
    # A clock of h, half a pair's, takes (1 + r) h of the leader and (1 + 1/r) h of each rival.
    return pairs / 2 * (1 + rule.tilt + len(gaps) * (1 + 1 / rule.tilt))


def _rules(
    family: Family,
    outcome: Outcome,
    alphas: Sequence[float],
    tilts: Sequence[float],
    effect: float | None,
) -> list[AnyRule]:
    if family is Family.RADIUS:
        return [UCB(alpha, radius="mixture") for alpha in alphas]
    if family is Family.BERNSTEIN:
        # Only outcomes within limits have such a radius.
        bounded = outcome.high < math.inf
        return [UCB(alpha, radius="bernstein") for alpha in alphas if bounded]
    if family is Family.STOP:
        ending = [alpha for alpha in alphas if alpha >= STALLS_BELOW]
        return [*(UCB(alpha, stop="mixture") for alpha in ending), ETC(stop="mixture")]
    if family is Family.TILT:
        return [Tilt(tilt) for tilt in tilts]
    if family is Family.EFFECT:
        return [] if effect is None else [Tilt(tilt, effect) for tilt in tilts]
    return [*(UCB(alpha) for alpha in alphas), ETCPrime(), ETC()]


def _weight(design: Design, units: float) -> float:
    """How much longer a unit takes than one of two arms with the paper's radius."""
    procedure = design.procedure
    weight = min(len(design.arms) / 2, ARMS_WEIGHT)
    if not isinstance(procedure, IntervalProcedure):
        return weight
    if procedure.pairwise:
        return weight * STOP_WEIGHT
    if procedure.follows_spread:
        return weight * BERNSTEIN_WEIGHT
    tabulated = units <= LARGEST_TABLE or procedure.shape.radius is radius
    return weight if tabulated else weight * RADIUS_WEIGHT
