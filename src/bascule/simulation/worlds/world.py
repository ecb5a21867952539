"""Worlds, the conditions of a simulated test: means, noise, trend, change, batches, delays.

A world is a value like a design: immutable, and plain data when it has to be written down. Time is
counted in units assigned: unit t, the first being unit 0, is assigned at time t, and its outcome
can be seen by the rule from time t + 1 on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from bascule.core.calendar import DAY
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.serialization import plain, read
from bascule.core.outcomes import Outcome
from bascule.core.outcomes.noise import Noise

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TrendKind = Literal["fading", "wave"]
DelayKind = Literal["fixed", "random"]
EventOutcome = Literal["high", "low"]

LONGEST_EXPONENTIAL = 37.0
"""Maximum of an exponential delay that is drawn from 53 random bits, as a multiple of its mean."""

MOST_UNDER_WAY = 2_000_000
"""Maximum number of outcomes that a run can wait for at once."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A trend that all arms share: at time t it adds the same amount to every mean.

    "fading" adds `size exp(-t / span)`, and "wave" adds `size sin(2 pi t / span)`. The time t is
    the number of units assigned before, `size` is in outcome units, and `span` in units.

    >>> Trend("fading", size=-0.5, span=2000).words
    'trend -0.5 exp(-t / 2000)'
    """

    kind: TrendKind
    size: float
    span: float

    def __post_init__(self) -> None:
        checks.choice("kind", self.kind, get_args(TrendKind))
        checks.accept(self, "size", checks.finite, "it is what the trend adds, in outcome units")
        checks.accept(self, "span", checks.positive, "it is how long the trend lasts, in units")

    @property
    def words(self) -> str:
        """The trend in words."""
        curve = "exp(-t / {})" if self.kind == "fading" else "sin(2 pi t / {})"
        return f"trend {self.size:g} {curve.format(f'{self.span:g}')}"

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the most that the trend adds."""
        if self.kind == "wave":
            return -abs(self.size), abs(self.size)
        return min(self.size, 0.0), max(self.size, 0.0)


