"""The trade-off in one picture: regret against decision time, one point a rule, at equal error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Tilt
from bascule.simulate import Estimate, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALPHAS = (1.2, 1.5, 2.0, 3.0, 4.0, 8.0, 32.0)
TILTS = (1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Point:
    """Where one rule stands."""

    rule: AnyRule
    regret: Estimate
    decision_time: Estimate
    error_rate: float


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Rules at the same proven error, on the same arms."""

    means: tuple[float, ...]
    sigma: float
    error: float
    points: tuple[Point, ...]

    @property
    def family(self) -> tuple[Point, ...]:
        """UCB_alpha from small to large alpha, with ETC' as its end."""
        return tuple(point for point in self.points if isinstance(point.rule, UCB | ETCPrime))

    @property
    def tilted(self) -> tuple[Point, ...]:
        """Tilted blocks from the even split on."""
        return tuple(point for point in self.points if isinstance(point.rule, Tilt))


def trade_off(
    means: Sequence[float],
    sigma: float = 1.0,
    error: float = 0.05,
    alphas: Sequence[float] = ALPHAS,
    tilts: Sequence[float] = TILTS,
    runs: int = 1000,
    seed: int = 0,
) -> TradeOff:
    """Simulate every rule along its knob, all at the same proven error.

    >>> [point.rule.label for point in trade_off([0, 1], alphas=[2], tilts=[3], runs=10).points]
    ['UCB_2', "ETC'", 'ETC', 'Tilt_3']
    """
    rules: list[AnyRule] = [
        *(UCB(alpha) for alpha in alphas),
        ETCPrime(),
        ETC(),
        *(Tilt(tilt) for tilt in tilts),
    ]
    names = [f"arm {i + 1}" for i in range(len(means))]
    points = []
    for rule in rules:
        design = Design(arms=names, outcome=Gaussian(sigma), rule=rule, error=error)
        result = simulate(design, means, runs, seed)
        summary = result.summary()
        points.append(Point(rule, summary["regret"], summary["decision_time"], result.error_rate))
    return TradeOff(tuple(means), sigma, error, tuple(points))


def draw_trade_off(result: TradeOff) -> Figure:
    """The curves of UCB_alpha and of tilted blocks with their knobs, and ETC as a point."""
    from bascule.simulate.plot import SERIES, new_figure

    figure, (axis,) = new_figure(width=7.0, height=4.4)
    curve, even, blocks = SERIES[0], SERIES[3], SERIES[5]
    etc = tuple(point for point in result.points if isinstance(point.rule, ETC))
    for points, series in ((result.family, curve), (etc, even), (result.tilted, blocks)):
        times = [point.decision_time.mean for point in points]
        regrets = [point.regret.mean for point in points]
        axis.plot(times, regrets, color=series.colour, linewidth=1.8, marker=series.marker)
        for point, time, regret in zip(points, times, regrets, strict=True):
            _write(axis, _name(point.rule), time, regret, series.colour)
    axis.set_xscale("log")
    every = [point.decision_time.mean for point in result.points]
    axis.set_xlim(0.8 * min(every), 1.7 * max(every))
    axis.set_ylim(0, 1.12 * max(point.regret.mean for point in result.points))
    _plain_ticks(axis)
    axis.set_xlabel("units until the decision (log scale)")
    axis.set_ylabel("regret until the decision")
    axis.set_title(
        f"The cost of a test against its length; error at most {100 * result.error:g} %", loc="left"
    )
    return figure


def _name(rule: AnyRule) -> str:
    """What stands beside a point: the knob of its rule."""
    if isinstance(rule, UCB):
        return f"UCB$_{{{rule.alpha:g}}}$"
    if isinstance(rule, Tilt):
        return f"tilt {rule.tilt:g}"
    return "ETC" if isinstance(rule, ETC) else "UCB$_∞$ = ETC′"


def _write(axis: Axes, text: str, time: float, regret: float, colour: str) -> None:
    axis.annotate(
        text, (time, regret), xytext=(8, 5), textcoords="offset points", fontsize=10, color=colour
    )


def _plain_ticks(axis: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
