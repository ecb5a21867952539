"""The report and the figure of an audit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.core.evidence.calibration import STATED
from bascule.presentation.figures import SERIES, new_figure
from bascule.presentation.guarantees import promise_words, sentence
from bascule.presentation.numbers import by_reason, count, estimate_95, joined, part, shown
from bascule.presentation.report import Report, Table
from bascule.research.comparison.audit import Audit, AuditRow
from bascule.research.comparison.frontier_report import wrong_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = ("world", "wrong %", "open %", "regret", "units", "covered")


def headline(audit: Audit) -> str:
    """Say whether the rule was wrong more often than promised, and where."""
    label, broken = audit.design.rule.label, [row for row in audit.rows if row.broken]
    stated = audit.design.calibration.guarantee == STATED
    said = "its author states" if stated else "promised"
    if not broken:
        return f"{label} is wrong no more often than {said} in {len(audit.rows)} worlds."
    names = joined([row.name for row in broken])
    if stated:
        return f"{label} is wrong more often than its author states in {names}."
    if all(row.reason is not None for row in broken):
        return f"{label} is wrong too often in {names}, which its proof does not cover."
    return f"{label} is wrong more often than promised in {names}."


def question(audit: Audit) -> str:
    """Describe the guarantee, and what was simulated."""
    design = audit.design
    assert design.max_units is not None
    return (
        f"{sentence(promise_words(design))} Means "
        f"{shown(audit.means)}, {design.outcome.words}; {count(audit.runs)} runs in each world, of "
        f"at most {count(design.max_units)} units."
    )


def cells(row: AuditRow) -> tuple[str, ...]:
    """Return the cells of a row of the table, in the order of `HEADINGS`."""
    return (
        row.name,
        wrong_cell(row),
        part(row.undecided / row.runs, digits=2),
        estimate_95(row.regret),
        estimate_95(row.decision_time),
        "yes" if row.reason is None else "no",
    )


def notes(audit: Audit) -> tuple[str, ...]:
    """Say why some worlds are not covered, and what the marks mean."""
    reasons = by_reason((row.name, row.reason) for row in audit.rows if row.reason is not None)
    lines = ["Not covered by the proof:"] if reasons else []
    lines += [f"  {names}: {reason}" for reason, names in reasons.items()]
    missing = by_reason(audit.left_out)
    lines += [f"Not played: {names} ({reason})." for reason, names in missing.items()]
    if any(row.broken for row in audit.rows):
        lines.append("! More wrong decisions than promised, by more than chance.")
    cap = audit.design.max_units or math.inf
    if any(row.decision_time.mean > cap for row in audit.rows):
        lines.append(
            "The units include those that arrived after the cap, while outcomes were still pending."
        )
    return (*lines, "Open: undecided at the cap. Brackets and ± are 95 % intervals.")


def report(audit: Audit) -> Report:
    """Return the report of an audit, with a row for each world; broken guarantees stand out."""
    broken = tuple(place for place, row in enumerate(audit.rows) if row.broken)
    table = Table((HEADINGS, *(cells(row) for row in audit.rows)), strong=broken)
    return Report(headline(audit), question(audit), (), (table,), notes(audit), (audit,))


def plot_audit(audit: Audit) -> Figure:
    """Draw the share of wrong decisions in each world (95 % interval), and the promised error.

    >>> import bascule as bs
    >>> report = bs.research.audit(bs.Tilt(3), [0, 1], runs=50, worlds=["steady", "null"])
    >>> [label.get_text() for label in plot_audit(report).axes[0].get_yticklabels()]
    ['steady', 'null']
    """
    figure, (axis,) = new_figure(width=7.4, height=1.6 + 0.3 * len(audit.rows))
    for place, row in enumerate(audit.rows):
        low, high = row.error_interval
        series = SERIES[1] if row.reason is None else SERIES[3]
        axis.plot([100 * low, 100 * high], [place, place], color=series.colour, linewidth=1.6)
        axis.plot(
            100 * row.error_rate,
            place,
            marker=series.marker,
            clip_on=False,
            zorder=3,
            color=series.colour,
            markerfacecolor=series.colour if row.reason is None else "white",
        )
        promised = 100 * row.promised
        axis.plot([promised, promised], [place - 0.38, place + 0.38], color=SERIES[5].colour)
    axis.set_yticks(range(len(audit.rows)), [row.name for row in audit.rows])
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.grid(False, axis="y")
    axis.set_xlabel("wrong decisions (% of runs, with 95 % intervals)")
    axis.set_title(
        f"{audit.design.rule.label}; red: error promised at most; hollow: not covered",
        loc="left",
    )
    return figure
