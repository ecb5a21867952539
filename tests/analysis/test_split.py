"""Logs whose split changed: within a day, between days, and with units that met two arms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.checks import homogeneity
from bascule.analysis.split import WITHIN, within_blocks

pd = pytest.importorskip("pandas")

START = np.datetime64("2026-03-02")


def moments(day: Any, part: Any) -> Any:
    """Times of units by their day and the part of it that has passed."""
    return START + (86_400 * (day + part)).astype("timedelta64[s]")


def thompson(rng: np.random.Generator, units: int, days: int, trend: float) -> Any:
    """Equal arms, assigned unit by unit by Thompson sampling, on days with a shared trend."""
    place = np.arange(units * days)
    day, part = place // units, place % units / units
    values = (rng.random(len(place)) < 0.3 + trend * part).astype(float)
    seen, arms = np.ones((2, 2)), np.zeros(len(place), int)
    for i, value in enumerate(values):
        arms[i] = int(rng.beta(*seen[1]) > rng.beta(*seen[0]))
        seen[arms[i], 0 if value else 1] += 1
    return pd.DataFrame(
        {"unit": place, "arm": np.take(["a", "b"], arms), "value": values, "ts": moments(day, part)}
    )


def split_at(
    rng: np.random.Generator, units: int, shares: Any, gain: float = 0.0, trend: float = 0.2
) -> Any:
    """Units that are split by the share of b on each day."""
    shares = np.asarray(shares, float)
    place = np.arange(units * len(shares))
    day, part = place // units, place % units / units
    arm = (rng.random(len(place)) < shares[day]).astype(int)
    values = (rng.random(len(place)) < 0.3 + trend * part + gain * arm).astype(float)
    return pd.DataFrame(
        {"unit": place, "arm": np.take(["a", "b"], arm), "value": values, "ts": moments(day, part)}
    )


LOGS: dict[str, Callable[[np.random.Generator], Any]] = {
    "fixed": lambda rng: split_at(rng, 400, [0.5] * 5),
    "daily": lambda rng: split_at(rng, 400, rng.uniform(0.15, 0.85, 5)),
    "Thompson": lambda rng: thompson(rng, 400, 5, trend=0.0),
    "Thompson, trend": lambda rng: thompson(rng, 400, 5, trend=0.4),
}


@pytest.mark.parametrize("kind", LOGS)
def test_logs_of_equal_arms(kind: str) -> None:
    """A split that follows outcomes within a day is found, and one that changes by day is not."""
    found = [bs.analyze(LOGS[kind](np.random.default_rng(seed)), error=0.2) for seed in range(8)]
    withheld = sum(bool(one.withheld) for one in found)
    if kind.startswith("Thompson"):
        assert withheld >= 6
    else:
        assert withheld == 0
    assert not any(one.decision for one in found)
    assert not any(one.ratio_mismatch for one in found)


def test_a_log_without_an_answer_claims_nothing() -> None:
    found = bs.analyze(LOGS["Thompson, trend"](np.random.default_rng(1)))
    assert found.headline.startswith("No decision: the shares of the arms changed with the time")
    assert "probability" in found.headline
    assert found.guarantee == "none"
    assert found.decision is None
    assert [len(part) for part in (found.once, found.contrasts, found.days)] == [0, 0, 0]
    assert "proven" not in str(found).replace("Nothing is proven", "")
    assert all(np.isinf(effect.high) for effect in found.effects)
    assert "Nothing is proven" in found.html()


def test_days_with_other_shares_are_still_decided() -> None:
    log = split_at(np.random.default_rng(3), 800, [0.1, 0.3, 0.5, 0.7, 0.9] * 2, gain=0.15)
    found = bs.analyze(log)
    assert found.decision is not None
    assert found.decision.name == "b"
    assert "did not depend on outcomes within a day" in str(found)
    (ratio,) = [check for check in found.checks if check.name == "sample ratio"]
    assert not ratio.made
    assert any("the split changed from day to day (b had" in note for note in found.notes)
    once = bs.analyze(log, looks=1)
    assert once.decision is None
    assert "leave `looks` out" in once.withheld


def test_a_change_at_noon_needs_a_shorter_block() -> None:
    rng = np.random.default_rng(4)
    log = split_at(rng, 2000, [0.5] * 4, trend=0.4)
    later = (np.arange(8000) % 2000 >= 1000) & (np.arange(8000) >= 2000)
    log.loc[later, "arm"] = np.where(rng.random(later.sum()) < 0.9, "b", "a")
    by_day = bs.analyze(log)
    assert by_day.withheld
    by_part = bs.analyze(log, assigned=bs.Assigned(block="12h"))
    assert not by_part.withheld
    assert by_part.decision is None
    assert [day.date for day in by_part.days] == [f"2026-03-0{day}" for day in range(2, 6)]
    # Within blocks of constant shares the trend cancels; in the means of all units it does not.
    means = {arm.name: arm.mean for arm in by_part.arms}
    assert means["b"] is not None
    assert means["a"] is not None
    assert means["b"] - means["a"] > 0.05
    assert abs(by_part.contrasts[0].difference) < 0.03
    with pytest.raises(bs.InputError, match="hours that make up a day"):
        bs.analyze(log, assigned=bs.Assigned(block="5h"))


def changed_at_noon(rng: np.random.Generator, gain: float = 0.0) -> Any:
    """Four days of 2,000 units with a trend; b has 50 % until noon of the second day, then 90 %."""
    log = split_at(rng, 2000, [0.5] * 4, gain=gain, trend=0.4)
    later = np.arange(8000) >= 3000
    arm = np.where(later, rng.random(8000) < 0.9, rng.random(8000) < 0.5)
    rate = 0.3 + 0.4 * (np.arange(8000) % 2000 / 2000) + gain * arm
    return log.assign(arm=np.where(arm, "b", "a"), value=(rng.random(8000) < rate).astype(float))


KNOWN: dict[str, Any] = {"2026-03-02": [1, 1], "2026-03-03 12:00": {"a": 1, "b": 9}}


def test_blocks_end_where_the_stated_weights_changed() -> None:
    rng = np.random.default_rng(4)
    log, assigned = changed_at_noon(rng), bs.Assigned(weights=KNOWN)
    assert bs.analyze(log).withheld
    found = bs.analyze(log, assigned=assigned)
    assert not found.withheld
    assert found.decision is None
    assert [day.date for day in found.days] == [f"2026-03-0{day}" for day in range(2, 6)]
    assert abs(found.contrasts[0].difference) < 0.03
    checks = {check.name: check for check in found.checks}
    assert checks["sample ratio"].made
    assert not checks["sample ratio"].flagged
    assert "1,500" not in checks["sample ratio"].message
    assert not any("state the weights" in note for note in found.notes)
    assert "a day or a period of constant weights" in str(found)
    better = bs.analyze(changed_at_noon(rng, gain=0.1), assigned=assigned)
    assert better.decision is not None
    assert better.decision.name == "b"
    # The same weights from another time on are a mismatch, and so are those of one period alone.
    wrongs: tuple[Any, ...] = ({"2026-03-02": [1, 1], "2026-03-04": [1, 9]}, [1, 1])
    for wrong in wrongs:
        assert bs.analyze(log, assigned=bs.Assigned(weights=wrong)).ratio_mismatch


def test_weights_by_time_need_times_that_they_can_be_told_by() -> None:
    log = changed_at_noon(np.random.default_rng(5))
    dated = log.assign(ts=log.ts.dt.date.astype(str))
    with pytest.raises(bs.InputError, match="no times of the day"):
        bs.analyze(dated, assigned=bs.Assigned(weights=KNOWN))
    with pytest.raises(bs.InputError, match="must not be longer than a day"):
        bs.analyze(log, assigned=bs.Assigned(weights=KNOWN, block="week"))
    with pytest.raises(bs.InputError, match="start of a period must be a day or a time"):
        bs.analyze(log, assigned=bs.Assigned(weights={"soon": [1, 1], "later": [1, 9]}))
    events = pd.concat([log, log.assign(ts=log.ts + np.timedelta64(2, "h"))])
    grown = bs.analyze(events, bs.LogMetric("value"), assigned=bs.Assigned(weights=KNOWN))
    assert grown.decision is None
    assert any("as they stand at the end of the log" in note for note in grown.notes)


def returning(rng: np.random.Generator, gain: float = 0.0) -> Any:
    """Seven days of 50:50, then seven of 10:90 without memory: returning users may change arms."""
    rows = []
    for day in range(14):
        share = 0.5 if day < 7 else 0.9
        for i in range(150):
            unit, loyal = f"{day}-{i}", rng.random() < 0.3
            arm = int(rng.random() < share)
            rate = 0.5 if loyal else 0.1
            rows.append((unit, arm, float(rng.random() < rate + gain * arm), day + rng.random()))
            if loyal and day + 4 < 14:
                again = int(rng.random() < (0.5 if day + 4 < 7 else 0.9))
                rows.append((unit, again, float(rng.random() < rate), day + 4 + rng.random()))
    units, arms, values, days = zip(*rows, strict=True)
    when = START + (86_400 * np.array(days)).astype("timedelta64[s]")
    return pd.DataFrame(
        {"user_id": units, "variant": np.take(["a", "b"], arms), "bought": values, "ts": when}
    )


def test_a_unit_belongs_to_the_arm_that_it_met_first() -> None:
    metric = bs.LogMetric("bought", aggregate="any")
    logs = [returning(np.random.default_rng(seed)) for seed in range(4)]
    for log in logs:
        found = bs.analyze(log, metric)
        assert found.decision is None
        assert found.units == log.user_id.nunique()
        first = log.sort_values("ts").groupby("user_id").variant.first().value_counts()
        assert {arm.name: arm.units for arm in found.arms} == first.to_dict()
        assert "count for the arm that they met first" in str(found)
        excluding = bs.analyze(log, metric, assigned=bs.Assigned(two_arms="exclude"))
        assert excluding.decision is None
        assert "removes returning units" in excluding.withheld
    # Two arms at the same moment say nothing of which came first.
    both = {"unit": ["x", "x", *range(40)], "arm": ["a", "b", *"ab" * 20], "value": [1, 0] * 21}
    assert bs.analyze(both | {"unit": list(map(str, both["unit"]))}).units == 40


def test_the_check_is_exact_about_constant_shares() -> None:
    """False alarms at any of 14 looks: at most 1 %, with a small arm and with uneven hours."""
    rng, alarms, logs = np.random.default_rng(5), 0, 1500
    for _ in range(logs):
        hours = rng.poisson(rng.uniform(0.0, 8.0, (14, 24)))
        share = rng.uniform(0.1, 0.9)
        b = rng.binomial(hours, share)
        alarms += within_blocks(np.stack([hours - b, b], axis=2).astype(float), "day").flagged
    # Three standard errors above 1 %.
    assert alarms <= logs * 0.01 + 3 * np.sqrt(logs * 0.01)
    assert homogeneity(np.array([[30.0, 10.0], [10.0, 30.0]]))[0] == pytest.approx(20 * 79 / 80)
    assert not within_blocks(np.ones((3, 1, 2)), "hour").made
    assert WITHIN == "split within blocks"
