"""Every line of a CSV file is read as in a short one, or counted, or refused with its number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import bascule as bs
from bascule.analysis.source import csv_files

HEAD = "unit,arm,value,time"
ROWS = [f"{i},{'ab'[i % 2]},{i // 2 % 3 % 2},2026-01-{1 + i // 300:02}" for i in range(3000)]
LATE = 2900


@pytest.fixture
def sniffed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let types be detected from 2,048 lines, so that 3,000 are a long file."""
    monkeypatch.setattr(csv_files, "SNIFFED", 2048)


def lines(*changed: str) -> list[str]:
    """The log with some lines in place of the late ones."""
    return [*ROWS[:LATE], *changed, *ROWS[LATE + len(changed) :]]


def written(path: Path, rows: list[str], head: str = HEAD) -> Path:
    data = "\n".join([head, *rows, ""]).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


ODD = {
    "a unit with zeros, quotes": ("0007,a,1,2026-01-10", '007,"b","0","2026-01-10"'),
    "decimals": ("2900,a,0.4,2026-01-10", "2901,b,1.6,2026-01-10"),
    "a clock and a zone": ("2900,a,1,2026-01-10 23:30:00", "2901,b,1,2026-01-09 23:30:00-05:00"),
    "a stray quote, NUL": ('2900,a,"1,2026-01-10', "2901,b\0,1,2026-01-10", ""),
    "more digits than 64 bits": ("9" * 30 + ",a,1,2026-01-10",),
}
BROKEN = (
    *("u7,a,1,2026-01-10", "2901,b,oops,2026-01-10", "2902,a,1,then"),
    *("2903,b,1", "2904,a,1,2026-01-10,7,8", "2905,b"),
)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.usefixtures("sniffed")
def test_late_lines_are_read_as_early_ones(kind: str, tmp_path: Path) -> None:
    late = bs.analyze(written(tmp_path / "late.csv", lines(*ODD[kind])))
    # The order of rows does not matter, so what is odd may as well come first.
    early = bs.analyze(written(tmp_path / "early.csv", lines(*ODD[kind])[::-1]))
    assert late.excluded == early.excluded
    assert late.arms == early.arms
    assert late.effects == early.effects
    assert late.units == {"a stray quote, NUL": 2998}.get(kind, 3000)
    assert late.days[-1].units == early.days[-1].units


@pytest.mark.usefixtures("sniffed")
@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "folder"])
def test_what_is_odd_is_counted_with_an_example(name: str, tmp_path: Path) -> None:
    rows = lines(*BROKEN)
    if name == "folder":
        (tmp_path / name).mkdir()
        for part in (0, 1):
            written(tmp_path / name / f"{part}.csv", rows[part::2])
        (tmp_path / name / "2.csv").touch()
    else:
        written(tmp_path / name, rows)
    found = bs.analyze(tmp_path / name, looks="now")
    assert (found.rows, found.units) == (3000, 2995)
    assert found.excluded == {
        "time not readable": 1,
        "value not a number": 1,
        "line with too few or too many columns": 3,
    }
    assert found.examples["value not a number"] == ("oops",)
    assert found.examples["time not readable"] == ("then",)
    ragged = found.examples["line with too few or too many columns"]
    if name == "folder":
        wanted = {"1454 of 0.csv: 2904,a,1,2026-01-10,7,8", "1453 of 1.csv: 2903,b,1"}
        wanted.add("1454 of 1.csv: 2905,b")
    else:
        entries = ("2905 of {}: 2903,b,1", "2906 of {}: 2904,a,1,2026-01-10,7,8")
        wanted = {one.format(name) for one in (*entries, "2907 of {}: 2905,b")}
    assert set(ragged) == {f"line {one}" for one in wanted}
    assert str(found).count("line with too few or too many columns") == 2


@pytest.mark.usefixtures("sniffed")
@pytest.mark.parametrize(
    ("changed", "head", "line"),
    [
        ("2900,\udcff,1,2026-01-10", HEAD, "line 2902 of {}: it is not in UTF-8"),
        ("2900,a,1," + " " * 2_100_000, HEAD, "line 2902 of {}: Maximum line size"),
        ('2900,a,"1,2026-01-10', HEAD.replace("unit", '"unit"'), "line 2902 of {}: a quote"),
    ],
    ids=["bad UTF-8", "an endless line", "an open quote"],
)
def test_a_line_that_cannot_be_passed_over_is_named(
    changed: str, head: str, line: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "log.csv", lines(changed), head)
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(path)
    assert f"cannot read {line.format(path)}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_of_a_folder_have_the_same_columns_in_any_order(tmp_path: Path) -> None:
    written(tmp_path / "1.csv", ROWS[::2])
    turned = [",".join(reversed(row.split(","))) for row in ROWS[1::2]]
    written(tmp_path / "2.csv", turned, ",".join(reversed(HEAD.split(","))))
    assert bs.analyze(tmp_path).units == 3000
    written(tmp_path / "3.csv", ROWS, "unit,arm,valeu,time")
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(tmp_path)
    assert (
        f"line 1 of {tmp_path / '3.csv'} lacks 'value' and has 'valeu' besides, unlike "
        f"{tmp_path / '1.csv'}"
    ) in str(caught.value)


def test_a_file_of_other_lines_than_its_first_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", [*ROWS[:5], *("x,y" for _ in range(20))])
    with pytest.raises(bs.InputError, match="20 of its lines do not have the 4 columns"):
        bs.analyze(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv.gz", ROWS)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(bs.InputError, match=r"cannot read .*log\.csv\.gz"):
        bs.analyze(path)


def test_a_bad_value_beyond_all_lines_from_which_types_are_taken(tmp_path: Path) -> None:
    rows = [f"{i},{'ab'[i % 2]},{i // 2 % 2},2026-01-01" for i in range(csv_files.SNIFFED + 5000)]
    rows[-3:] = ["x1,a,oops,2026-01-02", "007,b,0.5,soon", "8,a"]
    found = bs.analyze(written(tmp_path / "log.csv", rows), looks="now")
    assert found.rows == len(rows)
    assert found.excluded == {
        "time not readable": 1,
        "value not a number": 1,
        "line with too few or too many columns": 1,
    }
