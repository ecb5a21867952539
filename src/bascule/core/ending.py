"""The end of a test: with a winner, with no difference that matters, or undecided.

docs/research/ends.md states and proves the guarantee in each case, also after arms were removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

from bascule.core.approximate import error_words, percent, size
from bascule.core.course import fits, is_past
from bascule.core.design import Design
from bascule.core.errors import invalid
from bascule.core.metrics.effects import Effect, effects
from bascule.core.position import position_of, still_compared
from bascule.core.procedures.base import AnyStatistics, Decision, EndReason
from bascule.core.procedures.blocks.procedure import END_REASONS
from bascule.core.progress import decision, declared_error
from bascule.core.statistics import Statistics
from bascule.core.types import NOBODY

Seen = TypeVar("Seen", bound=AnyStatistics)

EndKind = Literal["winner", "no difference", "undecided"]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a test: its kind, the decision, the effects, and the guarantee.

    `promise` is a sentence that says which event is bounded, and by which probability.
    """

    kind: EndKind
    decision: Decision | None
    effects: tuple[Effect, ...]
    promise: str


def ending(design: Design, statistics: AnyStatistics, now: datetime | None = None) -> Ending | None:
    """Return the end of a test, or None while it goes on.

    `now` is compared with the deadline of the design, if there is one.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=6)
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(3, 0.1), ArmStatistics(3, 0.4)))
    >>> ending(design, data).kind
    'undecided'
    """
    reached = decision(design, statistics)
    deadline = design.deadline
    late = now is not None and deadline is not None and is_past(deadline, now.timestamp())
    limited = cap_met(design, statistics) or late
    if reached is None and not limited and end_reason(design, statistics) is None:
        return None
    kind: EndKind = "undecided"
    if reached is not None:
        kind = "no difference" if reached.arm is None else "winner"
    differences = effects(design, statistics)
    error = max(effect.error for effect in differences)
    return Ending(kind, reached, differences, _promise(design, statistics, kind, error))


def cap_met(design: Design, statistics: AnyStatistics) -> bool:
    """Return whether the next unit or block would exceed the cap on units.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, batch=4), max_units=7)
    >>> cap_met(design, bs.progress.Statistics.empty(2))
    True
    """
    if design.max_units is None:
        return False
    compared = design.oriented_statistics(still_compared(design, statistics))
    return not fits(statistics.units, design.procedure.next_size(compared), design.max_units)


def end_reason(design: Design, statistics: AnyStatistics) -> EndReason | None:
    """Return why a test ends now without a decision, such as futility; None while it goes on.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1, effect=1, power=0.8))
    >>> end_reason(design, bs.progress.Statistics.empty(2)) is None
    True
    """
    return END_REASONS[position_of(design, statistics).judge().ended]


def is_futile(design: Design, statistics: AnyStatistics) -> bool:
    """Return whether a test is futile, even if its design only advises to end futile tests."""
    procedure, oriented = design.judging(statistics)
    return procedure.is_futile(oriented)


def horizon_share(design: Design, statistics: AnyStatistics) -> float:
    """Return the completed fraction of a test up to its horizon; 0 without a horizon."""
    procedure, oriented = design.judging(statistics)
    return procedure.horizon_share(oriented)


