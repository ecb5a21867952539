"""An arm is shipped only if every guardrail allows it, and removed if one finds it harmful."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.core.ending import cap_met, remove_arm
from bascule.core.metrics.guardrails import harmed, metric_views
from bascule.core.position import may_ship, waiting_arm
from bascule.core.progress import decision, fold_block, next_block, record
from bascule.core.statistics import ArmStatistics


def design(arms: int = 2, **changes: Any) -> bs.Design:
    given = {"outcome": bs.Gaussian(1), "margin": 0.5, **changes}
    return bs.Design(
        ["control", "b", "c"][:arms],
        bs.Gaussian(1),
        bs.Tilt(1),
        metrics=[bs.Metric("guard", **given)],
        sides=1,
    )


def sums(means: list[float], units: int = 1) -> list[ArmStatistics]:
    return [ArmStatistics(units, units * mean, units * (mean * mean + 1.0)) for mean in means]


def folded(
    made: bs.Design, primary: list[float], guard: list[float], blocks: int, units: int = 4
) -> bs.progress.Statistics:
    """The statistics after equal blocks, whose arms have exactly these means."""
    seen = bs.progress.Statistics.empty(len(made.arms))
    for _ in range(blocks):
        seen = fold_block(made, seen, sums(primary, units), metrics=[sums(guard, units)])
    return seen


def test_a_winner_waits_until_its_guardrail_is_within_the_margin() -> None:
    made = design()
    early = folded(made, [0.0, 1.0], [0.0, 0.0], 12)
    assert early.dropped == {0}
    assert waiting_arm(made, early) == 1
    assert decision(made, early) is None
    # The control gets units again, to be compared on the guardrail.
    assert next_block(made, early).units == (1, 1)
    later = folded(made, [0.0, 1.0], [0.0, 0.0], 60)
    assert metric_views(made, later)[0].standings == ("within margin", "within margin")
    reached = decision(made, later)
    assert reached is not None
    assert (reached.name, reached.harm) == ("b", ())


def test_a_control_that_wins_needs_no_guardrail() -> None:
    made = design()
    seen = folded(made, [1.0, 0.0], [0.0, -0.5], 12)
    reached = decision(made, seen)
    assert reached is not None
    assert reached.name == "control"


def test_a_guardrail_at_its_margin_never_ships_on_its_mean() -> None:
    made = design()
    seen = folded(made, [0.0, 1.0], [0.0, -0.5], 400)
    assert not may_ship(made, seen, 1)
    assert decision(made, seen) is None


def test_an_arm_beyond_the_margin_is_harmful_and_the_control_stays() -> None:
    made = design()
    seen = folded(made, [0.0, 1.0], [0.0, -1.2], 60)
    assert harmed(seen) == {1: (0,)}
    reached = decision(made, seen)
    assert reached is not None
    assert (reached.name, reached.harm, reached.error) == ("control", ("guard",), 0.05)
    assert "every other arm was found harmful" in bs.progress.ending(made, seen).promise  # type: ignore[union-attr]


@pytest.mark.parametrize(("harm", "found"), [("margin", {}), ("any", {1: (0,)}), ("never", {})])
def test_the_user_says_what_harm_is(harm: str, found: dict[int, tuple[int, ...]]) -> None:
    seen = folded(design(harm=harm), [0.0, 0.0], [0.0, -0.3], 200)
    assert harmed(seen) == found


def test_where_less_is_better_more_is_harmful() -> None:
    made = design(goal="decrease")
    assert harmed(folded(made, [0.0, 0.0], [0.0, 1.2], 60)) == {1: (0,)}
    fine = folded(made, [0.0, 1.0], [0.0, -1.2], 60)
    (effect,) = metric_views(made, fine)[0].effects
    assert (effect.first, effect.second) == ("b", "control")
    assert effect.difference == pytest.approx(-1.2)
    assert effect.low < -1.2 < effect.high < 0.0
    assert decision(made, fine).name == "b"  # type: ignore[union-attr]


def test_one_of_three_arms_is_removed_and_the_others_go_on() -> None:
    made = design(arms=3)
    seen = folded(made, [0.0, 0.0, 1.0], [0.0, 0.0, -1.2], 60)
    assert harmed(seen) == {2: (0,)}
    assert decision(made, seen) is None
    after = remove_arm(made, seen, "c")
    assert harmed(after) == {}
    assert decision(made, after) is None
    assert next_block(made, after).units[2] == 0


def test_a_secondary_metric_has_intervals_and_no_say() -> None:
    made = design(role="secondary", margin=None)
    seen = folded(made, [0.0, 1.0], [0.0, -3.0], 40)
    assert decision(made, seen).name == "b"  # type: ignore[union-attr]
    view = metric_views(made, seen)[0]
    assert view.standings[1] == "open"
    assert view.effects[0].high < 0.0


def test_intervals_of_a_metric_only_shrink() -> None:
    made = design()
    seen = folded(made, [0.0, 0.0], [0.0, 0.4], 40)
    (before,) = metric_views(made, seen)[0].effects
    for _ in range(40):
        seen = fold_block(made, seen, sums([0.0, 0.0], 4), metrics=[sums([0.0, -0.4], 4)])
        (now,) = metric_views(made, seen)[0].effects
        assert now.low >= before.low
        assert now.high <= before.high
        before = now


@pytest.mark.parametrize("goal", ["increase", "decrease"])
def test_a_difference_that_earlier_looks_have_ruled_out_is_moved_into_its_interval(
    goal: Any,
) -> None:
    made = design(goal=goal, harm="never")
    seen = folded(made, [0.0, 0.0], [0.0, 1.0], 20)
    for _ in range(20):
        seen = fold_block(made, seen, sums([0.0, 0.0], 4), metrics=[sums([0.0, -1.0], 4)])
        (effect,) = metric_views(made, seen)[0].effects
        assert effect.low <= effect.difference <= effect.high
    assert effect.difference == effect.low


def test_the_cap_counts_the_blocks_that_guardrails_still_need() -> None:
    made = bs.Design(
        ["control", "b"],
        bs.Gaussian(1),
        bs.Tilt(1),
        metrics=[bs.Metric("guard", bs.Gaussian(1), margin=0.5)],
        max_units=97,
        sides=1,
    )
    seen = folded(made, [0.0, 1.0], [0.0, 0.0], 12)
    assert seen.units == 96
    # A block of the winner alone would still fit.
    assert cap_met(made, seen)


def test_rules_that_go_unit_by_unit_have_guardrails_too() -> None:
    metrics = [bs.Metric("guard", bs.Gaussian(1), margin=0.9)]
    made = bs.Design(
        ["control", "b"], bs.Gaussian(1), bs.UCB(2, radius="mixture"), metrics=metrics, sides=1
    )
    seen = bs.progress.Statistics.empty(2)
    for i in range(500):
        arm = bs.progress.next_arm(made, seen)
        seen = record(made, seen, arm, arm + (-1.0) ** i, [(-1.0) ** i])
        if decision(made, seen) is not None:
            break
    assert decision(made, seen).name == "b"  # type: ignore[union-attr]
    with pytest.raises(bs.InputError, match="each metric besides the primary one: guard"):
        record(made, seen, 0, 1.0)
