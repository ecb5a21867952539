from __future__ import annotations

import pytest

import bascule as bs
from bascule.research.comparison.contenders import (
    RuleFamily,
    checked_knobs,
    contenders,
    short_name,
)

pytestmark = pytest.mark.slow


def test_no_two_rules_are_called_the_same() -> None:
    played = set()
    for entries in (
        contenders(2, bs.Gaussian(1), 0.05, effect=0.5),
        contenders(2, bs.Bernoulli(), 0.05, families=tuple(RuleFamily)),
        contenders(2, bs.Recurrent(1, 1), 0.05),
    ):
        labels = [entry.label for entry in entries]
        assert len(set(labels)) == len(labels)
        for family in RuleFamily:
            names = [short_name(entry.label) for entry in entries if entry.family is family]
            assert len(set(names)) == len(names)
        played |= {entry.family for entry in entries}
    assert played == set(RuleFamily) - {RuleFamily.GIVEN, RuleFamily.STATED}


def test_knobs_are_put_into_order_once() -> None:
    assert checked_knobs("alphas", iter([4, 2.0, 4])) == (2.0, 4.0)


def test_a_given_rule_takes_part_once() -> None:
    entries = contenders(2, bs.Gaussian(1), 0.05, rules=[bs.UCB(3), bs.Tilt(3)])
    assert [entry.label for entry in entries if entry.family is RuleFamily.GIVEN] == ["UCB_3"]
