"""The file of a steered test: its design, where its log is, and where its shares are written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.analysis.call import Log
from bascule.analysis.source.places import Source
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs.durations import seconds
from bascule.core.inputs.serialization import read_json
from bascule.core.metrics.measure import Measure
from bascule.steering.targets import Target, check_fields, target_of

FIELDS = ("name", "design", "exposures", "outcomes", "metrics", "target", "settle")
TABLES = ("exposures", "outcomes")
OF_EXPOSURES = ("source", "query", "unit", "arm", "time")
OF_OUTCOMES = ("source", "query", "unit", "value", "time", "time_format")

SETTLE = "1m"
"""Default time for which SDKs may still serve earlier shares from their caches."""


@dataclass(frozen=True, slots=True)
class OutcomeTable:
    """The events of one metric: where they are, and the column with their values.

    `design` has the arms with the model and the measure of this metric.
    """

    name: str
    log: Log
    value: str | None
    design: Design

    @property
    def measure(self) -> Measure:
        """How the events of a unit are combined."""
        assert self.design.measure is not None
        return self.design.measure


@dataclass(frozen=True, slots=True)
class SteeredTest:
    """A test that sets the traffic shares of a flag in another tool.

    `exposures` has a row each time a unit was served an arm. `outcomes` are the events that count:
    those of the primary metric, and of each other metric in the order of the design. `settle` is
    for how many seconds after a change of shares units may still get earlier ones.
    """

    name: str
    path: Path
    design: Design
    exposures: Log
    arm: str | None
    outcomes: tuple[OutcomeTable, ...]
    target: Target
    settle: float

    @property
    def ledger(self) -> Path:
        """Path of the ledger, in the folder of the test's file."""
        return self.path.with_suffix(".ledger")

    @property
    def matures(self) -> float:
        """Seconds after which all windows of a unit have closed."""
        return self.design.matures(0.0) or 0.0

    @classmethod
    def load(cls, path: str | Path) -> SteeredTest:
        """Read the file of a test; its paths are relative to its own folder."""
        path = Path(path).absolute()
        data, folder = with_secrets(read_json(path, "test")), path.parent
        check_fields("test", data, FIELDS, ("design", "exposures", "outcomes", "target"))
        design = checked(Design.load(folder / str(data["design"])))
        metrics, names = data.get("metrics", {}), [metric.name for metric in design.metrics]
        check_fields("metrics", metrics, names, names)
        tables = {name: metrics[name] for name in names} | {name: data[name] for name in TABLES}
        for name, table in tables.items():
            known = OF_EXPOSURES if name == "exposures" else OF_OUTCOMES
            check_fields(name, table, known, ("source",))
        return cls(
            str(data.get("name", path.stem)),
            path,
            design,
            _log(tables["exposures"], folder),
            tables["exposures"].get("arm"),
            tuple(
                OutcomeTable(name, _log(tables[name], folder), tables[name].get("value"), own)
                for name, own in zip(
                    ("outcomes", *names), (design, *design.metric_designs), strict=True
                )
            ),
            target_of(data["target"], folder),
            seconds("settle", data.get("settle", SETTLE)),
        )


def with_secrets(value: Any) -> Any:
    """Return data with each `${NAME}` replaced by the environment variable of that name.

    >>> import os
    >>> os.environ["BASCULE_EXAMPLE"] = "secret"
    >>> with_secrets({"token": "Bearer ${BASCULE_EXAMPLE}"})
    {'token': 'Bearer secret'}
    """
    if isinstance(value, dict):
        return {name: with_secrets(part) for name, part in value.items()}
    if isinstance(value, list):
        return [with_secrets(part) for part in value]

    def variable(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise InputError(
                "test", f"the test names the environment variable {found[1]}, which is not set"
            )
        return os.environ[found[1]]

    return re.sub(r"\$\{(\w+)\}", variable, value) if isinstance(value, str) else value


def checked(design: Design) -> Design:
    """Return the design; raise `InputError` if it cannot be steered."""
    if design.covariates:
        raise InputError(
            "covariates",
            "covariates are not used in steered tests: plan the test without them (it takes a "
            "little longer), or run a live test",
        )
    if design.measure is None or design.measure.window is None:
        raise InputError(
            "measure",
            "a steered test has to know when a unit counts: plan it with a window, as "
            "bascule plan --window 7d",
        )
    for metric in design.metrics:
        if metric.name in TABLES:
            raise InputError("metrics", f"metric {metric.name} needs another name: it is a table's")
    for own in (design, *design.metric_designs):
        if own.outcome.pairs or own.measure is None or own.measure.may_lack:
            raise InputError(
                "measure",
                f"{own.outcome!r} cannot be steered: every unit of a steered test has one number "
                'for each metric; use the aggregate "any" or "sum", in which no event is 0',
            )
    if design.procedure.counts != "blocks":
        raise InputError(
            "design",
            f"{design.rule.label} on {design.outcome!r} cannot be steered: a steered test takes a "
            "rule in blocks, as bascule plan gives",
        )
    if design.procedure.uses_signals:
        raise InputError(
            "early_signals",
            "early_signals is for live tests, which know the events of open windows: leave it out",
        )
    return design


def _log(data: Mapping[str, Any], folder: Path) -> Log:
    """Return the location of a table; a path is relative to the folder of the test."""
    place = str(data["source"])
    if Source(place, None, "events").scheme is None:
        place = str(folder / place)
    names = ("query", "unit", "time", "time_format")
    return Log(place, **{name: data[name] for name in names if name in data})
