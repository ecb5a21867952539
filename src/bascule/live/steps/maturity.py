"""Decide which events count, compute units' outcomes, track early signals. Pure functions.

Early signals are events of pending units and delays of matured ones. Both are kept as whole
numbers, so that they can be computed again from the log to the last digit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from bascule.core.approximate import about
from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.metrics.coverage import is_counted
from bascule.core.metrics.measure import Measure
from bascule.core.outcomes import Pair, Value
from bascule.core.procedures.blocks.signals import WINDOW_PARTS, window_part
from bascule.core.statistics import ArmStatistics
from bascule.live.storage.deals import Deal, Early, Used
from bascule.live.storage.state import ExperimentState

Reason = Literal[
    "invalid",
    "not a number",
    "out of range",
    "unknown unit",
    "not enrolled",
    "duplicate",
    "id used before",
    "second outcome",
    "early",
    "late",
    "future",
    "over",
    "clipped",
    "not exposed",
    "unknown metric",
]
"""Reasons why outcomes are excluded; `clipped` outcomes count as the nearest limit.

Outcomes of units that were `not exposed` to their arm count too: without them, the units that each
arm reached would be compared, and not the arms.
"""


@dataclass(frozen=True, slots=True)
class NotANumber:
    """The short text of a value that cannot be an outcome and is excluded with a reason.

    >>> NotANumber("'ten'")
    'ten'
    """

    text: str

    def __repr__(self) -> str:
        return self.text


class Event(NamedTuple):
    """A value recorded for a unit; `at` is when it happened, and `id` makes a retry harmless.

    `exposed` is false if the unit did not see its arm. `metric` names the metric of the value, None
    for the primary one. `unit` is empty if an earlier outcome with the same id, of another metric,
    names the unit.
    """

    unit: str
    value: float | NotANumber | Pair
    at: float | None = None
    id: str | None = None
    exposed: bool = True
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Whether an outcome is accepted, and if not, why; excluded outcomes can be listed.

    `bool(receipt)` is `accepted`. The reasons are

    - "invalid", "not a number", "out of range": the value cannot be an outcome;
    - "unknown unit": the unit was never assigned, "not enrolled" if the test has an audience;
    - "duplicate": the outcome with this id was counted before;
    - "id used before": the id belongs to another unit or another value;
    - "second outcome": the unit has its only outcome already;
    - "early": it happened before the assignment, "late": after the window, or after the unit has
      counted, "future": later than the clock of the store;
    - "over": the test has ended;
    - "unknown metric": the design has no metric of this name.

    With "not exposed" (recorded over HTTP with `"exposed": false`, because the unit did not see its
    arm) the outcome counts. An outcome beyond the limits is accepted without a reason, counts as
    the nearest limit, and is listed as "clipped" once its unit counts.

    >>> bool(Receipt(True)), bool(Receipt(False, "late"))
    (True, False)
    """

    accepted: bool
    reason: Reason | None = None
    detail: str = ""

    def __bool__(self) -> bool:
        return self.accepted

    @property
    def is_rejected(self) -> bool:
        """Whether the outcome does not count, and is not a duplicate of one that counts."""
        return not self.accepted and self.reason != "duplicate"


ACCEPTED = Receipt(True)


def judge_value(design: Design, value: object) -> Receipt:
    """Return whether a value can be an event; amounts beyond the limits can, and are capped later.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
    >>> judge_value(design, 0.5).reason, judge_value(design, math.nan).reason
    ('out of range', 'not a number')
    """
    if design.outcome.pairs or isinstance(value, Pair):
        return _judge_pair(design, value)
    # The first check is quick and nearly always true. True and False are 1 and 0.
    is_number = type(value) is float or isinstance(value, (Real, np.bool_))
    try:
        number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return Receipt(False, "not a number", f"value must be a finite number (got {value!r:.60})")
    if abs(number) > checks.LARGEST:
        return Receipt(False, "out of range", f"value must be at most {checks.LARGEST:g}")
    # Terms of a sum may lie beyond the limits of the unit's outcome; binary events are 0 or 1.
    binary = design.outcome.binary
    if binary or design.measure is None or design.measure.aggregate in ("mean", "last"):
        # Amounts beyond the limits are capped when their unit counts.
        capped = design.outcome.limited and not binary
        try:
            design.outcome.check_value(clipped(design, number)[0] if capped else number)
        except InputError as problem:
            return Receipt(False, "out of range", str(problem))
    return ACCEPTED


