"""What an exported test has beside its outcomes: assignments, and outcomes of other metrics."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.analysis.call import Log, LogMetric
from bascule.analysis.result import Analysis, ArmAnswer
from bascule.core.design import Design
from bascule.core.metrics.effects import Effect
from bascule.core.procedures.base import Decision

if TYPE_CHECKING:
    # What live tests need is loaded where one is analysed: it takes longer than a small log.
    from bascule.live.api import Status

OUTCOMES, ASSIGNMENTS = "-outcomes", "-assignments"
"""How the names of the files end that `bascule experiment export` writes, before their endings."""


def assignments_beside(log: Log) -> Log | None:
    """Return the assignments that were exported with a log; None where there are none."""
    path = _path(log)
    if path is None:
        return None
    other = path.with_name(f"{path.stem.removesuffix(OUTCOMES)}{ASSIGNMENTS}{path.suffix}")
    return Log(str(other)) if other.is_file() else None


def outcomes_beside(log: Log, design: Design | None) -> dict[str, Log]:
    """Return the outcomes of other metrics that were exported with a log, by their fields."""
    path = _path(log)
    if path is None or design is None:
        return {}
    names = [metric.name for metric in design.metrics]
    files = {name: path.with_name(f"{path.stem}-{name}{path.suffix}") for name in names}
    there = {name: file for name, file in files.items() if file.is_file()}
    return {outcomes_field(name): Log(str(file)) for name, file in there.items()}


def outcomes_field(metric: str) -> str:
    """Return the name under which the outcomes of a metric are opened."""
    return f"outcomes of {metric}"


def _path(log: Log) -> Path | None:
    """Return the path of a log whose name is that of exported outcomes."""
    source = log.source
    if not isinstance(source, (str, Path)) or log.query is not None:
        return None
    path = Path(source)
    return path if path.stem.endswith(OUTCOMES) else None


def as_the_test(analysis: Analysis, status: Status) -> Analysis:
    """Return the analysis with the answer of the test itself, whatever its log alone would say.

    Removed arms, a stop and a cap are no part of what is replayed. Nor is how soon the test was
    decided, which the median-unbiased estimates go by. The cost goes by the differences, which
    compare units of the same time, and not by the means.
    """
    from bascule.live.clock import moment

    unbiased = {one.treatment: one.unbiased for one in status.contrasts}
    contrasts = [replace(one, unbiased=unbiased.get(one.treatment)) for one in analysis.contrasts]
    cost = None if analysis.cost is None else status.cost
    analysis = replace(analysis, contrasts=tuple(contrasts), cost=cost)
    verdict, decision = status.decision, None
    if verdict is not None:
        names = {field.name for field in fields(Decision)}
        decision = Decision(**{name: getattr(verdict, name) for name in names})
    if decision == analysis.decision and analysis.test_headline is None:
        return analysis
    return replace(
        analysis,
        decision=decision,
        decided=None if verdict is None else moment(verdict.time).date().isoformat(),
        saved=None,
        test_headline=status.headline,
        days_left=status.days_left if status.is_open else None,
    )


def with_test_metrics(analysis: Analysis, design: Design, status: Status) -> Analysis:
    """Return the analysis with all metrics of a test, as its status has them."""
    if not status.metrics:
        return analysis
    alone = replace(analysis, metrics=())
    metrics = tuple(_of_metric(alone, design, status, at) for at in range(len(status.metrics)))
    return replace(analysis, metrics=metrics, decides=design.decides)


def _of_metric(analysis: Analysis, design: Design, status: Status, at: int) -> Analysis:
    """Return what the status says of another metric, as an analysis without a decision."""
    metric, shown = design.metrics[at], status.metrics[at]
    treatments = [one.treatment for one in shown.contrasts]
    standings = dict(zip(treatments, shown.standings, strict=True))
    arms = zip(status.arms, shown.means, strict=True)
    return analysis.undecided(
        design=design.metric_designs[at],
        error=design.metric_designs[at].calibration.error,
        arms=tuple(ArmAnswer(arm.name, arm.units, arm.matured, mean, None) for arm, mean in arms),
        effects=tuple(
            Effect(
                *(one.treatment, one.control, one.difference, one.low, one.high),
                *(one.error, one.guarantee),
            )
            for one in shown.contrasts
        ),
        contrasts=shown.contrasts,
        cost=None,
        saved=None,
        checks=(),
        excluded={},
        notes=(),
        metric=LogMetric.of(metric),
        standings=standings if metric.is_guardrail else {},
        reading=replace(analysis.reading, value=metric.name, per=None),
        decides="primary",
    )
