"""Results as notebooks show them: a table, notes and a figure, in one piece of HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from bascule.presentation import simulation as simulation_text
from bascule.presentation.figures import SERIES, inline, new_figure
from bascule.presentation.guarantees import interval_name, promise_words
from bascule.presentation.numbers import Amounts, count
from bascule.presentation.plan import text as plan_text
from bascule.presentation.report import html
from bascule.presentation.status import amounts_of
from bascule.presentation.status import report as status_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bascule.analysis.result import Analysis
    from bascule.core.design import Design
    from bascule.core.metrics.effects import Effect
    from bascule.live.api.experiment import Experiment
    from bascule.live.reports.status import Status
    from bascule.planning.result import Plan
    from bascule.simulation import Simulation


def table(
    caption: str,
    rows: Iterable[Sequence[str]],
    head: Sequence[str] = (),
    strong: Iterable[int] = (),
) -> str:
    """Return rows as an HTML table; without a head, the first cell of each row is its heading.

    >>> table("sizes", [("small", "1")])
    '<table><caption>sizes</caption><tr><th>small</th><td>1</td></tr></table>'
    """
    bold = set(strong)
    body = _row(head, "th") if head else ""
    for place, cells in enumerate(rows):
        if head:
            body += _row(cells, "th" if place in bold else "td")
        else:
            body += f"<tr><th>{escape(cells[0])}</th>{_cells(cells[1:], 'td')}</tr>"
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


def page(tables: str, notes: Iterable[str] = (), figure: Figure | None = None) -> str:
    """Return tables, paragraphs and a figure as one piece of HTML."""
    drawing = "" if figure is None else f"<div>{inline(figure)}</div>"
    return tables + "".join(f"<p>{escape(note)}</p>" for note in notes if note) + drawing


def design_html(design: Design) -> str:
    """Return a design as a table: what is fixed before the first unit."""
    rows = [
        ("arms", ", ".join(design.arms)),
        ("outcome", design.outcome.words),
        ("rule", f"{design.rule.words} ({design.rule.label})"),
        ("guarantee", promise_words(design.calibration, len(design.arms))),
    ]
    for name in ("max_units", "min_effect", "deadline", "measure"):
        value = getattr(design, name)
        if value is not None:
            rows.append((name, f"{value:,}" if isinstance(value, int) else str(value)))
    return page(table("Design", rows), [design.rule.explain(len(design.arms))])


def plan_html(plan: Plan) -> str:
    """Return a plan as a table beside what it is compared with, and its frontier as a figure."""
    return page(html(plan_text.report(plan)), figure=plan.plot())


def simulation_html(simulation: Simulation) -> str:
    """Return a simulation as a table with its histograms."""
    title = simulation_text.title(simulation)
    return page(table(title, simulation.rows()), (), simulation.plot())


def status_html(status: Status) -> str:
    """Return the status of a live test, with its differences drawn."""
    figure = plot_effects(status.effects, amounts_of(status))
    return page(html(status_report(status)), figure=figure)


def experiment_html(experiment: Experiment) -> str:
    """Return a live test as its status, under the design that it runs."""
    return status_html(experiment.status()) + design_html(experiment.design)


def analysis_html(analysis: Analysis) -> str:
    """Return an analysis as tables of its arms and of their differences, with its figure."""
    amounts = Amounts.of(analysis.design.outcome, analysis.design.goal)
    head = ("arm", "units", "mean")
    arms = [(arm.name, count(arm.units), amounts.mean(arm.mean)) for arm in analysis.arms]
    rows = [
        (
            one.name,
            amounts.difference(one.difference, one.high - one.low),
            amounts.interval(one.low, one.high),
        )
        for one in (effect.reversed for effect in analysis.effects)
    ]
    level = interval_name(analysis.effects[0].error) if analysis.effects else "interval"
    tables = table(analysis.headline, arms, head)
    if analysis.metrics:
        from bascule.presentation.analysis.page import score_rows

        names = ("metric", "treatment", "control", "treatment", "lift", "p, one look", "verdict")
        tables = table("All metrics", score_rows(analysis), names) + tables
    tables += table("Differences", rows, ("", "estimate", f"{level}, at any time"))
    flagged = [f"! {check.name}" for check in analysis.flagged]
    return page(tables, [*analysis.notes, *flagged], analysis.plot())


def plot_effects(effects: Sequence[Effect], amounts: Amounts) -> Figure | None:
    """Draw the interval of each difference; None while too little is known of all of them.

    >>> plot_effects([], Amounts(binary=True)) is None
    True
    """
    # Treatment minus control: the later arm less the earlier one.
    known = [one.reversed for one in effects if math.isfinite(one.high - one.low)]
    if not known:
        return None
    figure, (axis,) = new_figure(width=7.4, height=1.3 + 0.35 * len(known))
    for place, one in enumerate(known):
        middle, low, high = (amounts.factor * end for end in one.ends)
        axis.plot([low, high], [place, place], color=SERIES[1].colour, linewidth=2.0)
        axis.plot(middle, place, marker="o", color=SERIES[1].colour)
    axis.axvline(0.0, color="#777777", linewidth=1.2)
    axis.set_yticks(range(len(known)), [one.name for one in known])
    axis.invert_yaxis()
    axis.grid(False, axis="y")
    level = interval_name(known[0].error)
    axis.set_xlabel(f"difference in {amounts.difference_unit}, with {level}s that hold at any time")
    return figure


def _row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{_cells(cells, tag)}</tr>"


def _cells(cells: Iterable[str], tag: str) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
