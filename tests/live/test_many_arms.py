"""A live test of many arms: what is stored can be verified."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import bascule as bs


def coins(arms: int, rule: bs.Tilt | None = None) -> bs.Design:
    return bs.Design(
        [f"arm {i}" for i in range(arms)], bs.Bernoulli(), rule or bs.Tilt(3), reports="always"
    )


def enrol(test: bs.Experiment, units: list[str], seed: int) -> None:
    """Two of the arms sell six times as much as the others."""
    source = random.Random(seed)
    arms = test.assign_many(units)
    rates = (0.6 if arm in ("arm 7", "arm 8") else 0.1 for arm in arms)
    test.record_many([(u, float(source.random() < r)) for u, r in zip(units, rates, strict=True)])


def test_the_log_of_a_test_of_many_arms_gives_what_is_stored(tmp_path: Path) -> None:
    """Through batches of blocks, an arm taken out, and a new start of the program."""
    for part in range(3):
        with bs.open(tmp_path / "many.db", shuffle=random.Random(part).shuffle) as store:
            if part == 0:
                store.create("many", coins(24, bs.Tilt(3, batch=2)))
            test = store.get("many")
            enrol(test, [f"{part} {i}" for i in range(400)], part)
            if part == 1:
                test.drop_arm("arm 5")
    with bs.open(tmp_path / "many.db") as store:
        test = store.get("many")
        assert "to the last digit" in str(test.verify())
        status = test.status()
    assert status.leader in ("arm 7", "arm 8")
    assert len(status.effects) == 2 * 24 - 3
    assert 0.0 < status.evidence < 1.0


def test_a_horizon_of_many_arms_is_kept_and_verified(tmp_path: Path) -> None:
    rule = bs.Tilt(3, effect=0.5, power=0.9, baseline=0.1, futility=0.2)
    for part in range(2):
        with bs.open(tmp_path / "many.db", shuffle=random.Random(part).shuffle) as store:
            test = store.create("many", coins(24, rule)) if part == 0 else store.get("many")
            enrol(test, [f"{part} {i}" for i in range(200)], part)
            if part == 0:
                test.drop_arm("arm 5")
    with bs.open(tmp_path / "many.db") as store:
        assert "to the last digit" in str(store.get("many").verify())
        status = store.get("many").status()
    assert status.leader in ("arm 7", "arm 8")
    # Nothing is known of the two best arms yet: every difference is still possible.
    best = next(one for one in status.effects if {one.first, one.second} == {"arm 7", "arm 8"})
    assert (best.low, best.high) == pytest.approx((-1.0, 1.0))
    assert status.evidence == 0.0
