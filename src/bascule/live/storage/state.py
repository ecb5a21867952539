"""The state of a live test: all that its next step and its status need.

It is stored as JSON, which `storage.state_json` writes and reads.
Nothing here grows with the number of units. The raw log, from which all of it can be computed
again, is in the tables of assignments and outcomes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import Literal, NamedTuple

from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.procedures.base import AnyStatistics, Decision
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.storage.early import Delays, Early, Used
from bascule.live.storage.front import Front, fronts_of

Phase = Literal["ready", "running", "paused", "decided", "over", "stopped"]
"""`over` is the end without a decision, at a cap or a deadline; `stopped` the end by hand."""

OPEN: tuple[Phase, ...] = ("ready", "running", "paused")
"""States in which outcomes still count."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision as it was announced: after how many units, and when. It never changes.

    `harm` names the metrics on which all treatments were harmful, where that is why it fell, and
    `keep` is the arm to keep where no difference matters. `by` says whether the primary metric or
    the guardrails decided.
    """

    arm: int | None
    name: str
    error: float
    guarantee: str
    units: int
    time: float
    harm: tuple[str, ...] = ()
    keep: int | None = None
    by: str = "primary"

    @classmethod
    def of(cls, decision: Decision, units: int, time: float, keep: int | None = None) -> Verdict:
        """The decision that the data allow, with the moment at which it is announced."""
        named = decision.arm, decision.name, decision.error, decision.guarantee
        return cls(*named, units, time, decision.harm, keep, decision.by)


Parts = tuple[tuple[int, ...], ...]
"""For each part of a block the arms of its slots, in order."""

Struck = tuple[tuple[int, int], ...]
"""Arms dropped by hand, each with the slot of a block from which on it gets nothing."""


@dataclass(frozen=True)
class Deal:
    """A block of a tilted test as it is dealt: for each part the arms of its slots, in order.

    `struck` has the arms dropped by hand while it was handed out, each with the slot from which
    on it gets nothing. `used` is what its sizes went by, of the first of blocks that were dealt at
    once in a test with early signals.

    >>> Deal(1, ((0, 1, 0), (0, 0, 1)), struck=((1, 2),)).slots
    (0, 1, 0, 0, 0)
    """

    number: int
    parts: Parts
    struck: Struck = ()
    used: Used | None = None

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The arm that has the most units in a part, and how many: what its information goes by.

        >>> Deal(1, ((0, 1, 0), (0, 0, 1))).shape
        (0, 2)
        """
        return shape_of(self.parts[0])

    @property
    def kept(self) -> Parts:
        """The parts without what was struck."""
        return _without(self.parts, self.struck) if self.struck else self.parts

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The arms of all slots that are handed out, in order."""
        return tuple(chain.from_iterable(self.kept))

    @cached_property
    def chances(self) -> tuple[float, ...]:
        """The probability that each of these slots had of its arm, given the slots before it.

        >>> Deal(1, ((0, 1, 0),)).chances
        (0.6666666666666666, 0.5, 1.0)
        """
        return tuple(chain.from_iterable(map(chances_in, self.kept)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many units each part has."""
        return tuple(len(part) for part in self.kept)


# Parts come in few orders.
@lru_cache(maxsize=1024)
def shape_of(part: tuple[int, ...]) -> tuple[int, int]:
    """Return the arm that has the most units in a part of a block, and how many.

    >>> shape_of((1, 0, 1)), shape_of((1, 0))
    ((1, 2), (0, 1))
    """
    units = Counter(part)
    arm = min(units, key=lambda one: (-units[one], one))
    return arm, units[arm]


UnderWay = tuple[tuple[int, int, int], ...]
"""Blocks that are not folded: the shape of each, and how many there are."""


def with_blocks(under_way: UnderWay, shape: tuple[int, int], count: int) -> UnderWay:
    """Return the blocks that are not folded with some more of a shape, or fewer.

    >>> with_blocks(with_blocks((), (0, 1), 3), (0, 1), -1)
    ((0, 1, 2),)
    """
    blocks = {(arm, units): its for arm, units, its in under_way}
    blocks[shape] = blocks.get(shape, 0) + count
    return tuple((*one, its) for one, its in sorted(blocks.items()) if its)


def is_struck(struck: Struck, arm: int, slot: int) -> bool:
    """Whether an arm gets nothing in a slot of a block, since it was dropped by hand before it."""
    return any(arm == out and slot >= since for out, since in struck)


@lru_cache(maxsize=16)
def _without(parts: Parts, struck: Struck) -> Parts:
    slot = count()
    return tuple(
        tuple(arm for arm in part if not is_struck(struck, arm, next(slot))) for part in parts
    )


# Short parts come in few orders.
@lru_cache(maxsize=1024)
def chances_in(part: tuple[int, ...]) -> tuple[float, ...]:
    """The probability of the arm in each slot of a shuffled part, given the slots before it.

    >>> chances_in((0, 1, 0))
    (0.6666666666666666, 0.5, 1.0)
    """
    chances = []
    left, slots = Counter(part), len(part)
    for arm in part:
        chances.append(left[arm] / slots)
        left[arm] -= 1
        slots -= 1
    return tuple(chances)


class Crowd(NamedTuple):
    """Units of an arm that came in one stage, and the sum of their outcomes that have counted.

    `late` is 0 for those who came the moment at which it began, and 1 for all others: these give
    their first outcome a stage later.
    """

    arm: int
    stage: int
    late: int
    units: int
    total: float


