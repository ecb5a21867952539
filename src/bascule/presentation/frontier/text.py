"""A frontier in words: its title, its cells, who dominates the paper's rules, who is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bascule.comparison.contenders import Family, short_name
from bascule.core.outcomes import Gaussian
from bascule.simulation.result import short, shown

if TYPE_CHECKING:
    from bascule.comparison.frontier import Frontier, Point

HEADINGS = ("rule", "regret", "decision time", "× oracle", "dominated by")

FEW_NAMES = 3
"""A sentence names this many rules and counts the rest."""


def title(frontier: Frontier) -> str:
    """What is compared, in one line."""
    outcome = frontier.outcome
    world = f"σ = {outcome.sigma:g}" if isinstance(outcome, Gaussian) else "0/1 outcomes"
    effect = "" if frontier.effect is None else f", effect {frontier.effect:g}"
    promise = f"error at most {percent(frontier.error)}"
    return f"means {shown(frontier.means)}, {world}{effect}, {promise}"


def percent(error: float) -> str:
    """A probability as a reader of tables wants it.

    >>> percent(0.05), percent(0.001)
    ('5 %', '0.1 %')
    """
    return f"{100 * error:g} %"


def cells(point: Point) -> tuple[str, ...]:
    """The row of a rule under `HEADINGS`, in a table with a part for each family."""
    return (
        short_name(point.label),
        str(point.regret),
        str(point.decision_time),
        str(point.information),
        _dominators(point),
    )


def _dominators(point: Point) -> str:
    if point.efficient:
        return "efficient"
    first, *others = point.dominated_by
    return f"{first} +{len(others)}" if others else first


def verdict(frontier: Frontier) -> str:
    """Who costs less and decides sooner than every rule of the paper, if somebody does."""
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
        return f"{listed(names)} each cost less and decide sooner than {every}."
    unbeaten = [point.label for point in published if point.efficient]
    if unbeaten:
        return f"No rule here is known to cost less and decide sooner than {listed(unbeaten)}."
    return f"{every.capitalize()} is dominated, but no single rule dominates them all."


def notes(frontier: Frontier) -> tuple[str, ...]:
    """The verdict, how to read the table, and who was not played."""
    lines = [
        verdict(frontier),
        f"× oracle: what a rule had learnt when it decided, over the {short(frontier.oracle)} that "
        "a test which knows the gap needs.",
    ]
    least = min(frontier.points, key=lambda point: point.runs)
    if least.runs < frontier.runs:
        lines.append(
            f"Rules with long runs have fewer than {frontier.runs:,} of them, "
            f"{least.label} the fewest ({least.runs:,})."
        )
    if frontier.left_out:
        labels: dict[str, list[str]] = {}
        for entry in frontier.left_out:
            labels.setdefault(entry.reason, []).append(entry.label)
        parts = [f"{', '.join(names)} ({reason})" for reason, names in labels.items()]
        lines.append(f"Left out: {'; '.join(parts)}.")
    return tuple(lines)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of them.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d", "e"])
    ('a, b and c', 'a, b, c and 2 more')
    """
    shown_names = list(names)
    if len(names) > FEW_NAMES:
        shown_names = [*names[:FEW_NAMES], f"{len(names) - FEW_NAMES} more"]
    *first, last = shown_names
    return f"{', '.join(first)} and {last}" if first else last


def plain_text(frontier: Frontier) -> str:
    """A line for each rule, for terminals of any width."""
    lines = [title(frontier)]
    for family in Family:
        points = frontier.of(family)
        lines += [family.words] if points else []
        for point in points:
            name, regret, time, oracle, dominators = cells(point)
            mark = dominators if point.efficient else f"dominated by {dominators}"
            lines.append(f"  {name}: regret {regret}, time {time}, × oracle {oracle}, {mark}")
    return "\n".join([*lines, *notes(frontier)])


def html_text(frontier: Frontier) -> str:
    """The table of a notebook; efficient rules are bold."""
    from html import escape

    def row(values: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(value)}</{tag}>" for value in values) + "</tr>"

    body = ""
    for family in Family:
        points = frontier.of(family)
        body += row([family.words], "th") if points else ""
        body += "".join(row(cells(point), "th" if point.efficient else "td") for point in points)
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes(frontier))
    caption = f"<caption>{escape(title(frontier))}</caption>"
    return f"<table>{caption}{row(HEADINGS, 'th')}{body}</table>{lines}"
