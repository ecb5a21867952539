"""The mean of means against the total mean."""

from __future__ import annotations

import numpy as np
import pytest

from bascule.core.cohorts import ArmCohorts
from bascule.core.procedures.recurrent import (
    equal_weight,
    mean_of_means,
    outcome_weight,
    total_mean,
)
from bascule.research.paper import units
from bascule.research.paper.estimators import (
    LEVEL,
    RULE,
    STAGES,
    ages_after_wait,
    along_runs,
    variance,
)
from bascule.research.paper.measure import Measurements
from bascule.research.paper.regenerate import SECTIONS
from bascule.simulation import Estimate, simulate

pytestmark = pytest.mark.slow

RUNS = 1000


def effective(ages: np.ndarray) -> float:
    return float(ages.sum() ** 2 / (ages**2).sum())


def test_the_variance_is_that_of_drawn_units() -> None:
    rng = np.random.default_rng(0)
    ages, runs = [9, 4, 1], 8_000
    own = rng.standard_normal((runs, 3)) + rng.standard_normal((runs, 3)) / np.sqrt(ages)
    totals = own * ages
    for weight, mean in ((equal_weight, mean_of_means), (outcome_weight, total_mean)):
        found = [mean(ArmCohorts.of(zip(ages, row, strict=True))) for row in totals.tolist()]
        exact = variance(ages, weight)
        assert np.var(found) == pytest.approx(exact, abs=4 * exact * np.sqrt(2 / runs))


@pytest.mark.parametrize("seed", range(20))
def test_waits_that_only_grow_leave_three_quarters_of_the_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    waits = np.sort(rng.integers(0, 2 ** rng.integers(1, 12), size=count - 1))
    ages = 1 + np.append(np.cumsum(waits[::-1])[::-1], 0)
    assert effective(ages) >= 0.75 * (count - 1)
    bound = 4 / 3 * count / (count - 1)
    assert variance(ages.tolist(), outcome_weight) <= bound * variance(ages.tolist(), equal_weight)


def test_a_wait_that_ends_leaves_hardly_any() -> None:
    ages = np.array(ages_after_wait(20))
    assert effective(ages) < 4
    assert len(ages) == 23


def test_the_runs_are_those_of_the_rule() -> None:
    (worse, better) = (each for each in along_runs(RUNS, 0) if each.stage == STAGES)
    assert np.all(worse.units + better.units == STAGES)
    design = units.design(RULE, LEVEL)
    # No run decides so soon, so the cap shows the same stage of other runs.
    capped = simulate(
        type(design)(units.ARMS, units.OUTCOME, RULE, delta=design.delta, max_units=STAGES),
        units.MEANS,
        RUNS,
    )
    assert capped.undecided == RUNS
    ours, theirs = Estimate.of(worse.units), Estimate.of(capped.units[:, 0])
    assert abs(ours.mean - theirs.mean) < 4 * np.hypot(ours.se, theirs.se)


def test_the_same_seed_gives_the_same_errors() -> None:
    first, again, other = along_runs(3, 1), along_runs.__wrapped__(3, 1), along_runs(3, 2)
    for one, same, else_ in zip(first, again, other, strict=True):
        assert np.array_equal(one.of_total, same.of_total)
        assert not np.array_equal(one.of_total, else_.of_total)


def test_what_runs_say_in_truth() -> None:
    one = simulate(units.design(RULE, LEVEL), units.MEANS, runs=RUNS, seed=0)
    claims = [judge(Measurements({(RULE.label, LEVEL): one})) for judge in SECTIONS[1].claims[-3:]]
    assert {claim.id: claim.verdict for claim in claims} == {
        "units-mean-of-means-is-better": "holds",
        "units-total-mean-after-a-wait": "holds",
        "units-total-mean-is-unbiased": "does not hold",
    }
