"""An audit in words, as a table and as a figure."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from bascule.presentation import notebook
from bascule.presentation.figures import SERIES, new_figure
from bascule.presentation.guarantees import promise_words
from bascule.presentation.numbers import by_reason, count, estimate_95, part, shown
from bascule.research.comparison.audit import Audit, AuditRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = ("world", "wrong %", "open %", "regret", "units", "promise")


def title(audit: Audit) -> str:
    """Say what was audited and what is promised of it, in lines of at most 80 columns."""
    design = audit.design
    promise = promise_words(design.calibration, len(design.arms))
    assert design.max_units is not None
    runs = (
        f"means {shown(audit.means)}; {count(audit.runs)} runs in each world, "
        f"of at most {count(design.max_units)} units"
    )
    return "\n".join([*wrap(f"{design.rule.label}: {promise}", 80), *wrap(runs, 80)])


def cells(row: AuditRow) -> tuple[str, ...]:
    """Return a row in words, under `HEADINGS`."""
    low, high = (part(end, digits=2) for end in row.error_interval)
    mark = "!" if row.broken else ""
    return (
        row.name,
        f"{part(row.error_rate)}{mark} ({low}-{high})",
        part(row.undecided / row.runs, digits=2),
        estimate_95(row.regret),
        estimate_95(row.decision_time),
        "holds" if row.reason is None else "not covered",
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
    return (*lines, "Open: undecided at the cap. Brackets and ± are 95 % intervals.")


def table(audit: Audit) -> list[str]:
    """Return the headings and the rows as lines of text, within 80 columns as a rule."""
    rows = [HEADINGS, *(cells(row) for row in audit.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = []
    for row in rows:
        first, *middle, last = zip(row, widths, strict=True)
        amounts = "  ".join(f"{cell:>{width}}" for cell, width in middle)
        lines.append(f"{first[0]:<{first[1]}} {amounts}  {last[0]}")
    return lines


def plain_text(audit: Audit) -> str:
    """Return the audit as text."""
    return "\n".join([title(audit), "", *table(audit), "", *notes(audit)])


def audit_html(audit: Audit) -> str:
    """Return an audit as a table with its figure; broken promises are bold."""
    rows = [cells(row) for row in audit.rows]
    broken = [place for place, row in enumerate(audit.rows) if row.broken]
    tables = notebook.table(title(audit), rows, HEADINGS, broken)
    return notebook.page(tables, notes(audit), audit.plot())


def plot_audit(audit: Audit) -> Figure:
    """Draw the share of wrong decisions in each world with its 95 % interval, and the promise.

    >>> import bascule as bs
    >>> report = bs.audit(bs.Tilt(3), [0, 1], runs=50, worlds=["steady", "null"])
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
        f"{audit.design.rule.label}: red marks are promised at most; hollow: not covered",
        loc="left",
    )
    return figure
