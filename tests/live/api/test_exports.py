"""Assignments and outcomes in files, that others can read."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.api import exports as module
from bascule.live.api.exports import export, safe_cell

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Path, ...]]:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    with bs.open(":memory:", clock=bs.ManualClock(START)) as store:
        test = store.create(
            "files", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), reports="always")
        )
        test.assign_many([f"unit, {i}" for i in range(10)])
        test.record_many((f"unit, {i}", i / 10, None, f"e{i}") for i in range(7))
        test.record("unit, 8", 0.8)
        return {form: export(test, tmp_path / form, form) for form in ("csv", "parquet")}


def test_parquet_has_the_rows_of_csv_with_their_types(
    files: dict[str, tuple[Path, ...]],
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for text, typed in zip(files["csv"], files["parquet"], strict=True):
        with text.open(newline="") as file:
            lines = list(csv.DictReader(file))
        rows = parquet.read_table(typed).to_pylist()
        shown = [
            {
                name: ""
                if value is None
                else value.isoformat()
                if isinstance(value, datetime)
                else str(value)
                for name, value in row.items()
            }
            for row in rows
        ]
        assert shown == lines
    assert len(rows) == 8
    assert (rows[3]["value"], rows[3]["at"], rows[7]["id"]) == (0.3, START, None)


def test_an_empty_experiment_gives_files_with_their_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with bs.open(":memory:") as store:
        test = store.create(
            "empty", bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), reports="always")
        )
        for path, names in zip(
            export(test, tmp_path, "parquet"), module.COLUMNS.values(), strict=True
        ):
            assert tuple(parquet.read_schema(path).names) == names


def test_text_behind_a_byte_order_mark_is_no_formula() -> None:
    assert safe_cell("\ufeff=HYPERLINK(1)") == "'\ufeff=HYPERLINK(1)"
    assert safe_cell(" \ufeff @sum") == "' \ufeff @sum"


def test_an_export_that_fails_leaves_no_file_with_its_final_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(value: object) -> object:
        raise OSError(28, "No space left on device")

    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    with bs.open(":memory:") as store:
        test = store.create("full", design)
        test.assign("u")
        monkeypatch.setattr(module, "_plain", full)
        with pytest.raises(bs.StoreError, match="the disk is full"):
            export(test, tmp_path)
    assert [*tmp_path.iterdir()] == []
