from __future__ import annotations

from dataclasses import replace

import pytest

import bascule as bs
from bascule.research.comparison import frontier_report as words
from bascule.research.comparison.contenders import LeftOut, RuleFamily
from bascule.research.comparison.frontier import Frontier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def played() -> Frontier:
    return bs.research.frontier(
        [0.0, 1.0],
        alphas=[2.0],
        tilts=[3.0],
        runs=200,
        rules=[RuleFamily.PUBLISHED, RuleFamily.TILT],
    )


def with_dominators(played: Frontier, **dominated_by: tuple[str, ...]) -> Frontier:
    points = [
        replace(point, dominated_by=dominated_by.get(point.label.partition(" ")[0], ()))
        for point in played.points
    ]
    return replace(played, points=tuple(points))


def test_one_rule_that_dominates_the_paper_is_named(played: Frontier) -> None:
    assert words.verdict(played) == (
        "Tilt_3 costs less and decides sooner than every rule of the paper as published."
    )


def test_a_rule_of_the_paper_that_stands_is_named(played: Frontier) -> None:
    standing = with_dominators(played, **{"ETC": ("Tilt_3",), "ETC'": ("Tilt_3",)})
    assert words.verdict(standing).endswith("sooner than UCB_2 as published.")


def test_rules_that_only_together_dominate_the_paper(played: Frontier) -> None:
    beaten = with_dominators(
        played, **{"ETC": ("Tilt_3",), "ETC'": ("ETC as published",), "UCB_2": ("Tilt_3",)}
    )
    assert "no single rule dominates them all" in words.verdict(beaten)


def test_a_verdict_does_not_speak_for_rules_that_were_not_played(played: Frontier) -> None:
    missing = LeftOut("UCB_1.2 as published", RuleFamily.PUBLISHED, "about 10,000,000 units a run")
    partial = replace(played, left_out=(missing,))
    assert words.verdict(partial).endswith("as published that was played.")
    assert words.notes(partial)[-1] == (
        "Left out: UCB_1.2 as published (about 10,000,000 units a run)."
    )
    alone = replace(played, points=played.of(RuleFamily.TILT))
    assert words.verdict(alone) == "No rule of the paper was played as published."


def test_every_row_shows_its_uncertainty(played: Frontier) -> None:
    for point in played.points:
        assert all("±" in cell for cell in words.cells(point)[1:3])
        low, high = (100 * end for end in point.error_interval)
        assert words.cells(point)[4] == f"{100 * point.error_rate:g} ({low:.2g}-{high:.2g})"


def test_the_title_says_what_is_compared(played: Frontier) -> None:
    assert words.title(played) == (
        "means 0, 1, outcomes with a spread of 1, error 5 %, one-sided (to ship a worse arm)"
    )
    clicks = replace(played, outcome=bs.Bernoulli(), means=(0.05, 0.06), error=0.001)
    assert words.title(clicks) == (
        "means 0.05, 0.06, 0/1 outcomes, error 0.1 %, one-sided (to ship a worse arm)"
    )
