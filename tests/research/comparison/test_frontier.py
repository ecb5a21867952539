from __future__ import annotations

import csv
import io
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.research.comparison import frontier as comparison
from bascule.research.comparison.contenders import RuleFamily
from bascule.research.comparison.frontier import Frontier
from bascule.research.comparison.point import Point
from bascule.theory import corollary_delta, delta_tilde, oracle_information

pytestmark = pytest.mark.slow

PUBLISHED_AND_TILT = (RuleFamily.PUBLISHED, RuleFamily.TILT)


@pytest.fixture(scope="module")
def small() -> Frontier:
    return bs.research.frontier(
        [0.0, 1.0], effect=1.0, alphas=[1.5, 2.0], tilts=[1.0, 3.0], runs=300
    )


def by_label(result: Frontier) -> dict[str, Point]:
    return {point.label: point for point in result.points}


@pytest.mark.parametrize("error", [0.05, 0.001])
@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_tilt_three_dominates_every_published_rule(error: float, gap: float) -> None:
    result = bs.research.frontier(
        [0.0, gap], error=error, tilts=[3.0], runs=100, rules=PUBLISHED_AND_TILT
    )
    published = result.of(RuleFamily.PUBLISHED)
    assert len(published) == 7
    assert all("Tilt_3" in point.dominated_by for point in published)
    assert [point.label for point in result.beyond_the_paper] == ["Tilt_3"]


def test_every_rule_is_held_to_the_same_error(small: Frontier) -> None:
    for point in small.points:
        assert point.calibration.error == 0.05
        assert point.error_rate <= 0.05
        assert point.undecided == 0
    ucb = by_label(small)["UCB_2 as published"]
    assert ucb.calibration.delta == corollary_delta(0.05, ucb.design)
    assert delta_tilde(ucb.design, by="corollary") == pytest.approx(0.05)
    assert by_label(small)["UCB_2"].design.error == 0.05


def test_a_two_sided_error_is_halved_for_every_rule() -> None:
    """What the error bounds is the same with `sides=2`, with a design of it, and as half of it."""
    rules: dict[str, Any] = {"tilts": [3.0], "runs": 50, "rules": PUBLISHED_AND_TILT}
    one = bs.research.frontier([0.0, 1.0], error=0.05, **rules)
    both = bs.research.frontier([0.0, 1.0], error=0.1, sides=2, **rules)
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.1, sides=2)
    of_design = bs.research.frontier([0.0, 1.0], design, **rules)
    assert one.points == both.points
    assert [p.calibration.error for p in of_design.points] == [
        p.calibration.error for p in one.points
    ]
    assert (one.sides, both.sides, of_design.sides) == (1, 2, 2)
    assert "error 10 %, two-sided (false positive rate)" in repr(both)
    assert "alse positive rate at most 10 %, at most 5 % to ship the worse arm" in repr(both)
    assert both.to_dict()["sides"] == 2
    with pytest.raises(bs.InputError, match="sides is given twice"):
        bs.research.frontier([0.0, 1.0], design, sides=2)
    with pytest.raises(bs.InputError, match="sides must be 1 or 2"):
        bs.research.frontier([0.0, 1.0], sides=3)


def test_each_family_is_cheaper_and_sooner_than_the_one_it_improves(small: Frontier) -> None:
    points = by_label(small)
    chain = ["UCB_2 as published", "UCB_2", "UCB_2 mixture radius", "UCB_2 mixture stop"]
    for worse, better in pairwise(chain):
        assert points[better].dominates(points[worse])
    assert points["Tilt_3 informed"].dominates(points["Tilt_3"])
    assert not points["Tilt_3"].dominates(points["Tilt_3 informed"])


def test_a_family_is_named_by_its_text(small: Frontier) -> None:
    assert small.of("tilt") == small.of(RuleFamily.TILT) != ()
    with pytest.raises(bs.InputError, match=r"family must be one of published, peeling.*'tlit'"):
        small.of("tlit")


def test_the_knob_buys_time_with_regret() -> None:
    result = bs.research.frontier(
        [0.0, 1.0], alphas=[1.5, 2.0, 4.0], tilts=[1.0, 3.0, 10.0], runs=400
    )
    for family, knob in ((RuleFamily.PUBLISHED, bs.UCB), (RuleFamily.TILT, bs.Tilt)):
        points = [p for p in result.of(family) if isinstance(p.design.rule, knob)]
        pairs = sorted((p.regret.mean, p.decision_time.mean) for p in points)
        assert len(pairs) == 3
        assert [time for _, time in pairs] == sorted((t for _, t in pairs), reverse=True)


