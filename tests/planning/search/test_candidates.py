"""Candidates: tilts for outcomes that come once, alphas for those that recur."""

from __future__ import annotations

from tests.outside import Explore

import bascule as bs
from bascule.planning.forecast import design_of, even_rule
from bascule.planning.search.candidates import (
    ALPHAS,
    ENDING_TILTS,
    TILTS,
    candidates,
    closer,
    even_split,
    soonest,
)

SPENDING = bs.PlanRequest(bs.Gaussian(5), 20, 2)
VISITS = bs.PlanRequest(bs.Recurrent(1, 3), 10, 1, units_per_day=50)
RATING = bs.PlanRequest(bs.Bounded(0, 5), 3, 0.5)
# Blocks alone take outcomes of unknown spread.
WATCHED = bs.PlanRequest(bs.Gaussian(1), 0, 1, metrics=[bs.Metric("g", bs.Numeric(), margin=0.5)])


def tilts(request: bs.PlanRequest) -> list[bs.Tilt]:
    return [rule for rule in candidates(request) if isinstance(rule, bs.Tilt)]


def test_every_candidate_makes_a_design() -> None:
    for request in (bs.PlanRequest(), bs.PlanRequest(arms=5), SPENDING, VISITS, RATING, WATCHED):
        for rule in candidates(request):
            design = design_of(request, rule)
            assert design.max_units == request.max_units
            assert design.calibration.error == request.side_error
        assert even_split(request) in candidates(request)
        assert design_of(request, even_split(request)).procedure.even


def test_a_known_spread_lets_blocks_know_the_lift() -> None:
    assert {rule.effect for rule in tilts(SPENDING)} == {2.0, None}
    endless = [rule for rule in tilts(bs.PlanRequest()) if rule.power is None]
    assert {(rule.effect, rule.baseline) for rule in endless} == {(None, None), (0.01, 0.05)}
    assert {rule.tilt for rule in endless} == set(TILTS)


def test_every_request_in_blocks_is_offered_a_horizon() -> None:
    ending = [rule for rule in tilts(bs.PlanRequest(power=0.8)) if rule.power is not None]
    assert {rule.tilt for rule in ending} == set(ENDING_TILTS)
    assert {(rule.effect, rule.baseline, rule.power) for rule in ending} == {(0.01, 0.05, 0.8)}
    assert soonest(bs.PlanRequest()) in tilts(bs.PlanRequest())
    assert soonest(VISITS) == even_split(VISITS)


def test_outcomes_that_recur_are_compared_by_alphas_and_others_by_tilts() -> None:
    alphas = {rule.alpha for rule in candidates(VISITS) if isinstance(rule, bs.UCB)}
    assert alphas == set(ALPHAS)
    assert not tilts(VISITS)
    assert not [rule for rule in candidates(SPENDING) if isinstance(rule, bs.UCB)]


def test_a_closer_look_stays_between_the_neighbours_along_any_knob() -> None:
    for rules in ([bs.Tilt(tilt) for tilt in TILTS], [bs.UCB(alpha) for alpha in ALPHAS]):
        values = [rule.knob.value for rule in rules]
        for rule in rules:
            here = rule.knob.value
            found = [new.knob.value for new in closer(rule, rules) if new.knob is not None]
            assert not set(found) & set(values)
            below = max((other for other in values if other < here), default=here)
            above = min((other for other in values if other > here), default=here)
            assert all(below < new < above for new in found)


def test_rules_of_one_series_differ_by_their_knob_only() -> None:
    assert even_rule(bs.UCB(2)) == even_rule(bs.UCB(4)) != even_rule(bs.UCB(4, stop="mixture"))
    assert even_rule(bs.ETC()) == bs.ETC()


def test_rules_that_are_given_are_looked_at_once() -> None:
    given = candidates(bs.PlanRequest(), [bs.UCB(3), bs.Tilt(3)])
    assert given[-1] == bs.UCB(3)
    assert given.count(bs.Tilt(3)) == 1


def test_a_closer_look_at_a_fraction_stays_a_fraction() -> None:
    tried = [Explore(epsilon) for epsilon in (0.1, 0.2, 0.4)]
    found = [new.epsilon for new in closer(Explore(0.2), tried) if isinstance(new, Explore)]
    assert found == [0.125, 0.15, 0.175, 0.25, 0.3, 0.35]
