"""Rules from other packages, and the conditions on which bascule states their guarantee itself.

The evidence of blocks holds for any sizes that are fixed before the outcomes of a block are known
(docs/research/tilted-blocks.md). So a rule may choose any allocation and keep the proof, if its
evidence and level are those of tilted blocks. `BlockAllocation` takes both from `Tilt`, and a
subclass cannot change them. Any other rule from outside may be right, but it has not been checked
here: its guarantee is called "stated by its author".
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import final

from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import Share
from bascule.core.rules.base import Rule
from bascule.core.rules.tilt import Tilt

PACKAGE = __name__.partition(".")[0]
"""Name of this package, whose own rules have checked guarantees."""


class BlockAllocation(Rule):
    """The base of rules that choose their own block sizes and use the evidence of tilted blocks.

    A subclass defines `like` and `share`, in addition to its names; it accepts all outcomes that
    tilted blocks accept, and keeps their proof. If it overrides `check_outcome`, `check_size`,
    `check_design`, `calibrate` or `procedure`, its guarantee is labelled "stated by its author".
    """

    __slots__ = ()

    @property
    @abstractmethod
    def like(self) -> Tilt:
        """The rule of tilted blocks whose evidence decides, as in `Tilt(self.tilt)`."""

    @property
    @abstractmethod
    def share(self) -> Share:
        """(lead, tilt) -> the units of the leader for each unit of a challenger, at least 1.

        The lead is in standard errors, and the tilt is that of `like`. It must be a plain function
        of both, which Numba can compile, and the share must not fall as the lead grows. Equal rules
        must return the same function: create one with a parameter under `functools.cache`.
        """

    @property
    def planned_effect(self) -> float | None:
        """The difference that the evidence is tuned for; None if there is none."""
        return self.like.planned_effect

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also depends on events in windows that are still open."""
        return self.like.uses_signals

    def for_metric(self) -> Rule:
        """Return the rule that compares another metric in the same blocks."""
        return self.like.for_metric()

    @final
    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` for outcomes that tilted blocks do not support."""
        self.like.check_outcome(outcome)

    @final
    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise `InputError` for more arms than tilted blocks compare."""
        self.like.check_size(arms, max_units)

    @final
    def check_design(self, design: Setting) -> None:
        """Raise `InputError` as tilted blocks do, or for a `power` with more than two arms.

        Removing an arm would move the horizon that a power sets.
        """
        self.like.check_design(design)
        if len(design.arms) > 2 and self.like.has_horizon and self.like.reach is None:
            raise InputError(
                "rule",
                f"{self.label} has a horizon that its power sets, which is for two arms (got "
                f"{len(design.arms)}): give `like` a reach instead, or compare two arms",
            )

    @final
    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Return the calibration of tilted blocks."""
        return self.like.calibrate(outcome, arms, error, delta)

    @final
    def procedure(self, design: Setting) -> BlockProcedure:
        """Return the procedure of tilted blocks with another share for the leader."""
        return replace(self.like.procedure(design), label=self.label, share=self.share)


FINAL = ("check_outcome", "check_size", "check_design", "calibrate", "procedure")
"""Methods that a rule must not override if it takes its guarantee from `BlockAllocation`."""


def is_ours(rule: Rule) -> bool:
    """Return whether the evidence and the calibration of a rule are those of this package.

    This depends on where classes and methods are defined. That is enough to tell who claims a
    guarantee, but it does not protect against an author who wants to deceive.

    >>> is_ours(Tilt(3))
    True
    """
    cls = type(rule)
    if cls.__module__.partition(".")[0] == PACKAGE:
        return True
    if not isinstance(rule, BlockAllocation):
        return False
    kept = all(getattr(cls, name) is getattr(BlockAllocation, name) for name in FINAL)
    return kept and type(rule.like) is Tilt
