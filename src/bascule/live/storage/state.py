"""The state of a live test: all that its next step and its status need.

It is stored as JSON, which `storage.state_json` writes and reads.
Nothing here grows with the number of units. The raw log, from which all of it can be computed
again, is in the tables of assignments and outcomes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.procedures.base import AnyStatistics, Decision
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.storage.deals import StoredSignals, UnderWay

Phase = Literal["ready", "running", "paused", "decided", "over", "stopped"]
"""`over` is the end without a decision, at a cap or a deadline; `stopped` the end by hand."""

MOST_EXCLUDED = 100_000
"""Excluded outcomes of a test that are listed; any client can send more, which are counted."""

OPEN: tuple[Phase, ...] = ("ready", "running", "paused")
"""States in which outcomes still count."""


class Assignment(NamedTuple):
    """A unit and its arm: which unit of the test it is, when it came, and how likely that arm was.

    `deal` is the block it came in, in tests that have blocks, and `covariates` the JSON list of
    what was known of it, in tests that have covariates.
    """

    unit: str
    arm: int
    number: int
    probability: float
    time: float
    deal: int | None = None
    covariates: str | None = None

    @property
    def known(self) -> tuple[float, ...]:
        """The covariates, in the order of the design."""
        return () if self.covariates is None else tuple(map(float, json.loads(self.covariates)))


class ArmValues(NamedTuple):
    """The name of each arm, and the value that its units are served."""

    names: tuple[str, ...]
    values: tuple[Any, ...]


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


class StageUnits(NamedTuple):
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
    came since that step. `moved` has dropped arms, each with the arm that its users are served.
    `everyone` is the arm that all are served after a stop by hand, and `released` whether everyone
    is served the winner.
    """

    since: float | None = None
    ran: float = 0.0
    share: float = 1.0
    step: int = -1
    first: int = 0
    moved: tuple[tuple[int, int], ...] = ()
    everyone: int | None = None
    released: bool = False


class Mark(NamedTuple):
    """How many units there were at a time."""

    units: int
    time: float


class Enrolment(NamedTuple):
    """Who has come, and the block that new units are placed in. Enrolling changes it."""

    assigned: tuple[int, ...]
    """The units of each arm."""
    latest: float = 0.0
    """When the last unit came."""
    marks: tuple[Mark, ...] = ()
    """Marks at each growth by a hundredth in the last twentieth, or since traffic was changed."""
    origin: float | None = None
    """When the first unit came, where a calendar or stages begin with it."""
    crowd: tuple[StageUnits, ...] = ()
    """Who came in each stage, where outcomes recur."""
    deal: int = 0
    """The number of the block that was dealt last."""
    handed: int = 0
    """Places of that block that have units."""
    left: int = 0
    """Places of that block that have none yet."""
    under_way: UnderWay = ()
    """Blocks that are dealt and not folded, where a horizon makes them count."""
    lacking: int = 0
    """Units that came without a covariate."""
    beyond: int = 0
    """Units with a covariate beyond its limits."""


class OpenBlock(NamedTuple):
    """Sums of the block that is folded next. A unit that is folded changes it."""

    sums: tuple[ArmStatistics, ...]
    """Those of the primary metric, by arm."""
    metrics: tuple[tuple[ArmStatistics, ...], ...] = ()
    """Those of the other metrics."""
    covariates: tuple[float, ...] = ()
    """Those of the covariates."""
    lacking: tuple[tuple[int, ...], ...] = ()
    """Units of each arm without a value of each metric, the primary one first."""
    number: int = 1
    """The number of the block."""
    part: int = 0
    """The part of it that is folded next."""


class Front(NamedTuple):
    """Metrics that count `wait` seconds after a unit has come, before the unit itself does."""

    wait: float
    metrics: tuple[int, ...]
    """Their places in the design."""
    folded: int = 0
    """The first units, which have counted in them."""
    folding: int = 1
    """The number of the block that is folded next."""
    part: int = 0
    """The part of it that is folded next."""
    units: int = 0
    """Units of that part that have counted."""
    due: float | None = None
    """When the next unit counts, None where no unit is known to wait."""


