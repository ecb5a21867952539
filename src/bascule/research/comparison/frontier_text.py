"""A frontier in words: its title, its table, and which rules dominate the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.presentation import notebook
from bascule.presentation.guarantees import error_words
from bascule.presentation.numbers import by_reason, count, joined, number, percent, shown
from bascule.research.comparison.contenders import Family, short_name

if TYPE_CHECKING:
    from bascule.research.comparison.frontier import Frontier, Point

HEADINGS = ("rule", "regret", "decision time", "× limit", "dominated by")


def title(frontier: Frontier) -> str:
    """Say what is compared, in one line."""
    effect = "" if frontier.effect is None else f", effect {frontier.effect:g}"
    promise = f"error at most {percent(frontier.sides * frontier.error)}"
    if frontier.sides == 2:
        promise += ", two-sided (either of two equal arms wins)"
    return f"means {shown(frontier.means)}, {frontier.outcome.words}{effect}, {promise}"


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
    """Return the verdict, how to read the table, and which rules were not played."""
    lines = [
        verdict(frontier),
        f"Error: {error_words(frontier.error, len(frontier.means))}.",
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


def plain_text(frontier: Frontier) -> str:
    """Return a line for each rule, for terminals of any width."""
    lines = [title(frontier)]
    for family in Family:
        points = frontier.of(family)
        lines += [family.words] if points else []
        for point in points:
            name, regret, time, limit, dominators = cells(point)
            mark = dominators if point.efficient else f"dominated by {dominators}"
            lines.append(f"  {name}: regret {regret}, time {time}, × limit {limit}, {mark}")
    return "\n".join([*lines, *notes(frontier)])


def frontier_html(frontier: Frontier) -> str:
    """Return a frontier as a table with its figure; efficient rules are bold."""
    rows: list[Sequence[str]] = []
    strong: list[int] = []
    family: Family | None = None
    for point in frontier.points:
        if point.family is not family:
            family = point.family
            strong.append(len(rows))
            rows.append([family.words])
        if point.efficient:
            strong.append(len(rows))
        rows.append(cells(point))
    tables = notebook.table(title(frontier), rows, HEADINGS, strong)
    return notebook.page(tables, notes(frontier), frontier.plot())
