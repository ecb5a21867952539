"""The analysis of a live test from its own log: the decision and intervals that it has itself."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from bascule.analysis.api import analyze
from bascule.core.errors import InputError
from bascule.live.api import Experiment, export, moment

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis


def analyze_experiment(test: Experiment) -> Analysis:
    """Analyse the log of a live test, for a report to hand around.

    The rows are those that `export` writes, so the result is that of the test, day by day.
    """
    if not test.status().matured:
        raise InputError(
            "experiment", f"{test.name} has no matured units yet: there is nothing to report"
        )
    with tempfile.TemporaryDirectory() as folder:
        assignments, outcomes, *_ = export(test, folder)
        # Units without an event mature after the last row of the log; rows of this second count.
        return analyze(
            str(outcomes),
            assignments=str(assignments),
            design=test.design,
            until=moment(test.store.clock.now() + 1.0),
        )
