"""An analysis in sentences, for readers who do not know bascule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.approximate import at_most, exactly
from bascule.presentation.analysis.series import against, has_days, stamp
from bascule.presentation.guarantees import promise

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

MOST_NAMES = 4
"""A question with more arms than this gives their number, not their names."""


def question(analysis: Analysis) -> str:
    """What the test asks."""
    arms = analysis.design.arms
    if analysis.decides == "guardrails":
        control = analysis.design.control_arm
        others = " or ".join(arm for arm in arms if arm != control)
        return f"May {others} replace {control}: is it within the margins of the guardrails?"
    metric = f" on {analysis.name}" if analysis.reading.value else ""
    if len(arms) == 2:
        return f"Which is better{metric}: {arms[0]} or {arms[1]}?"
    if len(arms) <= MOST_NAMES:
        return f"Which is best{metric}: {', '.join(arms[:-1])} or {arms[-1]}?"
    return f"Which of {len(arms)} arms is best{metric}?"


def setting(analysis: Analysis) -> str:
    """Who took part, when, and what counts as an outcome."""
    when = ""
    if analysis.first_day and analysis.last_day and has_days(analysis):
        first, last = stamp(analysis, analysis.first_day), stamp(analysis, analysis.last_day)
        when = f" on {first}" if first == last else f" from {first} to {last}"
    return f"{analysis.units:,} units were seen{when}, each in one arm. {outcome(analysis)}"


def outcome(analysis: Analysis) -> str:
    """What a unit gives."""
    model, measure = analysis.design.outcome, analysis.design.measure
    words = "" if analysis.evidence.outcome is None else f" ({model.words})"
    window = "" if measure is None else f" within {exactly(measure.closes(0.0))} of its arrival"
    better = "lower" if analysis.design.goal == "decrease" else "higher"
    return f"Each gives one outcome{words}{window}; the {better} their mean, the better the arm."


def decided_before(analysis: Analysis) -> str:
    """Explain a decision whose interval contains 0 by now; return an empty text otherwise."""
    rivals, day = against(analysis), analysis.decided
    is_apart = not rivals or not rivals[0].now.known or rivals[0].now.apart
    has_winner = analysis.decision is not None and analysis.decision.arm is not None
    if is_apart or not has_winner or day is None or analysis.segments:
        return ""
    return (
        f"The decision was reached on {stamp(analysis, day)}, when the interval of "
        f"{rivals[0].name} did not contain 0. The decision remains valid."
    )


def guarantee(analysis: Analysis) -> str:
    """What may be relied on, in a sentence or two that say no more."""
    if analysis.evidence.once:
        return (
            "If this is the only look, at a time that was fixed before the test, a wrong winner is "
            f"named in about {at_most(analysis.error)} of tests at most. Every further look adds "
            "to that: then use the analysis for any number of looks."
        )
    design, parts = analysis.design, len(analysis.segments)
    among = f", in all {parts} segments together" if parts else ""
    promised = promise(analysis.error, len(design.arms), analysis.guarantee, design.outcome)
    return f"{promised}{among}. Units must have been split at random."
