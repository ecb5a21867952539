"""The result of an analysis: to print, to turn into plain data or a data frame, and to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from bascule.analysis.call import LogMetric
from bascule.analysis.evidence.course import Day
from bascule.analysis.evidence.fixed import OneLook
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.evidence.several import standing
from bascule.analysis.log.reading import Reading
from bascule.core.design import Design
from bascule.core.errors import require
from bascule.core.evidence.calibration import Guarantee
from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.effects import Contrast, Effect
from bascule.core.metrics.guard_rule import guarded_winner, standing_at_end
from bascule.core.metrics.guardrails import STANDINGS, Standing
from bascule.core.metrics.metric import DIRECTION, Decides
from bascule.core.presenter import Reported, presenter
from bascule.core.procedures.base import Decision
from bascule.core.types import NOBODY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE_RATIO = "sample ratio"
"""Name of the check whose failure puts every comparison in doubt."""


@dataclass(frozen=True, slots=True)
class ArmAnswer:
    """An arm of an analysis: its units, and how many of them count.

    `mean` and `deviation` are the mean and the standard deviation of the outcomes of the units that
    count; None if unknown.
    """

    name: str
    units: int
    counted: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the log: whether it is flagged, its message, and its p-value if any.

    `made` is false for a check that could not be made: it is neither flagged nor passed.
    """

    name: str
    flagged: bool
    message: str
    p_value: float | None = None
    made: bool = True

    def __str__(self) -> str:
        mark = "! " if self.flagged else "  " if self.made else "? "
        return f"{mark}{self.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one treatment, compared with the control: a row of the scorecard.

    All differences are the treatment minus the control, with the interval that holds at any time,
    or at one look if that was asked for. `p_value` is always that of one look, not corrected for
    the number of comparisons. `verdict` is "better", "worse" or "open", and for a guardrail
    "within margin", "beyond margin", "harmed" or "open". `unbiased` is the median-unbiased
    difference of a live test that is decided, else None. Where outcomes are `binary`, 0 or 1, means
    are shares.
    """

    metric: str
    segment: str | None
    treatment: str
    control: str
    control_mean: float | None
    treatment_mean: float | None
    difference: float
    low: float
    high: float
    unbiased: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p_value: float | None
    verdict: str
    guarantee: Guarantee
    binary: bool
    e_value: float | None = None
    """E-value at the end of the log against no difference."""
    stands: bool = False
    """Whether the row is a discovery among all `scores`, of which at most 5 % are expected to be
    false."""


@dataclass(frozen=True, slots=True)
class Analysis(Reported):
    """The result of `bascule.analyze`: evidence, decision, arms and checks of a log."""

    PAGE = "Test report"

    design: Design
    """The design by which the log was analysed."""
    evidence: Evidence
    """How the arms are compared, and with which guarantee."""
    error: float
    """Bound on the probability that a worse arm wins: half of the `error` that was given, unless
    `sides` was 1."""
    rows: int
    """Number of rows of the log, with those of a table of assignments."""
    units: int
    """Number of units, with those whose outcomes are not final yet."""
    first_day: str | None
    """First day of the log, as 2026-03-01; None if the log has no times. Days that the log numbers
    count from 1970-01-01 here, and are "day 0" in `to_dict`."""
    last_day: str | None
    """Last day of the log; None if the log has no times."""
    arms: tuple[ArmAnswer, ...]
    """Each arm with its units and mean."""
    effects: tuple[Effect, ...]
    """Differences of pairs of arms: treatment minus control, or the later treatment minus the
    earlier one. With more than 20 arms only pairs with the control or the leader are listed."""
    decision: Decision | None
    """The decision; None while there is none."""
    decided: str | None
    """First day on which the log allowed the decision; None if it is unknown or there is none."""
    days: tuple[Day, ...]
    """Differences and decision, day by day."""
    cost: float | None
    """Regret of all units: their loss against the arm that has the best mean now."""
    saved: float | None
    """The part of `cost` that stopping on the day of the decision would have saved."""
    days_left: float | None
    """Expected number of days until a decision."""
    checks: tuple[Check, ...]
    """Checks of the log, such as the sample ratio."""
    excluded: dict[str, int]
    """Number of rows or units that do not count, by reason."""
    reading: Reading
    """The columns that were used, and how they were read."""
    contrasts: tuple[Contrast, ...] = ()
    """Each treatment minus the control, with the relative lift."""
    e_values: tuple[float, ...] = ()
    """E-value of each of the `effects` against no difference, at the end of the log."""
    once: tuple[OneLook, ...] = ()
    """Differences by a fixed-sample test, valid if the log is looked at only once."""
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Examples of entries that could not be read, by reason."""
    notes: tuple[str, ...] = ()
    """Remarks on how the log was analysed."""
    segment: str | None = None
    """Name of the segment that the analysis is about; None for a whole log."""
    segments: tuple[Analysis, ...] = ()
    """An analysis for each segment; the log as a whole then has no decision."""
    metrics: tuple[Analysis, ...] = ()
    """Analyses of the other metrics of the log."""
    metric: LogMetric | None = None
    """The metric as it was declared; None for the first one."""
    standings: dict[str, Standing] = field(default_factory=dict)
    """For a guardrail, the verdict on each treatment, such as "within margin" or "harmed"."""
    withheld: str = ""
    """Reason why the log allows no decision and no interval, whatever its outcomes."""
    decides: Decides = "primary"
    """Whether the first metric decides, or the guardrails."""

    @property
    def headline(self) -> str:
        """One line that says what to do."""
        return str(presenter("analysis.headline").headline(self))

    def undecided(self, **changes: Any) -> Analysis:
        """Return a copy with some fields changed, and without decision, days and one-look tests."""
        nothing: dict[str, Any] = {"decision": None, "decided": None, "days_left": None}
        return replace(self, **nothing, days=(), once=(), **changes)

    @property
    def leader(self) -> str:
        """The winner, or the arm that looks best while there is none."""
        if self.decision is not None and self.decision.arm is not None:
            return self.decision.name
        means = {arm.name: arm.mean for arm in self.arms if arm.mean is not None}
        better = self.design.oriented
        return max(means, key=lambda arm: better(means[arm]), default=self.design.arms[0])

    @property
    def leads(self) -> tuple[Effect, ...]:
        """The differences of the leader to the other arms, the nearest rival first."""
        effects = (e.of(self.leader) for e in self.effects if self.leader in (e.first, e.second))
        far = math.inf
        return tuple(
            sorted(effects, key=lambda e: far if math.isnan(e.difference) else abs(e.difference))
        )

    @property
    def held_by(self) -> dict[str, Standing]:
        """The guardrails whose margin the winner is not proven to be within, with its verdicts."""
        if self.decision is None or self.decision.arm is None:
            return {}
        winner = self.decision.name
        return {
            metric.name: metric.standings[winner]
            for metric in self.metrics
            if metric.standings.get(winner, "within margin") != "within margin"
        }

    def judged(self, metric: LogMetric) -> Analysis:
        """Return the analysis with its metric and, for a guardrail, a verdict on each treatment.

        The probability that an arm worse by the margin or more is found within the margin is at
        most the metric's error, since its interval would have to fail.
        """
        standings: dict[str, Standing] = {}
        if metric.margin is None:
            return replace(self, metric=metric, standings=standings)
        bounds = [(contrast.treatment, contrast.low, contrast.high) for contrast in self.contrasts]
        if self.evidence.once:
            control = self.arms[0].name
            bounds = [
                (look.first, look.low, look.high) for look in self.once if look.second == control
            ]
        for treatment, *ends in bounds:
            low, high = sorted(DIRECTION[metric.goal or "increase"] * end for end in ends)
            line = math.inf if metric.harm_line is None else metric.harm_line
            standings[treatment] = STANDINGS[standing_at_end(low, high, metric.margin, line)]
        return replace(self, metric=metric, standings=standings)

    def by_guardrails(self, design: Design) -> Analysis:
        """Return the analysis with the decision that the verdicts on its guardrails lead to.

        The first treatment that is within the margin of every guardrail is shipped. The control
        stays if every treatment is harmful. If the log lacks a guardrail, nothing is decided.
        """
        wanted = {metric.name for metric in design.guardrails}
        rails = [metric for metric in self.metrics if metric.reading.value in wanted]
        error = max(metric.error for metric in design.guardrails)
        decision = None
        if len(rails) == len(wanted):
            control, arms = design.control_index, len(design.arms)
            standings = [
                STANDINGS.index(metric.standings.get(arm, "open"))
                for metric in rails
                for arm in design.arms
            ]
            winner = guarded_winner(standings, arms, len(rails), control)
            if winner != NOBODY:
                name = design.arms[winner]
                harm = [metric.name for metric in rails if "harmed" in metric.standings.values()]
                decision = Decision(
                    *(self.design.arms.index(name), name, error, rails[0].guarantee),
                    harm=tuple(harm) if winner == control else (),
                    by="guardrails",
                )
        nothing: dict[str, Any] = {"decided": None, "days_left": None, "saved": None}
        return replace(self, decides="guardrails", decision=decision, **nothing)

    @property
    def guarantee(self) -> Guarantee:
        """The kind of proof behind intervals and decision."""
        return self.evidence.guarantee

    @property
    def ratio_mismatch(self) -> bool:
        """Whether units were not split as they should have been (sample ratio mismatch)."""
        return any(check.name == SAMPLE_RATIO for check in self.flagged)

    @property
    def flagged(self) -> tuple[Check, ...]:
        """The checks that found something."""
        return tuple(check for check in self.checks if check.flagged)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; unknown values are None."""
        data = {
            field.name: finite_data(getattr(self, field.name))
            for field in fields(self)
            if field.name not in ("design", "evidence", "segments", "metrics")
        }
        return {
            "headline": self.headline,
            "evidence": self.evidence.name,
            "explanation": self.evidence.explanation,
            "guarantee": self.guarantee,
            **data,
            **{name: self._stamp(data[name]) for name in ("first_day", "last_day", "decided")},
            "days": [{**day, "date": self._stamp(day["date"])} for day in data["days"]],
            "design": self.design.to_dict(),
            "segments": [part.to_dict() for part in self.segments],
            "metrics": [metric.to_dict() for metric in self.metrics],
        }

    def _stamp(self, day: str | None) -> str | None:
        return None if day is None else self.reading.stamp(day)

    @property
    def name(self) -> str:
        """The metric in words: its column, and its denominator if it is a ratio.

        A denominator in the column `per`, as in logs that bascule exports, is not named.
        """
        value, per = self.reading.value or "events", self.reading.per
        return f"{value} per {per}" if per not in (None, "per") else value

    @property
    def scores(self) -> tuple[Score, ...]:
        """A row for each metric and treatment: means, difference, lift, p-value and verdict."""
        scores = [
            score
            for part in self.segments or (self,)
            for analysis in (part, *part.metrics)
            for score in _scores(analysis)
        ]
        stand = standing([score.e_value for score in scores])
        return tuple(
            replace(score, stands=stands) for score, stands in zip(scores, stand, strict=True)
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return plain data with a row for each metric and treatment, in each segment."""
        return [finite_data(score) for score in self.scores]

    def day_rows(self) -> list[dict[str, Any]]:
        """Return a row for each day and pair of arms, and for each metric if there are several.

        `effect` is the treatment minus the control, as `contrast` says; of two treatments, the
        later minus the earlier one.
        """
        if self.metrics:
            alone = replace(self, metrics=())
            return [
                {"metric": analysis.name, **row}
                for analysis in (alone, *self.metrics)
                for row in analysis.day_rows()
            ]
        return [
            {
                **({} if part.segment is None else {"segment": part.segment}),
                "date": part.reading.stamp(day.date),
                "units": sum(day.units),
                **finite_data(_contrast(effect)),
                "decision": day.decision,
            }
            for part in self.segments or (self,)
            for day in part.days
            for effect in day.effects
        ]

    def to_frame(self, *, days: bool = False) -> Any:
        """Return a pandas data frame with a row for each metric and treatment, or for each day."""
        require("analyze", "a data frame", "pandas")
        import pandas

        return pandas.DataFrame(self.day_rows() if days else self.to_rows())

    def plot(self) -> Figure:
        """Plot the difference day by day with the day of the decision, and the cost."""
        figure: Figure = presenter("analysis.figure").plot_analysis(self)
        return figure

    def report(self) -> Any:
        """Return the report: headline, facts, tables, notes and figures."""
        return presenter("analysis.report").report(self)

    def __repr__(self) -> str:
        return f"Analysis({self.headline!r})"


