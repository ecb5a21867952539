"""`bascule frontier` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main

pytestmark = pytest.mark.slow

QUICK = ["--means", "0", "1", "--runs", "20"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["frontier", *arguments])
    printed = capsys.readouterr()
    code = caught.value.code
    assert isinstance(code, int)
    return code, printed.out, printed.err


def test_json_is_one_object_and_nothing_else(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, *QUICK, "--sigma", "2", "--effect", "1", "--sides", "2", "--json")
    assert code == 0
    expected = bs.research.frontier([0, 1], bs.Gaussian(2), effect=1, runs=20, sides=2).to_dict()
    assert {**json.loads(out), "seconds": 0} == {**expected, "seconds": 0}
    assert list(tmp_path.iterdir()) == []


def test_the_table_fits_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "--means", "0", "0.3", "--effect", "0.3", "--runs", "20")
    assert code == 0
    lines = out.splitlines()
    heading = " ".join(next(line for line in lines if "regret " in line).split())
    assert heading == "rule regret decision time × limit wrong % dominated by"
    assert max(map(len, lines)) <= 80
    assert "…" not in out
    for words in ("the paper's rules as published", "tilted blocks", "efficient", "Left out"):
        assert words in out


def test_a_narrow_terminal_cuts_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = run(capsys, *QUICK)
    assert code == 0
    assert "…" not in out
    assert "\n  Tilt_3 " in out


def test_zero_or_one_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    world = ["--outcome", "bernoulli", "--means", "0.2", "0.6", "--runs", "20", "--json"]
    code, out, _ = run(capsys, *world)
    assert code == 0
    assert json.loads(out)["outcome"] == {"kind": "bernoulli"}


def test_files_are_written_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, *QUICK, "--out", str(tmp_path / "new"))
    assert code == 0
    names = {f"frontier.{kind}" for kind in ("csv", "json", "png", "svg")}
    assert {path.name for path in (tmp_path / "new").iterdir()} == names
    assert all(f"wrote {tmp_path / 'new' / name}" in out for name in names)


BAD = [
    ("", "--means is missing"),
    ("--means 1", "arms must be at least 2"),
    ("--means 1 1", "one best arm"),
    ("--means 0 0.00001", "too small to compare"),
    ("--means 0 nan", "means must be a number"),
    ("--means 0 1 --sigma 0", "sigma must be above 0"),
    ("--means 0 1 --error 0", "error must lie strictly between 0 and 1"),
    ("--means 0 1 --error 0.7", "error must be below 0.5"),
    ("--means 0 1 --effect 0", "effect must be above 0"),
    ("--means 0 1 --runs 1", "runs must be at least 2"),
    ("--means 0 1 --seed -1", "seed must be at least 0"),
    ("--means 0 1 --threads 0", "threads must be at least 1"),
    ("--means 0 1 --out /dev/null/x", "cannot write"),
    ("--means 0 1 --outcome poisson", "'gaussian', 'bernoulli'"),
    ("--means 0.2 0.4 --outcome bounded", "compare the rules on Gaussian(sigma) or Bernoulli()"),
    ("--means 0.1 0.2 --outcome bernoulli --sigma 1", "--sigma belongs to --outcome gaussian"),
    ("--means 0.1 0.2 --outcome bernoulli --effect 0.1", "give baseline too"),
    ("--means 0.5 1.5 --outcome bernoulli", "must lie between 0 and 1"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_a_mistake_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    code, out, err = run(capsys, *arguments.split())
    assert code == 2
    assert out == ""
    assert err.startswith("bascule: ")
    assert err.count("\n") == 1
    assert words in err
