"""Adversaries get no more wrong statements than are stated: a small version of `make honesty`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench import honesty

import bascule as bs


def test_whoever_removes_arms_after_looking_is_not_rewarded() -> None:
    """With the threshold of a test without removals, this adversary has about twice the error."""
    design = honesty.design_of(8, bs.Tilt(1, batch=10), 0.3)
    cell = honesty.Cell("pure", design, "removal", honesty.remove_after_looking(25), 60)
    row = honesty.play(cell, seed=2)
    assert row.kept
    loose = replace(design)
    # The same adversary against thresholds that stay what they were.
    object.__setattr__(loose, "stricter", loose)
    before = honesty.play(replace(cell, design=loose), seed=2)
    assert before.wrong > 1.5 * max(1, row.wrong)


def test_whoever_drops_arms_of_a_live_test_is_not_rewarded() -> None:
    design = honesty.design_of(4, bs.Tilt(1), 0.3)
    play = honesty.drop_in_a_store(4, 40)
    assert honesty.play(honesty.Cell("live", design, "removal", play, 12), seed=1).kept


@pytest.mark.parametrize("tilt", [1, 3])
def test_whoever_turns_the_knob_after_looking_is_not_rewarded(tilt: float) -> None:
    design = honesty.design_of(2, bs.Tilt(tilt), 0.2)
    cell = honesty.Cell("pure", design, "knob", honesty.turn_the_knob(60), 60)
    assert honesty.play(cell, seed=3).kept


def test_a_wrong_pair_is_found_whichever_arm_it_is() -> None:
    effects = (
        bs.Effect("a", "b", -1.0, -2.0, 0.1, 0.05, "proven"),
        bs.Effect("a", "c", -1.0, -2.0, 0.0, 0.05, "proven"),
    )
    assert honesty.wrong_pair(effects) == ("a", "c")
    assert honesty.wrong_pair(effects[:1]) is None


def test_the_page_marks_cells_that_exceed_what_is_stated() -> None:
    kept = honesty.Row("pure", "Tilt_1", 3, "removal", "proven", 0.05, 100, 8)
    broken = replace(kept, wrong=14)
    assert kept.kept
    assert not broken.kept
    assert honesty.page([kept]).count("too many") == 0
    assert honesty.page([kept, broken]).count("**too many**") == 1
    assert np.isclose(kept.deviation, 0.0218, atol=1e-4)
