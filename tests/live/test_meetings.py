"""The table of meetings: every cell is played, or refused with the message that it states."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from bench import honesty_meetings_page
from bench.honesty_meetings import MODE, meeting_cells, play
from bench.honesty_meetings_table import COLUMNS, NAME, ROWS, Column, Row, allowed, stated

import bascule as bs

pytestmark = pytest.mark.slow

LOOK, CLOCK = (next(one for one in COLUMNS if one.name == name) for name in ("look", "clock"))
REFUSED = [
    (row, column)
    for row in ROWS
    for column in COLUMNS
    if column.refusal(row) is not None and column is not CLOCK
]


@pytest.mark.parametrize(("row", "column"), allowed(), ids=lambda one: one.name.replace(" ", "_"))
def test_every_cell_is_played_and_its_log_agrees(row: Row, column: Column) -> None:
    play(row, column, seed=0, steps=4, verify=True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "_"))
def test_an_attack_that_worked_would_be_seen(row: Row) -> None:
    """Where b has all its units by day and a by night, the operator gets the winner it wants."""
    assert sum(play(row, LOOK, seed, attack_works=True) for seed in range(3)) >= 2


@pytest.mark.parametrize(("row", "column"), REFUSED, ids=lambda one: one.name.replace(" ", "_"))
def test_what_is_refused_says_so(row: Row, column: Column) -> None:
    with pytest.raises(bs.InputError, match=column.refusal(row)):
        play(row, column, seed=0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "_"))
def test_a_clock_that_jumps_is_refused(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design, real = row.design(CLOCK), time.time
    with bs.open(tmp_path / "tests.db") as store:
        test = store.create(NAME, design)
        for jump in (3 * 86400.0, -3 * 86400.0):
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda jump=jump: real() + jump)
                for call in (test.status, lambda: test.record("unit-0", 1.0)):
                    with pytest.raises(bs.StoreError, match=CLOCK.refusal(row)):
                        call()


def test_the_page_has_the_table_and_no_cell_above_its_error() -> None:
    text = honesty_meetings_page.OUT.read_text(encoding="utf-8")
    counts = honesty_meetings_page.counts_of(text)
    assert honesty_meetings_page.page(text, counts) == text
    assert honesty_meetings_page.ABOVE not in text
    assert set(counts) == {(row.name, column.name) for row, column in allowed()}
    for row, column in allowed():
        tests, error = counts[row.name, column.name][1], stated(row, column)[0]
        # The page may have a part of the tests, and says so in the cell.
        assert column.runs // 3 <= tests <= column.runs
        # Of all of them, an excess by a half is three standard errors above what is stated.
        if column.name != "export" and error >= 0.4:
            assert 0.5 * error >= 2.99 * math.sqrt(error * (1.0 - error) / column.runs)


def test_the_cells_of_the_battery_are_those_of_the_table() -> None:
    cells = meeting_cells(lambda runs: runs)
    assert {(one.label, one.adversary) for one in cells} == {
        (row.name, column.name) for row, column in allowed()
    }
    assert all(cell.mode == MODE and 0.3 <= cell.stated <= 0.45 for cell in cells)