class Control(NamedTuple):
    """What operators have set, and the terms on which the open block was begun.

    `since` is when the test was started last, None while it does not run, and `ran` the seconds for
    which it had run before. `share` is the share of the traffic that gets into the open block,
    `step` the step of the ramp, -1 before the first, and `first` the number of the first unit that
    came since that step. `paused` has the arms that get no new units, `moved` dropped arms, each
    with the arm that its users are served. `everyone` is the arm that all are served after a stop
    by hand, and `released` whether everyone is served the winner.
    """

    since: float | None = None
    ran: float = 0.0
    share: float = 1.0
    step: int = -1
    first: int = 0
    paused: tuple[int, ...] = ()
    moved: tuple[tuple[int, int], ...] = ()
    everyone: int | None = None
    released: bool = False


class ExperimentState(NamedTuple):
    """Counters and sums of a live test, grouped by what changes them.

    Folding: the first `folded` units are in the `statistics`. Of the block that is folded next,
    number `folding` and its part `part`, `open` has the sums so far, `metric_open` those of the
    other metrics, `open_covariates` those of the covariates, and `open_lacking` the units of each
    arm without a value of each metric, the primary one first. `due` is when the next unit
    matures, where a measure says so, and `backlog` whether more units could be folded at once.
    `shown` is where the last point of the history is. `verdict` is the decision. `held` is one that
    is withheld until the calendar of the design allows it, with the moment at which it was reached.
    From a decision on, withheld or not, the `statistics` stay as they are, and further units are
    folded into `final`. `origin` is when the first unit came, where a calendar or stages begin with
    it, and `crowd` has who came in each stage. `clipped` counts, for the primary
    metric and then for the others, the units of each arm whose outcome lay beyond the limits; it is
    empty while there are none. `events` counts the events of folded units, and `late`
    those that came after the windows of their units. `fronts` say how far metrics have counted
    whose windows close before those of their units.

    Enrolment: `assigned` has the units of each arm, `latest` is when the last one came, and `grown`
    how many there were, and when, at each growth by a hundredth in the last twentieth. `deal` is
    the block that was dealt last, of which `handed` places have units and `left` have none yet, and
    `under_way` the blocks that are dealt and not folded, where a horizon makes them count. `early`
    has the events of these, and `delays` those of matured units, in tests with early signals.
    `enrolled` counts the units that were there at the decision, where they are measured further.
    `lacking` counts units that came without a covariate, and `beyond` those with one beyond its
    limits.

    Operators: `control`.

    Names and outcomes: `erased` counts units that were erased, and `erasing` has the numbers of
    those that have not counted yet, whose names are hashed with `erasing_key`. `links` counts names
    that were linked to another, `relinked` those of them that had another arm before, and
    `unenrolled` outcomes of units that are not in the test.

    Fixed at creation: `clock` is the kind of clock, "machine" or "given".
    """

    statistics: AnyStatistics
    assigned: tuple[int, ...]
    open: tuple[ArmStatistics, ...]
    latest: float = 0.0
    folded: int = 0
    due: float | None = None
    deal: int = 0
    handed: int = 0
    folding: int = 1
    part: int = 0
    left: int = 0
    shown: int = 0
    backlog: bool = False
    verdict: Verdict | None = None
    origin: float | None = None
    crowd: tuple[Crowd, ...] = ()
    clock: str = ""
    erased: int = 0
    erasing: tuple[int, ...] = ()
    erasing_key: str = ""
    control: Control = Control()
    metric_open: tuple[tuple[ArmStatistics, ...], ...] = ()
    open_covariates: tuple[float, ...] = ()
    lacking: int = 0
    beyond: int = 0
    links: int = 0
    relinked: int = 0
    unenrolled: int = 0
    under_way: UnderWay = ()
    clipped: tuple[tuple[int, ...], ...] = ()
    open_lacking: tuple[tuple[int, ...], ...] = ()
    events: int = 0
    late: int = 0
    grown: tuple[tuple[int, float], ...] = ()
    early: Early = ()
    delays: Delays = ()
    held: Verdict | None = None
    final: Statistics | None = None
    enrolled: int = 0
    fronts: tuple[Front, ...] = ()

    @classmethod
    def empty(cls, design: Design) -> ExperimentState:
        """Before the first unit."""
        arms = len(design.arms)
        empty = (ArmStatistics(),) * arms
        metrics = (empty,) * len(design.metrics)
        start = (design.procedure.empty(), (0,) * arms, empty)
        return cls(*start, metric_open=metrics, fronts=fronts_of(design))

    @property
    def once(self) -> Statistics:
        """The statistics, in tests of one outcome a unit."""
        assert isinstance(self.statistics, Statistics)
        return self.statistics

    @property
    def latest_statistics(self) -> AnyStatistics:
        """The statistics of all units that have counted, also of those after a decision."""
        return self.statistics if self.final is None else self.final

    @property
    def latest_once(self) -> Statistics:
        """The latest statistics, in tests of one outcome a unit: the next block goes by them."""
        return self.once if self.final is None else self.final

    @property
    def progress(self) -> int:
        """How far the test has come: units that are folded, or stages that are closed."""
        statistics = self.statistics
        return statistics.stage if isinstance(statistics, CohortStatistics) else self.folded

    def with_clipped(self, metric: int, arm: int) -> ExperimentState:
        """Return the state with one more outcome beyond the limits; metric 0 is the primary one."""
        before = self.clipped or ((0,) * len(self.assigned),) * (1 + len(self.metric_open))
        more = [[*row] for row in before]
        more[metric][arm] += 1
        return self._replace(clipped=tuple(map(tuple, more)))

    @property
    def units(self) -> int:
        """Units assigned so far."""
        return sum(self.assigned)


# To make an encoder takes as long as to write a short text.