def test_dominance_needs_a_difference_beyond_the_uncertainty(small: Frontier) -> None:
    for point in small.points:
        assert not point.dominates(point)
        for label in point.dominated_by:
            other = by_label(small)[label]
            for mine, theirs in (
                (point.regret, other.regret),
                (point.decision_time, other.decision_time),
            ):
                assert mine.mean - theirs.mean > 2 * math.hypot(mine.se, theirs.se)


def test_a_dominated_rule_has_an_efficient_one_above_it(small: Frontier) -> None:
    efficient = {point.label for point in small.efficient}
    assert efficient
    for point in small.points:
        assert point.efficient == (point.label in efficient)
        assert point.efficient or point.dominated_by[0] in efficient


# The informed rule at tilt 3 and gap 1. The first figure is the mean of the information
# `n m / (n + m)` of each test, from a separate simulation of the blocks' sums (12,000 and 8,000
# tests); the second is what its time would hold at the full tilt throughout, `time r / (1 + r)^2`.
# Both are multiples of what a test with as large a failure as error needs.
RATIOS = [(0.05, 1.511, 0.010, 1.31), (0.001, 1.184, 0.007, 1.10)]


@pytest.mark.parametrize(("error", "known", "known_se", "at_full_tilt"), RATIOS)
def test_the_informed_rule_needs_little_more_than_an_oracle(
    error: float, known: float, known_se: float, at_full_tilt: float
) -> None:
    result = bs.research.frontier(
        [0.0, 1.0], error=error, effect=1.0, tilts=[3.0], runs=4000, rules=[RuleFamily.EFFECT]
    )
    (point,) = result.points
    assert result.oracle == pytest.approx(2 * math.log(1 / error))
    scale = oracle_information(1.0, 1.0, error, error) / result.oracle
    ratio, chance = point.information, 3 * math.hypot(point.information.se, scale * known_se)
    # The information of mean units is a little above the mean of that of each test.
    assert -chance < ratio.mean - scale * known < 0.02 + chance
    scale = 3 / 16 / oracle_information(1.0, 1.0, error, error)
    time = point.decision_time
    # The known time is a whole number of units, from 5,000 tests.
    assert abs(scale * time.mean - at_full_tilt) < scale * (3 * math.sqrt(2) * time.se + 0.5)


def test_zero_or_one_outcomes_suit_tilted_blocks() -> None:
    result = bs.research.frontier([0.2, 0.5], bs.Bernoulli(), alphas=[2.0], tilts=[3.0], runs=200)
    assert result.beyond_the_paper[0].label == "Tilt_3"
    points = by_label(result)
    assert points["Tilt_3"].information.mean < points["UCB_2"].information.mean / 2


def test_many_arms() -> None:
    result = bs.research.frontier([0.5, 0.0, -0.5, -0.5, -1.0], alphas=[2.0], tilts=[3.0], runs=100)
    assert "Tilt_3" in {point.label for point in result.beyond_the_paper}
    assert result.oracle == pytest.approx(bs.theory.oracle_information(0.5, 1.0, 0.05))


def test_long_runs_are_few_and_nothing_is_left_out_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "AFFORDABLE", 100)
    monkeypatch.setattr(comparison, "TOO_MANY", 3000)
    result = bs.research.frontier(
        [0.0, 1.0], alphas=[1.2, 4.0], tilts=[3.0], runs=500, rules=PUBLISHED_AND_TILT
    )
    points = by_label(result)
    assert points["Tilt_3"].runs == 500
    assert 50 < points["UCB_4 as published"].runs < 500
    (missing,) = result.left_out
    assert missing.label == "UCB_1.2 as published"
    assert missing.reason == "about 3,700 units a run"
    assert "UCB_1.2 as published" in repr(result)


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads() -> None:
    one, two = (
        bs.research.frontier(
            [0.0, 1.0], alphas=[2.0], tilts=[3.0], runs=50, seed=4, threads=threads
        )
        for threads in (1, 2)
    )
    assert one.points == two.points


def test_progress_is_told_up_to_the_last_run() -> None:
    told: list[tuple[str, int, int]] = []
    bs.research.frontier(
        [0.0, 1.0],
        tilts=[3.0],
        runs=20,
        rules=[RuleFamily.TILT],
        progress=lambda what, done, total: told.append((what, done, total)),
    )
    assert told[-1] == ("simulating Tilt_3", 20, 20)


