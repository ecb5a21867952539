"""Early signals: sums of events of open blocks, and what they do to the next block."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pytest

import bascule as bs
from bascule.core.procedures.base import Signals
from bascule.core.procedures.blocks.signals import (
    ALIKE,
    DIFFERENT,
    UNKNOWN,
    add_events,
    judge_delays,
    window_part,
)
from bascule.core.progress import next_block

OPEN = (((1, 1, 1), (3, 5, 2)), ((1, 4, 1), (2, 9, 4)), ((2, 1, 0), (1, 7, 0)))
"""Sizes of open blocks of three arms, and events of each arm; the last kind has no third arm."""


def design(arms: int = 2, **more: Any) -> bs.Design:
    rule = bs.Tilt(more.pop("tilt", 8), effect=0.01, baseline=0.05, power=0.9, **more.pop("r", {}))
    return bs.Design([f"arm {i}" for i in range(arms)], bs.Bernoulli(), rule, **more)


def test_sums_over_events_are_the_sums_over_blocks() -> None:
    early = [[0.0, 0.0] for _ in range(3)]
    for sizes, events in OPEN:
        for arm, count in enumerate(events):
            add_events(early, sizes, 3, arm, count)
    for at, (i, j) in enumerate(combinations(range(3), 2)):
        total = variance = 0.0
        for sizes, events in OPEN:
            if sizes[i] and sizes[j]:
                n = sizes[i] + sizes[j]
                h = sizes[i] * sizes[j] / n
                total += h * (events[i] / sizes[i] - events[j] / sizes[j])
                variance += h * (events[i] + events[j]) / n
        assert early[at] == pytest.approx([total, variance])


def test_events_that_have_counted_leave_nothing_behind() -> None:
    early = [[0.0, 0.0] for _ in range(3)]
    for sign in (1.0, -1.0):
        for sizes, events in OPEN:
            for arm, count in enumerate(events):
                add_events(early, sizes, 3, arm, sign * count)
    assert [abs(number) < 1e-12 for row in early for number in row] == [True] * 6


def test_the_next_block_favours_the_arm_with_more_early_events() -> None:
    always = design(r={"early_signals": "always"})
    empty = bs.progress.Statistics.empty(2)
    for events, units in (((30, 60), (1, 8)), ((60, 30), (8, 1)), ((40, 40), (1, 1))):
        signals = Signals((((1, 1), events),))
        assert next_block(always, empty, signals).units == units
        # Without the choice, or without signals, nothing is known yet.
        assert next_block(design(), empty, signals).units == (1, 1)
        assert next_block(always, empty).units == (1, 1)


def test_where_fewer_events_are_better_the_other_arm_is_favoured() -> None:
    fewer = design(r={"early_signals": "always"}, goal="decrease")
    signals = Signals((((1, 1), (30, 60)),))
    assert next_block(fewer, bs.progress.Statistics.empty(2), signals).units == (8, 1)


def test_signals_and_matured_outcomes_add_up() -> None:
    always = design(r={"early_signals": "always"})
    seen = bs.progress.Statistics.empty(2)
    for k in range(2000):
        ones = (float(k % 20 == 0), float(k % 25 == 0))
        block = [bs.progress.ArmStatistics(1, one, one) for one in ones]
        seen = bs.progress.fold_block(always, seen, block)
    assert next_block(always, seen, Signals()).leader == 0
    # 20 conversions ahead over matured blocks of one unit each: a lead of 10 in the total.
    assert next_block(always, seen, Signals((((1, 1), (0, 19)),))).leader == 0
    assert next_block(always, seen, Signals((((1, 1), (0, 21)),))).leader == 1


def delays(count: int, mean: float, deviation: float) -> tuple[float, float, float]:
    return count, count * mean, count * (mean**2 + deviation**2)


@pytest.mark.parametrize(
    ("mine", "theirs", "judged"),
    [
        (delays(9, 14, 14), delays(500, 14, 14), UNKNOWN),
        (delays(20, 14, 14), delays(20, 14, 14), UNKNOWN),
        (delays(100, 14, 14), delays(100, 15, 14), ALIKE),
        (delays(100, 4, 4), delays(100, 36, 26), DIFFERENT),
        (delays(10**6, 14, 14), delays(10**6, 21.7, 14), UNKNOWN),
    ],
)
def test_delays_are_judged_by_the_parts_that_are_shown_early(
    mine: Any, theirs: Any, judged: int
) -> None:
    arms = [[0.0, 1.0], [0.0, 1.0]]
    # With 1,000,000 events a side the parts differ by 9.4 %, the slack, to within the error.
    slack = 0.0938 if mine[0] == 10**6 else 0.09
    for pair in ([mine, theirs], [theirs, mine]):
        assert judge_delays(pair, arms, 2, slack) == judged


def test_an_inactive_arm_has_no_say_about_delays() -> None:
    arms = [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    alike, other = delays(500, 14, 14), delays(500, 50, 20)
    assert judge_delays([alike, alike, other], arms, 3, 0.09) == ALIKE
    arms[2][1] = 1.0
    assert judge_delays([alike, alike, other], arms, 3, 0.09) == DIFFERENT


def test_auto_is_gentle_until_delays_are_known_and_drops_signals_if_they_differ() -> None:
    auto = design(r={"early_signals": "auto"})
    empty, events = bs.progress.Statistics.empty(2), (((1, 1), (30, 60)),)
    same, slow = delays(200, 14, 14), delays(200, 40, 28)
    assert next_block(auto, empty, Signals(events)).units == (1, 3)
    assert next_block(auto, empty, Signals(events, (same, same))).units == (1, 8)
    assert next_block(auto, empty, Signals(events, (same, slow))).units == (1, 1)


def test_steps_lie_within_the_window() -> None:
    assert [window_part(x, 2.0) for x in (-0.1, 0.0, 0.019, 0.02, 1.99, 2.5)] == [
        0,
        0,
        0,
        1,
        99,
        99,
    ]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: design(r={"early_signals": "yes"}), "early_signals must be"),
        (
            lambda: bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, early_signals="auto")),
            "is not 0 or 1",
        ),
        (
            lambda: design(r={"early_signals": "auto"}, measure=bs.Measure("7d", "last", 0)),
            'use aggregate "any"',
        ),
        (lambda: design(r={"early_signals": "auto"}, reports="always"), "give a measure"),
        (
            lambda: bs.Design(
                ["a", "b"],
                bs.Bernoulli(),
                bs.Tilt(3, early_signals="auto"),
                covariates=[bs.Covariate("age", 0, 100)],
            ),
            "leave one of the two out",
        ),
    ],
)
def test_where_events_mean_nothing_early_signals_are_refused(make: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        make()


def test_a_design_with_signals_survives_being_written_down() -> None:
    made = design(r={"early_signals": "auto"}, measure=bs.Measure("7d", "any"))
    assert bs.Design.from_dict(made.to_dict()) == made
    assert made.rule.label.endswith(", early signals")
    assert not math.isnan(made.calibration.error)
