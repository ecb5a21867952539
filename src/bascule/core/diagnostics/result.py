"""What a diagnostic says: a number, how rare it would be by chance alone, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from bascule.core.inputs import checks

Validity = Literal["fixed time", "any time"]
"""Whether a p-value holds for one look at a time fixed beforehand, or for any number of looks."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that was looked for, and whether it was seen.

    When there is nothing to see, `p_value` is at most `level` in a share `level` of the tests. With
    validity `"fixed time"` that holds for one look at a time fixed beforehand; with `"any time"`
    it holds for all looks together.

    >>> Diagnostic("trend", 25.0, 0.0001, 0.01, "fixed time", "outcomes drifted").flagged
    True
    """

    name: str
    statistic: float
    p_value: float
    level: float
    validity: Validity
    message: str

    @property
    def flagged(self) -> bool:
        """Whether this is rarer than `level` by chance alone."""
        return self.p_value <= self.level

    def at_look(self, number: int) -> Diagnostic:
        """Return the diagnostic for one of many looks, counted from 1, which hold together.

        A p-value for one look is multiplied by k (k + 1) at look k. The looks' shares of the level
        add up to it, as 1 / (1 * 2) + 1 / (2 * 3) + ... = 1.

        >>> Diagnostic("trend", 25.0, 0.001, 0.01, "fixed time", "drift").at_look(4).p_value
        0.02
        """
        if self.validity == "any time":
            return self
        p_value = p_at_look(self.p_value, number)
        message = self.message.replace("(p ", "(at this look alone p ")
        if self.flagged and p_value > self.level:
            message = (
                f"not rare among {number} looks, though it would be at a single one: {message}"
            )
        return replace(self, p_value=p_value, validity="any time", message=message)

    def named(self, arms: Sequence[str]) -> Diagnostic:
        """Return the diagnostic with names in its message instead of numbers of arms.

        >>> result = Diagnostic("shift", 9.0, 0.0001, 0.01, "fixed time", "arms 0 and 1 differ")
        >>> result.named(["old", "new"]).message
        'old and new differ'
        """
        message = re.sub(
            r"\barms (\d+) and (\d+)",
            lambda match: f"{arms[int(match[1])]} and {arms[int(match[2])]}",
            self.message,
        )
        message = re.sub(r"\barm (\d+)\b", lambda match: arms[int(match[1])], message)
        return replace(self, message=message)

    def to_dict(self) -> dict[str, float | str | bool]:
        """Plain data."""
        return {**asdict(self), "flagged": self.flagged}

    def __str__(self) -> str:
        return f"{'! ' if self.flagged else '  '}{self.name}: {self.message}"


def p_at_look(p_value: float, number: int) -> float:
    """Return a p-value that holds for all looks together, of one for look `number` alone.

    >>> p_at_look(0.001, 4)
    0.02
    """
    number = checks.whole("look", number, 1, "looks are counted from 1")
    return min(1.0, p_value * number * (number + 1))


def checked_level(level: float) -> float:
    """Accept the share of false alarms that a diagnostic may give."""
    return checks.probability("level", level, "it is the share of false alarms; 0.01 is usual")


def shown(p_value: float) -> str:
    """A p-value as a sentence has it.

    >>> shown(0.0312), shown(3e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"
