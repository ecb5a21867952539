"""The headline of an analysis, and the analysis in sentences."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from bascule.analysis.checks import MATCHES
from bascule.analysis.split import BLOCK_WORDS
from bascule.core.approximate import about, at_most, exactly
from bascule.core.metrics.effects import signed
from bascule.presentation.analysis.figure import amounts_of, has_days, stamp
from bascule.presentation.differences import effect_words
from bascule.presentation.guarantees import STANDINGS, harm_words, margin_words, promise
from bascule.presentation.numbers import known, relative

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis
    from bascule.core.procedures.base import Decision


MOST_NAMED = 4
"""Maximum number of comparisons that a headline names."""


def headline(analysis: Analysis) -> str:
    """Return one line that says what to do, after any warning about events or the sample ratio."""
    warning = "Sample ratio mismatch, find its cause first. " if analysis.ratio_mismatch else ""
    matches = "".join(
        f"Only {check.message}. " for check in analysis.flagged if check.name == MATCHES
    )
    return matches + warning + _answer(analysis)


def _answer(analysis: Analysis) -> str:
    risk = at_most(analysis.error)
    if analysis.segments:
        parts = analysis.segments
        decided = [f"{part.segment}: {part.decision.name}" for part in parts if part.decision]
        names = f": {'; '.join(decided)}" if decided else ""
        return f"{len(decided)} of {len(parts)} segments decided{names}"
    if analysis.withheld:
        return f"No decision: {analysis.withheld}"
    decision = analysis.decision
    if analysis.decides == "guardrails":
        return _of_guardrails(analysis)
    if analysis.evidence.once:
        test = f"by one look ({analysis.once[0].test}, error {risk})"
        if decision is None:
            return f"No decision {test}"
        return f"{_of(decision)} {test}; valid for one look only{held_words(analysis)}"
    if decision is not None and decision.arm is not None:
        effect = effect_words(
            analysis.contrasts, decision.name, analysis.design.goal, amounts_of(analysis)
        )
        return (
            f"{decision.name} is the best arm{effect}{_since(analysis)}; the probability of "
            f"naming a worse arm is at most {risk} ({analysis.guarantee}){held_words(analysis)}"
        )
    if decision is not None:
        return f"{decision.name.capitalize()} ({analysis.guarantee}){_since(analysis)}"
    judged = judged_words(analysis)
    pairs = compared_pairs(analysis) + judged
    if analysis.once and not judged and has_ended(analysis):
        return _of_ended(analysis, pairs)
    # No time is given once a guardrail is decided, because that result need not wait.
    if analysis.days_left is not None and not judged:
        return f"No decision yet{pairs}: about {about(analysis.days_left)} more at this pace"
    return f"No decision yet{pairs}"


RUNNING_DAYS = 2
"""Maximum number of days between the last day of a log and today if the test still runs."""


def has_ended(analysis: Analysis) -> bool:
    """Whether a test has ended: the last day of its log is days ago, or the log has no dates."""
    if analysis.reading.times != "dates" or analysis.last_day is None:
        return True
    last = date.fromisoformat(analysis.last_day)
    return last < datetime.now(UTC).date() - timedelta(days=RUNNING_DAYS)


def _of_ended(analysis: Analysis, pairs: str) -> str:
    """Say what an undecided test that has ended shows if this is the first and only look.

    An arm is named if it beats all others in that look.
    """
    oriented = analysis.design.oriented
    beats = {
        (look.first, look.second) if oriented(look.difference) > 0.0 else (look.second, look.first)
        for look in analysis.once
        if look.low > 0.0 or look.high < 0.0
    }
    arms = analysis.design.arms
    best = [arm for arm in arms if all((arm, rival) in beats for rival in arms if rival != arm)]
    tested = f"p = {analysis.once[0].p_value:.2g}, " if len(analysis.once) == 1 else ""
    if not best:
        return f"No difference shown at a single look ({tested}--once) or at several{pairs}"
    return (
        f"If this is the only look, {best[0]} is the best arm ({tested}--once); no decision if "
        f"anyone looked before{pairs}"
    )


def _of_guardrails(analysis: Analysis) -> str:
    """Say what to do if guardrails decide: which arm to ship, or what they have shown so far."""
    decision = analysis.decision
    if not analysis.metrics:
        return "No decision: the guardrails decide, and this log has only the first metric"
    if decision is None:
        return f"No decision yet: the guardrails decide{_standing_words(analysis)}"
    if decision.harm:
        return harm_words(decision.name, decision.harm)
    words = []
    for metric in analysis.metrics:
        lift = next((row.lift for row in metric.scores if row.treatment == decision.name), None)
        if metric.metric is not None and metric.metric.margin is not None:
            size = amounts_of(metric).size(metric.metric.margin)
            words.append(margin_words(metric.name, size, metric.guarantee, metric.error))
        elif lift is not None and known(lift):
            words.append(f"{metric.name} {relative(lift)}")
    return f"Ship {decision.name}: {'; '.join(words)}"


def judged_words(analysis: Analysis) -> str:
    """Say what guardrails have shown about treatments, while the first metric is undecided."""
    words = _standing_words(analysis)
    return f" on {analysis.name}{words}" if words else ""


def _standing_words(analysis: Analysis) -> str:
    words = [
        f"; {arm} is {STANDINGS[standing]} ({metric.name})"
        for metric in analysis.metrics
        for arm, standing in metric.standings.items()
        if standing != "open"
    ]
    return "".join(words[:MOST_NAMED])


def compared_pairs(analysis: Analysis) -> str:
    """Say which arms beat others, and which comparison is undecided; empty for two arms."""
    if len(analysis.design.arms) < 3:
        return ""
    oriented = analysis.design.oriented
    beats, open_pairs = [], []
    for effect in analysis.effects:
        if effect.low > 0.0 or effect.high < 0.0:
            ahead, behind = effect.first, effect.second
            if oriented(effect.difference) < 0.0:
                ahead, behind = behind, ahead
            beats.append((ahead, behind))
        else:
            open_pairs.append((effect.first, effect.second))
    if not beats:
        return ""
    beaten = {behind for _, behind in beats}
    text = [f"{ahead} beats {behind}" for ahead, behind in beats if ahead not in beaten]
    text += [
        f"{first} against {other} is open"
        for first, other in open_pairs
        if not {first, other} & beaten
    ]
    return f"; {'; '.join(text[:MOST_NAMED])}" + ("; ..." if len(text) > MOST_NAMED else "")


def _of(decision: Decision) -> str:
    return (
        decision.name.capitalize() if decision.arm is None else f"{decision.name} is the best arm"
    )


def _since(analysis: Analysis) -> str:
    if analysis.decided is None or not has_days(analysis):
        return ""
    return f", since {stamp(analysis, analysis.decided)}"


def metric_words(analysis: Analysis) -> str:
    """Return the headline of another metric, or "guardrail" for one that is undecided."""
    metric = analysis.metric
    is_silent = metric is not None and metric.margin is not None and analysis.decision is None
    return "guardrail" if is_silent else analysis.headline


def held_words(analysis: Analysis) -> str:
    """Say which guardrails keep the winner from being shipped."""
    held = analysis.held_by
    for standing, words in HOLDS.items():
        names = [name for name, found in held.items() if found == standing]
        if names:
            return f"; {words} {' and '.join(names)}"
    return ""


HOLDS = {
    "harmed": "do not ship it, it is harmful on",
    "beyond margin": "do not ship it, it is worse than the margin allows on",
    "open": "it is not shown yet to stay within the margin of",
}
"""Sentences about a winner that guardrails keep from being shipped; the worst reason comes
first."""

MOST_NAMES = 4
"""Maximum number of arms that a question names; for more arms, it gives only their number."""


def question(analysis: Analysis) -> str:
    """Return the question that the test asks."""
    arms = analysis.design.arms
    if analysis.decides == "guardrails":
        control = analysis.design.control_arm
        rivals = " or ".join(arm for arm in arms if arm != control)
        return f"May {rivals} replace {control}: is it within the margins of the guardrails?"
    metric = f" on {analysis.name}" if analysis.reading.value else ""
    if len(arms) == 2:
        return f"Which is better{metric}: {arms[0]} or {arms[1]}?"
    if len(arms) <= MOST_NAMES:
        return f"Which is best{metric}: {', '.join(arms[:-1])} or {arms[-1]}?"
    return f"Which of {len(arms)} arms is best{metric}?"


def setting(analysis: Analysis) -> str:
    """Describe who took part, when, and what counts as an outcome."""
    period = ""
    if analysis.first_day and analysis.last_day and has_days(analysis):
        first, last = stamp(analysis, analysis.first_day), stamp(analysis, analysis.last_day)
        period = f" on {first}" if first == last else f" from {first} to {last}"
    cluster = analysis.reading.cluster
    units = "units" if cluster is None else f"groups of units ({cluster})"
    return f"{analysis.units:,} {units} were seen{period}, each in one arm. {outcome(analysis)}"


def outcome(analysis: Analysis) -> str:
    """Describe the outcome of a unit."""
    model, measure = analysis.design.outcome, analysis.design.measure
    words = "" if analysis.evidence.outcome is None else f" ({model.words})"
    window = "" if measure is None else f" within {exactly(measure.closes(0.0))} of its arrival"
    better = "lower" if analysis.design.goal == "decrease" else "higher"
    return f"Each gives one outcome{words}{window}; the {better} their mean, the better the arm."


def decided_before(analysis: Analysis) -> str:
    """Explain why a decision stands although its interval now contains 0; otherwise return ""."""
    nearest = next(iter(signed(analysis.design, analysis.leads)), None)
    has_winner = analysis.decision is not None and analysis.decision.arm is not None
    if nearest is None or not has_winner or analysis.decided is None or analysis.segments:
        return ""
    if not (known(nearest.low) and known(nearest.high) and nearest.low < 0.0 < nearest.high):
        return ""
    return (
        f"The decision was reached on {stamp(analysis, analysis.decided)}, when the interval of "
        f"{nearest.name} did not contain 0. The decision remains valid."
    )


def guarantee(analysis: Analysis) -> str:
    """State the guarantee in a sentence or two."""
    if analysis.withheld:
        return "Nothing is proven about this log."
    if analysis.evidence.once:
        return (
            "If this is the only look, at a time that was fixed before the test, a wrong winner is "
            f"named in about {at_most(analysis.error)} of tests at most. Every further look adds "
            "to that: then use the analysis for any number of looks."
        )
    design, parts = analysis.design, len(analysis.segments)
    among = f", in all {parts} segments together" if parts else ""
    promised = promise(analysis.error, len(design.arms), analysis.guarantee, design.outcome)
    split = "in a way that did not depend on outcomes within"
    block = analysis.reading.block
    period = "a week" if block == "week" else BLOCK_WORDS.get(block) or f"{block[:-1]} hours"
    if analysis.reading.probability:
        return f"{promised}{among}. Units must have been split by the logged probabilities."
    if analysis.reading.times == "none":
        return f"{promised}{among}. Units must have been split at random."
    return f"{promised}{among}. Units must have been split at random, {split} {period}."
