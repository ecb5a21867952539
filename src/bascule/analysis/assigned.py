"""How the units of a log were assigned: weights and when they changed, probabilities, clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal, cast

from bascule.core.errors import InputError
from bascule.core.options import Declared, Option

Weights = Sequence[float] | Mapping[str, float]
"""Intended split of the units: a number for each arm, in the order of the arms or by name."""


@dataclass(frozen=True, slots=True)
class Assigned(Declared):
    """How units were assigned to the arms, if not individually and evenly.

    >>> Assigned(weights=[9, 1]).weights
    [9, 1]
    """

    probability: Annotated[
        str | Mapping[str, str] | None,
        Option(
            "Logged probability of the unit's arm, if it changed; or a column for each arm: "
            "control=p0,green=p1.",
            metavar="COLUMN",
        ),
    ] = None
    """Column with the logged probability of the unit's own arm, if it changed; or a column for each
    arm, as `{"control": "p0", "green": "p1"}`."""
    weights: Annotated[
        Weights | Mapping[str, Weights] | Mapping[date, Weights] | None,
        Option(
            "How units were to be split; if that changed, from which time on: "
            "2026-03-02=50:50 2026-03-09T12:00=10:90.",
            group="basics",
            many=True,
            metavar="W1 W2 ...",
        ),
    ] = None
    """Intended split: a number for each arm, as `[1, 9]` or `{"control": 1, "green": 9}`; if it
    changed, a split for each start: `{"2026-03-02": [1, 1], "2026-03-09 12:00": [1, 9]}`."""
    cluster: Annotated[
        str | None,
        Option(
            "Column of the clusters that were assigned as a whole, such as shops.",
            metavar="COLUMN",
            excludes=("segment", "outcome", "probability", "design"),
        ),
    ] = None
    block: Annotated[
        str | None,
        Option(
            "Period of constant shares, within which units are compared: day, week, hour, or 6h.",
            unset="day",
            metavar="PERIOD",
        ),
    ] = None
    """Period of constant shares, within which units are compared: `"day"`, the default, `"week"`,
    `"hour"`, or a number of hours such as `"6h"`."""
    two_arms: Annotated[
        Literal["first", "exclude"],
        Option("Units that were seen in two arms: count them for the first one, or exclude them."),
    ] = "first"

    @property
    def periods(self) -> list[tuple[datetime | None, Weights | None]]:
        """The start of each period and its weights, in order; a start of None means the whole log.

        >>> Assigned(weights={"2026-03-09": [1, 9], "2026-03-02": [1, 1]}).periods[1]
        (datetime.datetime(2026, 3, 9, 0, 0), [1, 9])
        """
        weights = self.weights
        if not isinstance(weights, Mapping) or not any(
            isinstance(part, Mapping | Sequence) for part in weights.values()
        ):
            return [(None, cast(Weights | None, weights))]
        start = "weights: the start of a period"
        periods = [(moment_of("weights", since, start), part) for since, part in weights.items()]
        return sorted(cast(Any, periods), key=lambda period: period[0])


def moment_of(field: str, given: object, what: str = "") -> datetime:
    """Return a time in UTC without a time zone; a date means the beginning of its day.

    >>> moment_of("until", "2026-03-01T12:00+02:00")
    datetime.datetime(2026, 3, 1, 10, 0)
    """
    moment = given
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError:
            moment = None
    if isinstance(moment, datetime):
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    if isinstance(moment, date):
        return datetime.combine(moment, time.min)
    words = what or field
    raise InputError(field, f"{words} must be a day or a time, as 2026-03-01 (got {given!r})")
