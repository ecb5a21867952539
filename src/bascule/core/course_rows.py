"""Data of the course of a test: columns of its rows, the terms of a design, and its steps.

A test has a row of numbers (`HELD` and the others below), marks of the arms, the rows of its
evidence (`core.evidence.families`), and rails: the rows of its guardrails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from bascule.core.design import Design
from bascule.core.evidence.families.rows import Params, Row

HELD, UNTIL, GONE, HARM, TEST = range(5)
"""Columns of a test: the withheld decision, the time until which it is withheld, the number of
removed arms, and whether harm has decided; and the number of columns."""

OUT, REMOVED, KEPT, REMOVED_AT, MARKS = range(5)
"""Rows of marks, with a number for each arm: whether it is inactive, whether it was removed,
whether it was active before the withheld decision, and the number of units after which it was found
harmful; and the number of rows."""

KIND, MARGIN, LINE, TURNED, CENTRE, SCALE, WIDER, AHEAD, NUMBERS = range(9)
"""Columns of a guardrail's numbers: the index of its family of evidence, the margin, the line of
harm, whether outcomes are reflected, the centre of the reflection, the scale of its outcomes,
whether intervals for harm are wider than those for the margin, and whether it counts before the
primary metric does; and the number of columns."""


class Rails(NamedTuple):
    """The guardrails of a test: their numbers, and rows like those of the primary metric.

    `params` and `harm` have the numbers of `Params`, except the floors, for each guardrail: for its
    margin, and for harm. `arms` and `pairs` are the rows of each guardrail; `standings`, `lows` and
    `highs` are the standing and the interval of each arm on each guardrail. A row of standings
    after those of the guardrails is for missing values, which hold an arm while `OPEN`.
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
    """The settings of a design for its course; times are in the unit of the clock."""

    control: int
    """The arm that guardrails compare with."""
    max_units: int
    rounds: int
    """Number of blocks in a batch."""
    each: int
    """Number of units of a challenger in a block."""
    tilt: float
    margin: float
    """The smallest difference that matters, in units of the scale; 0 for none."""
    least: float
    """Minimum duration of a test."""
    week: float
    """Length of a week; 0 if the test need not last whole weeks."""
    latest: float
    """Latest time at which a decision is announced."""
    rollout: bool
    """Whether the guardrails alone decide."""
    seeks_harm: bool
    """Whether any guardrail may find an arm harmful."""
    usual: Params
    """Parameters of the evidence while no arm was removed by hand."""
    strict: Params
    """Parameters of the evidence, with a stricter threshold, after an arm was removed."""


def params_of(numbers: Row, terms: Terms) -> Params:
    """Return the parameters of a guardrail's evidence from its row of numbers."""
    return Params(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
        numbers[7], numbers[8], numbers[9], numbers[10], numbers[11], numbers[12], numbers[13],
        numbers[14], numbers[15], numbers[16], numbers[17], terms.usual.floors,
    )  # fmt: skip


def terms_of(
    design: Design, usual: Any, strict: Any, day: float, latest: float = math.inf
) -> Terms:
    """Return the terms of a design, with placeholders for the sizes of blocks.

    `usual` and `strict` are the parameters of its evidence, and `day` is the length of a day.
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
    """The features that a course has to support; with fewer of them it compiles faster."""

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
    bring_back: Callable[..., bool]
    harmful_arm: Callable[..., int]
    remove: Callable[..., None]
    judge: Callable[..., tuple[int, int]]
    conclude: Callable[..., tuple[int, int]]
    announce: Callable[..., int]


class Primary(NamedTuple):
    """The steps of the primary metric on rows, as `BlockSteps` has them.

    `fold` also takes whether to drop arms that are beaten.
    """

    leader: Callable[..., tuple[int, float]]
    fold: Callable[..., None]
    winner: Callable[..., int]
    over: Callable[..., int]
    interval: Callable[..., Any]
    blocks_left: Callable[..., float]


class Guards(NamedTuple):
    """The steps of guardrails; `fold` and `interval` take the kind of guardrail first.

    `params` returns the parameters of a guardrail's evidence from its row of numbers.
    """

    fold: Callable[..., None]
    interval: Callable[..., Any]
    params: Callable[..., Any]
