"""The coarse search: which rules a plan looks at, and what to expect of each.

Tilted blocks, or UCB_alpha where outcomes recur, are looked at along their knobs, with an even
split among them, and whatever rules a user adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bascule.core.errors import InputError
from bascule.core.inputs.checks import tidy
from bascule.core.rules import ETC, UCB, Rule, Tilt
from bascule.planning.forecast import (
    Forecast,
    design_of,
    even_rule,
    forecast_by,
    played_design,
    predicted,
)
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.choose import Candidate, accepted, best_in_time
from bascule.planning.sweep import Budget, Sweep
from bascule.simulation import Simulation
from bascule.simulation.engines.backends.threads import Stages

TILTS = (1.0, 3.0, 5.0, 8.0, 12.0, 20.0)
ENDING_TILTS = (1.0, 2.0, 3.0, 5.0, 8.0)
"""Tilts that are looked at with a horizon."""

INFORMED_TILTS = (1.0, 3.0, 8.0)
"""Tilts that are looked at with bets on 0/1 outcomes around the planned effect."""

MANY_ARMS = 12
"""With more arms than this fewer tilts are looked at with a horizon."""

FUTILITY, WEAK_FUTILITY = 0.2, 0.05
"""The futility of designs with a horizon that are looked at if the request names none.

It moves the horizon, by 7 % of the information or by 1 %. With a window a test has enrolled many
units, or all that it needs, before futility can spare one: the weak one is looked at too."""

PLAIN_TILTS = (3.0, 8.0)
"""Tilts that are also looked at without the effect that is worth finding."""

ALPHAS = (2.0, 4.0, 16.0)

BETWEEN = 3
"""New values of a knob between two neighbours when the search looks closer."""

PILOT = Budget(steps=3_000_000, fewest=20, most=300, longest=20_000_000)
"""Runs of a candidate of which theory says too little."""


def even_split(request: PlanRequest) -> Rule:
    """Return the rule that gives every arm equally many units and may run for ever.

    >>> even_split(PlanRequest())
    Tilt(tilt=1.0, effect=None, batch=1)
    """
    return ETC(stop="mixture") if request.outcome.recurring else tilted(request, 1.0)


def soonest(request: PlanRequest) -> Rule:
    """Return the rule that decides soonest: an even split, with a horizon where there is one.

    >>> soonest(PlanRequest()).power
    0.9
    """
    plain, ending = even_split(request), with_horizon(request, 1.0)
    # Where no guarantee is accepted, as with an estimated spread, the strongest there is will do.
    if request.accepts(design_of(request, plain)):
        ending = [rule for rule in ending if request.accepts(design_of(request, rule))]
    return ending[-1] if ending else plain


def tilted(request: PlanRequest, tilt: float) -> Tilt:
    """Return tilted blocks, informed of the lift where the outcome model allows it.

    >>> import bascule as bs
    >>> tilted(PlanRequest(bs.Gaussian(1.0), 0, 0.5), 3.0).effect
    0.5
    """
    informed = Tilt(tilt, tidy(request.gap))
    return informed if is_possible(request, informed) else Tilt(tilt)


def with_horizon(request: PlanRequest, tilt: float) -> list[Tilt]:
    """Return tilted blocks that end at an information horizon, the strongest guarantee first.

    >>> [rule.label for rule in with_horizon(PlanRequest(), 3.0)]
    ['Tilt_3, effect 0.01, power 0.9']
    """
    planned = {
        "power": request.power,
        "baseline": _baseline(request),
        "futility": request.futility,
        # An even split has nothing to tilt.
        "early_signals": None if tilt == 1.0 else request.early_signals,
    }
    proven = Tilt(tilt, tidy(request.gap), **planned)  # type: ignore[arg-type]
    return [rule for rule in (proven,) if is_possible(request, rule)]


def with_futility(request: PlanRequest, rule: Tilt) -> list[Tilt]:
    """Return the rule with futility; nothing where theory does not say what that does.

    >>> (rule,) = with_futility(PlanRequest(), with_horizon(PlanRequest(), 3.0)[0])
    >>> rule.futility
    0.2
    """
    shares = (FUTILITY,) if request.window is None else (WEAK_FUTILITY, FUTILITY)
    ending = [replace(rule, futility=share) for share in shares]
    return [rule for rule in ending if predicted(request, rule) is not None]


def _baseline(request: PlanRequest) -> float | None:
    """The mean of 0/1 outcomes without the effect, which says how they vary."""
    plain = request.outcome.binary and request.covariates is None
    return min(request.best, request.rival) if plain else None


def is_possible(request: PlanRequest, rule: Rule) -> bool:
    """Return whether a rule can be used with the outcomes and arms of a request."""
    try:
        design_of(request, rule)
    except InputError:
        return False
    return True


def candidates(request: PlanRequest, rules: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """Return the rules of the first look, with those that a user adds.

    Tilted blocks come with a horizon, informed of the lift, and without either. Units whose
    outcomes recur are not compared in blocks, and UCB_alpha takes the place of the tilts.

    >>> [rule.label for rule in candidates(PlanRequest(arms=3))][:2]
    ['Tilt_1', 'Tilt_3']
    """
    looked_at: list[Rule]
    if request.outcome.recurring:
        looked_at = [UCB(alpha, radius="mixture", stop="mixture") for alpha in ALPHAS]
        looked_at.append(even_split(request))
    else:
        looked_at = [tilted(request, tilt) for tilt in TILTS]
        if tilted(request, 1.0) != Tilt(1.0):
            looked_at += [Tilt(tilt) for tilt in PLAIN_TILTS]
        baseline = _baseline(request)
        if baseline is not None:
            informed = [Tilt(t, tidy(request.gap), baseline=baseline) for t in INFORMED_TILTS]
            looked_at += [rule for rule in informed if is_possible(request, rule)]
        # With very many arms a prediction takes long.
        tilts = ENDING_TILTS if len(request.names) <= MANY_ARMS else INFORMED_TILTS
        ending = [rule for tilt in tilts for rule in with_horizon(request, tilt)]
        looked_at += ending
        if request.futility is None:
            # With more arms a prediction takes longer.
            looked_at += [
                variant
                for rule in ending
                if len(request.names) == 2 or rule.tilt in INFORMED_TILTS
                for variant in with_futility(request, rule)
            ]
    return tuple(dict.fromkeys([*looked_at, *rules]))


def closer(rule: Rule, tried: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return rules with the knob on either side, up to the values tried already.

    The new values are whole where those are.

    >>> [rule.tilt for rule in closer(Tilt(8), [Tilt(tilt) for tilt in TILTS])]
    [6.0, 7.0, 9.0, 10.0, 11.0]
    """
    if rule.knob is None:
        return ()
    here = rule.knob.value
    values = [
        other_rule.knob.value
        for other_rule in tried
        if other_rule.knob and even_rule(other_rule) == even_rule(rule)
    ]
    below = max((value for value in values if value < here), default=here)
    above = min((value for value in values if value > here), default=here)
    return tuple(rule.with_knob(new) for new in (*_between(below, here), *_between(here, above)))


