"""The state of a live test: the data for its next step and its status.

The state is stored as JSON, which `storage.state_json` writes and reads. It does not grow with the
number of units. Its statistics can be recomputed from the raw log, which is in the tables of
assignments, blocks and outcomes, and from the changes in the audit log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.metrics.guardrails import ahead
from bascule.core.procedures.base import AnyStatistics, Decision
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.storage.deals import StoredSignals, UnderWay

Phase = Literal["ready", "running", "paused", "decided", "over", "stopped"]
"""Phases of a test; `over` is an end without a decision, `stopped` an end by hand."""

MOST_EXCLUDED = 100_000
"""Maximum number of excluded outcomes that a test lists; further ones are only counted."""

OPEN: tuple[Phase, ...] = ("ready", "running", "paused")
"""Phases in which outcomes can still decide the test."""


class Assignment(NamedTuple):
    """A unit with its arm, as it is stored.

    - `unit`: the name of the unit.
    - `arm`: its arm, counted from 0.
    - `number`: its number in the test.
    - `probability`: the probability with which it got its arm.
    - `time`: when it came, in seconds since 1970-01-01 in UTC.
    - `deal`: the number of its block, in tests that have blocks.
    - `covariates`: the JSON list of its covariates, in tests that have them.
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
    """The names of the arms, and the values that are served to their units."""

    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, with the number of units and the time; once announced, it never changes."""

    arm: int | None
    """The arm that won, counted from 0; None if no difference matters."""
    name: str
    """Name of the arm that won, or "no difference that matters"."""
    error: float
    """Bound on the probability that the decision is wrong."""
    guarantee: str
    units: int
    """Number of counted units at the decision."""
    time: float
    """Time of the announcement, in seconds since 1970-01-01 in UTC; while the decision is withheld,
    the time at which it was reached."""
    harm: tuple[str, ...] = ()
    """The metrics on which all treatments were harmful, if that was the reason."""
    keep: int | None = None
    """The arm to keep if no difference matters."""
    by: str = "primary"
    """What decided: "primary" for the primary metric, or "guardrails"."""

    @classmethod
    def of(cls, decision: Decision, units: int, time: float, keep: int | None = None) -> Verdict:
        """Return a decision that was reached after `units` counted units, at `time`."""
        named = decision.arm, decision.name, decision.error, decision.guarantee
        return cls(*named, units, time, decision.harm, keep, decision.by)


class StageUnits(NamedTuple):
    """Number of units of an arm that came in one stage, and the sum of their counted outcomes.

    `late` is 0 for units that came exactly when the stage began, and 1 for all others, whose first
    outcome counts a stage later.
    """

    arm: int
    stage: int
    late: int
    units: int
    total: float


class Control(NamedTuple):
    """Settings by operators, and the terms on which the open block began.

    `since` is when the test was last started, None while it does not run, and `ran` is the number
    of seconds for which it had run before. `share` is the share of the traffic that is admitted to
    the open block, `step` is the step of the ramp, -1 before the first, and `first` is the number
    of the first unit since that step. `moved` has the dropped arms, each with the arm that its
    users are served. `everyone` is the arm that is served to everyone after a stop by hand, and
    `released` says whether everyone is served the winner.
    """

    since: float | None = None
    ran: float = 0.0
    share: float = 1.0
    step: int = -1
    first: int = 0
    moved: tuple[tuple[int, int], ...] = ()
    everyone: int | None = None
    released: bool = False


class Enrolment(NamedTuple):
    """The units enrolled so far, and the block for new units; changes when units are enrolled."""

    assigned: tuple[int, ...]
    """Number of units of each arm."""
    latest: float = 0.0
    """Time at which the last unit came."""
    origin: float | None = None
    """Time of the first unit, in tests whose calendar or stages begin with it."""
    crowd: tuple[StageUnits, ...] = ()
    """Units that came in each stage, in tests with recurring outcomes."""
    deal: int = 0
    """Number of the last block that was dealt."""
    handed: int = 0
    """Number of filled places in the last block that was dealt."""
    left: int = 0
    """Number of free places in the last block that was dealt."""
    under_way: UnderWay = ()
    """Blocks that were dealt and have not counted yet, in tests with a horizon."""
    lacking: int = 0
    """Number of units with a missing covariate."""
    beyond: int = 0
    """Number of units with a covariate beyond its limits."""


class OpenBlock(NamedTuple):
    """Sums of the block whose units are counted next; changes when a unit counts."""

    sums: tuple[ArmStatistics, ...]
    """Sums of the primary metric, by arm."""
    metrics: tuple[tuple[ArmStatistics, ...], ...] = ()
    """Sums of the other metrics, each by arm."""
    covariates: tuple[float, ...] = ()
    """Sums of the covariates."""
    lacking: tuple[tuple[int, ...], ...] = ()
    """Numbers of units without a value, by metric (the primary one first) and arm."""
    number: int = 1
    """Number of the block."""
    part: int = 0
    """Index of the part of the block whose units are counted next."""


class Front(NamedTuple):
    """Metrics that count `wait` seconds after a unit has come, before the primary metric does."""

    wait: float
    metrics: tuple[int, ...]
    """Indices of these metrics in the design."""
    folded: int = 0
    """Number of units that have counted in these metrics, in order of arrival."""
    folding: int = 1
    """Number of the block whose units are counted next."""
    part: int = 0
    """Index of the part of the block whose units are counted next."""
    units: int = 0
    """Number of units in that part of the block that have counted."""
    due: float | None = None
    """Time at which the next unit counts, None if no unit is known to wait."""


def fronts_of(design: Design) -> tuple[Front, ...]:
    """Return the metrics with shorter windows than the primary one, shortest window first."""
    return tuple(Front(wait, metrics) for wait, metrics in ahead(design).items())


class Folding(NamedTuple):
    """Progress of counting the units; changes when units are counted."""

    folded: int = 0
    """Number of units that have counted, in order of arrival."""
    due: float | None = None
    """Time at which the next unit can be counted, if the design has a measure."""
    backlog: bool = False
    """Whether more units can be counted right away."""
    shown: int = 0
    """Progress of the test at the last point of the history."""
    fronts: tuple[Front, ...] = ()
    """Progress of counting in the metrics with shorter windows than the primary one."""


class Conclusion(NamedTuple):
    """The decision, and the statistics of units that count after it."""

    verdict: Verdict | None = None
    """The announced decision."""
    held: Verdict | None = None
    """A decision that is withheld until the calendar of the design allows it, with the time at
    which it was reached."""
    final: Statistics | None = None
    """Statistics of all units, if units count after the decision: while it is withheld, and with
    `measure_on` also later. The `statistics` of the state then stay as they were."""
    enrolled: tuple[int, ...] = ()
    """Number of units of each arm that were enrolled at the decision."""


class Names(NamedTuple):
    """Names that were erased or linked; changes when names are erased or linked."""

    erased: int = 0
    """Number of units that were erased."""
    erasing: tuple[int, ...] = ()
    """Numbers of the erased units that have not counted yet."""
    key: str = ""
    """Key with which the names of erased units are hashed."""
    links: int = 0
    """Number of names that were linked to another one."""
    relinked: int = 0
    """Number of names whose arm changed when they were linked."""


class Counts(NamedTuple):
    """Numbers of events that were counted, capped or refused; no decision depends on them."""

    clipped: tuple[tuple[int, ...], ...] = ()
    """Numbers of units with an outcome beyond the limits, by metric (the primary one first) and
    arm; empty while there are none."""
    events: int = 0
    """Number of events of counted units."""
    late: int = 0
    """Number of events that came after the window of their unit, or after it had counted."""
    unenrolled: int = 0
    """Number of outcomes of units that are not in the test."""
    unassigned: int = 0
    """Number of outcomes of unknown units, or from before their unit was assigned."""
    excluded: int = 0
    """Number of outcomes that were excluded, or count although capped or not exposed."""

    @property
    def unlisted(self) -> int:
        """Number of excluded outcomes that came after the list was full."""
        return max(0, self.excluded - MOST_EXCLUDED)


class ExperimentState(NamedTuple):
    """The stored state of a live test, from which its next step and its status are computed."""

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
    """Kind of clock on which the test was created: "machine" or "given"."""

    @classmethod
    def empty(cls, design: Design) -> ExperimentState:
        """Return the state before the first unit."""
        empty = (ArmStatistics(),) * len(design.arms)
        return cls(
            design.procedure.empty(),
            Enrolment((0,) * len(design.arms)),
            OpenBlock(empty, (empty,) * len(design.metrics)),
            Folding(fronts=fronts_of(design)),
        )

    @property
    def once(self) -> Statistics:
        """The statistics of a test with one outcome per unit."""
        assert isinstance(self.statistics, Statistics)
        return self.statistics

    @property
    def latest_statistics(self) -> AnyStatistics:
        """The statistics of all units that have counted, including those after a decision."""
        return self.statistics if self.ending.final is None else self.ending.final

    @property
    def latest_once(self) -> Statistics:
        """Latest statistics of a test with one outcome per unit; they set the next block's size."""
        return self.once if self.ending.final is None else self.ending.final

    @property
    def progress(self) -> int:
        """Progress of the test: number of counted units, or of closed stages."""
        statistics = self.statistics
        if isinstance(statistics, CohortStatistics):
            return statistics.stage
        return self.folding.folded

    @property
    def units(self) -> int:
        """Number of units assigned so far."""
        return sum(self.enrolment.assigned)

    @property
    def pending(self) -> int:
        """Number of units that have not counted yet."""
        return self.units - self.folding.folded