def _judge_pair(design: Design, value: object) -> Receipt:
    """Return whether a numerator and a denominator can be an event of this design."""
    if not isinstance(value, Pair):
        example = "(1, 1) if good, (0, 1) if not" if design.outcome.is_share else "(3, 10)"
        detail = (
            f"{value!r:.60} is one number, and a ratio needs a numerator and a denominator: record "
            f"{example}, in JSON with [ and ]"
        )
        return Receipt(False, "not a number", detail)
    if not design.outcome.pairs:
        detail = f"a pair, {tuple(value)!r}, is recorded for a metric that is not a ratio"
        return Receipt(False, "not a number", detail)
    if value.denominator < 0.0:
        return Receipt(False, "not a number", f"a negative denominator, {value.denominator!r}")
    if design.outcome.is_share and not 0.0 <= value.numerator <= value.denominator:
        detail = (
            f"{tuple(value)!r} is not a share: the numerator must lie between 0 and the "
            "denominator, "
            "as in (1, 1) for a good answer and (0, 1) for a bad one"
        )
        return Receipt(False, "out of range", detail)
    if max(abs(value.numerator), value.denominator) > checks.LARGEST:
        return Receipt(False, "out of range", f"value must be at most {checks.LARGEST:g}")
    return ACCEPTED


def judge_time(measure: Measure | None, at: float, arrived: float, now: float) -> Receipt:
    """Return whether an event happened and was received while its unit's events count.

    >>> judge_time(Measure("1h"), at=4000.0, arrived=0.0, now=4000.0).reason
    'late'
    """
    if at > now:
        return Receipt(False, "future", f"its time lies {_long(at - now)} ahead of the clock")
    if at < arrived:
        return Receipt(False, "early", f"it happened {_long(arrived - at)} before its unit came")
    if measure is None or now < (closed := measure.closes(arrived)):
        return ACCEPTED
    if at >= closed:
        late = _long(at - closed)
        return Receipt(False, "late", f"it happened {late} after its unit's window had closed")
    if now >= measure.matures(arrived):
        late = _long(now - measure.matures(arrived))
        return Receipt(False, "late", f"it came {late} after its unit had counted")
    return ACCEPTED


Events = Mapping[str | None, Sequence[Value]]
"""Values of a unit's events in order of time, by metric; None for the primary one."""


class Matured(NamedTuple):
    """The values with which a unit counts in the statistics."""

    arm: int
    value: Value
    """Outcome of the primary metric."""
    metrics: Sequence[Value | None] = ()
    """Outcomes of the other metrics, in the order of the design; None if the unit has no value, or
    has already counted in the metric."""
    covariates: tuple[float, ...] = ()
    """Covariates of the unit, known when it was assigned."""
    lacking: Sequence[bool] = ()
    """Whether no value was recorded, for the primary metric and then for each other one."""
    clipped: tuple[tuple[int, Value, str], ...] = ()
    """Outcomes beyond the limits: number of the metric (0 for the primary one), the value that
    counts, and the reason."""


def matured(
    design: Design,
    arm: int,
    events: Events,
    covariates: tuple[float, ...] = (),
    ahead: Collection[int] = (),
) -> Matured:
    """Return the values with which a unit counts; it has none in the metrics `ahead`.

    `ahead` are the indices of metrics with shorter windows, in which the unit has counted before.

    >>> import bascule as bs
    >>> spent = bs.Measure("7d", "sum")
    >>> design = bs.Design(["a", "b"], bs.Bounded(0, 500), bs.Tilt(3), measure=spent)
    >>> unit = matured(design, 1, {None: [400.0, 212.0]})
    >>> unit.value, unit.clipped[0][2]
    (500.0, 'outcome 612 lies outside the limits and counts as 500')
    """
    values_of = [events.get(None, ()), *(events.get(metric.name, ()) for metric in design.metrics)]
    designs = (design, *design.metric_designs)
    outcomes = [
        (None, "") if number - 1 in ahead else unit_outcome(one, values)
        for number, (one, values) in enumerate(zip(designs, values_of, strict=True))
    ]
    (value, _), *further = outcomes
    assert value is not None
    return Matured(
        arm,
        value,
        [value for value, _ in further],
        covariates,
        [
            not values and is_counted(part_design)
            for part_design, values in zip(designs, values_of, strict=True)
        ],
        tuple(
            (number, one, why)
            for number, (one, why) in enumerate(outcomes)
            if one is not None and why
        ),
    )


