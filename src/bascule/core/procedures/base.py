"""The contract of procedures: how a test with a given rule proceeds, step by step.

A design gives its procedure (`design.procedure`). Simulation, live tests, planning and analysis
call it and do not ask which rule it came from. A procedure is a frozen value, and its methods are
pure functions of the statistics of a test.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal, NamedTuple, NoReturn, Protocol

from bascule.core.cohorts import CohortStatistics
from bascule.core.errors import InputError, invalid
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
"""Statistics of a test: of one outcome per unit, or of cohorts if outcomes recur."""

EndReason = Literal["horizon", "futility", "guardrails"]
"""Why a test ends without a decision: by its plan, or because guardrails rule out every arm."""

UNKNOWN: Difference = (0.0, -math.inf, math.inf)
"""A difference and its interval while nothing is known of it."""

FEW_PAIRS = 10
"""Number of pairs of arms above which intervals are stored less often, to limit their number."""

STEPS_OF_TWO = 100.0
"""Number of times that intervals of two arms are stored while the units grow by a factor of e."""

OWN_STEPS = "own steps"
"""Kind of a procedure that is simulated by its own steps, because its class states no kind."""

SAME = "no difference that matters"
"""Name of a decision that declares no arm the best."""


class Setting(Protocol):
    """The properties of a design that a procedure needs."""

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
        """The level of each comparison, and the error probability that follows from it."""

    @property
    def min_effect(self) -> float | None:
        """The smallest difference that matters; None if none was given."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """The arm that a test declares best, or none if no difference matters, with its guarantee.

    `harm` names the metrics on which the treatments are harmful, if the control stays because all
    of them are. `by` says what decided: the primary metric, or in a guarded rollout the guardrails.
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
    """The interval of an arm, as a mean and a radius, which a rule compares with other intervals.

    If one arm's interval lies above another's, its mean is also higher, except with the error
    probability of the design. It is not a confidence interval of one mean: with ETC on two arms
    the radius is half of the difference at which the test ends.
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
    """The next block: the units of each arm, in random order, and how often it is repeated."""

    units: tuple[int, ...]
    leader: int
    repeat: int

    @property
    def size(self) -> int:
        """Number of units until the arms are compared again."""
        return self.repeat * sum(self.units)


class Prospect(NamedTuple):
    """The lead of an arm over a rival, and the additional lead that it needs to beat that rival."""

    clock: float
    """The information on the pair so far."""
    left: float
    """The information that is left until the horizon."""
    lead: float
    """The lead over the rival, in standard errors."""
    room: float
    """The additional lead needed to beat the rival, in the same standard errors."""
    planned: float
    """The lead that the planned effect would have, in the same standard errors."""


SignalUse = Literal["on", "gentle", "off"]
"""How the next block uses early signals: fully, with a gentle tilt, or not at all."""


class Signals(NamedTuple):
    """Early signals: events in windows that are still open, and the delays of matured events."""

    events: Sequence[tuple[Sequence[int], Sequence[int]]] = ()
    """For each set of block sizes: the units of each arm in one open block of these sizes, and the
    events of each arm so far in all such blocks."""
    delays: Sequence[Sequence[float]] = ()
    """For each arm, the number of events of matured units, the sum of their delays and the sum of
    the squared delays, in hundredths of the window."""
    for_the_worse: bool = False
    """Whether an event is a bad outcome."""


LACKED_BY_STAGES = ("trace", "maturing", "unit diagnostics", "forecast", "block sums", "pairs")
"""Features that procedures with stages lack: a run played unit by unit, units that mature,
diagnostics of units, live forecasts, sums drawn for a block, and the theory of pairs of arms."""


@dataclass(frozen=True, slots=True)
class Procedure(ABC):
    """How a test proceeds: how units are assigned, outcomes are counted and decisions are made.

    A subclass sets `counts` and `assigns`. A method that it does not support raises `InputError`.

    `kind` names the compiled loop that simulates a procedure and the theory that describes it:
    simulation, theory and planning have tables by kind. It is not inherited, because a class that
    changes a step no longer matches the loop and the theorem. A class that states no kind is
    simulated by its own steps, and nothing is predicted or proven about its decision time.
    """

    design: Setting
    label: str
    counts: ClassVar[Literal["units", "blocks", "stages"]]
    """What is added to the statistics at a time."""
    assigns: ClassVar[Literal["units", "blocks", "hash"]]
    """How a unit gets its arm: one by one, in blocks, or by a hash of its name."""
    kind: ClassVar[str] = OWN_STEPS
    assumes: ClassVar[str] = ""
    """Assumption of the guarantee beyond the outcome model, worded as the end of a label."""
    has_intervals: ClassVar[bool] = False
    """Whether `intervals` returns an interval of each arm."""

    def __init_subclass__(cls) -> None:
        """Set the kind of a class that states none to `OWN_STEPS`."""
        if "kind" not in cls.__dict__:
            cls.kind = OWN_STEPS

    @classmethod
    def supports(cls, feature: str) -> bool:
        """Return whether a feature such as "trace" is supported; those with stages lack some."""
        return cls.counts != "stages" or feature not in LACKED_BY_STAGES

    # Facts

    @property
    def arms(self) -> int:
        """Number of arms that are compared."""
        return len(self.design.arms)

    @property
    def outcome(self) -> Outcome:
        """The outcome model of the design."""
        return self.design.outcome

    @property
    @abstractmethod
    def end_error(self) -> float:
        """Bound on the probability that a given end of a given interval is ever wrong."""

    @property
    def strict_error(self) -> float:
        """Error to use so that the design's error bounds wrong statements about any pair.

        It is used once an arm was removed. By default the error of a design is divided among the
        K - 1 comparisons with the best arm; there are K / 2 times as many pairs in all.
        """
        return min(1.0, 2.0 / self.arms) * self.design.calibration.error

    @property
    def keeps_bounds(self) -> bool:
        """Whether running intersections of the intervals are stored with the statistics."""
        return 2 < self.arms <= MOST_ARMS

    @property
    def steps_kept(self) -> float:
        """Number of times that intervals are stored while the units grow by a factor of e."""
        if self.arms == 2:
            return STEPS_OF_TWO
        return STEPS_PER_E_FOLD / max(1.0, math.comb(self.arms, 2) / FEW_PAIRS)

    @property
    def even(self) -> bool:
        """Whether all active arms get the same number of units, whatever the outcomes."""
        return False

    @property
    def largest_block(self) -> int | None:
        """Maximum number of units in a block, if arms are compared within blocks; else None."""
        return None

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also depends on events in windows that are still open."""
        return False

    def check_live(self) -> None:  # noqa: B027
        """Raise `InputError` if the procedure cannot run live, where units arrive at any time."""

    def on_reflected(self) -> Procedure:
        """Return the procedure for mirrored outcomes (less is better); by default this one."""
        return self

    # Statistics

    @abstractmethod
    def empty(self) -> AnyStatistics:
        """Return the statistics before the first unit."""

    def unit_sums(self, value: float | Pair) -> ArmStatistics:
        """Return the statistics of one outcome, to be added to those of its arm."""
        assert not isinstance(value, Pair)
        return ArmStatistics(1, value, value * value)

    def check(self, statistics: AnyStatistics) -> None:
        """Raise `InputError` if statistics do not match the design."""
        if len(statistics.arms) != self.arms:
            raise invalid(
                f"statistics must have the design's {self.arms} arms (got {len(statistics.arms)})"
            )
        expected = CohortStatistics if self.outcome.recurring else Statistics
        if not isinstance(statistics, expected):
            raise invalid(
                f"statistics must be {expected.__name__} with {self.outcome!r} "
                f"(got {type(statistics).__name__})"
            )

    @abstractmethod
    def winner(self, statistics: AnyStatistics) -> int:
        """Return the arm that has won; -2 if no difference matters, -1 if nothing is decided."""

    def decision(self, statistics: AnyStatistics) -> Decision | None:
        """Return the decision that the data allow; None while the test is undecided."""
        return self.declared(self.winner(statistics))

    def end_reason(self, statistics: AnyStatistics) -> EndReason | None:
        """Return why the plan ends a test now without a decision; None while the test goes on.

        The plan does not include a cap on units or a deadline.
        """
        return None

    def is_futile(self, statistics: AnyStatistics) -> bool:
        """Return whether the test is futile, also if futility is only advice."""
        return False

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return the completed fraction of the test up to its horizon; 0 without a horizon."""
        return 0.0

    @property
    def most_tilt(self) -> float:
        """Maximum number of units that the leader gets for each unit of a challenger."""
        return 1.0

    def prospects(self, statistics: AnyStatistics, arm: int) -> list[Prospect]:
        """Return an arm's lead over each active rival, and the lead it needs; empty if unknown."""
        return []

    def blocks_left(
        self, statistics: AnyStatistics, block: Block, under_way: Sequence[tuple[int, int, int]]
    ) -> float:
        """Return how many blocks like `block` are left until the horizon, after those under way."""
        return math.inf

    @property
    def futile_below(self) -> float:
        """The conditional power below which the test ends; 0 for never."""
        return 0.0

    @property
    def has_horizon(self) -> bool:
        """Whether every test ends at a horizon, whatever its outcomes are."""
        return False

    def declared(self, winner: int) -> Decision | None:
        """Return the decision for a result of the method `winner`; None if nothing is decided."""
        if winner == NOBODY:
            return None
        promise = self.design.calibration
        if winner == NO_DIFFERENCE:
            return Decision(None, SAME, promise.error, promise.guarantee)
        return Decision(winner, self.design.arms[winner], promise.error, promise.guarantee)

    @abstractmethod
    def differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return the difference (first minus second) and its interval for each pair in `compared`.

        The differences are in the order of `compared`.
        """

    def known_differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return `differences`, with infinite intervals for those that hold only at some looks.

        By default all intervals hold at every look.
        """
        return self.differences(statistics)

    def bounds(self, before: AnyStatistics, after: AnyStatistics) -> Bounds:
        """Return the running intersections of all intervals after a further step of a test."""
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
        """Return by how much each arm is better than the control, with its interval.

        Dropped arms are included. The intervals may be intersected with those of other looks.
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
        """Return the number of units of the next step."""
        return 1

    # Unit by unit

    def next_arm(self, statistics: AnyStatistics) -> int:
        """Return the arm that the next unit joins."""
        self._refuse("assigns no single units: use next_block, or a rule such as UCB(alpha)")

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Return the statistics after a further outcome, with newly beaten arms dropped."""
        self._refuse("counts no single outcomes: use fold_block or close_stage")

    def intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of each arm, for procedures that compare such intervals."""
        self._refuse(
            "compares differences, not intervals of arms: use UCB(alpha), ETC() or ETCPrime() here"
        )

    # Block by block

    def next_block(self, statistics: Statistics) -> Block:
        """Return the next block, which is fixed before its outcomes are known."""
        self._refuse("has no blocks: use next_arm and record, or Tilt(tilt)")

    def block_by_signals(self, statistics: Statistics, signals: Signals) -> Block:
        """Return the next block, which also depends on events in windows that are still open."""
        return self.next_block(statistics)

    def signal_use(self, statistics: Statistics, signals: Signals) -> SignalUse | None:
        """Return how the next block uses early signals; None if the procedure never uses them."""
        return None

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after a further block, with newly beaten arms dropped."""
        self._refuse("has no blocks: use next_arm and record, or Tilt(tilt)")

    # Stage by stage

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics at the end of a stage, with newly beaten arms dropped."""
        self._refuse("has no stages: use Recurrent outcomes")

    def _refuse(self, reason: str) -> NoReturn:
        raise InputError("rule", f"{self.label} {reason}")
