"""Functions and classes of live tests for programs, the command line and the service."""

from __future__ import annotations

from bascule.live.api.erasure import ERASED
from bascule.live.api.experiment import Experiment
from bascule.live.api.exports import columns_of, csv_lines, export, some_rows
from bascule.live.api.store import Store, opened_store
from bascule.live.clock import ManualClock, moment
from bascule.live.commit.context import acting_as
from bascule.live.reports.diagnostics import raised
from bascule.live.reports.forecast import Turn, knob_of
from bascule.live.reports.history import ExperimentReport, HistoryPoint, audit_words
from bascule.live.reports.metric_status import MetricStatus
from bascule.live.reports.status import ArmStatus, Status
from bascule.live.steps.inputs import (
    EARLIEST,
    LATEST,
    LONGEST_DESCRIPTION,
    NAME,
    check_name,
    checked_description,
    checked_text,
    checked_unit,
)
from bascule.live.steps.maturity import Event, Receipt
from bascule.live.steps.serving import Evaluation
from bascule.live.storage.queries import gone
from bascule.live.storage.state import OPEN, Verdict
from bascule.live.storage.state import Phase as State

__all__ = [
    "EARLIEST",
    "ERASED",
    "LATEST",
    "LONGEST_DESCRIPTION",
    "NAME",
    "OPEN",
    "ArmStatus",
    "Evaluation",
    "Event",
    "Experiment",
    "ExperimentReport",
    "HistoryPoint",
    "ManualClock",
    "MetricStatus",
    "Receipt",
    "State",
    "Status",
    "Store",
    "Turn",
    "Verdict",
    "acting_as",
    "audit_words",
    "check_name",
    "checked_description",
    "checked_text",
    "checked_unit",
    "columns_of",
    "csv_lines",
    "export",
    "gone",
    "knob_of",
    "moment",
    "opened_store",
    "raised",
    "some_rows",
]
