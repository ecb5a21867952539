"""The state of a live test as it is stored: JSON, in which fields at their defaults are left out.

A new field needs a default, and one that goes a migration.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from itertools import starmap
from typing import Any

from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.procedures.base import AnyStatistics
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.storage.deals import Deal, Parts, Signals, Struck, Used
from bascule.live.storage.state import (
    Control,
    Counts,
    Crowd,
    Ending,
    Enrolment,
    ExperimentState,
    Folding,
    Front,
    Names,
    OpenBlock,
    Verdict,
)

_written = json.JSONEncoder(separators=(",", ":")).encode


def statistics_to_json(statistics: AnyStatistics) -> str:
    """Statistics as text.

    >>> statistics_from_json(statistics_to_json(Statistics.empty(2))) == Statistics.empty(2)
    True
    """
    if isinstance(statistics, CohortStatistics):
        return _cohorts_to_json(statistics)
    data = {
        "arms": [_arm_data(arm) for arm in statistics.arms],
        "dropped": sorted(statistics.dropped),
        "removed": sorted(statistics.removed),
        "pairs": statistics.pairs,
    }
    if statistics.covariates:
        data["covariates"] = list(statistics.covariates)
    if statistics.lacking:
        data["lacking"] = statistics.lacking
    text = _written(data | _bounds_data(statistics))
    if statistics.metrics:
        metrics = ",".join(map(statistics_to_json, statistics.metrics))
        text = f'{text[:-1]},"metrics":[{metrics}]}}'
    return text


def _cohorts_to_json(statistics: CohortStatistics) -> str:
    data = {
        "cohorts": [
            [[cohort.outcomes, cohort.units, cohort.total] for cohort in arm.cohorts]
            for arm in statistics.arms
        ],
        "stage": statistics.stage,
        "dropped": sorted(statistics.dropped),
        "removed": sorted(statistics.removed),
    }
    return _written(data | _bounds_data(statistics))


def _bounds_data(statistics: AnyStatistics) -> dict[str, Any]:
    """Return the running intersections as data; JSON has no infinity, so null stands for it."""
    if not statistics.bounds:
        return {}
    ends = ([end if math.isfinite(end) else None for end in pair] for pair in statistics.bounds)
    return {"bounds": list(ends)}


def _bounds(data: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    """Read running intersections; null stands for infinity."""
    return tuple(
        (-math.inf if low is None else low, math.inf if high is None else high)
        for low, high in data.get("bounds", ())
    )


def statistics_from_json(text: str) -> AnyStatistics:
    """What `statistics_to_json` wrote."""
    return _statistics(json.loads(text))


def _statistics(data: dict[str, Any]) -> AnyStatistics:
    if "cohorts" in data:
        return CohortStatistics(
            tuple(ArmCohorts(tuple(Cohort(*one) for one in arm)) for arm in data["cohorts"]),
            data["stage"],
            frozenset(data["dropped"]),
            frozenset(data["removed"]),
            _bounds(data),
        )
    return Statistics(
        tuple(_arm(*arm) for arm in data["arms"]),
        frozenset(data["dropped"]),
        frozenset(data["removed"]),
        tuple(map(tuple, data["pairs"])),
        _bounds(data),
        metrics=tuple(_statistics(one) for one in data.get("metrics", ())),  # type: ignore[misc]
        covariates=tuple(data.get("covariates", ())),
        lacking=tuple(map(tuple, data.get("lacking", ()))),
    )


def _arm_data(arm: ArmStatistics) -> list[float]:
    """The sums of an arm; cubes, and sums with denominators, only where they are kept."""
    sums = [arm.units, arm.total, arm.squares]
    if arm.per:
        return [*sums, arm.cubes, *arm.per]
    return [*sums, arm.cubes] if arm.cubes else sums


def _arm(
    units: int, total: float, squares: float, cubes: float = 0.0, *per: float
) -> ArmStatistics:
    """What `_arm_data` wrote."""
    return ArmStatistics(units, total, squares, cubes, per)


_KINDS: dict[str, Any] = {
    "enrolment": Enrolment,
    "block": OpenBlock,
    "folding": Folding,
    "signals": Signals,
    "ending": Ending,
    "names": Names,
    "counts": Counts,
    "control": Control,
}
_GROUPS = {
    name: (kind, tuple(kind._field_defaults.get(field, ...) for field in kind._fields))
    for name, kind in _KINDS.items()
}
"""The groups of a state, each with the defaults of its fields."""

_EMPTY = ExperimentState._field_defaults


def state_to_json(state: ExperimentState) -> str:
    """Return the state as JSON, without its statistics and without fields at their defaults."""
    data: dict[str, Any] = {
        name: {
            field: value
            for field, value, default in zip(kind._fields, group, defaults, strict=True)
            if value is not default
        }
        for name, (kind, defaults) in _GROUPS.items()
        if (group := getattr(state, name)) is not _EMPTY.get(name)
    }
    block, ending = data["block"], data.get("ending", {})
    block["sums"] = [_arm_data(arm) for arm in state.block.sums]
    if state.block.metrics:
        block["metrics"] = [[_arm_data(arm) for arm in sums] for sums in state.block.metrics]
    for name in ("verdict", "held"):
        if ending.get(name) is not None:
            ending[name] = asdict(ending[name])
    if ending.get("final") is not None:
        ending["final"] = statistics_to_json(ending["final"])
    return _written({**data, "clock": state.clock})


def state_from_json(text: str, statistics: AnyStatistics) -> ExperimentState:
    """What `state_to_json` wrote, with its statistics.

    >>> import bascule as bs
    >>> start = ExperimentState.empty(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    >>> state_from_json(state_to_json(start), start.statistics) == start
    True
    """
    data = json.loads(text)
    clock, ending = data.pop("clock"), data.get("ending", {})
    for name in ("verdict", "held"):
        if ending.get(name) is not None:
            ending[name] = Verdict(**ending[name] | {"harm": tuple(ending[name]["harm"])})
    if ending.get("final") is not None:
        ending["final"] = statistics_from_json(ending["final"])
    groups = {
        name: _KINDS[name](**{field: _tuples(value) for field, value in fields.items()})
        for name, fields in data.items()
    }
    enrolment, block = groups["enrolment"], groups["block"]
    groups["enrolment"] = enrolment._replace(crowd=tuple(starmap(Crowd, enrolment.crowd)))
    sums = tuple(starmap(_arm, block.sums))
    groups["block"] = block._replace(
        sums=sums, metrics=tuple(tuple(starmap(_arm, one)) for one in block.metrics)
    )
    if "folding" in groups:
        fronts = tuple(starmap(Front, groups["folding"].fronts))
        groups["folding"] = groups["folding"]._replace(fronts=fronts)
    return ExperimentState(statistics, **groups, clock=clock)


def _tuples(value: Any) -> Any:
    """Return what JSON has as lists as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def run_to_json(dealt: Iterable[tuple[Parts, Struck, Used | None]]) -> str:
    """Return blocks dealt one after the other as text: parts, what was struck, what was used."""
    return f"[{','.join(starmap(_block_to_json, dealt))}]"


def run_from_json(first: int, text: str) -> list[Deal]:
    """What `run_to_json` wrote, from the number of the first block.

    >>> run_from_json(7, run_to_json([(((0, 1),), (), None)]))
    [Deal(number=7, parts=((0, 1),), struck=(), used=None)]
    """
    return [
        Deal(
            number,
            tuple(tuple(part) for part in parts),
            tuple((arm, since) for arm, since in struck),
            _used(*used[0]) if used else None,
        )
        for number, (parts, struck, *used) in enumerate(json.loads(text), first)
    ]


def _used(folded: int, knob: float, signals: Any) -> Used:
    return Used(folded, knob, Signals(*_tuples(signals)))


def _block_to_json(parts: Parts, struck: Struck, used: Used | None) -> str:
    text = _parts_to_json(parts, struck)
    return text if used is None else f"{text[:-1]},{_written(used)}]"


# Blocks that are dealt in a row come in few orders.
@lru_cache(maxsize=1024)
def _parts_to_json(parts: Parts, struck: Struck) -> str:
    return _written([parts, struck])