def _scores(analysis: Analysis) -> tuple[Score, ...]:
    """Return the rows of one metric: each treatment minus the control."""
    control = analysis.design.control_arm
    means = {arm.name: arm.mean for arm in analysis.arms}
    looks = {frozenset((look.first, look.second)): look for look in analysis.once}
    contrasts = {contrast.treatment: contrast for contrast in analysis.contrasts}
    e_values = analysis.e_values or (None,) * len(analysis.effects)
    rows = []
    for effect, e_value in zip(analysis.effects, e_values, strict=True):
        if effect.second != control:
            continue
        contrast = contrasts.get(effect.first)
        look = looks.get(frozenset((effect.first, control)))
        lifted = look if contrast is None and analysis.evidence.once else contrast
        rows.append(
            Score(
                metric=analysis.name,
                segment=analysis.segment,
                treatment=effect.first,
                control=control,
                control_mean=means[control],
                treatment_mean=means[effect.first],
                difference=effect.difference,
                low=effect.low,
                high=effect.high,
                unbiased=None if contrast is None else contrast.unbiased,
                lift=None if lifted is None else lifted.lift,
                lift_low=None if lifted is None else lifted.lift_low,
                lift_high=None if lifted is None else lifted.lift_high,
                p_value=None if look is None else look.p_value,
                verdict=_verdict(analysis, effect),
                guarantee=effect.guarantee,
                binary=analysis.design.outcome.binary,
                e_value=e_value,
            )
        )
    return tuple(rows)


def _verdict(analysis: Analysis, effect: Effect) -> str:
    """Return the verdict on a treatment: by a guardrail's margin, or the sign of the effect."""
    if effect.first in analysis.standings:
        return analysis.standings[effect.first]
    # After a decision an interval may end at 0 exactly: the difference then counts as clear.
    beyond = effect.low > 0.0 or effect.high < 0.0
    if not beyond and (analysis.decision is None or 0.0 not in (effect.low, effect.high)):
        return "open"
    return "better" if analysis.design.oriented(effect.difference) > 0.0 else "worse"


def _contrast(effect: Effect) -> dict[str, Any]:
    """Return the name of a pair of arms, its difference and both bounds, by column."""
    names = ("effect", "effect_low", "effect_high")
    return {"contrast": effect.name, **dict(zip(names, effect.interval, strict=True))}
