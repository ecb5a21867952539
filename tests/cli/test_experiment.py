"""Live tests from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import typer

import bascule as bs
from bascule.cli.experiment import KNOBS
from bascule.cli.main import main

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    DESIGN.save("design.json")
    return tmp_path / "bascule.db"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["experiment", *arguments])
    printed = capsys.readouterr()
    assert left.value.code == 0, printed.err
    return printed.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["experiment", *arguments])
    printed = capsys.readouterr()
    assert left.value.code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_test_from_its_file_to_its_end(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created = json.loads(run(capsys, "create", "button", "--design", "design.json", "--json"))
    assert (created["state"], created["decision"]) == ("running", None)
    with bs.open(store) as opened:
        test = opened.get("button")
        for i in range(40):
            test.record(i, float(test.assign(i) == "b"))
        test.record("nobody", 1.0)
    assert "button" in run(capsys, "list")
    shown: dict[str, Any] = json.loads(run(capsys, "status", "button", "--json"))
    assert shown["units"] == 40
    assert shown["decision"]["name"] == "b"
    assert "to the last digit" in run(capsys, "verify", "button")
    assert "unknown unit" in run(capsys, "excluded", "button")
    assert "Decided: b" in run(capsys, "log", "button")
    run(capsys, "export", "button", "--out", "files")
    with Path("files/button-assignments.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["unit"] for row in rows] == [str(i) for i in range(40)]
    with Path("files/button-outcomes.csv").open(encoding="utf-8") as file:
        assert {(row["arm"], float(row["value"])) for row in csv.DictReader(file)} == {
            ("a", 0.0),
            ("b", 1.0),
        }
    run(capsys, "release", "button")
    run(capsys, "stop", "button", "--yes")
    run(capsys, "delete", "button", "--yes")
    assert json.loads(run(capsys, "list", "--json")) == {"experiments": []}


MARKUP = "[/red]"


def test_names_that_look_like_markup_are_data(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So are escape sequences, with which a name would change the terminal of whoever lists it."""
    arms = [f"[bold]a{MARKUP}", ":smile:"]
    with bs.open(store) as opened:
        test = opened.create(
            "button", bs.Design(arms, bs.Bernoulli(), bs.Tilt(3), reports="always")
        )
        for i in range(40):
            test.record(f"{MARKUP}{i}", float(test.assign(f"{MARKUP}{i}") == arms[1]))
        test.record(f"{MARKUP} nobody\x1b]0;title\x07", 1.0)
        test.alarms()
    for command in ("status", "log", "verify", "release"):
        assert "\x1b" not in run(capsys, command, "button")
    listed = run(capsys, "excluded", "button")
    assert f"{MARKUP} nobody\\x1b]0;title" in listed
    assert not {"\x1b", "\x07"} & set(listed)
    shown = run(capsys, "status", "button")
    assert all(arm in shown for arm in arms)
    assert run(capsys, "export", "button", "--out", f"{MARKUP}out").startswith("written to [/red]")


