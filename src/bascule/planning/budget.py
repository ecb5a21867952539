"""How much is played: as many runs as the time a plan may take leaves for each of its designs."""

from __future__ import annotations

import time

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bounded, Outcome, Recurrent
from bascule.planning.forecast import Outlook, hopeless, outlook_of, played_design
from bascule.planning.request import Wishes
from bascule.simulation import World, simulate
from bascule.simulation.engines.threads import Stages

STEPS, SIDE_STEPS = 9_000_000, 1_500_000
"""Units that the runs of the recommended design may take together, and those of any other."""

FEWEST, MOST = 100, 2000
SIDE_FEWEST, SIDE_MOST = 32, 400
"""Runs of the recommended design, and of any other."""

TOO_MANY = 400_000_000
"""Where even the fewest runs would take more units than this, the prediction has to do."""

LIMITS_WEIGHT, RECURRENT_WEIGHT = 5, 40
"""How much longer a unit takes whose outcome lies within limits, or recurs."""


class Player:
    """Plays designs for one plan, counts what that takes, and tells how far it is."""

    def __init__(
        self,
        wishes: Wishes,
        runs: int | None,
        seed: int,
        threads: int | None,
        tell: Stages,
        parts: int,
    ) -> None:
        self.wishes = wishes
        self.runs = runs
        self.seed = seed
        self.threads = threads
        self.tell = tell
        self.parts = parts
        self.part = 0
        self.compile_seconds = 0.0
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time since the start, without compilation."""
        return time.perf_counter() - self.started - self.compile_seconds

    def recommended(self, design: Design, days: float) -> Outlook | None:
        """What runs of the recommended design show; None where they would take too long.

        `days` is how long a run is expected to take, here and below.
        """
        runs = self._runs(days, STEPS, FEWEST, MOST) if self.runs is None else self.runs
        return self._play("the design", design, self.wishes.world, runs, days)

    def aside(self, what: str, design: Design, world: World, days: float) -> Outlook | None:
        """The same for a design that is only compared, or a world that is only considered."""
        runs = self._runs(days, SIDE_STEPS, SIDE_FEWEST, SIDE_MOST)
        return self._play(what, design, world, runs, days)

    def _runs(self, days: float, steps: int, fewest: int, most: int) -> int:
        return max(fewest, min(most, int(steps / self._units(days))))

    def _units(self, days: float) -> float:
        """How long a run is expected to take, in units of the quickest kind."""
        units = max(1.0, min(days, self.wishes.deadline_days) * self.wishes.units_per_day)
        return units * weight_of(self.wishes.outcome)

    def _play(
        self, what: str, design: Design, world: World, runs: int, days: float
    ) -> Outlook | None:
        self.part = min(self.part + 1, self.parts)
        self.tell(f"simulating {what}", self.part, self.parts)
        if runs * self._units(days) > TOO_MANY and self.runs is None:
            return None
        try:
            played = played_design(self.wishes, design)
            result = simulate(played, None, runs, self.seed, self.threads, world=world)
        except InputError:
            # The deadline is so near that every run would end undecided.
            return hopeless(self.wishes, world.start)
        self.compile_seconds += result.compile_seconds
        return outlook_of(result, self.wishes.units_per_day)


def weight_of(outcome: Outcome) -> int:
    """How many units of the quickest kind take as long to simulate as one of this kind.

    >>> weight_of(Bounded(0, 1))
    5
    """
    if isinstance(outcome, Recurrent):
        return RECURRENT_WEIGHT
    return LIMITS_WEIGHT if isinstance(outcome, Bounded) else 1