def test_plain_data_says_everything(small: Frontier) -> None:
    data = json.loads(json.dumps(small.to_dict(), allow_nan=False))
    assert set(data) == {
        "means", "outcome", "error", "sides", "effect", "runs", "seed", "oracle_information",
        "points", "left_out", "verdict", "steps", "seconds",
    }  # fmt: skip
    assert data["outcome"] == {"sigma": 1.0, "kind": "gaussian"}
    assert len(data["points"]) == len(small.points)
    point = data["points"][0]
    assert set(point) == {
        "label", "family", "rule", "delta", "error", "guarantee", "runs", "regret",
        "decision_time", "information", "error_rate", "error_interval", "broken", "undecided",
        "efficient", "dominated_by",
    }  # fmt: skip
    assert set(point["regret"]) == {"mean", "se"}
    assert point["rule"]["kind"] == "ucb"
    assert data["left_out"] == [
        {
            "label": "UCB_1.5 mixture stop",
            "family": "mixture-stop",
            "reason": "can stall below alpha 2",
        }
    ]


def test_the_frame_has_one_row_a_rule(small: Frontier) -> None:
    frame = small.to_frame()
    assert list(frame["rule"]) == [point.label for point in small.points]
    assert frame["efficient"].sum() == len(small.efficient)


def test_saving_writes_table_figure_and_data(small: Frontier, tmp_path: Path) -> None:
    paths = small.save(tmp_path / "new")
    assert [path.name for path in paths] == [
        "frontier.csv",
        "frontier.json",
        "frontier.png",
        "frontier.svg",
    ]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {path.name for path in paths}
    rows = list(csv.DictReader(io.StringIO(paths[0].read_text(encoding="utf-8"))))
    assert [row["rule"] for row in rows] == [point.label for point in small.points]
    assert json.loads(paths[1].read_text(encoding="utf-8")) == small.to_dict()


def test_the_notebook_shows_a_table(small: Frontier) -> None:
    html = small._repr_html_()
    assert html.count("<tr") == 1 + len({p.family for p in small.points}) + len(small.points)
    assert "Tilt_3 informed" in html


@pytest.mark.parametrize(
    ("means", "options", "words"),
    [
        ([0.0, 1.0], {"alphas": [1.0]}, "alphas must be above 1"),
        ([0.0, 1.0], {"alphas": 2.0}, "alphas must be a list"),
        ([0.0, 1.0], {"tilts": [0.5]}, "tilt must be at least 1"),
        ([0.0, 1.0], {"rules": ["bayes"]}, "or among published"),
        ([0.0, 1.0], {"rules": ["given"]}, "no rule to compare"),
        ([0.0, 1.0], {"rules": ["tilt"], "tilts": []}, "^rules leave no rule to compare"),
        ([0.0, 1.0], {"error": 0.6}, "error must be below 0.5"),
        ([0.0, 1.0], {"runs": 1}, "runs must be at least 2"),
        ([0.0, 1.0], {"effect": -1.0}, "effect must be above 0"),
        ([0.05, 0.06], {"effect": 0.01, "outcome": bs.Bernoulli()}, "give baseline too"),
        ([0.0, 1.0], {"outcome": bs.Bernoulli()}, "must not both be 0 or 1"),
        ([1.0, 1.0], {}, "one best arm"),
        ([1.0], {}, "arms must be at least 2"),
        ([0.0, 1e-5], {}, "too small to compare"),
    ],
)
def test_bad_input_is_said_in_one_line(
    means: list[float], options: dict[str, object], words: str
) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.research.frontier(means, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


QUICK: dict[str, Any] = {"runs": 20, "rules": ["tilt"], "tilts": [3.0]}


def test_a_design_is_compared_with_the_rules_for_its_outcomes_and_error() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(2), bs.UCB(4), error=0.01, max_units=5000, sides=1)
    result = bs.research.frontier([0, 2], design, **QUICK)
    assert [point.label for point in result.points] == ["Tilt_3", "UCB_4"]
    assert (result.outcome, result.error) == (design.outcome, 0.01)
    assert "cap of 5,000 units is not applied" in repr(result)


def test_what_a_design_has_is_not_given_twice_and_not_dropped() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(4), sides=1)
    with pytest.raises(bs.InputError, match="error is given twice"):
        bs.research.frontier([0, 1], design, error=0.01)
    mattering = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(4), min_effect=0.1, sides=1)
    with pytest.raises(bs.InputError, match="min_effect"):
        bs.research.frontier([0, 1], mattering)
