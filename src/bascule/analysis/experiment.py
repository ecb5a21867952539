"""The analysis of a live test from its own log: the decision and intervals that it has itself."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace

from bascule.analysis.api import analyze
from bascule.analysis.assemble import over_segments
from bascule.analysis.exported import as_the_test, with_test_metrics
from bascule.analysis.result import Analysis
from bascule.core.errors import InputError
from bascule.live.api import Experiment, SegmentTests, export, moment


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
    analysis = as_the_test(with_test_metrics(analysis, test.design, status), status)
    if test.design.covariates is None or not (erased := test.erased):
        return analysis
    note = (
        f"{erased:,} units were erased with their covariates and count here with the values for "
        f"missing ones: the status of {test.name} has its own intervals and decision"
    )
    return replace(analysis, notes=(*analysis.notes, note))


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
