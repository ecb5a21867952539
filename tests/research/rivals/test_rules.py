"""Rivals can be simulated, audited and compared, and nothing else."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.research.comparison.contenders import RuleFamily
from bascule.research.rivals import RIVALS, MixtureAdaptive, Thompson, TrackAndStop

pytestmark = pytest.mark.slow


def design(rule: bs.design.Rule, cap: int | None = None) -> bs.Design:
    return bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, max_units=cap, sides=1)


@pytest.mark.parametrize("kind", RIVALS)
def test_every_rival_finds_a_large_difference(kind: str) -> None:
    played = bs.simulate(design(RIVALS[kind](), 20_000), [0.0, 1.0], runs=40)
    assert played.undecided == 0
    assert played.error_rate <= 0.1
    assert played.design.calibration.guarantee == "stated by its author"


def test_a_chance_to_win_that_is_looked_at_often_does_not_keep_its_error() -> None:
    played = bs.simulate(design(Thompson(), 5_000), [0.0, 0.0], runs=200)
    assert played.error_rate > 0.3


def test_track_and_stop_keeps_its_error_between_equal_arms() -> None:
    played = bs.simulate(design(TrackAndStop(), 5_000), [0.0, 0.0], runs=200)
    # At most 2 * 0.05 is stated; three standard errors are 0.064.
    assert played.error_rate < 0.1 + 0.064


def test_a_live_test_refuses_a_rival() -> None:
    with bs.open(":memory:") as store, pytest.raises(bs.InputError, match="another tool's rule"):
        store.create("test", design(MixtureAdaptive()), reports="always")


def test_an_audit_says_that_nothing_covers_a_rival() -> None:
    report = bs.research.audit(Thompson(), [0.0, 0.5], runs=50, worlds=["steady", "null+steep"])
    assert all("nothing is proven" in str(row.reason) for row in report.rows)
    assert report.rows[1].broken


def test_a_frontier_shows_peers_and_lets_them_dominate_nobody() -> None:
    result = bs.research.frontier([0.0, 1.0], tilts=[3.0], runs=60, rules=["tilt", "peers"])
    peers = result.of(RuleFamily.PEERS)
    assert len(peers) == 5
    assert not any(point.efficient for point in peers)
    assert result.of(RuleFamily.TILT)[0].efficient
    assert result.of(RuleFamily.TILT)[0].dominated_by == ()
    assert "wrong" in repr(result)
