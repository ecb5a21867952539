"""Adversaries get no more wrong statements than are stated: a small version of `make honesty`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench import honesty, honesty_metrics, honesty_slices
from bench.honesty_cells import cell_of, design_of
from bench.honesty_live import drop_in_a_store
from bench.honesty_pure import remove_after_looking, turn_the_knob, wrong_pair

import bascule as bs

pytestmark = pytest.mark.slow


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
        bs.progress.Effect("b", "a", 1.0, -0.1, 2.0, 0.05, "proven"),
        bs.progress.Effect("c", "a", 1.0, 0.0, 2.0, 0.05, "proven"),
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
    assert [line.count("**too many**") for line in map(honesty.line, [kept, broken])] == [0, 1]
    assert np.isclose(kept.deviation, deviation(0.05, 100))


def test_slices_of_rollouts_in_a_store_add_up_to_a_row_that_keeps_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "honesty.md"
    before = honesty.OUT.read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    monkeypatch.setattr(honesty, "OUT", page)
    monkeypatch.setattr(honesty_metrics, "RUNS", 6)
    monkeypatch.setattr(honesty_metrics, "SLICE", 3)
    files = [str(tmp_path / f"{part}.json") for part in range(2)]
    for part, file in enumerate(files):
        asked = ["--cell", "rollout", "--slices", f"{part}:{part + 1}", "--out", file]
        assert honesty_slices.main(asked) == 0
    assert honesty_slices.main(["--add", *files]) == 0
    rows = page.read_text(encoding="utf-8").splitlines()
    (row,) = [text for text in rows if "an unchanged rollout is rolled back" in text]
    assert row.split(" | ")[7] == "6"
    assert [text for text in before.splitlines() if text not in rows] == [
        text for text in before.splitlines() if "an unchanged rollout is rolled back" in text
    ]
    with pytest.raises(SystemExit, match="slices must cover tests 0 to 6 once"):
        honesty_slices.main(["--add", files[1]])
