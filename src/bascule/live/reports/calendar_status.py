"""What the calendar adds to a status: a decision that is withheld, and figures after a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bascule.core.design import Design
from bascule.core.metrics.contrasts import Contrast, contrasts
from bascule.core.metrics.effects import advantages, effects_of
from bascule.live.clock import moment
from bascule.live.steps.folding import due_announcement
from bascule.live.storage.state import OPEN, ExperimentState, Phase


@dataclass(frozen=True, slots=True)
class Withheld:
    """A decision that is withheld.

    `name` is the arm that has won, or "no difference"; `units` had counted when it was reached, at
    `reached`; it is announced at `until`.
    """

    name: str
    units: int
    reached: str
    until: str

    @property
    def day(self) -> str:
        """The day on which it is announced, as people say it."""
        return f"{datetime.fromisoformat(self.until):%A %-d %b}"


@dataclass(frozen=True, slots=True)
class FinalFigures:
    """What the units show that were enrolled before a decision, with those that counted after it.

    `matured` of them have counted, and `pending` have not. `units` and `means` are those of each
    arm, and `contrasts` compare each treatment with the control.
    """

    matured: int
    pending: int
    units: tuple[int, ...]
    means: tuple[float | None, ...]
    contrasts: tuple[Contrast, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every conversion window has closed."""
        return self.pending == 0


def withheld_of(design: Design, phase: Phase, state: ExperimentState) -> Withheld | None:
    """Return the decision that is withheld; None if there is none."""
    held = state.ending.held
    if held is None or phase not in OPEN:
        return None
    until = moment(due_announcement(design, state)).isoformat()
    return Withheld(held.name, held.units, moment(held.time).isoformat(), until)


def final_of(design: Design, state: ExperimentState) -> FinalFigures | None:
    """Return the figures with all that counted after the decision; None if nothing has to."""
    statistics = state.ending.final
    if state.ending.verdict is None or statistics is None:
        return None
    # Of a block that is not complete, the outcomes are known but not compared.
    arms = [one + rest for one, rest in zip(statistics.arms, state.block.sums, strict=True)]
    means = [arm.known_mean for arm in arms]
    pending = max(0, sum(state.ending.enrolled) - state.folding.folded) if design.measure_on else 0
    return FinalFigures(
        state.folding.folded,
        pending,
        tuple(arm.units for arm in arms),
        tuple(means),
        _contrasts(design, state, means),
    )


def _contrasts(
    design: Design, state: ExperimentState, means: Sequence[float | None]
) -> tuple[Contrast, ...]:
    assert state.ending.final is not None
    result = effects_of(design, advantages(design, state.ending.final))
    control = design.arms.index(design.control_arm)
    return contrasts(design, result, state.ending.final.arms[control], means[control])
