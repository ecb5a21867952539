"""The contract of procedures: how a test with a given rule proceeds, step by step.

A design gives its procedure (`design.procedure`). Simulation, live tests, planning and analysis
call it and do not ask which rule it came from. A procedure is a frozen value, and its methods are
pure functions of what a test has shown.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal, NamedTuple, NoReturn, Protocol

from bascule.core.cohorts import CohortStatistics
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration, Guarantee
from bascule.core.evidence.families.rows import Difference
from bascule.core.outcomes import Outcome, Pair
from bascule.core.procedures.intervals.state import (
    MOST_ARMS,
    STEPS_PER_E_FOLD,
    Bounds,
    intersected,
    is_due,
    with_dropped,
)
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY

AnyStatistics = Statistics | CohortStatistics
"""What a test has shown: one outcome per unit, or cohorts where outcomes recur."""

EndReason = Literal["horizon", "futility", "guardrails"]
"""Why a test ends without a decision: by its plan, or as guardrails rule out every arm."""

UNKNOWN: Difference = (0.0, -math.inf, math.inf)
"""The ends while nothing is known of a difference."""

FEW_PAIRS = 10
"""Pairs of arms, up to which their intervals are kept as often as those of two arms."""

OWN_STEPS = "own steps"
"""The kind of a procedure that states none."""

SAME = "no difference that matters"
"""What a decision is called that declares no arm the best."""


class Setting(Protocol):
    """What a procedure needs to know of a design."""

    @property
    def arms(self) -> Sequence[str]:
        """The names of the arms."""

    @property
    def outcome(self) -> Outcome:
        """The outcome model."""

    @property
    def control_arm(self) -> str:
        """The name of the control."""

    @property
    def calibration(self) -> Calibration:
        """The level of each comparison, and the error that it proves."""

    @property
    def min_effect(self) -> float | None:
        """The smallest difference that matters, if one was named."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """The arm that a test declares best, or none if no difference matters, with its guarantee.

    `harm` names the metrics on which all treatments are harmful, where that is why the control
    stays. `by` says whether the primary metric decided, or in a guarded rollout the guardrails.
    """

    arm: int | None
    name: str
    error: float
    guarantee: Guarantee
    harm: tuple[str, ...] = ()
    by: Literal["primary", "guardrails"] = "primary"

    def __repr__(self) -> str:
        parts: dict[str, object] = {"arm": self.arm, "name": self.name, "error": self.error}
        parts["guarantee"] = self.guarantee
        if self.harm:
            parts["harm"] = self.harm
        if self.by != "primary":
            parts["by"] = self.by
        return f"Decision({', '.join(f'{name}={value!r}' for name, value in parts.items())})"


@dataclass(frozen=True, slots=True)
class Interval:
    """What a rule compares: an arm's mean and the radius around it.

    When one arm's interval lies above another's, its mean does too, but for the error of the
    design. The radius is made for that comparison: with ETC on two arms it is half of what their
    difference needs, and no interval for one mean alone.
    """

    mean: float
    radius: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.radius

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.radius


@dataclass(frozen=True, slots=True)
class Block:
    """How many units of each arm come next, in random order; and how many such blocks in a row."""

    units: tuple[int, ...]
    leader: int
    repeat: int

    @property
    def size(self) -> int:
        """Units until the arms are compared again."""
        return self.repeat * sum(self.units)


class Prospect(NamedTuple):
    """Where an arm stands against a rival, up to the horizon of a test."""

    clock: float
    """The information on the pair so far."""
    left: float
    """The information that is left until the horizon."""
    lead: float
    """The lead over the rival, in standard errors."""
    room: float
    """What is missing to beat it, in the same standard errors."""
    planned: float
    """The lead that the planned effect would have, in the same standard errors."""


SignalUse = Literal["on", "gentle", "off"]
"""How the next block goes by early signals: fully, with a gentle tilt, or not at all."""


class Signals(NamedTuple):
    """Events of units whose windows are open, and how long those of matured units took."""

    events: Sequence[tuple[Sequence[int], Sequence[int]]] = ()
    """For each kind of open block the units of each arm in one, and the events of each arm so far
    in all of them."""
    delays: Sequence[Sequence[float]] = ()
    """For each arm the events of matured units, and the sums of their delays and of the squares of
    these, in hundredths of the window."""
    for_the_worse: bool = False
    """Whether an event is for the worse."""


@dataclass(frozen=True, slots=True)
class Procedure(ABC):
    """How a test proceeds: who comes next, what outcomes change, when it is decided.

    `counts` says what enters the statistics at a time: a unit, a block, or a stage of recurring
    outcomes; `assigns` says how a unit gets its arm: one by one, in blocks, or by a hash of its
    name. A verb that a procedure does not have raises `InputError`.

    `kind` names the compiled loop that plays a procedure and the theory that describes it:
    simulation, theory and planning have tables by kind. It is not inherited, because a class that
    changes a step is no longer what the loop plays and the theorem is about. A class that states no
    kind is played by its own steps, and nothing is predicted or proven of its decision time.
    """

    design: Setting
    label: str
    counts: ClassVar[Literal["units", "blocks", "stages"]]
    assigns: ClassVar[Literal["units", "blocks", "hash"]]
    kind: ClassVar[str] = OWN_STEPS
    assumes: ClassVar[str] = ""
    """What the guarantee needs beyond the outcome model, as the end of a label."""
    has_intervals: ClassVar[bool] = False
    """Whether `intervals` gives an interval of each arm."""

    def __init_subclass__(cls) -> None:
        """Set the kind of a class that states none to `OWN_STEPS`."""
        if "kind" not in cls.__dict__:
            cls.kind = OWN_STEPS

    # Facts

    @property
    def arms(self) -> int:
        """How many arms are compared."""
        return len(self.design.arms)

    @property
    def outcome(self) -> Outcome:
        """The outcome model of the design."""
        return self.design.outcome

    @property
    @abstractmethod
    def end_error(self) -> float:
        """The probability that one given end of one interval ever fails."""

    @property
    def strict_error(self) -> float:
        """The error at which a design bounds a wrong statement about any pair by its own error.

        It is asked for once arms were removed by hand. By default each arm has its part of the
        error for the comparison with the best one, (K - 1) of them; all pairs are K / 2 times as
        many.
        """
        return min(1.0, 2.0 / self.arms) * self.design.calibration.error

    @property
    def keeps_bounds(self) -> bool:
        """Whether running intersections of the intervals are kept with the statistics."""
        return 2 < self.arms <= MOST_ARMS

    @property
    def steps_kept(self) -> float:
        """How often intervals are kept while units grow by a factor of e; less with many arms."""
        return STEPS_PER_E_FOLD / max(1.0, math.comb(self.arms, 2) / FEW_PAIRS)

    @property
    def even(self) -> bool:
        """Whether every active arm gets equally many units whatever the outcomes."""
        return False

    @property
    def largest_block(self) -> int | None:
        """The most units in a block, if arms are compared only within blocks; else None."""
        return None

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also goes by events of units whose windows are open."""
        return False

    @property
    def last_stage(self) -> int | None:
        """The stage at which the test ends at the latest, where it is planned by stages."""
        return None

    def check_live(self) -> None:  # noqa: B027
        """Raise `InputError` if units that arrive at any time cannot be counted this way."""

    def on_reflected(self) -> Procedure:
        """Return the procedure that knows its outcomes to be reflected: it is this one for most."""
        return self

    # Statistics

    @abstractmethod
    def empty(self) -> AnyStatistics:
        """Return the statistics before the first unit."""

    def unit_sums(self, value: float | Pair) -> ArmStatistics:
        """Return what one outcome adds to the sums of its arm."""
        assert not isinstance(value, Pair)
        return ArmStatistics(1, value, value * value)

    def check(self, statistics: AnyStatistics) -> None:
        """Raise `InputError` if statistics are not those of such a design."""
        if len(statistics.arms) != self.arms:
            raise InputError(
                "statistics",
                f"statistics must have the design's {self.arms} arms (got {len(statistics.arms)})",
            )
        expected = CohortStatistics if self.outcome.recurring else Statistics
        if not isinstance(statistics, expected):
            raise InputError(
                "statistics",
                f"statistics must be {expected.__name__} with {self.outcome!r} "
                f"(got {type(statistics).__name__})",
            )

    @abstractmethod
    def winner(self, statistics: AnyStatistics) -> int:
        """Return the arm that has won, `NO_DIFFERENCE` or `NOBODY`."""

    def decision(self, statistics: AnyStatistics) -> Decision | None:
        """Return the decision that the data allow, or None."""
        return self.declared(self.winner(statistics))

    def end_reason(self, statistics: AnyStatistics) -> EndReason | None:
        """Return why the plan of the test ends it here without a decision; None while it goes on.

        A cap on units and a deadline are no part of the plan.
        """
        return None

    def is_futile(self, statistics: AnyStatistics) -> bool:
        """Return whether the plan calls the test futile, also where it only advises to end it."""
        return False

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return the completed part of the way to the horizon; 0 without a horizon."""
        return 0.0

    @property
    def most_tilt(self) -> float:
        """Units of an arm that is far ahead for each one of a challenger."""
        return 1.0

    def prospects(self, statistics: AnyStatistics, arm: int) -> list[Prospect]:
        """Return where an arm stands against each active rival; none where nothing is known."""
        return []

    def blocks_left(
        self, statistics: AnyStatistics, block: Block, under_way: Sequence[tuple[int, int, int]]
    ) -> float:
        """Return how many more such blocks it takes to the horizon, those under way counted."""
        return math.inf

    @property
    def futile_below(self) -> float:
        """The conditional power below which the test ends; 0 for never."""
        return 0.0

    @property
    def has_horizon(self) -> bool:
        """Whether the plan ends every test, whatever the outcomes."""
        return self.last_stage is not None

    def declared(self, winner: int) -> Decision | None:
        """Return the decision for a winner that a step returned."""
        if winner == NOBODY:
            return None
        promise = self.design.calibration
        if winner == NO_DIFFERENCE:
            return Decision(None, SAME, promise.error, promise.guarantee)
        return Decision(winner, self.design.arms[winner], promise.error, promise.guarantee)

    @abstractmethod
    def differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return the interval of each difference that `compared` lists, the first less the second.

        Pairs come in the same order.
        """

    def known_differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return the intervals that may be intersected with those of other looks.

        They are those of `differences`, but for procedures whose intervals hold at some looks only.
        """
        return self.differences(statistics)

    def bounds(self, before: AnyStatistics, after: AnyStatistics) -> Bounds:
        """Return the running intersections of all intervals after one more step of a test."""
        if not self.keeps_bounds:
            return ()
        newly = after.dropped - before.dropped
        if not newly and not self._is_due(before, after):
            return before.bounds
        current = ((low, high) for _, low, high in self.known_differences(after))
        bounds = intersected(before.bounds, current)
        return with_dropped(bounds, self.arms, sorted(newly), after.removed)

    def _is_due(self, before: AnyStatistics, after: AnyStatistics) -> bool:
        if isinstance(after, CohortStatistics):
            return is_due(after.stage - 1, after.stage, self.steps_kept)
        return is_due(before.units, after.units, self.steps_kept)

    def compared(self, statistics: AnyStatistics) -> list[tuple[int, int]]:
        """Return the pairs of arms whose intervals are listed: all, unless there are many arms."""
        return list(combinations(range(self.arms), 2))

    def advantages(self, statistics: AnyStatistics, control: int) -> list[Difference]:
        """Return how much better than the control each arm is; intervals may be intersected.

        Dropped arms are included.
        """
        intervals = [UNKNOWN] * self.arms
        intervals[control] = (0.0, 0.0, 0.0)
        listed = zip(self.compared(statistics), self.known_differences(statistics), strict=True)
        for (i, j), (difference, low, high) in listed:
            if i == control:
                intervals[j] = (-difference, -high, -low)
            elif j == control:
                intervals[i] = (difference, low, high)
        return intervals

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return how many units the next step takes."""
        return 1

    # Unit by unit

    def next_arm(self, statistics: AnyStatistics) -> int:
        """Return the arm that the next unit joins."""
        self._refuse("assigns no single units: use next_block, or a rule such as UCB(alpha)")

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Return the statistics after one more outcome, with newly beaten arms dropped."""
        self._refuse("counts no single outcomes: use fold_block or close_stage")

    def intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of each arm, for procedures that compare such intervals."""
        self._refuse(
            "compares differences, not intervals of arms: use UCB(alpha), ETC() or ETCPrime() here"
        )

    # Block by block

    def next_block(self, statistics: Statistics) -> Block:
        """Return the block that comes next; it is fixed before its outcomes are."""
        self._refuse("assigns unit by unit: use next_arm and record, or Tilt(tilt)")

    def block_by_signals(
        self,
        statistics: Statistics,
        signals: Signals,
    ) -> Block:
        """Return the block that comes next, also by events of units whose windows are open."""
        return self.next_block(statistics)

    def signal_use(self, statistics: Statistics, signals: Signals) -> SignalUse | None:
        """Return how the next block goes by early signals; None where it never does."""
        return None

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after one more block, with newly beaten arms dropped."""
        self._refuse("assigns unit by unit: use next_arm and record, or Tilt(tilt)")

    # Stage by stage

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics at the end of a stage, with newly beaten arms dropped."""
        self._refuse("has no stages: use Recurrent outcomes")

    def _refuse(self, reason: str) -> NoReturn:
        raise InputError("rule", f"{self.label} {reason}")
