"""The rules of a comparison: each with several settings, all at the same error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import STATED, Calibration
from bascule.core.inputs import checks
from bascule.core.outcomes import Outcome
from bascule.core.rules import ETC, UCB, ETCPrime, Rule, Tilt
from bascule.core.rules.ucb import STALLS_BELOW
from bascule.research.rivals import MixtureAdaptive, Thompson, TopTwo, TrackAndStop
from bascule.theory import corollary_delta

ALPHAS = (1.2, 1.5, 2.0, 4.0, 16.0)
TILTS = (1.0, 2.0, 3.0, 5.0, 10.0)
LEADERS = (0.5, 0.8)


class RuleFamily(StrEnum):
    """Families of rules; in most of them, rules differ only by one setting, such as alpha."""

    PUBLISHED = "published"
    PEELING = "peeling"
    RADIUS = "mixture-radius"
    STOP = "mixture-stop"
    LOOKS = "planned-looks"
    TILT = "tilt"
    EFFECT = "tilt-effect"
    PEERS = "peers"
    GIVEN = "given"
    STATED = "stated"

    @property
    def words(self) -> str:
        """The name of the family in tables and figures."""
        return WORDS[self]


WORDS = {
    RuleFamily.PUBLISHED: "the paper's rules as published",
    RuleFamily.PEELING: "the paper's rules, delta by peeling",
    RuleFamily.RADIUS: "UCB with a mixture radius",
    RuleFamily.STOP: "UCB and ETC with a mixture stop",
    RuleFamily.LOOKS: "UCB at planned looks",
    RuleFamily.TILT: "tilted blocks",
    RuleFamily.EFFECT: "tilted blocks, informed of the effect",
    RuleFamily.PEERS: "rules of other tools and papers, compared apart",
    RuleFamily.GIVEN: "rules that were given",
    RuleFamily.STATED: "rules whose error their authors state, compared apart",
}

USUAL = tuple(
    family for family in RuleFamily if family not in (RuleFamily.PEERS, RuleFamily.STATED)
)
"""The default families of a comparison."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule in a comparison, with the delta at which its family's proof gives the error."""

    design: Design
    family: RuleFamily
    error: float

    @property
    def label(self) -> str:
        """A name that is unique among the rules of a comparison."""
        label = self.design.rule.label
        if self.family is RuleFamily.EFFECT:
            return f"{short_name(label)} informed"
        return f"{label} as published" if self.family is RuleFamily.PUBLISHED else label

    @property
    def calibration(self) -> Calibration:
        """The delta of the rule, and the error that the family's own proof gives for it."""
        calibration = self.design.calibration
        if self.family is RuleFamily.PUBLISHED and not self.design.outcome.recurring:
            return Calibration(calibration.delta, self.error, "proven")
        return calibration


def short_name(label: str) -> str:
    """Shorten a label to the rule and its setting, which are unique within a family.

    >>> short_name("UCB_2 mixture radius"), short_name("Tilt_3, effect 1")
    ('UCB_2', 'Tilt_3')
    """
    return label.split(" ", maxsplit=1)[0].removesuffix(",")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that was not simulated, and the reason."""

    label: str
    family: RuleFamily
    reason: str


def contenders(
    arms: int,
    outcome: Outcome,
    error: float,
    effect: float | None = None,
    alphas: Sequence[float] = ALPHAS,
    tilts: Sequence[float] = TILTS,
    families: Sequence[RuleFamily] = USUAL,
    rules: Sequence[Rule] = (),
) -> list[Contender]:
    """Return the rules of the given families, at all settings with which runs end without a cap.

    `rules` are added, except those that one of the families already has.

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
    listed = _rules(alphas, tilts, effect, outcome.recurring)
    for family in families:
        for rule in listed.get(family, ()):
            design = Design(names, outcome, rule, error=error, sides=1)
            # The paper has no corollary on the error for recurring outcomes, only its theorems.
            if family is RuleFamily.PUBLISHED and not outcome.recurring:
                design = Design(names, outcome, rule, delta=corollary_delta(error, design))
            entries.append(Contender(design, family, error))
    known = {entry.design for entry in entries}
    for rule in rules:
        design = Design(names, outcome, rule, error=error, sides=1)
        if design not in known:
            stated = design.calibration.guarantee == STATED
            entries.append(
                Contender(design, RuleFamily.STATED if stated else RuleFamily.GIVEN, error)
            )
    return entries


