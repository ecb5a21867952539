"""Tilted blocks: the leader gets `tilt` units for each one of a challenger, block by block.

Both arms of a block live through the same moments, so a trend that they share cancels; and the
block's sizes are fixed before its outcomes, so the evidence is a martingale of one dimension. An
arm is dropped when the evidence that another one is better reaches (K - 1) / error. Where the
spread of an outcome is known, the evidence is a normal mixture; where only its limits are, a bet.
The proof is in docs/explanation/tilted-blocks.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from bascule.core import checks
from bascule.core.errors import InputError
from bascule.core.evidence.normal import log_informed, log_mixture
from bascule.core.outcomes import Gaussian, Outcome, Recurrent
from bascule.core.procedures import betting_state as betting_blocks
from bascule.core.procedures import block_state as blocks
from bascule.core.procedures.betting_state import drop_beaten as drop_beaten_by_bets
from bascule.core.procedures.block_state import Evidence, drop_beaten
from bascule.core.procedures.interval_state import FloatArray
from bascule.core.procedures.margin import bets_within, pairs_within
from bascule.core.rules.calibration import Calibration


class BlockSteps(NamedTuple):
    """What distinguishes one test in blocks from another while it runs.

    `fold` is given (state, first, arms, 1 / scale of the outcomes); `drop` is given (state, first,
    arms, effect, threshold, floors), with the floors of `core.blocks.drop_beaten`; `within` is
    given (state, first, arms, effect, threshold, margin). With `split` a batch is as many blocks
    of the same sizes, one after the other, instead of one large block.
    """

    width: Callable[[int], int]
    clear: Callable[[FloatArray, int, int], None]
    leader: Callable[[FloatArray, int, int], tuple[int, float]]
    observe: Callable[[FloatArray, int, int, int, float], None]
    fold: Callable[[FloatArray, int, int, float], None]
    drop: Callable[[FloatArray, int, int, float, float, FloatArray], None]
    within: Callable[[FloatArray, int, int, float, float, float], bool]
    split: bool


def uninformed(total: float, clock: float, effect: float) -> float:
    """Evidence for a difference of any size."""
    return log_mixture(total, clock)


def informed(total: float, clock: float, effect: float) -> float:
    """Evidence that is strongest for differences around `effect`, and valid for any."""
    return log_informed(total, clock, effect)


def drop_uninformed(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, floors: FloatArray
) -> None:
    """Drop what is beaten by a difference of any size."""
    drop_beaten(state, first, arms, uninformed, effect, threshold, floors)


def drop_informed(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, floors: FloatArray
) -> None:
    """Drop what is beaten, soonest by a difference around `effect`."""
    drop_beaten(state, first, arms, informed, effect, threshold, floors)


def within_uninformed(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, margin: float
) -> bool:
    """Whether all differences are proven smaller than the margin."""
    return pairs_within(state, first, arms, uninformed, effect, threshold, margin)


def within_informed(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, margin: float
) -> bool:
    """Whether all differences are proven smaller than the margin."""
    return pairs_within(state, first, arms, informed, effect, threshold, margin)


def within_betting(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, margin: float
) -> bool:
    """Whether bets have proven all differences smaller than the margin."""
    return bets_within(state, first, arms, threshold, margin)


def drop_betting(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, floors: FloatArray
) -> None:
    """Drop what a bet has beaten; floors are for evidence that is dearer to compute."""
    drop_beaten_by_bets(state, first, arms, threshold)


UNINFORMED = BlockSteps(
    blocks.width,
    blocks.clear,
    blocks.leader,
    blocks.observe,
    blocks.fold,
    drop_uninformed,
    within_uninformed,
    split=False,
)
INFORMED = UNINFORMED._replace(drop=drop_informed, within=within_informed)
BETTING = BlockSteps(
    betting_blocks.width,
    betting_blocks.clear,
    betting_blocks.leader,
    betting_blocks.observe,
    betting_blocks.fold,
    drop_betting,
    within_betting,
    split=True,
)


@dataclass(frozen=True, slots=True)
class Tilt:
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
    def evidence(self) -> Evidence:
        """What decides between outcomes with a known spread."""
        return uninformed if self.effect is None else informed

    def steps(self, outcome: Outcome) -> BlockSteps:
        """The functions that lead a test of such outcomes through its blocks."""
        if not isinstance(outcome, Gaussian):
            return BETTING
        return UNINFORMED if self.effect is None else INFORMED

    def check_outcome(self, outcome: Outcome) -> None:
        """Refuse units that give more than one outcome, and an effect where it has no use."""
        if isinstance(outcome, Recurrent):
            raise InputError(
                "rule",
                f"{self.label} compares units that give one outcome each, not Recurrent ones: "
                'use UCB(2, radius="mixture"), or ETC(stop="mixture") for an even split',
            )
        if self.effect is not None and not isinstance(outcome, Gaussian):
            raise InputError(
                "effect",
                f"effect belongs to outcomes with a known spread, not to {outcome!r}: leave it "
                "out; the bets on such outcomes suit every effect",
            )

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Each pair of arms is compared at `error / (arms - 1)`."""
        if delta is not None or error is None:
            raise InputError("delta", "delta belongs to the paper's rules: give error instead")
        return Calibration(error / (arms - 1), error, "proven")

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Every difference is found in the end."""
