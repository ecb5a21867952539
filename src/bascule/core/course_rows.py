"""Data that the course of a test works on: columns of its arrays, and settings of its design.

A test has a row of numbers (`HELD` and the others below), marks of the arms, the rows of its
evidence (`core.evidence.families`), and rails: the rows of its guardrails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bascule.core.design import Design
from bascule.core.evidence.families.rows import Params, Row

HELD, UNTIL, GONE, HARM, TEST = range(5)
"""Columns of a test's row: the withheld decision, the time at which it is announced, the number of
removed arms, and whether the decision is due to harm; and the number of columns."""

OUT, REMOVED, KEPT, REMOVED_AT, MARKS = range(5)
"""Rows of marks, with a number for each arm: whether it is inactive, whether it was removed,
whether it was active before the withheld decision, and the number of units after which it was found
harmful; and the number of rows."""

KIND, MARGIN, LINE, TURNED, CENTRE, SCALE, WIDER, AHEAD, NUMBERS = range(9)
"""Columns of a guardrail's numbers: the index of its family of evidence, the margin, the least loss
that is harmful, whether outcomes x become `centre - x`, this centre, the scale of its outcomes,
whether intervals for harm are wider than those for the margin, and whether its outcomes are known
before those of the primary metric; and the number of columns."""


class Rails(NamedTuple):
    """The guardrails of a test: their settings, statistics, intervals, and findings.

    For each guardrail, `params` has the numbers of the `Params` for its margin, and `harm` those of
    the `Params` for harm, both without the floors. `arms` and `pairs` are the rows of each
    guardrail; `standings`, `lows` and `highs` are the standing and the interval of each arm on each
    guardrail. A last row of standings is for missing values: an arm cannot win while it is `OPEN`.
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
    """The settings of a design that its course needs; all times are in the same unit."""

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
    """Parameters of the evidence as long as no arm was removed."""
    strict: Params
    """Parameters of the evidence, with a stricter threshold, after an arm was removed."""


def by_kind(functions: Sequence[Any]) -> Any:
    """Return a function that calls one of `functions`, chosen by its number, the first argument.

    >>> [by_kind([min, max, sum])(kind, (1, 2, 3)) for kind in (0.0, 1.0, 2.0)]
    [1, 3, 6]
    """
    last, number = functions[-1], len(functions) - 1
    if number == 0:

        def only(kind: float, *arguments: Any) -> Any:  # noqa: ARG001
            return last(*arguments)

        return only
    rest = by_kind(functions[:-1])

    def choose(kind: float, *arguments: Any) -> Any:
        if kind == number:
            return last(*arguments)
        return rest(kind, *arguments)

    return choose


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
    """Return the settings of a design for its course, with placeholders for the sizes of blocks.

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
    horizon: bool
    """Whether the test has a horizon."""
    guarded: bool
    """Whether there are guardrails."""
    withholds: bool
    """Whether a decision may be withheld until a minimum duration or the end of a week."""


class Course(NamedTuple):
    """The functions of a course, which `core.course` defines."""

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
    """The functions that compute the evidence of the primary metric, as in `BlockSteps`.

    `fold` also takes whether to drop arms that are beaten.
    """

    leader: Callable[..., tuple[int, float]]
    fold: Callable[..., None]
    winner: Callable[..., int]
    over: Callable[..., int]
    interval: Callable[..., Any]
    blocks_left: Callable[..., float]


class Guards(NamedTuple):
    """The functions for the evidence of guardrails.

    `fold` and `interval` take the index of a family of evidence as their first argument. `params`
    returns the parameters of a guardrail's evidence from its row of numbers.
    """

    fold: Callable[..., None]
    interval: Callable[..., Any]
    params: Callable[..., Any]
