"""The table of meetings: what can be on in a test, what people do to it, and what is stated then.

`bench.honesty_meetings` plays the cells, `tests/live/test_meetings.py` plays each of them once and
checks every refusal, and docs/research/meetings.md shows the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.progress import declared_error
from bascule.core.rules import Rule

NAME = "meeting"
GUARD = "guard"
TWO_ARMS, MORE_ARMS = 0.4, 0.3
"""Errors of one side: large ones, so that few short tests show an excess."""

DAY = bs.Measure("1d", "sum")
Draw = Callable[[np.random.Generator, float], Any]
"""A generator and what the hour adds -> an outcome; all arms draw from it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is on in a test."""

    name: str
    rule: Rule
    outcome: Any
    draw: Draw
    given: dict[str, Any]
    """Other fields of the design."""
    arms: int = 2
    swings: bool = True
    """Whether outcomes are better by day, which only blocks allow for."""
    lost: float = 0.0
    """The share of units that send no value."""

    def design(self, column: Column) -> bs.Design:
        """Return the design of a cell; may raise where the two do not go together."""
        arms = self.arms + column.more_arms
        names = [*"abcdef"[:arms]]
        rule: Any = self.rule
        error = TWO_ARMS if arms == 2 else MORE_ARMS
        given = {"sides": 1, "measure": DAY, **self.given}
        if column.guarded and "metrics" not in given:
            given |= {"metrics": [guard()], "harm_error": error}
        return bs.Design(names, self.outcome, rule, error, **given)


def guard() -> bs.Metric:
    """Return a guardrail that removes an arm once it is worse at all."""
    return bs.Metric(
        GUARD, bs.Gaussian(4), margin=5.0, error=TWO_ARMS, measure=DAY, harm="any", goal="increase"
    )


@dataclass(frozen=True, slots=True)
class Column:
    """What people do to a test, and where its proof is."""

    name: str
    about: str
    page: str
    more_arms: int = 0
    guarded: bool = False
    """Whether a guardrail takes arms out of the test."""
    refused: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Rows in which it is refused, or all for none, with a part of the message."""
    runs: int = 54
    """Tests of a cell: at a stated 40 % an excess by a half is three standard errors."""

    def refusal(self, row: Row) -> str | None:
        """Return a part of the message with which a row refuses it; None where it is allowed."""
        for names, message in self.refused:
            if not names or row.name in names:
                return message
        return None


def coin(rng: np.random.Generator, hour: float) -> float:
    """Draw a conversion: 70 % by day and 30 % by night."""
    return float(rng.random() < 0.5 + 0.2 * hour)


def normal(rng: np.random.Generator, hour: float) -> float:
    """Draw a normal outcome of spread 1."""
    return float(rng.normal(hour, 1.0))


def amount(rng: np.random.Generator, hour: float) -> float:
    """Draw an amount from 0 to 10, of spread 1 around 7 by day and 3 by night."""
    return float(np.clip(rng.normal(5.0 + 2.0 * hour, 1.0), 0.0, 10.0))


def pair(rng: np.random.Generator, hour: float) -> tuple[float, float]:
    """Draw such an amount for each of one to three visits, and their number."""
    visits = float(rng.integers(1, 4))
    return amount(rng, hour) * visits, visits


PLAN: dict[str, Any] = {"effect": 0.8, "power": 0.9}
NUMBERS = bs.Numeric()

ROWS = [
    Row("Bernoulli", bs.Tilt(1), bs.Bernoulli(), coin, {"measure": bs.Measure("1d", "any")}),
    Row("Bounded", bs.Tilt(1), bs.Bounded(0, 10), amount, {}),
    Row("Gaussian", bs.Tilt(1), bs.Gaussian(1), normal, {}),
    Row("Numeric", bs.Tilt(1), NUMBERS, amount, {}),
    Row("Ratio", bs.Tilt(1), bs.Ratio(at=5), pair, {}),
    Row(
        "recurring",
        bs.UCB(2, radius="mixture"),
        bs.Recurrent(1, 1),
        normal,
        {"measure": bs.Measure(period="1d")},
        swings=False,
    ),
    Row("unit by unit", bs.UCB(2, stop="mixture"), bs.Gaussian(1), normal, {}, swings=False),
    Row("covariate", bs.Tilt(1), NUMBERS, amount, {"covariates": [bs.Covariate("x")]}),
    Row("horizon", bs.Tilt(1, **PLAN), bs.Gaussian(1), normal, {}),
    Row("Numeric, horizon", bs.Tilt(1, **PLAN), NUMBERS, amount, {}),
    Row("futility", bs.Tilt(1, **PLAN, futility=0.2), bs.Gaussian(1), normal, {}),
    Row("min_effect", bs.Tilt(1), bs.Gaussian(1), normal, {"min_effect": 0.2}),
    Row("guardrail", bs.Tilt(1), bs.Gaussian(1), normal, {"metrics": [guard()]}),
    Row("window", bs.Tilt(1), NUMBERS, amount, {"measure": bs.Measure("2d", "sum", grace="12h")}),
    Row(
        "missing",
        bs.Tilt(1),
        bs.Bounded(0, 10),
        amount,
        {"measure": bs.Measure("1d", "mean", missing=5.0)},
        lost=0.1,
    ),
    Row("three arms", bs.Tilt(1), bs.Gaussian(1), normal, {}, arms=3),
]

STAGED = ("recurring",)
BLOCKS, LIVE = "tilted-blocks.md", "live.md"

COLUMNS = [
    Column("look", "looks twice a day and stops at the first winner", BLOCKS),
    Column("pause", "pauses where the next place is b's by night or a's by day", "operators.md"),
    Column(
        "share",
        "sets the share of traffic to 0 at such moments, and then back to 1",
        "operators.md",
    ),
    Column(
        "ramp",
        "a ramp to all traffic, moved by such pauses",
        "operators.md",
    ),
    Column(
        "knob",
        "turns the knob towards b while it leads by chance",
        BLOCKS,
    ),
    Column(
        "drop",
        "drops the arms that stand between b and a win",
        "ends.md",
        more_arms=1,
    ),
    Column(
        "drop by guardrail",
        "a guardrail that follows the primary metric removes arms",
        "ends.md",
        more_arms=1,
        guarded=True,
        refused=((STAGED, "metrics are measured once a unit"),),
    ),
    Column(
        "erase",
        "erases units of other arms that are about to do well",
        "live.md",
    ),
    Column(
        "link",
        "people with two names, both in the test, who sign in at any time",
        LIVE,
    ),
    Column("late", "holds bad outcomes of b back, and sends good ones twice", LIVE),
    Column("clock", "moves the machine's clock", LIVE, refused=(((), "clock has jumped"),)),
    Column("restore", "goes on with a copy of the store", LIVE),
]


def stated(row: Row, column: Column) -> tuple[float, str]:
    """Return the error that a cell states, and whether it is proven."""
    design = row.design(column)
    removed = frozenset({1}) if column.name == "drop" else frozenset[int]()
    seen = replace(design.procedure.empty(), removed=removed)
    return declared_error(design, seen), design.calibration.guarantee


def allowed() -> list[tuple[Row, Column]]:
    """Return the cells that can be played."""
    return [(row, column) for row in ROWS for column in COLUMNS if column.refusal(row) is None]
