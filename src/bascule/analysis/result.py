"""What a log says: a value to print, to turn into plain data or a data frame, and to draw."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bascule.analysis.evidence.course import Day
from bascule.analysis.evidence.fixed import OneLook
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.log.reading import Reading
from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.inputs.files import write_whole
from bascule.core.metrics.contrasts import Contrast
from bascule.core.metrics.effects import Effect
from bascule.core.metrics.guardrails import Standing
from bascule.core.metrics.metric import Metric
from bascule.core.presenter import presenter
from bascule.core.procedures.base import Decision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE_RATIO = "sample ratio"
"""The name of the check whose failure puts every comparison in doubt."""


@dataclass(frozen=True, slots=True)
class ArmAnswer:
    """One arm: its units, those whose outcomes count, and what these showed.

    `total_mean` and `precision_mean` are other averages of units whose outcomes keep coming; `mean`
    is then the mean of means.
    """

    name: str
    units: int
    counted: int
    mean: float | None
    deviation: float | None
    total_mean: float | None = None
    precision_mean: float | None = None


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
class Analysis:
    """What a log says; `bascule.analyze` makes it.

    `evidence` says how the arms are compared, and with which kind of proof. `effects` are the
    differences of all pairs of arms now, and `days` the same day by day; `once` has those of a test
    with a fixed sample, for a log that is looked at once. `contrasts` are treatments minus the
    control, with relative lifts. `decided` is the first
    day on which the decision was allowed. `cost` is what all units lost against giving each the
    arm that looks best now, and `saved` what stopping on that day would have saved of it.
    `days_left` is how long a decision is expected to take from here. `reading` says which columns
    were used. `excluded` says how much of the log does not count, by reason, and `examples` has
    some of what was not readable. With segments, each one is an analysis of its own in
    `segments`, and all that is said here is about the log as a whole, without a decision. Other
    metrics of the same log are in `metrics`: each of them has its `metric` where it was declared,
    and a guardrail has what it says of each treatment in `standings`. `test_headline` is what a
    live test says itself, where guardrails or removed arms have a part in it.
    """

    design: Design
    evidence: Evidence
    error: float
    rows: int
    units: int
    first_day: str | None
    last_day: str | None
    arms: tuple[ArmAnswer, ...]
    effects: tuple[Effect, ...]
    decision: Decision | None
    decided: str | None
    days: tuple[Day, ...]
    cost: float | None
    saved: float | None
    days_left: float | None
    checks: tuple[Check, ...]
    excluded: dict[str, int]
    reading: Reading
    contrasts: tuple[Contrast, ...] = ()
    once: tuple[OneLook, ...] = ()
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    segment: str | None = None
    segments: tuple[Analysis, ...] = ()
    metrics: tuple[Analysis, ...] = ()
    metric: Metric | None = None
    standings: dict[str, Standing] = field(default_factory=dict)
    test_headline: str | None = None

    @property
    def headline(self) -> str:
        """One line that says what to do."""
        return str(presenter("analysis.text").headline(self))

    def undecided(self, **changes: Any) -> Analysis:
        """Return a copy with these changes, without its decision, its days and its fixed tests."""
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
        """The differences of the leader from every other arm, from the nearest rival on."""
        effects = (e.of(self.leader) for e in self.effects if self.leader in (e.first, e.second))
        return tuple(sorted(effects, key=lambda one: abs(one.difference)))

    @property
    def held_by(self) -> dict[str, Standing]:
        """The guardrails that keep the winner from being shipped: harmed, or not shown yet."""
        if self.decision is None or self.decision.arm is None:
            return {}
        winner = self.decision.name
        return {
            one.metric.name: one.standings[winner]
            for one in self.metrics
            if one.metric is not None and one.standings.get(winner) in ("harmed", "open")
        }

    def judged(self, metric: Metric) -> Analysis:
        """Return the analysis of a metric's column with what a guardrail says of each treatment.

        An arm that is worse by the margin or more is found within it with probability at most the
        metric's error, as its interval fails then.
        """
        ends = [(one.treatment, one.low, one.high) for one in self.contrasts]
        if self.evidence.once:
            control = self.arms[0].name
            ends = [(one.second, one.low, one.high) for one in self.once if one.first == control]
        if metric.goal == "decrease":
            ends = [(treatment, -high, -low) for treatment, low, high in ends]
        standings: dict[str, Standing] = {}
        for treatment, low, high in ends if metric.margin is not None else ():
            harmed = metric.harm_line is not None and high < -metric.harm_line
            within = metric.margin is not None and low > -metric.margin
            standings[treatment] = "harmed" if harmed else "within margin" if within else "open"
        return replace(self, metric=metric, standings=standings)

    @property
    def guarantee(self) -> Guarantee:
        """The kind of proof behind intervals and decision."""
        return self.evidence.guarantee

    @property
    def ratio_mismatch(self) -> bool:
        """Whether units were not split as they should have been (sample ratio mismatch)."""
        return any(check.name == SAMPLE_RATIO for check in self.flagged)

    @property
    def set_aside(self) -> dict[str, int]:
        """What `excluded` was called in the first edition."""
        return self.excluded

    @property
    def flagged(self) -> tuple[Check, ...]:
        """The checks that found something."""
        return tuple(check for check in self.checks if check.flagged)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None for what is not known."""
        data = {
            each.name: _plain(getattr(self, each.name))
            for each in fields(self)
            if each.name not in ("design", "evidence", "segments", "metrics")
        }
        return {
            "headline": self.headline,
            "evidence": self.evidence.name,
            "explanation": self.evidence.explanation,
            "guarantee": self.guarantee,
            **data,
            "set_aside": data["excluded"],
            "design": self.design.to_dict(),
            "segments": [part.to_dict() for part in self.segments],
            "metrics": [other.to_dict() for other in self.metrics],
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each day and pair of arms, and for each metric if there are several.

        `effect` is the treatment minus the control, as `contrast` says, and of two treatments the
        later minus the earlier; `difference` is that of `first` minus `second`.
        """
        if self.metrics:
            alone = replace(self, metrics=())
            return [
                {"metric": one.reading.value, **row}
                for one in (alone, *self.metrics)
                for row in one.to_rows()
            ]
        return [
            {
                **({} if part.segment is None else {"segment": part.segment}),
                "date": day.date,
                "first": effect.first,
                "second": effect.second,
                "units": sum(day.units),
                "difference": effect.difference,
                "low": effect.low,
                "high": effect.high,
                **_contrast(effect, part.design.control_arm),
                "decision": day.decision,
            }
            for part in self.segments or (self,)
            for day in part.days
            for effect in day.effects
        ]

    def to_frame(self) -> Any:
        """A data frame of pandas with a row for each day and pair of arms."""
        import pandas

        return pandas.DataFrame(self.to_rows())

    def plot(self) -> Figure:
        """The difference day by day with the day of the decision, and the cost."""
        figure: Figure = presenter("analysis.figure").plot_analysis(self)
        return figure

    def html(self) -> str:
        """One page to hand around, which needs nothing from elsewhere."""
        return str(presenter("analysis.page").page(self))

    def save_html(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return write_whole(Path(path), self.html().encode())

    def __str__(self) -> str:
        return "\n".join(presenter("analysis.text").text_lines(self))

    def __repr__(self) -> str:
        return f"Analysis({self.headline!r})"

    def _repr_html_(self) -> str:
        return str(presenter("notebook").analysis_html(self))


def _contrast(effect: Effect, control: str) -> dict[str, Any]:
    """The columns of a pair as treatment minus control."""
    effect = effect if effect.second == control else effect.reversed
    names = ("effect", "effect_low", "effect_high")
    return {"contrast": effect.name, **dict(zip(names, effect.ends, strict=True))}


def _plain(value: Any) -> Any:
    """A value as JSON has it, with None for the ends of an endless interval."""
    if hasattr(value, "__dataclass_fields__"):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