def fronts_of(design: Design) -> tuple[Front, ...]:
    """Return the metrics of a design that count before their units do, the shortest window first.

    >>> import bascule as bs
    >>> week, hour = bs.Measure("7d", "any"), bs.Measure("1h", "any")
    >>> failed = bs.Metric("failed", bs.Bernoulli(), margin=0.1, measure=hour)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=week, metrics=[failed])
    >>> fronts_of(design)[0][:2]
    (3600.0, (0,))
    """
    window = design.matures(0.0) if design.procedure.counts == "blocks" else None
    if window is None or design.withholds or design.measure_on:
        # With a calendar, units count in the order of time, each with all its metrics.
        return ()
    by_wait: dict[float, list[int]] = {}
    for number, metric in enumerate(design.metrics):
        if metric.measure is not None and metric.measure.matures(0.0) < window:
            by_wait.setdefault(metric.measure.matures(0.0), []).append(number)
    return tuple(Front(wait, tuple(by_wait[wait])) for wait in sorted(by_wait))


class Folding(NamedTuple):
    """How far the units have counted. Settling changes it."""

    folded: int = 0
    """The first units, which are in the statistics."""
    due: float | None = None
    """When the next unit matures, where a measure says so."""
    backlog: bool = False
    """Whether more units could be folded at once."""
    shown: int = 0
    """Where the last point of the history is."""
    fronts: tuple[Front, ...] = ()
    """How far metrics have counted whose windows close before those of their units."""


class Conclusion(NamedTuple):
    """The decision, and what counts after it."""

    verdict: Verdict | None = None
    """The decision as it was announced."""
    held: Verdict | None = None
    """A decision that is withheld until the calendar of the design allows it, with the moment at
    which it was reached."""
    final: Statistics | None = None
    """From a decision on, withheld or not, the statistics with the units folded since; those of the
    state stay as they are."""
    enrolled: tuple[int, ...] = ()
    """Number of units of each arm that were enrolled at the decision."""


class Names(NamedTuple):
    """Names that were erased or linked. Erasing and linking change it."""

    erased: int = 0
    """Units that were erased."""
    erasing: tuple[int, ...] = ()
    """Numbers of those of them that have not counted yet."""
    key: str = ""
    """The key with which their names are hashed."""
    links: int = 0
    """Names that were linked to another."""
    relinked: int = 0
    """Those of them that had another arm before."""


class Counts(NamedTuple):
    """Events that were counted, capped or refused. Only the status goes by them."""

    clipped: tuple[tuple[int, ...], ...] = ()
    """For the primary metric and then for the others, the units of each arm whose outcome lay
    beyond the limits; empty while there are none."""
    events: int = 0
    """Events of folded units."""
    late: int = 0
    """Events that came after the windows of their units."""
    unenrolled: int = 0
    """Outcomes of units that are not in the test."""
    unassigned: int = 0
    """Outcomes of units that were not assigned before: unknown ones, and those that came later."""
    excluded: int = 0
    """Outcomes that were excluded, or that count otherwise than they were given."""

    @property
    def unlisted(self) -> int:
        """Excluded outcomes that came after the list was full."""
        return max(0, self.excluded - MOST_EXCLUDED)


class ExperimentState(NamedTuple):
    """All that the next step of a live test and its status need, grouped by what changes it."""

    statistics: AnyStatistics
    """Sums and evidence of the units that have counted."""
    enrolment: Enrolment
    block: OpenBlock
    folding: Folding = Folding()
    signals: StoredSignals = StoredSignals()
    ending: Conclusion = Conclusion()
    names: Names = Names()
    counts: Counts = Counts()
    control: Control = Control()
    clock: str = ""
    """The kind of clock on which the test was created: "machine" or "given"."""

    @classmethod
    def empty(cls, design: Design) -> ExperimentState:
        """Before the first unit."""
        empty = (ArmStatistics(),) * len(design.arms)
        return cls(
            design.procedure.empty(),
            Enrolment((0,) * len(design.arms)),
            OpenBlock(empty, (empty,) * len(design.metrics)),
            Folding(fronts=fronts_of(design)),
        )

    @property
    def once(self) -> Statistics:
        """The statistics, in tests of one outcome per unit."""
        assert isinstance(self.statistics, Statistics)
        return self.statistics

    @property
    def latest_statistics(self) -> AnyStatistics:
        """The statistics of all units that have counted, also of those after a decision."""
        return self.statistics if self.ending.final is None else self.ending.final

    @property
    def latest_once(self) -> Statistics:
        """The latest statistics, in tests of one outcome per unit: the next block goes by them."""
        return self.once if self.ending.final is None else self.ending.final

    @property
    def progress(self) -> int:
        """How far the test has come: units that are folded, or stages that are closed."""
        statistics = self.statistics
        if isinstance(statistics, CohortStatistics):
            return statistics.stage
        return self.folding.folded

    @property
    def units(self) -> int:
        """Units assigned so far."""
        return sum(self.enrolment.assigned)

    @property
    def pending(self) -> int:
        """Units that have not counted yet."""
        return self.units - self.folding.folded
