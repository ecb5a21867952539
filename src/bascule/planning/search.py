"""The coarse search: what to expect of every candidate, by theory or by a few runs of each."""

from __future__ import annotations

from collections.abc import Iterable

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.rules import AnyRule, Tilt
from bascule.planning.budget import weight_of
from bascule.planning.candidates import TILTS, candidates, closer
from bascule.planning.choose import Point, best_in_time
from bascule.planning.forecast import Outlook, design_of, hopeless, played, predicted
from bascule.planning.request import Wishes
from bascule.simulation.engines.threads import Stages

FIRST_RUNS, MOST_RUNS = 20, 300
"""Runs of a candidate that theory says too little of: a first look, and the most."""

PILOT_STEPS = 3_000_000
"""Units that these runs may take together."""


def search(wishes: Wishes, seed: int, threads: int | None, tell: Stages) -> list[Point]:
    """Every candidate with what to expect of it; then, closer to the best of them, a few more."""
    rules = candidates(wishes)
    points = _points(wishes, rules, seed, threads, tell)
    best = best_in_time(points, wishes.waiting_cost)
    if best is not None and isinstance(best.rule, Tilt) and _worth_a_closer_look(wishes, points):
        finer = closer(wishes, best.rule.tilt, TILTS)
        points += _points(wishes, finer, seed, threads, tell)
    return sorted(points, key=_place)


def _worth_a_closer_look(wishes: Wishes, points: Iterable[Point]) -> bool:
    """Whether the deadline or the waiting decides; else costs hardly differ around the best tilt.

    Where theory says too little, a closer look would be one at noise.
    """
    decides = wishes.waiting_cost is not None or any(
        not point.in_time for point in points if isinstance(point.rule, Tilt)
    )
    return decides and by_theory(points)


def by_theory(points: Iterable[Point]) -> bool:
    """Whether what is expected was predicted, and not seen in a few runs."""
    return not any(point.expected.simulated for point in points)


def _points(
    wishes: Wishes, rules: Iterable[AnyRule], seed: int, threads: int | None, tell: Stages
) -> list[Point]:
    waiting = list(rules)
    found = []
    for done, rule in enumerate(waiting):
        tell("searching", done, len(waiting))
        design = design_of(wishes, rule)
        expected = predicted(wishes, rule)
        if expected is None:
            expected = _pilot(wishes, design, seed, threads)
        if expected is not None:
            found.append(Point(design, expected))
    return found


def _pilot(wishes: Wishes, design: Design, seed: int, threads: int | None) -> Outlook:
    """What a few runs show; of a test that is hopeless, that it decides nothing."""
    try:
        first, _ = played(wishes, design, FIRST_RUNS, seed, threads)
    except InputError:
        return hopeless(wishes, wishes.means)
    units = max(1.0, first.days.mean * wishes.units_per_day) * weight_of(wishes.outcome)
    runs = max(FIRST_RUNS, min(MOST_RUNS, int(PILOT_STEPS / units)))
    return played(wishes, design, runs, seed, threads)[0]


def _place(point: Point) -> tuple[bool, bool, float]:
    """Tilts first, those informed of the lift before the others, each from small to large."""
    rule = point.rule
    if isinstance(rule, Tilt):
        return False, rule.effect is None, rule.tilt
    return True, False, point.knob[1]
