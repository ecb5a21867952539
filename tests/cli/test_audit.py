"""`bascule audit` as a user meets it."""

from __future__ import annotations

import json

import pytest

import bascule as bs
from bascule.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    printed = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, printed.out, printed.err


QUICK = ("--means", "0", "0.5", "--error", "0.05", "--runs", "30")


@pytest.mark.slow
def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "audit", "tilt", "--tilt", "4", *QUICK, "--worlds", "rising", "null", "--json"
    )
    assert code == 0
    expected = bs.research.audit(
        bs.Tilt(4), [0, 0.5], error=0.05, runs=30, worlds=["rising", "null"]
    )
    assert {**json.loads(out), "seconds": 0} == {**expected.to_dict(), "seconds": 0}


@pytest.mark.parametrize("columns", ["80", "100"])
def test_the_table_is_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = run(capsys, "audit", "ucb", *QUICK, "--worlds", "steady", "rising")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "UCB_2 is wrong no more often than promised in 2 worlds."
    said = " ".join(lines[2:5])
    assert "at most 10 %, at most 5 % to ship the worse arm (proven, if means do not" in said
    rows = {line.split()[0]: line.split()[-1] for line in lines if line.startswith("  ")}
    assert (rows["steady"], rows["rising"]) == ("yes", "no")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "RULE"),
        ("bayes", "tilt"),
        ("etc --alpha 2", "--alpha belongs to rule ucb"),
        ("tilt --worlds risng", "choose from steady"),
        ("tilt --runs 1", "runs must be at least 2"),
        ("tilt --means 0 0", "one best arm"),
        ("tilt --outcome bernoulli --worlds heavy-tails", "without limits"),
        ("ucb --alpha 1", "set max_units"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    code, out, err = run(capsys, "audit", *arguments.split())
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
