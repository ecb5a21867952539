"""Adversaries get no more wrong statements than are stated: a small version of `make honesty`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench import honesty
from bench.honesty_cells import cell_of, design_of
from bench.honesty_live import drop_in_a_store
from bench.honesty_metrics import metric_cells
from bench.honesty_pure import remove_after_looking, turn_the_knob, wrong_pair

import bascule as bs


def test_whoever_removes_arms_after_looking_is_not_rewarded() -> None:
    """With the threshold of a test without removals, this adversary has about twice the error."""
    design = design_of(8, bs.Tilt(1, batch=10), 0.3)
    row = honesty.play(cell_of("pure", design, "removal", remove_after_looking(25), 60))
    assert row.kept
    loose = replace(design)
    # The same adversary against thresholds that stay what they were.
    object.__setattr__(loose, "stricter", loose)
    before = honesty.play(cell_of("pure", loose, "removal", remove_after_looking(25), 60))
    assert before.wrong > 1.5 * max(1, row.wrong)


def test_whoever_drops_arms_of_a_live_test_is_not_rewarded() -> None:
    design = design_of(4, bs.Tilt(1), 0.3)
    assert honesty.play(cell_of("live", design, "removal", drop_in_a_store(4, 40), 12)).kept


@pytest.mark.parametrize("rule", [bs.Tilt(1), bs.Tilt(3), bs.Tilt(3, effect=0.8, power=0.9)])
def test_whoever_turns_the_knob_after_looking_is_not_rewarded(rule: bs.Tilt) -> None:
    design = design_of(2, rule, 0.2)
    assert honesty.play(cell_of("pure", design, "knob", turn_the_knob(60), 60)).kept


def test_a_wrong_pair_is_found_whichever_arm_it_is() -> None:
    effects = (
        bs.Effect("a", "b", -1.0, -2.0, 0.1, 0.05, "proven"),
        bs.Effect("a", "c", -1.0, -2.0, 0.0, 0.05, "proven"),
    )
    assert wrong_pair(effects) == ("a", "c")
    assert wrong_pair(effects[:1]) is None


def test_the_page_has_every_cell_and_none_that_exceeds_what_is_stated() -> None:
    lines = honesty.OUT.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ")[:5] for line in lines if line.startswith(tuple(STARTS))]
    cells = [cell for mode in honesty.MODES for cell in honesty.cells_of(mode, 1.0)]
    assert rows == [[f"| {c.mode}", c.label, str(c.arms), c.adversary, c.guarantee] for c in cells]
    assert "too many" not in "".join(lines)
    # So many tests that an excess by a half is five standard errors.
    assert all(0.5 * cell.stated > 4.9 * deviation(cell.stated, cell.runs) for cell in cells)


STARTS = [f"| {mode} |" for mode in honesty.MODES]


def deviation(stated: float, runs: int) -> float:
    return float(np.sqrt(stated * (1.0 - stated) / runs))


def test_the_page_marks_cells_that_exceed_what_is_stated() -> None:
    kept = honesty.Row("analyze", "Tilt_1", 3, "removal", "proven", 0.05, 100, 8)
    broken = replace(kept, wrong=14)
    assert kept.kept
    assert not broken.kept
    assert honesty.page([kept]).count("too many") == 0
    assert honesty.page([kept, broken]).count("**too many**") == 1
    assert np.isclose(kept.deviation, deviation(0.05, 100))


def test_small_rollouts_through_a_store_keep_their_error() -> None:
    cells = {cell.adversary: cell for cell in metric_cells(lambda _: 8)}
    assert honesty.play(cells["an unchanged rollout is rolled back"]).kept
