"""Numbers as people type them, in every command; what is wrong is shown with an example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main, repeat_lists
from bascule.cli.plan import say_understood
from bascule.planning.request.read import plan_request


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    assert left.value.code == code
    out = capsys.readouterr()
    return out.err if code else out.out


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("simulate --means 0.1,0.2", "simulate --means 0.1 --means 0.2"),
        ("analyze 5k --unit 5k", "analyze 5k --unit 5k"),
        ("simulate --alpha inf --runs 10", "simulate --alpha inf --runs 10"),
    ],
)
def test_numbers_mean_the_same_everywhere(typed: str, read: str) -> None:
    assert repeat_lists(typed.split()) == read.split()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("plan --units-per-day many", "--units-per-day must be a number (got 'many'), as 0.05"),
        ("plan --units-per-day 5,5", "(got '5,5'), as 0.05, 5%, 5000 or 5k"),
        ("plan --baseline 0,05", "(got '0,05'), as 0.05, 5%, 5000 or 5k"),
        ("plan --arms 2.5", "--arms must be a whole number (got 2.5)"),
        ("simulate --means 1,200", "may be one number or several: write 1200, or 1 200"),
    ],
)
def test_a_number_that_cannot_be_read_is_shown_with_an_example(
    capsys: pytest.CaptureFixture[str], typed: str, words: str
) -> None:
    assert words in said(capsys, *typed.split())


def test_a_lift_above_the_baseline_is_said_as_it_was_understood(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for lift, is_said in (("0.4", True), ("40%", False), ("0.1", False)):
        say_understood([lift], plan_request(None, "30%", lift))
        words = "--lift 0.4 means 30 % against 70 %: a lift of 40 points"
        assert (words in capsys.readouterr().err) == is_said


def test_a_command_that_fails_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASCULE_STORE", str(tmp_path / "shop.db"))
    design = tmp_path / "design.json"
    bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)).save(design)
    create = ["experiment", "create", "--design", str(design)]
    assert "name must be" in said(capsys, *create, "a/b", "--window", "7d")
    assert "needs a measure" in said(capsys, *create, "button")
    assert "role" in said(capsys, "key", "create", "--role", "king")
    assert "there is no key" in said(capsys, "serve", "--host", "0.0.0.0", "--port", "0")
    assert [path.name for path in tmp_path.iterdir()] == ["design.json"]
    # A store that has something in it stays.
    made = json.loads(said(capsys, *create, "button", "--window", "7d", "--json", code=0))
    assert made["state"] == "running"
    assert "already" in said(capsys, *create, "button", "--window", "7d")
    assert "button" in said(capsys, "experiment", "list", code=0)