@dataclass(frozen=True, slots=True)
class Change:
    """After the first `at` units, the mean of one arm is higher by `by`, or lower if `by` < 0.

    `arm` is counted from 0, and `by` is in outcome units.

    >>> Change(arm=1, by=-0.2, at=1000).words
    'the mean of arm 1 changes by -0.2 at unit 1,000'
    """

    arm: int
    by: float
    at: int

    def __post_init__(self) -> None:
        checks.accept(self, "arm", checks.whole, 0, "arms count from 0")
        checks.accept(self, "by", checks.finite, "it is the change of the mean, in outcome units")
        checks.accept(self, "at", checks.whole, 0, "units count from 0")

    @property
    def words(self) -> str:
        """The change in words."""
        return f"the mean of arm {self.arm} changes by {self.by:g} at unit {self.at:,}"


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay of outcomes, which arrive when `mean` more units have been assigned.

    - `mean`: the delay, in units.
    - `kind`: "fixed", or "random", which is exponential.
    - `high_outcomes`: outcomes above the middle of the means take this many times as long.
    - `window`: an outcome that has not arrived after this many units counts as missing.
    - `events`: the mean time from a unit's assignment to its event, in units: one number, or one
      for each arm. The delay must be fixed, as a conversion window is. Times are exponential with
      this mean, given that they are shorter than the delay. Rules with early signals use events.
    - `event`: which of two outcomes, the "high" or the "low" one, is an event.

    >>> Delay(200, "random", high_outcomes=5).words
    'random delay of 200 units, 5 times as long for high outcomes'
    """

    mean: float
    kind: DelayKind = "fixed"
    high_outcomes: float = 1.0
    window: int | None = None
    events: float | Sequence[float] | None = None
    event: EventOutcome = "high"

    def __post_init__(self) -> None:
        checks.accept(self, "mean", checks.finite, "it is how many units are assigned meanwhile")
        if self.mean < 0:
            raise invalid(f"mean of a delay must be at least 0 (got {self.mean:g})")
        checks.choice("kind", self.kind, get_args(DelayKind))
        checks.accept(self, "high_outcomes", checks.positive, "1 treats outcomes alike")
        checks.accept_given(self, "window", checks.whole, 0, "units to wait for an outcome")
        if self.events is not None:
            self._check_events()
        if self.longest > MOST_UNDER_WAY:
            raise invalid(
                f"delay may take up to {self.longest:.1g} units, more than the {MOST_UNDER_WAY:,} "
                "that a run can wait for: make it shorter, or set a window",
            )

    def _check_events(self) -> None:
        if self.kind != "fixed" or self.high_outcomes != 1.0 or self.window is not None:
            raise invalid(
                "events belong to a fixed delay, which is the window that they fall into: leave "
                "kind, high_outcomes and window out",
            )
        checks.choice("event", self.event, get_args(EventOutcome))
        events = self.events if isinstance(self.events, (list, tuple)) else (self.events,)
        remedy = "it is how many units are assigned until an event is known, on average"
        object.__setattr__(
            self, "events", tuple(checks.positive("events", event, remedy) for event in events)
        )

    def events_of(self, arms: int) -> tuple[float, ...]:
        """Return the mean time to an event in each arm; an empty tuple if there are no events.

        >>> Delay(35_000, events=5_000).events_of(2)
        (5000.0, 5000.0)
        """
        if self.events is None:
            return ()
        assert isinstance(self.events, tuple)
        if len(self.events) not in (1, arms):
            raise invalid(
                f"events must be one number, or one for each of {arms} arms "
                f"(got {len(self.events)})",
            )
        return self.events * arms if len(self.events) == 1 else self.events

    @property
    def longest(self) -> float:
        """The longest delay of an outcome in a run, counted in units."""
        length = self.mean * max(1.0, self.high_outcomes)
        if self.kind == "random":
            length *= LONGEST_EXPONENTIAL
        return math.ceil(length if self.window is None else min(length, self.window))

    @property
    def words(self) -> str:
        """The delay in words."""
        parts = [f"{self.kind} delay of {self.mean:g} units"]
        if self.high_outcomes != 1:
            parts.append(f"{self.high_outcomes:g} times as long for high outcomes")
        if self.window is not None:
            parts.append(f"awaited for {self.window:,} units")
        if isinstance(self.events, tuple):
            after = " and ".join(f"{event:g}" for event in self.events)
            parts.append(f"events after {after} on average")
        return ", ".join(parts)


PARTS: dict[str, Any] = {
    "noise": Noise,
    "trend": Trend,
    "change": Change,
    "delay": Delay,
    "arrivals": Trend,
}
"""Types of the parts of a world that are not numbers."""


@dataclass(frozen=True, slots=True)
class World:
    """The conditions of a simulated test; a world of means alone is what a design assumes.

    - `means`: the mean of each arm, unless they follow from the noise.
    - `noise`: the distribution of outcomes. If not given, it follows from the outcome model:
      `Coin()` for 0/1 outcomes, `Beta(4)` within other limits, else normal with its spread, which
      `Numeric` and `Ratio` then have to state.
    - `trend`: a movement that all arms share.
    - `change`: a change of the mean of one arm.
    - `batch`: outcomes are reported each time that this many units have been assigned.
    - `delay`: how long outcomes take to arrive.
    - `missing`: the probability that an outcome never arrives. This is known when the window of the
      delay ends, and at once if there is no window.
    - `correlation`: the correlation of an outcome with the first covariate of the design.
    - `arrivals`: for recurring outcomes, a trend of the units that arrive: a unit keeps the value
      of the trend at its arrival, in whatever arm it is. Outcomes then depend on the time of
      arrival.
    - `units_per_day`: how many units arrive a day. The simulation then includes the conversion
      window, the minimum duration and the whole weeks of the design, and its result has `days`.

    >>> World([0.0, 0.1], trend=Trend("fading", -0.5, 2000), batch=50).words
    'trend -0.5 exp(-t / 2000); batches of 50'
    """

    means: Sequence[float] | None = None
    noise: Noise | None = field(default=None, metadata={"discriminator": "kind"})
    trend: Trend | None = None
    change: Change | None = None
    batch: int = 1
    delay: Delay | None = None
    missing: float = 0.0
    correlation: float = 0.0
    arrivals: Trend | None = None
    units_per_day: float | None = None
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        for name, kind in PARTS.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                names = " or ".join(part.__name__ for part in get_args(kind) or (kind,))
                raise invalid(f"{name} must be {names} (got {value!r:.60})")
        object.__setattr__(self, "means", self._checked_means())
        if self.change is not None and self.change.arm >= len(self.start):
            raise invalid(
                f"arm of change must be at most {len(self.start) - 1} (got {self.change.arm})"
            )
        checks.accept(self, "batch", checks.whole, 1, "1 shows every outcome", MOST_UNDER_WAY)
        checks.accept(self, "missing", checks.finite, "it is a probability")
        if not 0 <= self.missing < 1:
            raise invalid(f"missing must be at least 0 and below 1 (got {self.missing:g})")
        checks.accept(self, "correlation", checks.finite, "0.7 is a strong one")
        if not -1 < self.correlation < 1:
            raise invalid(f"correlation must lie between -1 and 1 (got {self.correlation:g})")
        checks.accept_given(self, "units_per_day", checks.positive, "5000 is an example")

    def _checked_means(self) -> tuple[float, ...]:
        follow = None if self.noise is None else self.noise.means
        given: object = self.means
        if given is None:
            if follow is None:
                raise invalid("means are missing: give a world one mean per arm")
            return follow
        if isinstance(given, (str, Mapping)) or not hasattr(given, "__iter__"):
            raise invalid(f"means must be a list of numbers (got {given!r})")
        means = tuple(checks.finite("means", x, "give one number per arm") for x in given)
        if follow is not None and (
            len(means) != len(follow)
            or any(not math.isclose(x, y, abs_tol=1e-9) for x, y in zip(means, follow, strict=True))
        ):
            raise invalid(f"means follow from the weights ({follow}): leave them out")
        return means

    @property
    def start(self) -> tuple[float, ...]:
        """The means before any change, without the trend."""
        assert self.means is not None
        return tuple(self.means)

    @property
    def end(self) -> tuple[float, ...]:
        """The means after the change, if there is one, without the trend."""
        if self.change is None:
            return self.start
        changed = list(self.start)
        changed[self.change.arm] += self.change.by
        return tuple(changed)

    def at(self, units: int) -> tuple[float, ...]:
        """Return the means, without the trend, of unit number `units`, counted from 1.

        >>> World([0, 1], change=Change(0, by=2, at=10)).at(10)
        (0.0, 1.0)
        """
        return self.end if self.change is not None and units > self.change.at else self.start

    @property
    def extras(self) -> tuple[str, ...]:
        """The parts of the world besides its means and units per day, each in words."""
        parts = [part.words for part in (self.noise, self.trend, self.change) if part is not None]
        if self.arrivals is not None:
            parts.append(f"units that arrive at t keep a {self.arrivals.words}")
        if self.batch > 1:
            parts.append(f"batches of {self.batch:,}")
        if self.delay is not None:
            parts.append(self.delay.words)
        if self.missing > 0:
            parts.append(f"{100 * self.missing:g} % of outcomes missing")
        if self.correlation:
            parts.append(f"a covariate with correlation {self.correlation:g}")
        return tuple(parts)

    def with_window(self, seconds: float) -> World:
        """Return the world with a delay as long as a conversion window.

        A world that already has a delay, or has no `units_per_day`, is returned unchanged.

        >>> World([0, 1], units_per_day=100).with_window(7 * 86_400.0).words
        'fixed delay of 700 units'
        """
        if self.units_per_day is None or self.delay is not None or not seconds:
            return self
        return replace(self, delay=Delay(math.ceil(self.units_per_day * seconds / DAY)))

    @property
    def words(self) -> str:
        """The world in words, without its means."""
        return "; ".join(self.extras) or "steady"

    def plain_for(self, outcome: Outcome) -> bool:
        """Return whether the world meets all assumptions of a design with this outcome model.

        >>> from bascule.core.outcomes import Gaussian
        >>> World([0, 1], batch=2).plain_for(Gaussian(1))
        False
        """
        unstated = outcome.estimated and outcome.variance(self.start[0]) is None
        expected = self.noise is None or (not unstated and self.noise == outcome.noise(self.start))
        return expected and not replace(self, noise=None, means=self.start).extras

    def for_outcome(self, outcome: Outcome, arms: int) -> World:
        """Return the world checked against a design, with the noise of `outcome` if it has none."""
        if len(self.start) != arms:
            raise invalid(
                f"means must give one number per arm: {arms} arms, but {len(self.start)} means",
            )
        noise = outcome.noise(self.start) if self.noise is None else self.noise
        outcome.check_noise(noise)
        for mean in (*self.start, *self.end):
            outcome.check_mean(mean)
            if not noise.low <= mean <= noise.high:
                raise invalid(
                    f"means must lie between {noise.low:g} and {noise.high:g}, as the outcomes do "
                    f"(got {mean:g})",
                )
        self._check_limits(noise, outcome)
        if self.delay is not None and self.delay.events_of(arms) and not outcome.binary:
            raise invalid(f"events make outcomes 0 or 1, not {outcome!r}: leave them out")
        return replace(self, noise=noise)

    def _check_limits(self, noise: Noise, outcome: Outcome) -> None:
        """Raise `InputError` if outcomes within limits cannot follow the trend or the change."""
        if not noise.follows_mean:
            if (self.trend or self.change) and outcome.limited:
                raise InputError(
                    "noise",
                    "discrete outcomes within limits cannot follow a trend or a change: leave "
                    "them out, or use Beta or Coin noise",
                )
        elif self.trend is not None:
            lowest, highest = self.trend.extremes
            all_means = (*self.start, *self.end)
            if max(all_means) + lowest <= noise.low or min(all_means) + highest >= noise.high:
                raise InputError(
                    "trend",
                    f"the trend takes all means to the limit of the outcomes ({noise.low:g} to "
                    f"{noise.high:g}), where the arms are alike: make its size smaller",
                )

    def reflected(self, outcome: Outcome) -> World:
        """Return the world with outcomes reflected about the middle of their limits, or about 0.

        High and low change places: a test for the highest mean in one world is a test for the
        lowest mean in the other.

        >>> from bascule.core.outcomes import Bernoulli
        >>> World([0.25, 0.5], trend=Trend("wave", 0.1, 50)).reflected(Bernoulli()).start
        (0.75, 0.5)
        """
        noise = outcome.noise(self.start) if self.noise is None else self.noise
        centre = noise.low + noise.high if noise.limited else 0.0
        trend, change, delay, arrivals = self.trend, self.change, self.delay, self.arrivals
        if arrivals is not None:
            arrivals = replace(arrivals, size=-arrivals.size)
        if trend is not None:
            trend = replace(trend, size=-trend.size)
        if change is not None:
            change = replace(change, by=-change.by)
        if delay is not None:
            factor = delay.high_outcomes
            turned: EventOutcome = "low" if delay.event == "high" else "high"
            delay = replace(
                delay, mean=delay.mean * factor, high_outcomes=1.0 / factor, event=turned
            )
        return replace(
            self,
            means=tuple(centre - mean for mean in self.start),
            noise=None if self.noise is None else noise.reflected(),
            trend=trend,
            change=change,
            delay=delay,
            arrivals=arrivals,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the world as plain data that `from_dict` reads back."""
        data: dict[str, Any] = plain(asdict(self))
        return data

    @classmethod
    def from_dict(cls, data: object) -> World:
        """Read a world from plain data, as `to_dict` or a file holds it.

        >>> World.from_dict({"means": [0, 1], "batch": 50}).batch
        50
        """
        return read(_adapter(), data, "world")


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[World]:
    # Loaded at first use: most programs never read a world.
    from pydantic import TypeAdapter

    return TypeAdapter(World)
