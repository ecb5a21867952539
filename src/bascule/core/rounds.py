"""Evaluate tests whose shares are constant within a period, by grouping units into rounds.

Within a period every unit has the same probability of each arm, so its units may be taken in any
order that does not depend on outcomes. docs/research/steering.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bascule.core.course import course_of
from bascule.core.course_rows import HELD, Course, CourseScope, Terms
from bascule.core.design import Design
from bascule.core.evidence.families.rows import (
    ACTIVE,
    BLOCK_CUBES,
    BLOCK_SQUARES,
    BLOCK_SUM,
    BLOCK_UNITS,
    Row,
    Rows,
)
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.progress import block_procedure, next_block
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY, FloatArray

Rounds = Any
"""Units, sums, squares and cubes: four arrays with a row for each round, a column for each arm."""


class Stand(NamedTuple):
    """The state of a test after a period: number of rounds added, winner, and end reason."""

    rounds: int
    winner: int
    ended: int


def course_in_rounds(design: Design) -> tuple[Course, int]:
    """Return the course of a test without guardrails, and the number of columns of an arm's row."""
    procedure = block_procedure(design)
    family, two_arms = procedure.evidence, procedure.arms == 2
    scope = CourseScope(two_arms, True, procedure.has_horizon, False, design.withholds)
    return course_of(family, (), procedure.share, scope), family.arm_columns


def is_withheld(design: Design, test: Row) -> bool:
    """Return whether a decision was reached, but is withheld until its announcement."""
    return design.withholds and test[HELD] != NOBODY


@lru_cache(maxsize=64)
def rounds_loop(course: Course, columns: int, fingerprint: str = "") -> Callable[..., Stand]:
    """Return a function that adds rounds until a decision; `compile_loop` can compile it.

    The function adds the `number` rounds of a period, which all count at the same time, `clock`.
    """
    fold, conclude = course.fold, course.conclude

    def play(
        test: Row,
        marks: Rows,
        arms: Rows,
        pairs: Rows,
        count: int,
        clock: float,
        terms: Terms,
        number: int,
        rounds: Rounds,
    ) -> Stand:
        made_of = fingerprint  # noqa: F841
        units, sums, squares, cubes = rounds
        for k in range(number):
            for i in range(count):
                arm = arms[i]
                arm[BLOCK_UNITS] = units[k][i] if arm[ACTIVE] > 0.0 else 0.0
                arm[BLOCK_SUM] = sums[k][i]
                if columns > BLOCK_SQUARES:
                    arm[BLOCK_SQUARES] = squares[k][i]
                if columns > BLOCK_CUBES:
                    arm[BLOCK_CUBES] = cubes[k][i]
            # There are no guardrails, so any value can be passed for them.
            fold(test, marks, arms, pairs, arms, count, 0, 0, True, terms)
            winner, ended = conclude(test, marks, arms, pairs, arms, count, 0, clock, terms)
            if winner != NOBODY or ended != GOES_ON:
                return Stand(k + 1, winner, ended)
        return Stand(number, NOBODY, GOES_ON)

    return play


def in_rounds(outcomes: Sequence[FloatArray]) -> tuple[int, list[FloatArray]]:
    """Divide outcomes into rounds; return the number of rounds, and the sums of each round.

    The number of rounds is the number of units of the smallest arm; the units of every other arm
    are distributed over them as evenly as possible. An arm without units is in no round.

    >>> number, (units, sums, *_) = in_rounds([np.array([1.0, 0.0]), np.array([0.0, 1.0, 1.0])])
    >>> number, units.tolist(), sums.tolist()
    (2, [[1.0, 2.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]])
    """
    number = min((len(arm) for arm in outcomes if len(arm)), default=0)
    powers: list[FloatArray] = []
    for power in range(4):
        columns = [
            np.bincount(np.arange(len(arm)) % number, weights=arm**power, minlength=number)
            if len(arm)
            else np.zeros(number)
            for arm in outcomes
        ]
        powers.append(np.column_stack(columns).astype(float))
    return number, powers


def next_shares(design: Design, statistics: Statistics) -> dict[str, float]:
    """Return the shares of the next period: those of the next block of the rule.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
    >>> next_shares(design, Statistics.empty(2))
    {'a': 0.5, 'b': 0.5}
    """
    units = next_block(design, statistics).units
    return {arm: part / sum(units) for arm, part in zip(design.arms, units, strict=True)}


def with_rounds(
    sums: Sequence[ArmStatistics], powers: Sequence[FloatArray], rounds: int
) -> list[ArmStatistics]:
    """Return the sums of each arm with the first `rounds` rounds of a period added."""
    parts = [power[:rounds].sum(axis=0) for power in powers]
    added = []
    for arm, before in enumerate(sums):
        units, total, squares, cubes = (float(part[arm]) for part in parts)
        added.append(before + ArmStatistics(round(units), total, squares, cubes))
    return added


def statistics_of(sums: Sequence[ArmStatistics], arms: Rows, pairs: Rows) -> Statistics:
    """Return the statistics of a test, given its sums, and its arrays for arms and pairs."""
    out = frozenset(i for i in range(len(sums)) if arms[i][ACTIVE] == 0.0)
    rows = tuple(tuple(float(number) for number in pair) for pair in pairs)
    return Statistics(tuple(sums), dropped=out, pairs=rows)
