"""What `python -m bench.honesty` plays: a cell, and designs whose arms hardly differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule

CLOSE = 1e-9
"""The difference of the means: too small to be found but by chance, though one arm is worse."""

LOOSE = 1.5
"""Factor on the stated errors that makes a rule invalid, which a cell should detect."""

Play = Callable[[bs.Design, np.random.Generator], bool]
"""One test against an adversary -> whether something wrong was said."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is played, how often, and at which stated error."""

    mode: str
    label: str
    arms: int
    adversary: str
    guarantee: str
    stated: float
    runs: int
    play: Callable[[int, int], int]
    """How many of these tests, from the one to before the other, say something wrong."""
    whole: bool = False
    """Whether all tests are played in one call."""
    loose: Callable[[int, int], int] | None = None
    """`play` with a rule that stops at `LOOSE` times its error, as an invalid rule would."""


def cell_of(
    mode: str,
    design: bs.Design,
    adversary: str,
    play: Play,
    runs: int,
    share: float = 1.0,
    stated: float | None = None,
    loose: bs.Design | None = None,
) -> Cell:
    """Return a cell that is played test by test; `share` of the design's error is stated.

    `loose` is the design with `LOOSE` times every error.
    """
    promise = design.calibration
    seed = [ord(letter) for letter in f"{mode}{label_of(design)}{len(design.arms)}{adversary}"]

    def counted(one: bs.Design) -> Callable[[int, int], int]:
        def count(first: int, last: int) -> int:
            return sum(play(one, np.random.default_rng([*seed, i])) for i in range(first, last))

        return count

    error = share * promise.error if stated is None else stated
    about = (label_of(design), len(design.arms), adversary, promise.guarantee, error)
    broken = None if loose is None else counted(loose)
    return Cell(mode, *about, runs, counted(design), loose=broken)


def label_of(design: bs.Design) -> str:
    """Return the rule, the kind of outcomes, and what else a design has."""
    more = {
        "lower is better": design.goal == "decrease",
        "a covariate": design.covariates is not None,
        "a guardrail": bool(design.metrics),
        "two-sided": design.sides == 2,
    }
    named = [f", {name}" for name, is_so in more.items() if is_so]
    return f"{design.rule.label}, {type(design.outcome).__name__}{''.join(named)}"


def design_of(
    arms: int, rule: Rule, error: float, outcome: Outcome | None = None, **more: Any
) -> bs.Design:
    """Return a design with arms named in the order of their means."""
    names = [f"arm{i:02}" for i in range(arms)]
    given = {"reports": "always", "sides": 1, **more}
    return bs.Design(names, outcome or bs.Gaussian(1), rule, error, **given)


def drawn(design: bs.Design, rng: np.random.Generator, arm: int, units: int) -> np.ndarray:
    """Return outcomes of an arm: of every arm hardly worse ones than of the arm before."""
    worse = CLOSE * arm * (-1.0 if design.goal == "decrease" else 1.0)
    outcome = design.outcome
    if outcome.binary:
        return (rng.random(units) < 0.3 - worse).astype(float)
    if outcome.estimated:
        # What people spend: one in five buys, for a log-normal amount.
        return (rng.random(units) < 0.2) * np.minimum(rng.lognormal(1.0, 1.0, units), 50.0) - worse
    if outcome.limited:
        return np.where(rng.random(units) < 0.1, outcome.high, outcome.low) - worse * outcome.low
    return rng.normal(-worse, 1.0, units)
