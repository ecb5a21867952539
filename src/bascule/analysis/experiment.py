"""The analysis of a live test from its own log: the decision and intervals that it has itself."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import fields, replace

from bascule.analysis.api import analyze
from bascule.analysis.assemble import over_segments
from bascule.analysis.call import LogMetric
from bascule.analysis.result import Analysis, ArmAnswer
from bascule.core.errors import InputError
from bascule.core.metrics.effects import Effect
from bascule.core.procedures.base import Decision
from bascule.live.api import Experiment, SegmentTests, Status, export, moment


def analyze_experiment(test: Experiment | SegmentTests) -> Analysis:
    """Analyse the log of a live test, for a report to hand around.

    The rows are those that `export` writes, so the result is that of the test, day by day. Other
    metrics have the intervals of the status. A test with segments is one report, with an answer
    for each. Erased units have no covariates any more and count with the values for missing ones,
    which a note says.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("button", design)
    ...     for i in range(200):
    ...         receipt = test.record(i, float(test.assign(i) == "b"))
    ...     bs.analyze_experiment(test).decision.name
    'b'
    """
    if isinstance(test, SegmentTests):
        return _of_segments(test)
    if test.design.outcome.recurring:
        raise InputError(
            "experiment",
            f"{test.name} has recurring outcomes, for which there is no report: its status has the "
            "decision and the intervals",
        )
    status = test.status()
    if not status.matured:
        raise InputError(
            "experiment", f"{test.name} has no matured units yet: there is nothing to report"
        )
    with tempfile.TemporaryDirectory() as folder:
        assignments, outcomes, *_ = export(test, folder)
        # Units without an event mature after the last row of the log; rows of this second count.
        analysis = analyze(
            str(outcomes),
            assignments=str(assignments),
            design=test.design,
            until=moment(test.store.clock.now() + 1.0),
        )
    # The files were those of this call alone.
    reading = replace(analysis.reading, log=f"of {test.name}", assignments=f"of {test.name}")
    analysis = replace(analysis, reading=reading)
    if status.metrics:
        # What may be shipped is said with the metrics.
        notes = tuple(note for note in analysis.notes if "primary metric alone" not in note)
        metrics = tuple(_of_metric(analysis, test, status, at) for at in range(len(status.metrics)))
        analysis = replace(analysis, metrics=metrics, notes=notes)
    analysis = _as_the_test(analysis, status)
    if test.design.covariates is None or not (erased := test.erased):
        return analysis
    note = (
        f"{erased:,} units were erased with their covariates and count here with the values for "
        f"missing ones: the status of {test.name} has its own intervals and decision"
    )
    return replace(analysis, notes=(*analysis.notes, note))


def _as_the_test(analysis: Analysis, status: Status) -> Analysis:
    """Return the analysis with the answer of the test itself, whatever its log alone would say.

    Guardrails, removed arms, a stop and a cap are no part of what is replayed. Nor is how soon the
    test was decided, which the median-unbiased estimates go by. The cost goes by the differences,
    which compare units of the same time, and not by the means.
    """
    unbiased = {one.treatment: one.unbiased for one in status.contrasts}
    contrasts = [replace(one, unbiased=unbiased.get(one.treatment)) for one in analysis.contrasts]
    cost = None if analysis.cost is None else status.cost
    analysis = replace(analysis, contrasts=tuple(contrasts), cost=cost)
    verdict, decision = status.decision, None
    if verdict is not None:
        names = {field.name for field in fields(Decision)}
        decision = Decision(**{name: getattr(verdict, name) for name in names})
    if decision == analysis.decision:
        return analysis
    return replace(
        analysis,
        decision=decision,
        decided=None if verdict is None else moment(verdict.time).date().isoformat(),
        saved=None,
        test_headline=status.headline,
        days_left=status.days_left if status.is_open else None,
    )


def _of_metric(analysis: Analysis, test: Experiment, status: Status, at: int) -> Analysis:
    """Return what the status says of another metric, as an analysis without a decision."""
    metric, shown = test.design.metrics[at], status.metrics[at]
    treatments = [one.treatment for one in shown.contrasts]
    standings = dict(zip(treatments, shown.standings, strict=True))
    arms = zip(status.arms, shown.means, strict=True)
    return analysis.undecided(
        design=test.design.metric_designs[at],
        error=test.design.metric_designs[at].calibration.error,
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
        metric=LogMetric(
            metric.name,
            goal=metric.goal,
            margin=metric.margin,
            error=metric.error,
            harm=metric.harm,
        ),
        standings=standings if metric.is_guardrail else {},
        reading=replace(analysis.reading, value=metric.name),
    )


def _of_segments(test: SegmentTests) -> Analysis:
    known = {name: one for name, one in test.tests.items() if one.status().matured}
    if not known:
        raise InputError(
            "experiment", f"{test.name} has no matured units yet: there is nothing to report"
        )
    parts = [replace(analyze_experiment(one), segment=name) for name, one in known.items()]
    days = [day for part in parts for day in (part.first_day, part.last_day) if day is not None]
    notes = [f"the error is split between the {len(test.tests)} segments of the design"]
    notes += [f"{name} has no matured units yet" for name in test.tests if name not in known]
    whole = f"of {test.name}"
    return over_segments(
        [replace(part, excluded={}) for part in parts],
        reading=replace(parts[0].reading, log=whole, assignments=whole),
        error=test.error,
        rows=sum(part.rows for part in parts),
        units=sum(part.units for part in parts),
        first_day=min(days, default=None),
        last_day=max(days, default=None),
        checks=(),
        excluded=dict(sum((Counter(part.excluded) for part in parts), Counter())),
        notes=tuple(notes),
    )
