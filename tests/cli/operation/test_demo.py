from __future__ import annotations

import json
import re

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.service import demo_shop


@pytest.mark.parametrize("arguments", [["--runs", "0"], ["--seed", "-1"]])
def test_a_mistake_is_one_line_before_any_story(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_adaptive_design_is_what_the_plan_recommends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["plan", *demo_shop.PLAN.split(), "--json"])
    assert caught.value.code == 0
    design = json.loads(capsys.readouterr().out)["design"]
    ours = demo_shop.DESIGNS["adaptive"].to_dict()
    del ours["measure"], ours["arms"], design["arms"]
    assert design == ours


def test_the_fixed_horizon_is_that_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", *demo_shop.PLAN.split(), "--json"])
    fixed = json.loads(capsys.readouterr().out)["fixed_horizon"]
    assert fixed["units_per_arm"] == demo_shop.FIXED_UNITS


def played(seed: int) -> dict[str, demo_shop.Standing]:
    """Play a shop without a service, its page or a process that simulates."""
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=demo_shop.shuffle(seed)) as store:
        shop = demo_shop.Shop(store, clock, seed)
        while len(shop.ended) < len(demo_shop.DESIGNS) + 1:
            shop.pass_hour()
        return shop.standings()


@pytest.mark.slow
def test_the_demo_plays_the_same_visitors_in_both_tests_on_the_service(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seed = 3
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--seed", str(seed), "--runs", "300", "--day-seconds", "0", "--no-stay"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "/sign-in?token=" in out
    # The same seed gives the same tests, whatever the service does at the same time.
    both = played(seed)
    adaptive, even, fixed = both.values()
    tests = list(both.values())
    assert figures(out, "days") == [f"{test.days:.2f}" for test in tests]
    assert figures(out, "visitors that had come") == [f"{test.visitors:,}" for test in tests]
    assert figures(out, "sales lost to it") == [f"{test.lost:.0f}" for test in tests]
    assert fixed.visitors == 2 * demo_shop.FIXED_UNITS
    assert fixed.days >= fixed.visitors / demo_shop.PER_DAY + 1
    # Everyone who has come is counted, also those whose day is not over.
    assert adaptive.visitors == adaptive.hours * demo_shop.PER_HOUR
    # A test that ends at its horizon enrols nobody while it waits for the last outcomes.
    assert even.visitors < even.hours * demo_shop.PER_HOUR
    # With this seed one test decides and the other does not.
    assert f"The adaptive test decides after {adaptive.visitors:,} visitors. Ship green" in out
    assert "From now on everyone gets green." in out
    assert "all green" in out
    assert "The even split ends undecided, at its horizon." in out
    assert figures(out, "winner") == ["green", "undecided", "green"]
    assert "Later, and cheaper" in out
    averages = re.search(r"In 300 such tests: (\d+) against (\d+) sales lost on average", out)
    assert averages is not None
    assert int(averages[1]) < int(averages[2])


def figures(out: str, label: str) -> list[str]:
    """Return the figures of both tests in the row with a label."""
    row = next(line for line in out.splitlines() if line.startswith(label))
    return row.removeprefix(label).split()
