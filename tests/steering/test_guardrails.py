"""Guardrails of steered tests: what ships, what is found harmful, and the error of both."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.steering.team import DESIGN, Team

import bascule as bs
from bascule.core.calendar import DAY
from bascule.core.errors import InputError
from bascule.steering.evidence import arm_that_stays, fold_blocks
from bascule.steering.reading import Counts

MARGIN = 0.1
REFUNDS = bs.Metric(
    "refunds",
    bs.Bernoulli(),
    goal="decrease",
    margin=MARGIN,
    measure=bs.Measure("6h", "any"),
    harm="never",
)
GUARDED = replace(DESIGN, metrics=(replace(REFUNDS, harm="margin"),))
BETTER = {"control": 0.1, "green": 0.25}


def test_an_arm_ships_once_it_is_within_its_margin(tmp_path: Path) -> None:
    team = Team(tmp_path, GUARDED, refunds={"control": 0.1, "green": 0.1})
    team.steer()
    waited = False
    for _ in range(20):
        team.users(400, BETTER)
        run = team.steer()
        waited = waited or "waiting" in str(run) or "nothing is shipped before" in str(run)
        if run.state == "decided":
            break
    assert run.winner == "green"
    assert run.status is not None
    (metric,) = run.status.metrics
    assert metric.standings == ("within margin",)
    assert metric.contrasts[0].high < MARGIN
    assert "refunds at most 10 points worse" in str(run).replace("\n", " ")
    # While an arm waits for its guardrails, the control still gets units to compare with.
    assert waited
    assert all(row["shares"]["control"] > 0.0 for row in team.ledger if row["what"] == "block")


def test_a_harmful_arm_is_sent_back_although_it_sells_more(tmp_path: Path) -> None:
    team = Team(tmp_path, GUARDED, refunds={"control": 0.05, "green": 0.6})
    run = team.until_decided(400, BETTER)
    assert (run.winner, run.everyone) == ("control", "control")
    assert "every other arm was found harmful (refunds)" in str(run).replace("\n", " ")
    assert team.shares == {"control": 1.0, "green": 0.0}


def test_restated_values_of_a_guardrail_are_noticed(tmp_path: Path) -> None:
    team = Team(tmp_path, GUARDED, refunds={"control": 0.1, "green": 0.1})
    team.steer()
    for _ in range(2):
        team.users(200, {"control": 0.1, "green": 0.1})
        team.steer()
    got = {unit for unit, _ in team.refunded}
    unit, _, at = next(row for row in team.exposures if row[0] not in got)
    team.refunded.append((unit, at))
    team.load()
    assert "the log was restated: 1 of" in str(team.steer())


def test_every_metric_needs_its_table(tmp_path: Path) -> None:
    team = Team(tmp_path, GUARDED)
    with pytest.raises(InputError, match=r"each metric of the design: refunds \(got none\)"):
        team.steer()


def drawn(rng: np.random.Generator, chances: tuple[float, float], units: int) -> Counts:
    """A block of a day: who buys and who sends back are not independent."""
    block: Counts = {}
    for arm, chance, refund in zip(("control", "green"), (0.2, 0.5), chances, strict=True):
        luck = rng.random(units)
        bought, back = luck < chance, (luck + 0.4 * rng.random(units)) % 1.0 < refund
        block[arm] = {
            (float(a), float(b)): int(np.count_nonzero((bought == a) & (back == b)))
            for a in (False, True)
            for b in (False, True)
        }
    return block


@pytest.mark.slow
def test_an_arm_at_its_margin_is_rarely_shipped() -> None:
    # green sells far more, and has exactly as many refunds more as it must not have.
    design = replace(GUARDED, metrics=(REFUNDS,), rule=bs.Tilt(8, 0.2, power=0.9, baseline=0.2))
    rng, runs, shipped = np.random.default_rng(5), 60, 0
    for run in range(runs):
        blocks = [drawn(rng, (0.3, 0.3 + MARGIN), 200) for _ in range(4)]
        counted = [DAY * (1.0 + k) for k in range(len(blocks))]
        verdict = fold_blocks(design, blocks, f"test {run}", counted, counted[-1]).state.ending
        shipped += verdict.verdict is not None and verdict.verdict.name == "green"
    error = REFUNDS.error
    assert shipped <= runs * error + 3.0 * math.sqrt(runs * error * (1.0 - error))
    # The same test without the guardrail ships it, and so does one with fewer refunds.
    blocks = [drawn(rng, (0.3, 0.2), 800)]
    for free in (replace(design, metrics=()), design):
        one = [
            {arm: _first(values, len(free.metrics)) for arm, values in block.items()}
            for block in blocks
        ]
        verdict = fold_blocks(free, one, "free", [DAY], DAY).state.ending
        assert verdict.verdict is not None
        assert verdict.verdict.name == "green"


def _first(values: dict[tuple[float, ...], int], metrics: int) -> dict[tuple[float, ...], int]:
    """Return how many units have which outcomes of the primary metric and some others."""
    kept: dict[tuple[float, ...], int] = {}
    for outcomes, units in values.items():
        part = outcomes[: 1 + metrics]
        kept[part] = kept.get(part, 0) + units
    return kept


def test_a_control_that_was_beaten_does_not_stay() -> None:
    design = bs.Design(
        ["control", "green", "blue"],
        bs.Bernoulli(),
        bs.Tilt(2, 0.2, power=0.8, baseline=0.3),
        measure=bs.Measure("1d", "any"),
        max_units=1200,
    )
    block: Counts = {
        arm: {(0.0,): 400 - sold, (1.0,): sold}
        for arm, sold in (("control", 40), ("green", 230), ("blue", 240))
    }
    found = fold_blocks(design, [block], "three", [DAY], DAY)
    assert found.state.ending.verdict is None
    assert found.reason is not None
    assert found.state.once.out == {0}
    assert arm_that_stays(design, found) in ("green", "blue")