def test_an_export_for_spreadsheets_has_no_formulas(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with bs.open(store) as opened:
        test = opened.create(
            "button", bs.Design(["@a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        )
        test.assign_many(["=cmd|' /C calc'!A0", "-1", "plain"])
    run(capsys, "export", "button", "--out", "raw")
    run(capsys, "export", "button", "--out", "safe", "--spreadsheet")
    cells = {}
    for folder in ("raw", "safe"):
        with Path(folder, "button-assignments.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        cells[folder] = [cell for row in rows for cell in (row["unit"], row["arm"])]
    assert "=cmd|' /C calc'!A0" in cells["raw"]
    assert not [cell for cell in cells["safe"] if cell.startswith(("=", "+", "-", "@"))]
    assert [cell.removeprefix("'") for cell in cells["safe"]] == cells["raw"]


def test_where_there_is_nothing_yet_it_is_said(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    assert run(capsys, "excluded", "button") == "no outcome was excluded\n"
    run(capsys, "stop", "button", "--yes")
    run(capsys, "delete", "button", "--yes")
    assert run(capsys, "list").startswith("no experiments yet")


def test_errors_and_intervals_say_what_they_bound(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    with bs.open(store) as opened:
        test = opened.get("button")
        for i in range(60):
            test.assign(i)
            test.record(i, float(i % 3 == 0))
        first, second = test.design.arms
        assert test.status().decision is None
    shown = run(capsys, "status", "button")
    assert f"{second} - {first}: " in shown
    assert "(95 % interval " in shown
    assert (
        "Intervals: each bound fails with probability at most 2.5 %, at any time (proven)" in shown
    )
    assert "false positive rate at most 5 %, at most 2.5 % to ship the worse arm" in shown
    slow = bs.Metric("slow", bs.Gaussian(1), margin=1.0)
    rollout = bs.Design(
        ["old", "new"], bs.Gaussian(1), bs.Tilt(1), metrics=[slow], decides="guardrails"
    )
    with bs.open(store) as opened:
        opened.create("rollout", rollout, reports="always")
    shown = run(capsys, "status", "rollout")
    assert "Guarantee: the guardrails decide; an arm worse by 1 or more on slow is shipped" in shown
    assert "evidence:" not in shown


def test_a_rollout_without_a_schedule_says_that_all_units_are_in_it(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = bs.Metric("slow", bs.Gaussian(1), margin=1.0)
    file, ramp = tmp_path / "rollout.json", tmp_path / "ramp.json"
    bs.Design(
        ["old", "new"], bs.Gaussian(1), bs.Tilt(1), metrics=[slow], decides="guardrails"
    ).save(file)
    ramp.write_text('{"ramp": [[0, 0.02], [86400, 1]]}')
    made = ["experiment", "create", "--design", str(file), "--reports", "always"]
    for name, audience, words in (
        ("all", [], "all units are in this test from the start: give --share"),
        ("some", ["--audience", str(ramp)], ""),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*made, name, *audience])
        assert ended.value.code in (0, None)
        said = capsys.readouterr().err
        assert words in said
        assert bool(words) == bool(said)


def test_only_knobs_are_options_of_the_knob() -> None:
    assert set(KNOBS) == {"alpha", "tilt"}


def test_the_knob_turns_and_the_log_says_who_turned_it(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    assert "Tilt_5" in run(capsys, "knob", "button", "--tilt", "5")
    (*_, entry) = json.loads(run(capsys, "log", "button", "--json"))["audit"]
    assert entry["detail"].items() >= {"knob": "tilt", "before": 3.0, "now": 5.0}.items()
    assert entry["actor"]
    assert "alpha is not a knob" in refused(capsys, "knob", "button", "--alpha", "2")


def test_what_is_wrong_is_said_in_one_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no store" in refused(capsys, "status", "button")
    assert "cannot read" in refused(capsys, "create", "button", "--design", "nothing.json")
    run(capsys, "create", "button", "--design", "design.json", "--wait")
    assert "no experiment 'other'" in refused(capsys, "status", "other")
    assert "no decision yet" in refused(capsys, "release", "button")
    assert "stop it" in refused(capsys, "delete", "button", "--yes")
    Path("text.db").write_text("this is not a database at all\n")
    assert "not touched" in refused(capsys, "list", "--store", "text.db")


def test_verify_fails_where_something_was_changed(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sqlite3

    run(capsys, "create", "button", "--design", "design.json")
    with bs.open(store) as opened:
        test = opened.get("button")
        for i in range(10):
            test.assign(i)
            test.record(i, 0.0)
    connection = sqlite3.connect(store)
    connection.execute("UPDATE outcomes SET value = 1.0 WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(SystemExit) as left:
        main(["experiment", "verify", "button"])
    assert left.value.code == 1
    assert "statistics stored as" in capsys.readouterr().out


def test_parquet_is_written(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    assert ".parquet" in run(capsys, "export", "button", "--form", "parquet")


def test_a_design_without_a_window_needs_one_at_creation(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)).save("plain.json")
    create = ("create", "button", "--design", "plain.json")
    assert "a live test needs a measure" in refused(capsys, *create)
    assert "--aggregate needs --window" in refused(capsys, *create, "--aggregate", "any")
    assert "--reports" in refused(capsys, *create, "--reports", "mostly")
    last = (*create, "--window", "7d", "--aggregate", "last", "--missing")
    assert '"exclude" is for metrics beside the primary' in refused(capsys, *last, "exclude")
    run(capsys, *create, "--window", "7d")
    run(capsys, "create", "other", "--design", "plain.json", "--reports", "always")
    with bs.open(store) as opened:
        assert opened.get("button").design.measure == bs.Measure("7d", "any")
        assert opened.get("other").design.reports == "always"
    assert "already" in refused(
        capsys, "create", "third", "--design", "design.json", "--window", "7d"
    )


def test_who_gets_in_and_what_arms_are_worth_are_options(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = '{"a": false, "b": true}'
    create = ("--design", "design.json")
    run(capsys, "create", "button", *create, "--share", "10%", "--values", values)
    Path("who.json").write_text('{"where": {"==": [{"var": "country"}, "FR"]}}', encoding="utf-8")
    run(capsys, "create", "french", *create, "--audience", "who.json")
    assert "50 % of the traffic gets in from" in run(capsys, "share", "button", "50%")
    with bs.open(store) as opened:
        button = opened.get("button")
        assert (button.audience, button.values) == (bs.Audience(share=0.5), (False, True))
        assert not opened.get("french").evaluate("u").enrolled
    assert "Share of traffic from 10 % to 50 %" in run(capsys, "log", "button")
    both = ("--share", "10%", "--audience", "who.json")
    assert "--audience does not go with --share" in refused(capsys, "create", "x", *create, *both)
    assert "values" in refused(capsys, "create", "x", *create, "--values", "{")


def test_a_kill_switch_asks_first(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    for command in (("stop", "button"), ("drop-arm", "button", "a"), ("delete", "button")):
        assert "give --yes" in refused(capsys, *command)
    assert "everyone gets b" in run(capsys, "stop", "button", "--to", "b", "--yes") + run(
        capsys, "log", "button"
    )
    with bs.open(store) as opened:
        assert opened.get("button").assign("new") == "b"


def test_creation_says_so_and_what_comes_next(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = run(capsys, "create", "button", "--design", "design.json").splitlines()
    assert printed[0] == "created button in bascule.db"
    assert "over HTTP      bascule serve --store bascule.db" in printed[printed.index("Next:") :]
    assert printed[-1].endswith("bascule experiment status button --store bascule.db")
    waiting = run(capsys, "create", "later", "--design", "design.json", "--wait")
    assert "to start it    bascule experiment start later --store bascule.db" in waiting
    assert store.is_file()


def test_no_at_a_prompt_changes_nothing_and_is_no_interruption(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "create", "button", "--design", "design.json")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    with pytest.raises(SystemExit) as left:
        main(["experiment", "stop", "button"])
    assert left.value.code == 1
    assert capsys.readouterr().err == "bascule: nothing was changed\n"

    def interrupted(*_: object, **__: object) -> bool:
        raise typer.Abort

    monkeypatch.setattr("typer.confirm", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["experiment", "stop", "button"])
    assert left.value.code == 130
    assert capsys.readouterr().err == "\nbascule: nothing was changed\n"
    with bs.open(store) as opened:
        assert opened.get("button").status().state == "running"
