"""A test that was run live, exported and analysed, gives its own decision and intervals."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.reports.export import export

WEEK = bs.Measure("2d", "any")
TESTS = [
    (bs.Tilt(3), bs.Bernoulli(), WEEK),
    (bs.Tilt(3, batch=4), bs.Bernoulli(), None),
    (bs.Tilt(2, batch=3), bs.Gaussian(1), None),
    (bs.UCB(2, radius="mixture"), bs.Gaussian(1), None),
    (bs.ETC(), bs.Bernoulli(), WEEK),
]


@pytest.mark.parametrize(("rule", "outcome", "measure"), TESTS, ids=lambda part: repr(part)[:24])
@pytest.mark.parametrize("lift", [0.0, 0.3])
def test_it_agrees_with_its_own_status(
    rule: bs.Tilt | bs.UCB | bs.ETC,
    outcome: bs.Bernoulli | bs.Gaussian,
    measure: bs.Measure | None,
    lift: float,
    tmp_path: Path,
) -> None:
    chance, clock = random.Random(3), bs.ManualClock()
    design = bs.Design(["a", "b"], outcome, rule)
    design = replace(design, measure=measure, reports=None if measure else "always")
    with bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle) as store:
        test = store.create("test", design)
        for day in range(8):
            units = [f"{day}-{i}" for i in range(41)]
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                better = lift * (arm == "b")
                if isinstance(outcome, bs.Gaussian):
                    value = chance.gauss(5 * better, 1)
                else:
                    value = float(chance.random() < 0.2 + better)
                # Towards the end nothing is heard from some units.
                if (value or measure is None) and (day < 6 or chance.random() < 0.9):
                    test.record(unit, value)
            clock.advance("1d")
        status = test.status()
        assignments, outcomes = export(test, tmp_path, "parquet" if lift else "csv")
    now = datetime.fromtimestamp(clock.now(), UTC)
    found = bs.analyze(outcomes, design=design, until=now, assignments=assignments)
    assert found.effects == status.effects
    for mine, theirs in zip(found.arms, status.arms, strict=True):
        assert (mine.units, mine.counted, mine.mean) == (theirs.units, theirs.matured, theirs.mean)
    if status.decision is None:
        assert found.decision is None
    else:
        assert found.decision is not None
        assert found.decision.name == status.decision.name
        assert found.guarantee == status.decision.guarantee
    assert (status.decision is None) == (lift == 0.0)
