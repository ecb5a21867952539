"""`bascule analyze` as a user meets it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import bascule as bs
from bascule.cli.main import main


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("log") / "log.csv"
    lines = ["user_id,variant,ts,converted,country"]
    for i in range(2000):
        arm = ("control", "green")[int(rng.integers(2))]
        hit = int(rng.random() < (0.3 if arm == "green" else 0.1))
        country = "fr" if i % 4 == 0 else "de"
        lines.append(f"{i},{arm},2026-01-{1 + i // 200:02} 10:00:00,{hit},{country}")
    path.write_text("\n".join(lines))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["analyze", *map(str, arguments)])
    printed = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, printed.out, printed.err


def test_a_file_and_a_column_are_enough(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, log, "--metric", "converted", "--days", "--weights", "1", "1")
    assert (code, err) == (0, "")
    headline = out.splitlines()[0]
    assert headline.startswith("green is the best arm: +")
    assert " points (" in headline
    assert headline.endswith("the probability of naming a worse arm is at most 2.5 % (proven)")
    (day,) = (line for line in out.splitlines() if line.startswith("  2026-01-10 "))
    assert day.endswith("green")


def test_json_is_the_answer_of_the_library(
    log: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = ["--metric", "converted", "--segment", "country", "--error", "0.01"]
    code, out, _ = run(capsys, log, *asked, "--json", "--csv", tmp_path / "days.csv")
    assert code == 0
    data = json.loads(out)
    wanted = bs.analyze(log, "converted", error=0.01, segment="country")
    assert data["headline"] == wanted.headline
    assert len((tmp_path / "days.csv").read_text().splitlines()) == 21


def test_options_make_an_outcome_model(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = [log, "--metric", "converted", "--json"]
    bounded = json.loads(run(capsys, *common, "--high", "2", "--today")[1])
    assert bounded["design"]["outcome"] == {"kind": "bounded", "low": 0.0, "high": 2.0}
    normal = json.loads(run(capsys, *common, "--sigma", "0.5")[1])
    assert normal["evidence"] == "normal mixture"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--metric", "convert"], "did you mean 'converted'?"),
        (["--outcome", "gaussian"], "--outcome gaussian needs the spread, --sigma"),
        (["--window", "soon"], "window must be a duration"),
        (["--metric", "nothing"], "--metric: there is no column 'nothing'"),
        (["--design", "nowhere.json"], "cannot read the design file nowhere.json"),
        (["--csv", "nowhere/days.csv"], "there is no folder nowhere"),
    ],
)
def test_a_mistake_is_one_line(
    log: Path, capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    code, out, err = run(capsys, log, *options)
    assert (code, out) == (2, "")
    assert err.startswith("bascule: ")
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "level", "each"), [([], "95 %", "2.5 %"), (["--sides", "1"], "90 %", "5 %")]
)
def test_intervals_have_95_percent_unless_the_error_is_for_one_side(
    log: Path, capsys: pytest.CaptureFixture[str], options: list[str], level: str, each: str
) -> None:
    code, out, _ = run(capsys, log, "--metric", "converted", "--today", *options)
    assert code == 0
    assert f"the probability of naming a worse arm is at most {each}" in out
    assert f"{level} intervals: each bound fails with probability at most {each}" in out


def test_all_that_is_unclear_is_asked_at_once_with_a_command_to_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "a log.csv"
    lines = ["user,device_id,plan,region,visits,minutes"]
    for i in range(300):
        plan, region = ("old", "new")[i % 2], ("north", "south")[i // 2 % 2]
        lines.append(f"{i},{i % 41},{plan},{region},{rng.poisson(3)},{rng.exponential(5):.2f}")
    path.write_text("\n".join(lines))
    code, out, err = run(capsys, path, "--error", "0.01", "--unit", "user")
    assert (code, out) == (2, "")
    assert "arm could be plan or region; metric could be visits or minutes" in err
    assert "Recognised: unit user" in err
    command = err.split("for example: ")[1].strip()
    assert command.startswith("bascule analyze ")
    assert command.endswith("--unit user --error 0.01 --arm plan --metric visits")
    code, out, _ = run(capsys, *shlex.split(command)[2:])
    assert code == 0
    assert "Which is better on visits: old or new?" in out
    # What a note advises is spelled as it is typed.
    assert "give --low LOW --high HIGH or --sigma SIGMA to have a proven answer" in out
