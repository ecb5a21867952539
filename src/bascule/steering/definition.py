"""The file of a steered test: its design, where its log is, and where its shares are written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bascule.analysis.call import Log
from bascule.analysis.source.places import Source
from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import seconds
from bascule.core.inputs.serialization import read, read_json
from bascule.core.metrics.measure import Measure
from bascule.steering.targets import Command, Flagd, Target, Unleash

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TABLES = ("exposures", "outcomes")
"""Names of tables that metrics cannot have."""


@dataclass(frozen=True)
class TableFields:
    """Fields of a table in the file of a test: where its rows are, and the names of columns."""

    source: str
    query: str | None = None
    unit: str | None = None
    time: str | None = None
    time_format: str | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def log(self, folder: Path) -> Log:
        """Return the location of the table; a path is relative to the folder of the test."""
        is_path = Source(self.source, None, "events").scheme is None
        place = str(folder / self.source) if is_path else self.source
        return Log(place, self.query, self.unit, self.time, time_format=self.time_format)


@dataclass(frozen=True)
class ExposureFields(TableFields):
    """Fields of the exposures, which have a column with the arm."""

    arm: str | None = None


@dataclass(frozen=True)
class OutcomeFields(TableFields):
    """Fields of the events of a metric, which may have a column with their values."""

    value: str | None = None


@dataclass(frozen=True)
class TestFields:
    """Fields of the file of a test."""

    design: str
    exposures: ExposureFields
    outcomes: OutcomeFields
    target: Flagd | Unleash | Command = field(metadata={"discriminator": "kind"})
    name: str | None = None
    metrics: Mapping[str, OutcomeFields] = field(default_factory=dict)
    settle: str | float = "1m"
    """Time for which SDKs may still serve earlier shares from their caches."""
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}


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
    the number of seconds after a change of the shares in which units may still be assigned by the
    earlier shares.
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
        """Seconds from the first exposure of a unit until all of its outcomes are final."""
        return self.design.matures(0.0) or 0.0

    @classmethod
    def load(cls, path: str | Path) -> SteeredTest:
        """Read the file of a test; its paths are relative to its own folder."""
        path = Path(path).absolute()
        fields, folder = (
            read(_adapter(), with_secrets(read_json(path, "test")), "test"),
            path.parent,
        )
        design = checked(Design.load(folder / fields.design))
        names = [metric.name for metric in design.metrics]
        if set(fields.metrics) != set(names):
            raise invalid(
                "metrics must have one table for each metric of the design: "
                f"{', '.join(names) or 'none'} (got {', '.join(fields.metrics) or 'none'})"
            )
        tables = {"outcomes": fields.outcomes} | {name: fields.metrics[name] for name in names}
        designs = (design, *design.metric_designs)
        return cls(
            fields.name or path.stem,
            path,
            design,
            fields.exposures.log(folder),
            fields.exposures.arm,
            tuple(
                OutcomeTable(name, table.log(folder), table.value, own)
                for (name, table), own in zip(tables.items(), designs, strict=True)
            ),
            fields.target.within(folder),
            seconds("settle", fields.settle),
        )


@cache
def _adapter() -> TypeAdapter[TestFields]:
    """Return the validator of the fields of a file, which is created at first use."""
    from pydantic import TypeAdapter

    return TypeAdapter(TestFields)


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
        raise invalid(
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
            raise InputError(
                "metrics",
                f"metric {metric.name} needs another name: a table of a test file is called so",
            )
    for own in (design, *design.metric_designs):
        if own.outcome.pairs or own.measure is None or own.measure.may_lack:
            raise InputError(
                "measure",
                f"{own.outcome!r} cannot be steered: every unit of a steered test has one number "
                'for each metric; use the aggregate "any" or "sum", which is 0 without events',
            )
    if design.procedure.counts != "blocks":
        raise InputError(
            "design",
            f"{design.rule.label} on {design.outcome!r} cannot be steered: a steered test takes a "
            "rule in blocks, as bascule plan gives",
        )
    if design.procedure.uses_signals:
        raise invalid(
            "early_signals are for live tests, which know the events of open windows: leave them "
            "out",
        )
    return design