def remove_arm(design: Design, statistics: Seen, name: str) -> Seen:
    """Return the statistics without an arm that is removed by hand, for any reason and at any time.

    Removing arms after a look can change which of the others is the best. With three or more arms
    every pair is therefore judged more strictly from now on, at the level of all pairs. Dropped
    arms come back if the evidence against them is no longer enough, or if only the removed arm had
    beaten them. The error of the design then bounds the probability of a wrong statement about any
    pair. If fewer than two arms would be left, `InputError` is raised.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3))
    >>> sorted(remove_arm(design, bs.progress.Statistics.empty(3), "c").removed)
    [2]
    """
    if name not in design.arms:
        raise invalid(f"arm must be one of {', '.join(design.arms)} (got {name!r})")
    if design.procedure.assigns == "hash":
        raise invalid(
            f"arm {name!r} cannot be removed from a static population, whose units are all "
            "assigned from the start: end the test"
        )
    arm = design.arms.index(name)
    removed = statistics.removed | {arm}
    if len(design.arms) - len(removed) < 2:
        raise invalid(
            f"arm {name!r} cannot be removed: nothing would be left to compare; end the test"
        )
    # Intervals from before the first removal are discarded: their threshold was weaker.
    kept = statistics.bounds if statistics.removed else ()
    judged = replace(statistics, removed=removed, dropped=frozenset(), bounds=kept)
    after = replace(judged, dropped=position_of(design, statistics, removes=True).without(arm))
    procedure, oriented = design.judging(after)
    return replace(after, bounds=procedure.bounds(design.oriented_statistics(judged), oriented))


def without_harmful(design: Design, statistics: Statistics) -> Statistics:
    """Return the statistics without the arms that guardrails have found harmful.

    The last treatment stays in the test: if it is harmful, the decision is for the control.
    """
    while design.guardrails:
        arm = position_of(design, statistics).harmful_arm()
        if arm == NOBODY:
            break
        statistics = remove_arm(design, statistics, design.arms[arm])
    return statistics


def winner_promise(design: Design, statistics: AnyStatistics) -> str:
    """Return the guarantee for a winner, whether it is declared already or not, as a sentence.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> print(winner_promise(design, bs.progress.Statistics.empty(2)))
    false positive rate at most 5 %, at most 2.5 % to ship the worse arm (proven)
    """
    promised = design.calibration
    if promised.error >= 1:
        return f"nothing is proven about a winner at delta {promised.delta:.3g}"
    if design.decides == "guardrails":
        return f"the guardrails decide{guard_promise(design)}"
    error = declared_error(design, statistics)
    words = error_words(error, len(design.arms), _among(statistics))
    return f"{words} ({design.guarantee_label}){guard_promise(design)}"


def guard_promise(design: Design) -> str:
    """Return the guarantee of the guardrails, as the end of a sentence; empty without any.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5, error=0.01)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> guard_promise(design)  # doctest: +ELLIPSIS
    '; an arm worse by 5 or more on latency is shipped with probability at most 1 %; an...'
    """
    if not design.guardrails:
        return ""
    parts = [
        f"; an arm worse by {size(metric.margin or 0.0, metric.outcome.binary)} or more on "
        f"{metric.name} is shipped with probability at most {percent(metric.error)}"
        for metric in design.guardrails
    ]
    if any(metric.harm_line is not None for metric in design.metrics):
        parts.append(
            "; an arm that is not harmful is removed as harmful with probability at most "
            f"{percent(design.harm_error)}"
        )
    return "".join(parts)


def _among(statistics: AnyStatistics) -> str:
    return " among the arms that were not removed" if statistics.removed else ""


def _promise(design: Design, statistics: AnyStatistics, kind: EndKind, error: float) -> str:
    promised = design.calibration
    if kind == "winner" and position_of(design, statistics).judge().harm:
        return (
            "the control stays because every other arm was found harmful"
            f"{guard_promise(design)}; nothing is claimed about the primary metric"
        )
    if kind == "winner":
        return winner_promise(design, statistics)
    if promised.error >= 1:
        return f"nothing is proven about this end at delta {promised.delta:.3g}"
    if kind == "no difference":
        return (
            f"some difference between the active arms{_among(statistics)} is "
            f"{size(design.min_effect or 0.0, design.outcome.binary)} or more with probability "
            f"at most {percent(promised.error)} ({design.guarantee_label})"
        )
    return (
        f"nothing is decided; each bound of an interval fails, at any time, with probability at "
        f"most {percent(error)} ({design.guarantee_label}), so that both hold at all times with "
        f"probability at least {percent(max(0.0, 1.0 - 2.0 * error))}"
    )