def outcomes_of(
    design: Design, metrics: Sequence[int], events: Events
) -> list[tuple[Value | None, str]]:
    """Return a unit's outcome in each of the given metrics, with a message if it was clipped."""
    return [
        unit_outcome(design.metric_designs[number], events.get(design.metrics[number].name, ()))
        for number in metrics
    ]


def unit_outcome(design: Design, values: Sequence[Value]) -> tuple[Value | None, str]:
    """Return the outcome of a mature unit within the limits, and a message if it was clipped.

    The outcome is None if the unit has no value and such units are excluded.
    """
    measure = design.measure
    if not values and measure is not None and measure.missing == "exclude":
        return None, ""
    value = values[0] if measure is None else measure.value_of(design.outcome, values)
    return (value, "") if isinstance(value, Pair) else clipped(design, value)


def clipped(design: Design, value: float) -> tuple[float, str]:
    """Return an outcome within the limits of the design, and a message if it was clipped."""
    kept = min(max(value, design.outcome.low), design.outcome.high)
    if kept == value:
        return value, ""
    return kept, f"outcome {value:g} lies outside the limits and counts as {kept:g}"


def _long(seconds: float) -> str:
    return about(seconds / DAY)


NO_DELAYS = (0, 0, 0)
"""Delays of an arm of which no unit with an event has counted yet."""


def sizes_of(deal: Deal, arms: int) -> tuple[int, ...]:
    """Return the number of units of each arm in a part of a block, as dealt.

    >>> sizes_of(Deal(1, ((0, 1, 0), (0, 0, 1))), 3)
    (2, 1, 0)
    """
    units = Counter(deal.parts[0])
    return tuple(units[arm] for arm in range(arms))


def with_events(early: Early, sizes: tuple[int, ...], events: Sequence[int]) -> Early:
    """Return early events by block size, with `events` in blocks of `sizes` added.

    >>> with_events(with_events((), (1, 2), (0, 3)), (1, 2), (0, -1))
    (((1, 2), (0, 2)),)
    """
    result = dict(early)
    before = result.get(sizes, (0,) * len(sizes))
    result[sizes] = tuple(a + b for a, b in zip(before, events, strict=True))
    return tuple((key, counts) for key, counts in sorted(result.items()) if any(counts))


def with_event(state: ExperimentState, deal: Deal, arm: int, count: int = 1) -> ExperimentState:
    """Return the state after the first event of a unit that has not counted yet.

    With a `count` of -1, the event is removed again.
    """
    arms = len(state.enrolment.assigned)
    events = tuple(count * (place == arm) for place in range(arms))
    early = with_events(state.signals.early, sizes_of(deal, arms), events)
    return state._replace(signals=state.signals._replace(early=early))


def without_block(
    state: ExperimentState, deal: Deal, block: Sequence[ArmStatistics]
) -> ExperimentState:
    """Return the state without the early events of a part of a block that now counts."""
    events = tuple(-int(arm.total) for arm in block)
    early = with_events(state.signals.early, sizes_of(deal, len(block)), events)
    return state._replace(signals=state.signals._replace(early=early))


def window_of(design: Design, arrived: float) -> float:
    """Return the seconds from a unit's arrival to the time at which it counts."""
    matures = design.matures(arrived)
    assert matures is not None
    return matures - arrived


def with_delay(
    design: Design, state: ExperimentState, arm: int, arrived: float, heard: float
) -> ExperimentState:
    """Return the state with the delay of one more unit, whose event was reported at `heard`."""
    step = window_part(heard - arrived, window_of(design, arrived))
    delays = list(state.signals.delays or (NO_DELAYS,) * len(state.enrolment.assigned))
    count, total, squares = delays[arm]
    delays[arm] = count + 1, total + step, squares + step * step
    return state._replace(signals=state.signals._replace(delays=tuple(delays)))


def heard_after_erasure(design: Design, arrived: float, heard: float, time: float) -> float:
    """Return the time to store for the event of an erased unit whose arrival is moved to `time`.

    It lies in the same hundredth of the window as the real time.
    """
    window = window_of(design, arrived)
    return time + (window_part(heard - arrived, window) + 0.5) / WINDOW_PARTS * window


def used_by(design: Design, state: ExperimentState) -> Used | None:
    """Return the inputs that set the next block's size, to store with it; None without signals."""
    if not design.procedure.uses_signals:
        return None
    knob = design.rule.knob
    assert knob is not None
    return Used(state.folding.folded, knob.value, state.signals)
