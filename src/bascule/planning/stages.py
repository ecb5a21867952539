"""From wishes to a design, in stages each of which leaves an answer that can be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bascule.core import checks
from bascule.core.errors import InputError
from bascule.core.rules import AnyRule, Tilt
from bascule.planning.amounts import tidy
from bascule.planning.budget import Player
from bascule.planning.candidates import even_split
from bascule.planning.choose import Point, best_in_time
from bascule.planning.fixed_horizon import fixed_horizon
from bascule.planning.forecast import predicted
from bascule.planning.reach import reach, time_needed
from bascule.planning.request import Wishes
from bascule.planning.result import Plan, WhatIf
from bascule.planning.search import by_theory, search
from bascule.simulation.engines.threads import Stages
from bascule.simulation.random.streams import checked_seed

CASES = {"half": 0.5, "double": 2.0, "zero": 0.0}
"""What the true lift may be instead, as a multiple of the one wished for."""

PARTS = 7
"""Simulations that a plan takes as a rule."""


def stages(
    wishes: Wishes,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
) -> Iterator[Plan]:
    """The answer as it grows: predictions first, then simulations in their place.

    Whoever is interrupted keeps the last one.
    """
    if runs is not None:
        runs = checks.whole("runs", runs, 2, "leave it out to have it chosen")
    if threads is not None:
        threads = checks.whole("threads", threads, 1, "leave it out to use every core")
    player = Player(wishes, runs, checked_seed(seed), threads, progress or _silent, PARTS)
    for answer in _growing(player):
        yield replace(answer, seconds=player.seconds, compile_seconds=player.compile_seconds)


def _growing(player: Player) -> Iterator[Plan]:
    wishes = player.wishes
    answer = _expected(player)
    yield answer
    # What was expected to be in time may turn out not to be; then the next best is played.
    while answer.chosen.simulated is None:
        seen = player.recommended(answer.design, answer.chosen.expected.days.mean)
        if seen is None:
            break
        answer = answer.with_point(answer.chosen.seen(seen))
        rule = _choice(answer.points, wishes).rule
        if rule != answer.rule:
            answer = replace(answer, rule=rule)
        yield answer
    for rule in _neighbours(answer):
        point = answer.point_of(rule)
        days = point.expected.days.mean
        seen = player.aside(rule.label, point.design, wishes.world, days)
        if seen is not None:
            answer = answer.with_point(point.seen(seen))
            yield answer
    for case, factor in zip(answer.what_if, CASES.values(), strict=True):
        if case.means is not None:
            world = wishes.world_at(case.means)
            # The time goes with the inverse square of the lift, nearly.
            days = answer.expected_days.mean / factor**2 if factor else wishes.deadline_days
            seen = player.aside(f"{case.name} lift", answer.design, world, days)
            if seen is None and factor:
                seen = predicted(wishes.scaled(factor), answer.rule)
            answer = answer.with_case(replace(case, outlook=seen))
            yield answer
    yield replace(answer, complete=True)


def _expected(player: Player) -> Plan:
    """The answer before anything is played, or after a few runs where theory says too little."""
    wishes = player.wishes
    points = search(wishes, (player.seed + 1) % 2**64, player.threads, player.tell)
    rule = _choice(points, wishes).rule
    return Plan(
        wishes=wishes,
        rule=rule,
        points=tuple(points),
        what_if=tuple(_case(wishes, name, factor) for name, factor in CASES.items()),
        reach=reach(wishes, 1.0 if by_theory(points) else _lateness(points, wishes)),
        fixed_horizon=fixed_horizon(wishes),
        seed=player.seed,
    )


def _choice(points: Sequence[Point], wishes: Wishes) -> Point:
    """The rule of the choice; where no design is in time, the even split, which is the soonest."""
    even = next(point for point in points if point.rule == even_split(wishes))
    return best_in_time(points, wishes.waiting_cost) or even


def _neighbours(answer: Plan) -> list[AnyRule]:
    """The even split and the tilts next to the recommended one, as far as they were not played."""
    rules = [point.rule for point in answer.points]
    place = rules.index(answer.rule)
    near = [rules[i] for i in (place - 1, place + 1) if 0 <= i < len(rules)]
    alike = [rule for rule in near if _same_family(rule, answer.rule)]
    wanted = dict.fromkeys([even_split(answer.wishes), *alike])
    return [rule for rule in wanted if answer.point_of(rule).simulated is None]


def _same_family(one: AnyRule, other: AnyRule) -> bool:
    if isinstance(one, Tilt) and isinstance(other, Tilt):
        return one.effect == other.effect
    return type(one) is type(other)


def _case(wishes: Wishes, name: str, factor: float) -> WhatIf:
    """The means at another lift, of which nothing is known yet."""
    lift = tidy(factor * wishes.main_lift)
    if factor == 0:
        return WhatIf(name, lift, tuple(wishes.baseline for _ in wishes.names))
    try:
        return WhatIf(name, lift, wishes.scaled(factor).means)
    except InputError:
        # So large a lift has no room beside the baseline.
        return WhatIf(name, lift)


def _lateness(points: Sequence[Point], wishes: Wishes) -> float:
    """How many times as long the even split takes as `time_needed` says."""
    seen = next(point.expected for point in points if point.rule == even_split(wishes))
    alone = time_needed(wishes) / wishes.units_per_day
    return seen.p90_days / alone if math.isfinite(seen.p90_days) else 1.0


def _silent(what: str, done: int, total: int) -> None:
    """Nobody wants to know."""
