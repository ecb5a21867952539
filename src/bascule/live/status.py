"""Where a live test stands, in the words of a reader: a pure function of what is stored.

The intervals are those that decide. Nothing here is looked up, so the answer takes as long after a
million units as after ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from bascule.core.design import Design
from bascule.core.effects import Effect, effects
from bascule.core.ends import ending
from bascule.core.errors import InputError
from bascule.core.outcomes import Gaussian
from bascule.core.progress import intervals
from bascule.core.rules import UCB, Tilt
from bascule.core.statistics import Statistics
from bascule.live.clock import moment
from bascule.live.standing import OPEN, Standing, State, Verdict
from bascule.theory import mean_path, predict


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """One arm: units given to it, those of them that are mature, and what they showed.

    `low` and `high` are the interval that the rule compares; tests in blocks compare pairs of arms
    and have none. `part` is "in", "beaten", "taken out" or "paused".
    """

    name: str
    units: int
    matured: int
    mean: float | None
    low: float | None
    high: float | None
    part: str


@dataclass(frozen=True, slots=True)
class Status:
    """Where a live test stands.

    `evidence` is how much of the way to a decision is covered: at 1 the interval of the leader's
    difference from every rival lies above 0. `cost` is what the units so far lost against giving
    each the arm that looks best now, and `even_cost` what an even split would have lost. `left` is
    the number of units that a decision is expected to take from here, and `days_left` how long
    that is at the pace so far; None where nothing can be said yet. None of these is a guarantee.
    """

    name: str
    state: State
    rule: str
    units: int
    matured: int
    arms: tuple[ArmStatus, ...]
    effects: tuple[Effect, ...]
    evidence: float
    leader: str | None
    decision: Verdict | None
    promise: str
    cost: float | None
    even_cost: float | None
    left: float | None
    days_left: float | None
    deadline: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None for what is not known."""
        data: dict[str, Any] = _finite(asdict(self))
        return data

    def __str__(self) -> str:
        return "\n".join([self.headline, "", *self.table()])

    @property
    def headline(self) -> str:
        """One line: what to do."""
        if self.decision is not None and self.decision.arm is not None:
            risk = f"{100 * self.decision.error:.3g} %"
            return f"Ship {self.decision.name}: wrong with probability at most {risk}"
        if self.decision is not None:
            return f"{self.decision.name.capitalize()}: keep what is cheapest"
        if self.state == "over":
            return "The test has ended undecided"
        if self.state == "stopped":
            return "The test was stopped undecided"
        if self.state in ("ready", "paused"):
            return f"The test is {self.state}: it takes no new units"
        if self.days_left is not None:
            return f"Keep running: about {self.days_left:.2g} days left"
        if self.left is not None:
            return f"Keep running: about {self.left:,.0f} units left"
        return "Keep running"

    def table(self) -> list[str]:
        """The arms, a line each below a heading."""
        lines = [f"{'arm':<20}{'units':>10}{'matured':>10}{'mean':>12}  part"]
        for arm in self.arms:
            mean = "" if arm.mean is None else f"{arm.mean:.4g}"
            lines.append(f"{arm.name:<20}{arm.units:>10,}{arm.matured:>10,}{mean:>12}  {arm.part}")
        return lines