def checked_rules(rules: Iterable[Rule | str]) -> tuple[tuple[RuleFamily, ...], tuple[Rule, ...]]:
    """Split a list into the families that it names and the rules that it contains.

    If the list names no family, the families are those of `USUAL`. A name that is not that of a
    family raises `InputError`.

    >>> checked_rules(["tilt", ETC()])
    ((<RuleFamily.TILT: 'tilt'>,), (ETC(stop='intervals'),))
    """
    known = {family.value: family for family in RuleFamily}
    asked = [rules] if isinstance(rules, str) else list(rules)
    names = [rule for rule in asked if isinstance(rule, str)]
    for name in names:
        if name not in known:
            raise InputError(
                "rules", f"rules must be rules, or among {', '.join(known)} (got {name!r})"
            )
    families = tuple(known[name] for name in names)
    return families or USUAL, tuple(rule for rule in asked if not isinstance(rule, str))


def checked_knobs(field: str, values: object) -> tuple[float, ...]:
    """Return the numbers sorted and without repetition; raise an error for anything else.

    >>> checked_knobs("tilts", [3, 1, 3])
    (1.0, 3.0)
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(field, f"{field} must be a list of numbers (got {values!r})")
    return tuple(sorted({checks.number(field, value, "give numbers") for value in values}))


def refuse_twice(design: Design, **options: object) -> None:
    """Raise `InputError` for options that are given although a design already contains them."""
    for name, value in options.items():
        if value is not None:
            raise InputError(
                name,
                f"{name} is given twice: {value!r:.60} here, and the design of {design.rule.label} "
                f"states it too; leave {name} out, or give the rule or the means without a design",
            )


def stalling(alphas: Sequence[float]) -> list[LeftOut]:
    """Return the rules that are left out because their runs might never end.

    >>> [entry.label for entry in stalling([1.5, 2])]
    ['UCB_1.5 mixture stop']
    """
    reason = f"can stall below alpha {STALLS_BELOW:g}"
    return [
        LeftOut(UCB(alpha, stop="mixture").label, RuleFamily.STOP, reason)
        for alpha in alphas
        if alpha < STALLS_BELOW
    ]


def _rules(
    alphas: Sequence[float], tilts: Sequence[float], effect: float | None, recurring: bool
) -> dict[RuleFamily, list[Rule]]:
    """Return the rules of each family, for outcomes that recur or for those that come once."""
    published: list[Rule] = [*(UCB(alpha) for alpha in alphas), ETCPrime(), ETC()]
    rules: dict[RuleFamily, list[Rule]] = {
        RuleFamily.PUBLISHED: published,
        RuleFamily.RADIUS: [UCB(alpha, radius="mixture") for alpha in alphas],
    }
    ending = [alpha for alpha in alphas if alpha >= STALLS_BELOW]
    if recurring:
        stopped = [UCB(alpha, radius="mixture", stop="mixture") for alpha in ending]
        rules[RuleFamily.LOOKS] = [UCB(alpha, radius="looks") for alpha in alphas]
    else:
        stopped = [UCB(alpha, stop="mixture") for alpha in ending]
        top_two = [TopTwo(leader) for leader in LEADERS]
        rules[RuleFamily.PEELING] = published
        rules[RuleFamily.TILT] = [Tilt(tilt) for tilt in tilts]
        rules[RuleFamily.PEERS] = [TrackAndStop(), Thompson(), *top_two, MixtureAdaptive()]
        if effect is not None:
            rules[RuleFamily.EFFECT] = [Tilt(tilt, effect) for tilt in tilts]
    rules[RuleFamily.STOP] = [*stopped, ETC(stop="mixture")]
    return rules
