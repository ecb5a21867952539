"""The analysis of a live test from its own log: the decision and intervals that it has itself."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from bascule.analysis.api import analyze
from bascule.core.errors import InputError
from bascule.live.api import Experiment, export, moment

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis


def analyze_experiment(test: Experiment) -> Analysis:
    """Analyse the log of a live test, for a report to hand around.

    The rows are those that `export` writes, so the result is that of the test, day by day. Erased
    units have no covariates any more and count with the values for missing ones, which a note says.
    """
    if not test.status().matured:
        raise InputError(
            "experiment", f"{test.name} has no matured units yet: there is nothing to report"
        )
    with tempfile.TemporaryDirectory() as folder:
        assignments, outcomes, *_ = export(test, folder)
        # Units without an event mature after the last row of the log; rows of this second count.
        found = analyze(
            str(outcomes),
            assignments=str(assignments),
            design=test.design,
            until=moment(test.store.clock.now() + 1.0),
        )
    if test.design.covariates is None or not (erased := test.erased):
        return found
    note = (
        f"{erased:,} units were erased with their covariates and count here with the values for "
        f"missing ones: the status of {test.name} has its own intervals and decision"
    )
    return replace(found, notes=(*found.notes, note))
