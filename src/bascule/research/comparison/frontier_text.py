"""A frontier as a report: which rules dominate the paper's, and a row for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.approximate import error_words
from bascule.presentation.guarantees import sentence, sides_words
from bascule.presentation.numbers import by_reason, count, joined, number, percent, shown
from bascule.presentation.report import Cells, Report, Table
from bascule.research.comparison.contenders import Family, short_name

if TYPE_CHECKING:
    from bascule.research.comparison.frontier import Frontier, Point

HEADINGS = ("rule", "regret", "decision time", "× limit", "dominated by")


def title(frontier: Frontier) -> str:
    """Say what is compared, in one line."""
    effect = "" if frontier.effect is None else f", effect {frontier.effect:g}"
    error = f"error {percent(frontier.sides * frontier.error)}, {sides_words(frontier.sides)}"
    return f"means {shown(frontier.means)}, {frontier.outcome.words}{effect}, {error}"


def cells(point: Point) -> tuple[str, ...]:
    """Return the row of a rule under `HEADINGS`, in a table with a part for each family."""
    return (
        short_name(point.label),
        str(point.regret),
        str(point.decision_time),
        str(point.information),
        _dominators(point),
    )


def _dominators(point: Point) -> str:
    if not point.dominated_by:
        return "efficient" if point.efficient else f"wrong {percent(point.error_rate)}"
    first, *others = point.dominated_by
    return f"{first} +{len(others)}" if others else first


def verdict(frontier: Frontier) -> str:
    """Say which rules cost less and decide sooner than every rule of the paper, if some do."""
    published = frontier.of(Family.PUBLISHED)
    if not published:
        return "No rule of the paper was played as published."
    every = "every rule of the paper as published"
    if any(entry.family is Family.PUBLISHED for entry in frontier.left_out):
        every += " that was played"
    beaters = frontier.beyond_the_paper
    names = [point.label for point in beaters if point.efficient is beaters[0].efficient]
    if len(names) == 1:
        return f"{names[0]} costs less and decides sooner than {every}."
    if names:
        return f"{joined(names)} each cost less and decide sooner than {every}."
    unbeaten = [point.label for point in published if point.efficient]
    if unbeaten:
        return f"No rule here is known to cost less and decide sooner than {joined(unbeaten)}."
    return f"{every.capitalize()} is dominated, but no single rule dominates them all."


def notes(frontier: Frontier) -> tuple[str, ...]:
    """Say how to read the table, and which rules were not played."""
    lines = [
        sentence(error_words(frontier.error, len(frontier.means))),
        f"× limit: what a rule had learnt when it decided, over the {number(frontier.oracle)} "
        "that every rule needs, even one that knows the gap.",
    ]
    least = min(frontier.points, key=lambda point: point.runs)
    if least.runs < frontier.runs:
        lines.append(
            f"Rules with long runs have fewer than {count(frontier.runs)} of them, "
            f"{least.label} the fewest ({count(least.runs)})."
        )
    if frontier.cap_not_applied is not None:
        lines.append(
            f"Every rule runs until it decides: the design's cap of "
            f"{count(frontier.cap_not_applied)} units is not applied."
        )
    if frontier.left_out:
        labels = by_reason((entry.label, entry.reason) for entry in frontier.left_out)
        parts = [f"{names} ({reason})" for reason, names in labels.items()]
        lines.append(f"Left out: {'; '.join(parts)}.")
    return tuple(lines)


def report(frontier: Frontier) -> Report:
    """Return a frontier as a report: the verdict, and a row for each rule under its family."""
    rows: list[Cells] = []
    strong: list[int] = []
    family: Family | None = None
    for point in frontier.points:
        if point.family is not family:
            family = point.family
            rows.append((family.words,))
        if point.efficient:
            strong.append(len(rows))
        rows.append(cells(point))
    table = Table((HEADINGS, *rows), strong=tuple(strong))
    question = f"{title(frontier)}."
    return Report(verdict(frontier), question, (), (table,), notes(frontier), (frontier,))
