"""Tilted blocks: the leader gets `tilt` units for each one of a challenger, block by block.

Both arms of a block live through the same moments, so a trend that they share cancels; and the
block's sizes are fixed before its outcomes, so the evidence is a martingale of one dimension. An
arm is dropped when the evidence that another one is better reaches (K - 1) / error. The proof is
in docs/explanation/tilted-blocks.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from bascule.core import checks
from bascule.core.blocks import Evidence
from bascule.core.calibration import Calibration
from bascule.core.errors import InputError
from bascule.core.evidence.normal import log_informed, log_mixture


class BlockSteps(NamedTuple):
    """What distinguishes one rule in blocks from another while a test runs."""

    evidence: Evidence


def uninformed(total: float, clock: float, effect: float) -> float:
    """Evidence for a difference of any size."""
    return log_mixture(total, clock)


def informed(total: float, clock: float, effect: float) -> float:
    """Evidence that is strongest for differences around `effect`, and valid for any."""
    return log_informed(total, clock, effect)


@dataclass(frozen=True, slots=True)
class Tilt:
    """Tilted blocks: a larger `tilt` costs less regret, a smaller one decides sooner.

    `effect` is the difference worth finding, in outcome units: the test decides sooner around it
    and keeps its error for every other. `batch` units of each challenger make up a block.

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

    def steps(self) -> BlockSteps:
        """The evidence that decides."""
        return BlockSteps(uninformed if self.effect is None else informed)

    def calibrate(self, arms: int, error: float | None, delta: float | None) -> Calibration:
        """Each pair of arms is compared at `error / (arms - 1)`."""
        if delta is not None or error is None:
            raise InputError("delta", "delta belongs to the paper's rules: give error instead")
        return Calibration(error / (arms - 1), error, "proven")

    def check_uncapped(self) -> None:
        """Every difference is found in the end."""