def _between(low: float, high: float) -> list[float]:
    """A few numbers between two, spread evenly: whole ones between whole ones.

    >>> _between(0.1, 0.5), _between(0.2, 1.0), _between(1.0, 3.0)
    ([0.2, 0.3, 0.4], [0.4, 0.6, 0.8], [2.0])
    """
    step = (high - low) / (BETWEEN + 1)
    inner = [low + step * place for place in range(1, BETWEEN + 1)]
    if low.is_integer() and high.is_integer():
        inner = [float(round(value)) for value in inner]
    return sorted({tidy(value) for value in inner} - {low, high})


def search(
    request: PlanRequest, sweep: Sweep, progress: Stages, rules: Sequence[Rule] = ()
) -> list[Candidate]:
    """Return every candidate with what to expect of it, and a few more near the best of them."""
    first = candidates(request, rules)
    points = _points(request, first, sweep, progress)
    best = best_in_time(accepted(points))
    if best is not None and _worth_a_closer_look(best, points):
        points += _points(request, closer(best.rule, first), sweep, progress)
    order = list(dict.fromkeys(even_rule(point.rule) for point in points))

    def place(point: Candidate) -> tuple[int, float]:
        knob = point.rule.knob
        return order.index(even_rule(point.rule)), 0.0 if knob is None else knob.value

    return sorted(points, key=place)


def _worth_a_closer_look(best: Candidate, points: Sequence[Candidate]) -> bool:
    """Return whether the deadline decides; else costs hardly differ around the best knob.

    Where theory says too little, a closer look would be one at noise.
    """
    alike = [point for point in points if even_rule(point.rule) == even_rule(best.rule)]
    return by_theory(points) and any(not point.in_time for point in alike)


def by_theory(points: Iterable[Candidate]) -> bool:
    """Return whether what is expected was predicted for all, and for none seen in a few runs."""
    return not any(point.expected.simulated for point in points)


def _points(
    request: PlanRequest, rules: Sequence[Rule], sweep: Sweep, progress: Stages
) -> list[Candidate]:
    points = []
    for number, rule in enumerate(rules):
        progress("searching", number, len(rules))
        design = design_of(request, rule)
        expected = predicted(request, rule) or _pilot(request, rule, sweep)
        points.append(Candidate(design, expected, request=request))
    return points


def _pilot(request: PlanRequest, rule: Rule, sweep: Sweep) -> Forecast:
    """What a few runs show."""
    design, world = played_design(request, design_of(request, rule)), request.world

    def play() -> Simulation:
        runs = PILOT.runs(sweep.effort(design, world, request.spread))
        return sweep.play(design, world, max(PILOT.fewest, runs))

    return forecast_by(play, request, request.means)
