"""Search for a plan: list the rules to try, and forecast each of them.

Tilted blocks, or UCB_alpha if outcomes recur, are tried at several knob values, including an even
split, as well as rules that a user adds.
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
"""Tilts that are tried with a horizon."""

INFORMED_TILTS = (1.0, 3.0, 8.0)
"""Tilts that are tried with bets on 0/1 outcomes at the planned effect."""

MANY_ARMS = 12
"""Number of arms above which fewer tilts are tried with a horizon."""

FUTILITY, WEAK_FUTILITY = 0.2, 0.05
"""Futility thresholds that are tried with a horizon if the request has none.

They move the horizon by 7 % and by 1 % of the information. With a window, a test has enrolled many
units, or even all that it needs, before futility can save units: so the weak threshold is tried as
well."""

PLAIN_TILTS = (3.0, 8.0)
"""Tilts that are also tried without a planned effect."""

ALPHAS = (2.0, 4.0, 16.0)

BETWEEN = 3
"""Number of values of a rule's parameter that a refined search tries between two earlier ones."""

PILOT = Budget(steps=3_000_000, fewest=20, most=300, longest=20_000_000)
"""Budget for simulating a candidate that theory cannot predict."""


def even_split(request: PlanRequest) -> Rule:
    """Return the rule that splits units evenly and has no horizon.

    >>> even_split(PlanRequest())
    Tilt(tilt=1.0, effect=None, batch=1)
    """
    return tilted(request, 1.0) if request.outcome.supports("tilt") else ETC(stop="mixture")


def soonest(request: PlanRequest) -> Rule:
    """Return the rule that decides soonest: an even split, with a horizon if possible.

    >>> soonest(PlanRequest()).power
    0.9
    """
    plain, ending = even_split(request), with_horizon(request, 1.0)
    # If the guarantee of the even split is not accepted, as with an estimated spread, designs with
    # a horizon are not held to the accepted guarantee either.
    if request.accepts(design_of(request, plain)):
        ending = [rule for rule in ending if request.accepts(design_of(request, rule))]
    return ending[-1] if ending else plain


def tilted(request: PlanRequest, tilt: float) -> Tilt:
    """Return tilted blocks, with the planned effect if the outcome model allows it.

    >>> import bascule as bs
    >>> tilted(PlanRequest(bs.Gaussian(1.0), 0, 0.5), 3.0).effect
    0.5
    """
    informed = Tilt(tilt, tidy(request.gap))
    return informed if is_possible(request, informed) else Tilt(tilt)


def with_horizon(request: PlanRequest, tilt: float) -> list[Tilt]:
    """Return a list of the tilted blocks that end at a horizon; it is empty if that is impossible.

    >>> [rule.label for rule in with_horizon(PlanRequest(), 3.0)]
    ['Tilt_3, effect 0.01, power 0.9']
    """
    planned = {
        "power": request.power,
        "baseline": _baseline(request),
        "futility": request.futility,
        # An even split does not use early signals.
        "early_signals": None if tilt == 1.0 else request.early_signals,
    }
    proven = Tilt(tilt, tidy(request.gap), **planned)  # type: ignore[arg-type]
    return [rule for rule in (proven,) if is_possible(request, rule)]


def with_futility(request: PlanRequest, rule: Tilt) -> list[Tilt]:
    """Return the rule with each futility threshold whose effect theory can predict.

    >>> (rule,) = with_futility(PlanRequest(), with_horizon(PlanRequest(), 3.0)[0])
    >>> rule.futility
    0.2
    """
    shares = (FUTILITY,) if request.window is None else (WEAK_FUTILITY, FUTILITY)
    ending = [replace(rule, futility=share) for share in shares]
    return [rule for rule in ending if predicted(request, rule) is not None]


def _baseline(request: PlanRequest) -> float | None:
    """Return the mean of 0/1 outcomes without the effect, which determines their variance."""
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
    """Return the rules that a plan compares first, including those that a user adds.

    Tilted blocks are tried with a horizon, with the planned effect, and without either. Units whose
    outcomes recur are not compared in blocks, so UCB_alpha replaces the tilts.

    >>> [rule.label for rule in candidates(PlanRequest(arms=3))][:2]
    ['Tilt_1', 'Tilt_3']
    """
    looked_at: list[Rule]
    if not request.outcome.supports("tilt"):
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
        # With very many arms a prediction takes long, so fewer tilts are tried.
        tilts = ENDING_TILTS if len(request.names) <= MANY_ARMS else INFORMED_TILTS
        ending = [rule for tilt in tilts for rule in with_horizon(request, tilt)]
        looked_at += ending
        if request.futility is None:
            # With more than two arms a prediction takes longer, so fewer tilts are tried.
            looked_at += [
                variant
                for rule in ending
                if len(request.names) == 2 or rule.tilt in INFORMED_TILTS
                for variant in with_futility(request, rule)
            ]
    return tuple(dict.fromkeys([*looked_at, *rules]))


def closer(rule: Rule, tried: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return rules whose parameter lies between that of `rule` and the nearest that were tried.

    The new values are whole numbers if the values on both sides are.

    >>> [rule.tilt for rule in closer(Tilt(8), [Tilt(tilt) for tilt in TILTS])]
    [6.0, 7.0, 9.0, 10.0, 11.0]
    """
    if rule.knob is None:
        return ()
    present = rule.knob.value
    values = [
        other_rule.knob.value
        for other_rule in tried
        if other_rule.knob and even_rule(other_rule) == even_rule(rule)
    ]
    below = max((value for value in values if value < present), default=present)
    above = min((value for value in values if value > present), default=present)
    return tuple(
        rule.with_knob(new) for new in (*_between(below, present), *_between(present, above))
    )


def _between(low: float, high: float) -> list[float]:
    """Return a few evenly spaced numbers between two limits; whole ones if both limits are whole.

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
    """Return all candidates with their forecasts, and further candidates near the best one."""
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
    """Return whether to try more values of the best rule's knob, near the present value.

    It is worth it if some values of the knob are too slow. Without predictions, a refined search
    would only find noise.
    """
    alike = [point for point in points if even_rule(point.rule) == even_rule(best.rule)]
    return by_theory(points) and any(not point.in_time for point in alike)


def by_theory(points: Iterable[Candidate]) -> bool:
    """Return whether all forecasts are predictions, none from a few simulated runs."""
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
    """Return the forecast of a rule from a few simulated runs."""
    design, world = played_design(request, design_of(request, rule)), request.world

    def play() -> Simulation:
        runs = PILOT.runs(sweep.effort(design, world, request.spread))
        return sweep.play(design, world, max(PILOT.fewest, runs))

    return forecast_by(play, request, request.means)
