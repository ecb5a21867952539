"""The figure of a plan: cost against days for the designs that were tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bascule.planning.forecast import even_rule
from bascule.planning.request.words import question_of
from bascule.planning.search.choose import Candidate
from bascule.presentation.figures import SERIES, new_figure, plain_log_ticks, write_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bascule.core.rules import Rule
    from bascule.planning.result import Plan

KNOBS = {"tilt": "", "alpha": "α "}
"""Prefixes of the values of knobs in the figure; other knobs have their name as prefix."""

TALLEST = 2.5
"""A design is not drawn if it costs more than this multiple of the lowest cost, and more than the
fixed-horizon test."""


def plot_plan(plan: Plan) -> Figure:
    """Plot cost against duration: tilted designs as a curve, simulated designs with error bars.

    >>> import bascule as bs
    >>> figure = plot_plan(bs.plan(bs.Gaussian(1), lift=0.5, units_per_day=20, runs=20))
    >>> figure.axes[0].get_xlabel()
    'days until the end of the test (log scale)'
    """
    figure, (axis,) = new_figure(width=7.4, height=4.8)
    curve, fixed, family, chosen = SERIES[1], SERIES[3], SERIES[0], SERIES[5]
    tilted = main_curve(plan)
    _draw_curve(axis, tilted, curve.colour, linewidth=1.6, marker="o", markerfacecolor="white")
    for point in tilted:
        if point.rule != plan.rule and point.design.rule in _labelled(tilted):
            _write(axis, knob_words(point), point, curve.colour)
    for others in other_curves(plan):
        look: dict[str, Any] = {"linestyle": family.dash, "marker": family.marker}
        _draw_curve(axis, others, family.colour, linewidth=1.4, **look)
        for point in others:
            _write(axis, knob_words(point), point, family.colour)
    _draw_seen(axis, [point for point in plan.points if point.simulated], curve.colour)
    forecast, test = plan.chosen.forecast, plan.fixed_horizon
    star: dict[str, Any] = {"marker": "*", "markersize": 17, "color": chosen.colour, "zorder": 5}
    label = f"recommended: {plan.rule.label}"
    axis.plot([forecast.days.mean], [forecast.cost.mean], linestyle="none", label=label, **star)
    diamond: dict[str, Any] = {"marker": fixed.marker, "markersize": 8, "color": fixed.colour}
    label = "fixed horizon, 90 % power"
    axis.plot([test.days], [test.cost], linestyle="none", label=label, **diamond)
    axis.set_xscale("log")
    axis.axvline(plan.request.deadline_days, color="#777777", linewidth=1.2, linestyle=(0, (4, 3)))
    placing: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "rotation": 90, "ha": "right"}
    place = (plan.request.deadline_days, 0.02)
    write_at(axis, "deadline", place, (-4, 0), va="bottom", color="#555555", **placing)
    # With room for the star and the diamond, which are large.
    axis.margins(y=0.12)
    axis.set_ylim(bottom=0)
    plain_log_ticks(axis.xaxis)
    axis.set_xlabel("days until the end of the test (log scale)")
    axis.set_ylabel(f"expected cost ({plan.request.cost_unit})")
    axis.set_title(question_of(plan.request), loc="left")
    figure.legend(frameon=False, fontsize=9, loc="outside lower left", ncols=2)
    return figure


def main_curve(plan: Plan) -> list[Candidate]:
    """Return the designs that differ from the recommended one only in the knob, and even splits."""
    first = even_rule(plan.rule)
    return [
        point
        for point in plan.points
        if even_rule(point.rule) == first or (point.even and point.rule.knob is None)
    ]


def other_curves(plan: Plan) -> list[list[Candidate]]:
    """Return the designs of each other kind of rule, without those that cost far too much."""
    family = plan.points[0].rule.family
    rest = [point for point in plan.points if point not in main_curve(plan)]
    curves: dict[Rule, list[Candidate]] = {}
    for point in affordable(plan, rest):
        if point.rule.family != family:
            curves.setdefault(even_rule(point.rule), []).append(point)
    return list(curves.values())


def knob_words(point: Candidate) -> str:
    """Format the knob value of a candidate.

    >>> import bascule as bs
    >>> request = bs.PlanRequest()
    >>> from bascule.planning.forecast import design_of, hopeless
    >>> knob_words(Candidate(design_of(request, bs.Tilt(3)), hopeless(request, request.means)))
    '3'
    """
    knob = point.rule.knob
    if knob is None:
        return "even" if point.even else point.rule.label
    return f"{KNOBS.get(knob.name, knob.name + ' ')}{knob.value:g}"


def affordable(plan: Plan, points: list[Candidate]) -> list[Candidate]:
    """Return the candidates cheap enough to be drawn without squeezing the others."""
    known = [point.expected.cost.mean for point in main_curve(plan)]
    highest = max(plan.fixed_horizon.cost, TALLEST * min(known))
    return [point for point in points if point.expected.cost.mean <= highest]


def _labelled(points: list[Candidate]) -> list[object]:
    """Return the rules whose points get a label in the figure; close neighbours get none."""
    kept: list[object] = []
    last = 0.0
    for point in points:
        if point.expected.days.mean > 1.12 * last:
            kept.append(point.rule)
            last = point.expected.days.mean
    return kept


def _draw_curve(axis: Axes, points: list[Candidate], colour: str, **style: Any) -> None:
    axis.plot(
        [point.expected.days.mean for point in points],
        [point.expected.cost.mean for point in points],
        color=colour,
        markersize=4,
        label=f"{points[0].rule.family}, expected",
        **style,
    )


def _draw_seen(axis: Axes, points: list[Candidate], colour: str) -> None:
    forecasts = [point.forecast for point in points]
    if not forecasts:
        return
    axis.errorbar(
        [forecast.days.mean for forecast in forecasts],
        [forecast.cost.mean for forecast in forecasts],
        xerr=[forecast.days.se for forecast in forecasts],
        yerr=[forecast.cost.se for forecast in forecasts],
        fmt="o",
        markersize=4,
        color=colour,
        elinewidth=1.1,
        label="simulated, ± one standard error",
    )


def _write(axis: Axes, text: str, point: Candidate, colour: str) -> None:
    place = (point.expected.days.mean, point.expected.cost.mean)
    write_at(axis, text, place, (0, -14), ha="center", fontsize=9, color=colour)
