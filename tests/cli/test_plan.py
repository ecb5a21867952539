"""`bascule plan` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main

QUICK = ["--sigma", "5", "--baseline", "20", "--lift", "10%", "--units-per-day", "20"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["plan", *arguments])
    printed = capsys.readouterr()
    code = caught.value.code
    assert isinstance(code, int)
    return code, printed.out, printed.err


def test_nothing_asked_is_the_default_question_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "--json", "--runs", "20")
    assert code == 0
    data = json.loads(out)
    assert data["question"] == "5 % against 6 %: a lift of 1 point, +20 % of the baseline"
    assert data["request"]["max_units"] == 140_000
    assert list(tmp_path.iterdir()) == []


def test_json_is_the_answer_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *QUICK, "--error", "1%", "--seed", "3", "--runs", "50", "--json")
    assert code == 0
    answer = bs.plan(
        bs.Gaussian(5), 20, "10%", error=0.01, units_per_day=20, seed=3, runs=50
    ).to_dict()
    assert {**json.loads(out), "seconds": 0} == {**answer, "seconds": 0}


def test_a_terminal_gets_a_short_answer_and_more_if_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, *QUICK, "--runs", "50")
    assert code == 0
    assert "20 against 22: a lift of 2, +10 % of the baseline" in out
    assert "More figures: --verbose" in out
    assert "if the true lift is" not in out
    code, out, _ = run(capsys, *QUICK, "--runs", "50", "--verbose")
    assert "if the true lift is" in out


def test_percent_and_plain_numbers_are_different_lifts(capsys: pytest.CaptureFixture[str]) -> None:
    questions = []
    for lift in ("0.1", "-20%"):
        _, out, _ = run(capsys, "--baseline", "50%", "--lift", lift, "--runs", "2", "--json")
        questions.append(json.loads(out)["question"])
    assert questions == [
        "50 % against 60 %: a lift of 10 points, +20 % of the baseline",
        "50 % against 40 %: a lift of -10 points, -20 % of the baseline",
    ]


@pytest.mark.slow
def test_several_arms_may_have_lifts_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "--sigma", "1", "--baseline", "2", "--lift", "50%", "0.2", "--units-per-day", "50",
        "--runs", "20", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["request"]["means"] == [2.0, 3.0, 2.2]


def test_what_was_asked_for_is_written_and_can_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    design, figure, page = tmp_path / "d.json", tmp_path / "f.svg", tmp_path / "p.html"
    code, out, _ = run(
        capsys, *QUICK, "--runs", "50",
        "--save", str(design), "--figure", str(figure), "--html", str(page),
    )  # fmt: skip
    assert code == 0
    assert out.count("wrote") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.json", "f.svg", "p.html"]
    assert b"<svg" in figure.read_bytes()
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(SystemExit) as caught:
        main(["simulate", "--design", str(design), "--means", "20", "22", "--runs", "20"])
    assert caught.value.code == 0


@pytest.mark.slow
def test_a_sample_tells_baseline_and_spread(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "spent.csv"
    path.write_text("value\n" + "\n".join(str(v) for v in [10, 20, 30] * 10), encoding="utf-8")
    code, out, _ = run(
        capsys, "--sample", str(path), "--lift", "25%", "--units-per-day", "30", "--runs", "20",
        "--json",
    )  # fmt: skip
    assert code == 0
    data = json.loads(out)
    assert data["request"]["means"] == [20.0, 25.0]
    assert data["design"]["outcome"]["spread"] == pytest.approx(8.3045, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--lift", "-0.06"], "below the 0"),
        (["--units-per-day", "0"], "--units-per-day must be above 0"),
        (["--deadline-days", "0.001"], "too short"),
        (["--lift", "lots"], "must be a number"),
        (["--error", "0%"], "strictly between 0 and 1"),
        (["--sample", "nowhere.csv"], "cannot read the sample"),
        (["--save", "nowhere/design.json"], "there is no folder nowhere"),
        (["--save", "."], "must name a file"),
        (["--figure", "plan.pdf"], ".png or .svg"),
        (["--outcome", "bernoulli", "--sigma", "2"], "--sigma belongs to"),
        (["--outcome", "gaussian"], "lift is missing"),
        (["--low", "0", "--high", "5"], "baseline is missing"),
        (["--arms", "1"], "at least 2"),
        (["--arms", "red,green"], "if left out: 2"),
        (
            ["--baseline", "5"],
            "the standard deviation (--sigma), in Python Bounded or Numeric, or earlier outcomes",
        ),
        (["--outcome", "numeric", "--baseline", "9", "--lift", "1"], "--sigma is missing"),
        (
            ["--high", "5", "--baseline", "2", "--lift", "1", "--sigma", "9"],
            "--sigma must be below",
        ),
        (["--sigma", "3", "--cap", "4"], "--cap does not go with --sigma"),
        (["--cap", "99%"], "give them (--sample), or an amount"),
        (["--window", "7"], "write it with its unit, as 12h or 7d"),
        (["--outcomes-per-day", "3"], "is for recurrent"),
    ],
)
def test_nonsense_gets_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_text_in_a_sample_gets_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spent.csv"
    path.write_text("value\n1\n2\nnone\n", encoding="utf-8")
    code, _, err = run(capsys, "--sample", str(path))
    assert code == 2
    assert "line 4" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_rollout_is_planned_with_its_guardrails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    metric = "latency; gaussian 30; decrease; margin 6"
    saved = tmp_path / "rollout.json"
    asked = ["--rollout", "0d:1%,1d:50%", "--metric", metric, "--runs", "50"]
    code, printed, _ = run(capsys, *asked, "--save", str(saved), "--json")
    assert code == 0
    assert json.loads(printed)["audience"] == {"ramp": [[0.0, 0.02], [86400.0, 1.0]]}
    assert bs.Design.load(saved).decides == "guardrails"
    # A rollout without its schedule would give half of all users the new version at once.
    schedule = tmp_path / "rollout.audience.json"
    assert json.loads(schedule.read_text()) == json.loads(printed)["audience"]
    code, printed, _ = run(capsys, *asked, "--save", str(saved))
    assert f"--design {saved} --audience {schedule} --reports always" in " ".join(printed.split())
    page = tmp_path / "rollout.html"
    code, printed, _ = run(capsys, *asked, "--html", str(page))
    assert (code, printed.endswith(f"wrote {page}\n")) == (0, True)
    assert "Rollout plan" in page.read_text()
    code, printed, _ = run(capsys, *asked, "--arms", "3", "--json")
    assert (code, json.loads(printed)["audience"]["ramp"][1]) == (0, [86400.0, 0.75])
    for option, value in (
        ("--baseline", "5%"),
        ("--power", "80%"),
        ("--goal", "decrease"),
        ("--figure", "x.png"),
    ):
        code, _, problem = run(capsys, *asked, option, value)
        assert code == 2
        assert f"--rollout does not go with {option}" in problem


def test_a_metric_with_a_window_needs_one_of_the_primary_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metric = "quality; ratio; margin 2%; baseline 82%; window 3d"
    code, _, problem = run(capsys, "--metric", metric)
    assert (code, "quality has a window and the primary metric has none" in problem) == (2, True)
    metric = "latency; gaussian 30; decrease; margin 5"
    code, shown, _ = run(capsys, "--metric", metric, "--window", "3d")
    assert code == 0
    words = "needs one for every metric: give latency a window too (--metric)"
    assert words in " ".join(shown.split())