@dataclass(frozen=True, slots=True)
class Point:
    """Where a test stood after `matured` units."""

    time: str
    matured: int
    means: tuple[float | None, ...]
    units: tuple[int, ...]
    effects: tuple[Effect, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None for what is not known."""
        data: dict[str, Any] = _finite(asdict(self))
        return data


def status_of(
    name: str, design: Design, state: State, standing: Standing, now: float, created: float
) -> Status:
    """The status of a test that stands there.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> print(status_of("button", design, "running", Standing.empty(design), 0.0, 0.0).headline)
    Keep running
    """
    seen = standing.statistics
    found = effects(design, seen)
    leader, share = _evidence(design, seen, found)
    left = _left(design, seen) if state in OPEN else None
    pace = standing.units / (now - created) if now > created else 0.0
    return Status(
        name=name,
        state=state,
        rule=design.rule.label,
        units=standing.units,
        matured=standing.folded,
        arms=_arms(design, standing),
        effects=found,
        evidence=share,
        leader=leader,
        decision=standing.verdict,
        promise=_promise(design, seen, state),
        cost=_cost(seen, standing.assigned),
        even_cost=_cost(seen, [standing.units / len(design.arms)] * len(design.arms)),
        left=left,
        days_left=left / pace / 86400 if left is not None and pace > 0 else None,
        deadline=None if design.deadline is None else design.deadline.isoformat(),
    )


def point_of(design: Design, statistics: Statistics, matured: int, time: float) -> Point:
    """A point of a test's history."""
    return Point(
        moment(time).isoformat(),
        matured,
        tuple(arm.mean if arm.units else None for arm in statistics.arms),
        tuple(arm.units for arm in statistics.arms),
        effects(design, statistics),
    )


def _arms(design: Design, standing: Standing) -> tuple[ArmStatus, ...]:
    seen = standing.statistics
    bounds: Sequence[tuple[float | None, float | None]] = [(None, None)] * len(design.arms)
    if not isinstance(design.rule, Tilt):
        bounds = [(interval.low, interval.high) for interval in intervals(design, seen)]
    found = []
    for i, name in enumerate(design.arms):
        arm = seen.arms[i]
        # Of a block that is not complete, the outcomes are known but not compared yet.
        matured = arm.units + standing.open[i].units
        mean = (arm.total + standing.open[i].total) / matured if matured else None
        part = "in"
        if i in standing.paused:
            part = "paused"
        if i in seen.dropped:
            part = "beaten"
        if i in seen.removed:
            part = "taken out"
        found.append(ArmStatus(name, standing.assigned[i], matured, mean, *bounds[i], part))
    return tuple(found)


def _evidence(
    design: Design, seen: Statistics, found: Sequence[Effect]
) -> tuple[str | None, float]:
    """The arm that is furthest on its way to beating all others, and how far it is."""
    into = [name for i, name in enumerate(design.arms) if i not in seen.out]
    least = dict.fromkeys(into, 1.0)
    for effect in found:
        sides = (
            (effect.first, effect.second, effect.difference, effect.low),
            (effect.second, effect.first, -effect.difference, -effect.high),
        )
        for mine, rival, difference, low in sides:
            if mine in least and rival in least:
                least[mine] = min(least[mine], _share(difference, low))
    best = max(into, key=lambda name: least[name])
    return (best, least[best]) if seen.units else (None, 0.0)


def _share(difference: float, low: float) -> float:
    if low >= 0.0:
        return 1.0
    if math.isinf(low) or difference <= 0.0:
        return 0.0
    return difference / (difference - low)


def _cost(seen: Statistics, units: Sequence[float]) -> float | None:
    if any(arm.units == 0 for arm in seen.arms):
        return None
    best = max(arm.mean for arm in seen.arms)
    return sum(n * (best - arm.mean) for n, arm in zip(units, seen.arms, strict=True))


def _left(design: Design, seen: Statistics) -> float | None:
    """The units that a decision is expected to take from here, if the means are as they look."""
    arms = [arm for i, arm in enumerate(seen.arms) if i not in seen.out]
    if len(arms) != len(seen.arms) or any(arm.units == 0 for arm in arms):
        return None
    means = sorted((arm.mean for arm in arms), reverse=True)
    gaps = tuple(_rounded(means[0] - mean) for mean in means[1:])
    spread = math.sqrt(max(0.0, sum(a.squares - a.units * a.mean**2 for a in arms) / seen.units))
    expected = _expected(design, gaps, _rounded(means[0]), _rounded(spread))
    return None if expected is None else max(0.0, expected - seen.units)


@lru_cache(maxsize=256)
def _expected(design: Design, gaps: tuple[float, ...], best: float, spread: float) -> float | None:
    # Dear enough to be kept. Where the noise of two arms is dearer still, the mean path has to do;
    # bets find a difference about as soon as if the outcomes were normal with the same spread.
    try:
        if isinstance(design.rule, Tilt):
            alike = design if isinstance(design.outcome, Gaussian) else _normal(design, spread)
            expected = mean_path(alike, gaps).decision_time
        elif isinstance(design.rule, UCB) and design.rule.stop == "mixture":
            expected = mean_path(design, gaps).decision_time
        else:
            expected = predict(design, gaps, best=best, noise=spread or None).decision_time
    except (InputError, ArithmeticError):
        return None
    return expected if math.isfinite(expected) else None


def _normal(design: Design, spread: float) -> Design:
    return replace(design, outcome=Gaussian(spread), min_effect=None, max_units=None, measure=None)


def _rounded(value: float) -> float:
    """Two digits are more than anyone knows, and spare computing the same again at every look."""
    return float(f"{value:.2g}")


def _promise(design: Design, seen: Statistics, state: State) -> str:
    ended = ending(design, seen)
    if ended is not None:
        return ended.promise
    promised = design.calibration
    if state in OPEN:
        return (
            f"a wrong decision has probability at most {promised.error:.3g} ({promised.guarantee})"
        )
    return "nothing is decided"


def _finite(value: Any) -> Any:
    """The same as JSON has it, with None for the ends of an endless interval."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
