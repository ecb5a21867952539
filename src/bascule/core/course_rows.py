"""What the course of a test is run on: columns of its rows, the terms of a design, and its steps.

A test is a row of numbers (`HELD` and the others below), marks of the arms, the rows of its
evidence (`core.evidence.families`), and rails: the rows of its guardrails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from bascule.core.design import Design
from bascule.core.evidence.families.rows import Params

HELD, UNTIL, GONE, WAITS, HARM, TEST = range(6)
"""Columns of a test, and how many there are: the decision that is withheld and until when, how many
arms were removed, whether the last arm waits for its guardrails, and whether harm has decided."""

OUT, REMOVED, KEPT, REMOVED_AT, MARKS = range(5)
"""Rows of marks, with a number for each arm, and how many rows there are: whether it is not active,
whether it was removed, whether it was active before the decision that is withheld, and after how
many units it was found harmful."""

KIND, MARGIN, LINE, TURNED, CENTRE, SCALE, WIDER, AHEAD, NUMBERS = range(9)
"""Columns of a guardrail's numbers, and how many there are: which of the families of evidence it
has, the margin and the line of harm, whether outcomes are reflected, and about what, the scale of
its outcomes, whether intervals that show harm are wider than those of the margin, and whether it
counts before its units do."""


class Rails(NamedTuple):
    """The guardrails of a test: their numbers, and rows like those of the primary metric.

    `params` and `harm` have for each guardrail the numbers of `Params` but for the floors: those
    that its margin is judged by, and those that harm is. `arms` and `pairs` are the rows of each
    guardrail; `standings`, `lows` and `highs` are what each guardrail says of each arm. A row of
    standings after those of the guardrails is for missing values, which hold an arm while `OPEN`.
    """

    numbers: Any
    params: Any
    harm: Any
    arms: Any
    pairs: Any
    standings: Any
    lows: Any
    highs: Any


class Terms(NamedTuple):
    """The numbers of a design that its course goes by; times are in the unit of the clock."""

    control: int
    """The arm that guardrails compare with."""
    max_units: int
    rounds: int
    """Blocks in a batch."""
    each: int
    """Units of a challenger in a block."""
    tilt: float
    margin: float
    """The smallest difference that matters, in units of the scale; 0 for none."""
    least: float
    """How long a test lasts at least."""
    week: float
    """How long a week is; 0 if a decision may be announced at any time."""
    latest: float
    """When a decision is announced at the latest."""
    rollout: bool
    """Whether the guardrails alone decide."""
    seeks_harm: bool
    """Whether any guardrail may find an arm harmful."""
    usual: Params
    """Parameters of the evidence while no arm was removed by hand."""
    strict: Params
    """Parameters of the evidence, with a stricter threshold, after an arm was removed."""


def terms_of(
    design: Design, usual: Any, strict: Any, day: float, latest: float = math.inf
) -> Terms:
    """Return the terms of a design, but for the numbers by which blocks are dealt.

    `usual` and `strict` are the parameters of its evidence, and a day is `day` long on the clock.
    """
    return Terms(
        control=design.control_index,
        max_units=0,
        rounds=1,
        each=1,
        tilt=1.0,
        margin=0.0,
        least=day * (design.min_days or 0.0),
        week=7.0 * day if design.whole_weeks else 0.0,
        latest=latest,
        rollout=design.decides == "guardrails",
        seeks_harm=any(metric.harm_line is not None for metric in design.guardrails),
        usual=usual,
        strict=strict,
    )


class CourseScope(NamedTuple):
    """What a design has: with fewer branches its course compiles faster."""

    two_arms: bool
    intervals: bool
    """Whether the intervals of the primary metric are needed."""
    guarded: bool
    """Whether there are guardrails."""
    withholds: bool
    """Whether a decision may come too early for the calendar."""


class Course(NamedTuple):
    """The steps of a course."""

    start: Callable[..., None]
    choose: Callable[..., tuple[int, int]]
    begin: Callable[..., int]
    may_begin: Callable[..., float]
    fold: Callable[..., None]
    fold_ahead: Callable[..., None]
    waiting: Callable[..., int]
    control_is_back: Callable[..., bool]
    harmful_arm: Callable[..., int]
    remove: Callable[..., None]
    judge: Callable[..., tuple[int, int]]
    conclude: Callable[..., tuple[int, int]]
    announce: Callable[..., int]


class Primary(NamedTuple):
    """The steps of the primary metric on rows, as `BlockSteps` has them.

    `fold` is also told whether to drop arms that are beaten.
    """

    leader: Callable[..., tuple[int, float]]
    fold: Callable[..., None]
    winner: Callable[..., int]
    over: Callable[..., int]
    interval: Callable[..., Any]
    blocks_left: Callable[..., float]


class Guards(NamedTuple):
    """The steps of guardrails, which are given the kind of a guardrail first.

    `params` returns the parameters of a guardrail's evidence from its row of numbers.
    """

    fold: Callable[..., None]
    interval: Callable[..., Any]
    params: Callable[..., Any]
