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
from bascule.core.inputs.serialization import read_json
from bascule.core.metrics.measure import Measure, seconds
from bascule.steering.targets import Target, target_of

FIELDS = ("name", "design", "exposures", "outcomes", "target", "settle")
OF_EXPOSURES = ("source", "query", "unit", "arm", "time")
OF_OUTCOMES = ("source", "query", "unit", "value", "time", "time_format")

SETTLE = "1m"
"""Default of the time for which SDKs may serve earlier shares from their caches."""

NOT_STEERED = {
    "metrics": "guardrails and other metrics",
    "covariates": "covariates",
}
"""Parts of a design that steering does not have, in words."""


@dataclass(frozen=True, slots=True)
class SteeredTest:
    """A test on the flags of another tool.

    `exposures` has a row each time a unit was served an arm, and `outcomes` the events that count.
    `settle` is for how many seconds after a change of shares units may still get earlier ones.
    """

    name: str
    path: Path
    design: Design
    exposures: Log
    outcomes: Log
    arm: str | None
    value: str | None
    target: Target
    settle: float

    @property
    def ledger(self) -> Path:
        """Path of the ledger, in the folder of the test's file."""
        return self.path.with_suffix(".ledger")

    @property
    def measure(self) -> Measure:
        """The measure of a unit's outcome."""
        assert self.design.measure is not None
        return self.design.measure

    @classmethod
    def load(cls, path: str | Path) -> SteeredTest:
        """Read the file of a test; its paths are relative to its own folder."""
        path = Path(path).absolute()
        data, folder = with_secrets(read_json(path, "test")), path.parent
        if not isinstance(data, dict):
            raise InputError("test", f"test: {path} must hold an object, as {{...}}")
        _check_fields("test", data, FIELDS, ("design", "exposures", "outcomes", "target"))
        for part in ("exposures", "outcomes", "target"):
            if not isinstance(data[part], dict):
                raise InputError(part, f"{part} must be an object, as {{...}} (got {data[part]!r})")
        exposures, outcomes = data["exposures"], data["outcomes"]
        _check_fields("exposures", exposures, OF_EXPOSURES, ("source",))
        _check_fields("outcomes", outcomes, OF_OUTCOMES, ("source",))
        return cls(
            str(data.get("name", path.stem)),
            path,
            checked(Design.load(folder / str(data["design"]))),
            _log(exposures, folder),
            _log(outcomes, folder),
            exposures.get("arm"),
            outcomes.get("value"),
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
    """Return a design that can be steered; refuse any other."""
    for name, words in NOT_STEERED.items():
        if getattr(design, name):
            raise InputError(
                name,
                f"{words} are not available in steered tests: leave {name} out of the design, or "
                "run a live test",
            )
    measure = design.measure
    if measure is None or measure.window is None:
        raise InputError(
            "measure",
            "a steered test has to know when a unit counts: plan it with a window, as "
            "bascule plan --window 7d",
        )
    if measure.may_lack:
        raise InputError(
            "measure",
            f'aggregate "{measure.aggregate}" leaves units without a value, which is not available '
            'in steered tests: use "any" or "sum"',
        )
    if design.procedure.counts != "blocks" or design.outcome.pairs:
        raise InputError(
            "design",
            f"{design.rule.label} on {design.outcome!r} cannot be steered: a steered test takes a "
            "rule in blocks, as bascule plan gives, and one number per unit",
        )
    if design.procedure.uses_signals:
        raise InputError(
            "early_signals",
            "early_signals is for live tests, which know the events of open windows: leave it out",
        )
    return design


def _check_fields(
    noun: str, data: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    for name in data:
        if name not in known:
            raise InputError(name, f"{name} is not a field of {noun}: it has {', '.join(known)}")
    for name in needed:
        if name not in data:
            raise InputError(name, f"{name} is missing from {noun}")


def _log(data: Mapping[str, Any], folder: Path) -> Log:
    """Return the location of a table; a path is relative to the folder of the test."""
    place = str(data["source"])
    if Source(place, None, "events").scheme is None:
        place = str(folder / place)
    names = ("query", "unit", "time", "time_format")
    return Log(place, **{name: data[name] for name in names if name in data})
