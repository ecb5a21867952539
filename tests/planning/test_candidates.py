"""Candidates: tilts for outcomes that come once, alphas for those that recur."""

from __future__ import annotations

import bascule as bs
from bascule.planning.candidates import ALPHAS, TILTS, candidates, closer, even_split, is_even
from bascule.planning.forecast import design_of

SPENDING = bs.Wishes(bs.Gaussian(5), 20, 2)
VISITS = bs.Wishes(bs.Recurrent(1, 3), 10, 1, units_per_day=50)
RATING = bs.Wishes(bs.Bounded(0, 5), 3, 0.5)


def tilts(wishes: bs.Wishes) -> list[bs.Tilt]:
    return [rule for rule in candidates(wishes) if isinstance(rule, bs.Tilt)]


def test_every_candidate_makes_a_design() -> None:
    for wishes in (bs.Wishes(), bs.Wishes(arms=5), SPENDING, VISITS, RATING):
        for rule in candidates(wishes):
            design = design_of(wishes, rule)
            assert design.max_units == wishes.max_units
            assert design.calibration.error == wishes.error
        assert even_split(wishes) in candidates(wishes)
        assert is_even(even_split(wishes))


def test_a_known_spread_lets_blocks_know_the_lift() -> None:
    assert {rule.effect for rule in tilts(SPENDING)} == {2.0, None}
    assert {rule.effect for rule in tilts(bs.Wishes())} == {None}
    assert {rule.tilt for rule in tilts(bs.Wishes())} == set(TILTS)


def test_both_knobs_are_there() -> None:
    alphas = {rule.alpha for rule in candidates(SPENDING) if isinstance(rule, bs.UCB)}
    assert alphas == set(ALPHAS)
    assert not tilts(VISITS)


def test_a_closer_look_stays_between_the_neighbours() -> None:
    for tilt in TILTS:
        found = [rule.tilt for rule in closer(SPENDING, tilt, TILTS)]
        assert not set(found) & set(TILTS)
        below = max((other for other in TILTS if other < tilt), default=tilt)
        above = min((other for other in TILTS if other > tilt), default=tilt)
        assert all(below < new < above for new in found)
