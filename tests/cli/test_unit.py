"""Units from the command line: what is known of one, and what asking and erasing take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    assert left.value.code == code
    said = capsys.readouterr()
    return said.err if code else said.out


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASCULE_STORE", str(tmp_path / "shop.db"))
    clock = bs.ManualClock()
    with bs.open(tmp_path / "shop.db", clock=clock) as store:
        test = store.create("button", DESIGN)
        test.assign_many(["ann", "bob", "cid"])
        test.record("ann", 1.0)
        clock.advance("2d")
        test.stop()


def test_two_names_are_linked_in_all_open_tests(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, "unit", "link", "ann", "ann@home").startswith("no experiment is open")
    with bs.open(tmp_path / "shop.db") as store:
        arm = store.create("open", DESIGN).assign("ann")
    assert run(capsys, "unit", "link", "ann", "ann@home") == f"open: {arm}\n"
    with bs.open(tmp_path / "shop.db") as store:
        assert store.get("open").assign("ann@home") == arm


def test_a_unit_is_shown_and_erased(capsys: pytest.CaptureFixture[str]) -> None:
    (known,) = json.loads(run(capsys, "unit", "show", "ann"))["experiments"]
    assert [outcome["value"] for outcome in known["outcomes"]] == [1.0]
    unasked = run(capsys, "unit", "erase", "ann", code=2)
    assert unasked.endswith(
        "in all experiments for good? There is no terminal to ask on: give --yes\n"
    )
    said = run(capsys, "unit", "erase", "ann", "--yes")
    assert said.startswith("erased in button: its name is gone; outcomes of a unit that has not ")
    assert json.loads(run(capsys, "unit", "show", "ann"))["experiments"] == []
    assert "1 units erased" in run(capsys, "experiment", "verify", "button")
    assert "there is no unit 'ann'" in run(capsys, "unit", "erase", "ann", "--yes", code=2)


def test_units_are_erased_by_age(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "unit", "retain", "1d", "--yes") == "button: 3 units erased\n"
    assert run(capsys, "unit", "retain", "1d", "--yes") == "no units came that long ago\n"
    wrong = run(capsys, "unit", "retain", "soon", "--yes", code=2)
    assert "age must be a duration (got 'soon')" in wrong
