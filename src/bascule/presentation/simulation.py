"""A simulation as a report, and its figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.types import FloatArray
from bascule.presentation.figures import SERIES, Series, bar_edges, new_figure
from bascule.presentation.guarantees import promise_words
from bascule.presentation.numbers import count, duration, number, percent, shown
from bascule.presentation.report import Fact, Report, Table
from bascule.simulation import Estimate, GuardedRuns, Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SHARES = 8
"""Maximum number of arms whose share of the units is written out."""

ENGINES = {
    "fast": "fast: variances right to within {:.1g}",
    "plain": "plain: every outcome drawn",
}


def title(simulation: Simulation) -> str:
    """Say which rule was simulated, in how many runs, and on which means."""
    design, runs = simulation.design, count(simulation.runs)
    means = shown(simulation.means)
    return f"{design.rule.label}, {runs} runs at means {means}; {design.outcome.words}"


def report(simulation: Simulation) -> Report:
    """Return a simulation as a report: what it cost, when it decided, how often it was wrong."""
    facts = tuple(Fact(name, value) for name, value in rows(simulation))
    shown, details = (simulation,), _details(simulation)
    return Report(title(simulation), facts=facts, figures=shown, details=details)


def _details(simulation: Simulation) -> Report:
    """Return a table of regret and decision time: simulated, predicted, and the proven bound."""
    is_published = simulation.design.calibration.guarantee == "as published"
    head = ("", "mean", "predicted", "published" if is_published else "proven")
    stated = simulation.published() if is_published else simulation.proven()
    summary, predicted = simulation.summary(), simulation.predicted()
    body = [
        (
            words,
            str(summary[column]),
            _amount(getattr(predicted, column, math.nan)),
            _amount(getattr(stated, column, math.nan)),
        )
        for column, words in (("regret", "regret"), ("decision_time", simulation.time_label))
    ]
    return Report("", tables=(Table((head, *body)),))


def _amount(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "none" if math.isinf(value) else f"{value:,.0f}"


def rows(simulation: Simulation) -> list[tuple[str, str]]:
    """Return the rows of the summary, each a name and a value in words."""
    design = simulation.design
    summary, quantiles = simulation.summary(), simulation.quantiles()

    def spread(column: str) -> str:
        low, middle, high = map(number, quantiles[column])
        return f"{summary[column]}   (10 %, 50 %, 90 %: {low}, {middle}, {high})"

    shares = [
        f"{name} {percent(share)}"
        for name, share in zip(design.arms[:MOST_SHARES], simulation.share, strict=False)
    ]
    lines = [
        ("regret", spread("regret")),
        (simulation.time_label, spread("decision_time")),
        ("wrong decisions", wrong_words(simulation)),
        ("guarantee", promise_words(design)),
        ("delta", f"{design.calibration.delta:.4g}"),
        ("undecided", f"{count(simulation.undecided)} of {count(simulation.runs)} runs"),
        ("share of units", ", ".join([*shares, *["..."][: len(simulation.share) > MOST_SHARES]])),
    ]
    if design.min_effect is not None:
        lines.append(
            ("no difference", f"{count(simulation.no_difference)} of {count(simulation.runs)} runs")
        )
    if simulation.guarded is not None:
        lines += guarded_rows(simulation, simulation.guarded)
    if simulation.engine is not None:
        lines.append(("engine", _engine_words(simulation)))
    if simulation.world.extras:
        lines.append(("world", simulation.world.words))
    daily = simulation.world.units_per_day
    if daily is not None:
        lines.insert(2, ("days", f"{simulation.days} ({number(daily)} units a day)"))
    unplayed = not_played(simulation)
    if unplayed:
        lines.append(("not played", unplayed))
    return lines


def not_played(simulation: Simulation) -> str:
    """Name the parts of the design that were not simulated, and what to do; empty if all were."""
    window = duration((simulation.design.matures(0.0) or 0.0) / DAY)
    words = {
        "window": f"the window of {window} (outcomes are known at once)",
        "calendar": "the calendar (a decision is announced at once)",
    }
    parts = [words[part] for part in simulation.unplayed]
    return f"{' and '.join(parts)}: give the units per day" if parts else ""


def guarded_rows(simulation: Simulation, guarded: GuardedRuns) -> list[tuple[str, str]]:
    """Return the rows on guardrails: wrongly shipped arms, false removals, and ends by harm."""
    design = simulation.design
    lines = []
    for metric in design.guardrails:
        share = percent(guarded.beyond_margin(simulation.winner, metric.name))
        text = f"{share} of runs shipped an arm as bad as the margin"
        lines.append((metric.name, f"{text} (at most {percent(metric.error)} stated)"))
    stated = percent(design.harm_error)
    removed = f"{percent(guarded.false_removals)} of runs (at most {stated} stated)"
    lines.append(("false removals", removed))
    lines.append(
        ("ended by harm", f"{count(guarded.by_harm.sum())} of {count(simulation.runs)} runs")
    )
    return lines


def _engine_words(simulation: Simulation) -> str:
    if simulation.engine == "fast" and simulation.design.procedure.supports("block sums"):
        return "fast: the outcomes of an arm in a block drawn as their sum"
    return ENGINES[simulation.engine or "plain"].format(simulation.accuracy)


def wrong_words(simulation: Simulation) -> str:
    """Return the share of wrong decisions, and say what is wrong if no arm is the best."""
    share = f"{percent(simulation.error_rate)} of runs"
    if not simulation.tied:
        return share
    return f"{share} (the best arms are equal, so either of them as the winner counts as wrong)"


def plot_simulation(simulation: Simulation) -> Figure:
    """Draw histograms of regret and decision time, with their means.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> figure = plot_simulation(bs.simulate(design, means=[0.0, 1.0], runs=100))
    >>> [panel.get_xlabel() for panel in figure.axes]
    ['regret at the decision', 'decision time (units)']
    """
    figure, (left, right) = new_figure(columns=2, width=9.0, height=3.6)
    _histogram(left, simulation.regret, "regret at the decision", SERIES[1])
    times = simulation.decision_time.astype(np.float64)
    _histogram(right, times, f"decision time ({simulation.time_unit})", SERIES[3])
    left.set_ylabel("runs")
    words = f"{simulation.design.rule.label}, {count(simulation.runs)} runs"
    if simulation.undecided:
        undecided = count(simulation.undecided)
        words += f", {undecided} of them undecided at the cap on {simulation.time_unit}"
    figure.suptitle(words, x=0.01, ha="left", fontsize=12)
    return figure


def _histogram(axes: Axes, values: FloatArray, name: str, series: Series) -> None:
    axes.hist(values, bins=bar_edges(values).tolist(), color=series.colour, alpha=0.55)
    mean = Estimate.of(values)
    axes.axvline(mean.mean, color="#111111", linewidth=1.6)
    axes.set_title(f"mean {mean}", loc="left", fontsize=10.5)
    axes.set_xlabel(name)
    axes.grid(False, axis="x")
