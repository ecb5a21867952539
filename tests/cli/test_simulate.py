"""The command as a user meets it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    printed = capsys.readouterr()
    code = caught.value.code
    assert isinstance(code, int)
    return code, printed.out, printed.err


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "simulate", "--rule", "ucb", "--alpha", "2", "--outcome", "gaussian",
        "--means", "0", "1", "--sigma", "1", "--delta", "0.001", "--runs", "200",
        "--seed", "3", "--max-units", "5000", "--threads", "1", "--json",
    )  # fmt: skip
    assert code == 0
    data = json.loads(out)
    design = bs.Design(["A", "B"], bs.Gaussian(1), bs.UCB(2), delta=0.001, max_units=5000)
    expected = bs.simulate(design, [0, 1], runs=200, seed=3).to_dict()
    assert {**data, "seconds": 0} == {**expected, "seconds": 0}


def test_the_table_shows_what_is_expected_and_what_is_proven(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "simulate", "--means", "0", "1", "--runs", "50")
    assert code == 0
    for words in ("regret", "decision time", "predicted", "proven", "UCB_2, 50 runs"):
        assert words in out


def test_what_was_only_published_is_the_papers_bound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = run(
        capsys, "simulate", "--outcome", "recurrent", "--means", "0", "1", "--runs", "5"
    )
    assert code == 0
    design = bs.Design(["A", "B"], bs.Recurrent(1, 1), bs.UCB(2))
    stated = bs.theory.published_bounds(design, 1.0)
    for amount in (stated.regret, stated.decision_time):
        assert f" {amount:,.0f}" in out


def test_negative_means_are_means(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "--means", "-1", "-0.5", "0", "--runs", "5", "--json")
    assert code == 0
    assert len(json.loads(out)["share"]) == 3


@pytest.mark.parametrize(("name", "label"), [("etc", "ETC"), ("etc-prime", "ETC'")])
def test_the_other_rules(capsys: pytest.CaptureFixture[str], name: str, label: str) -> None:
    _, out, _ = run(
        capsys, "simulate", "--rule", name, "--means", "0", "1", "--runs", "5", "--json"
    )
    assert json.loads(out)["rule"] == label


def test_a_static_population(capsys: pytest.CaptureFixture[str]) -> None:
    world = "--sigma-unit 1 --sigma-noise 3 --means 0 0.3 --runs 50 --json"
    labels = []
    for ending in ("", "--horizon 30", "--horizon 30 --stop looks", "--stop mixture"):
        code, out, _ = run(capsys, "simulate", *f"{STATIC} {ending} {world}".split())
        assert code == 0
        labels.append(json.loads(out)["rule"])
    assert labels == ["Static", "Static horizon", "Static looks", "Static mixture"]
    _, out, _ = run(capsys, "simulate", *f"{STATIC} --horizon 30 --means 0 0.3".split())
    assert "stages to decide" in out


def test_zero_or_one_has_no_prediction_for_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    world = ["--outcome", "bernoulli", "--means", "0.1", "0.5", "--runs", "50"]
    code, out, _ = run(capsys, "simulate", "--rule", "tilt", *world)
    assert code == 0
    assert "Tilt_3, 50 runs" in out
    code, out, _ = run(capsys, "simulate", "--rule", "tilt", *world, "--json")
    assert json.loads(out)["guarantee"] == "proven"


def test_a_design_file_describes_the_test(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "design.json"
    bs.Design(["a", "b"], bs.Gaussian(2), bs.ETC(), error=0.01).save(file)
    code, out, _ = run(
        capsys, "simulate", "--design", str(file), "--means", "0", "2", "--runs", "20", "--json"
    )
    assert code == 0
    assert json.loads(out)["rule"] == "ETC"
    code, out, _ = run(
        capsys, "simulate", "--design", str(file), "--means", "0", "2", "--max-units", "10",
        "--runs", "20", "--json",
    )  # fmt: skip
    assert json.loads(out)["undecided"] > 0


def test_units_whose_outcomes_keep_coming(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "simulate", "--outcome", "recurrent", "--sigma-unit", "0.5", "--sigma-noise", "2",
        "--radius", "mixture", "--means", "0", "1", "--runs", "20", "--json",
    )  # fmt: skip
    assert code == 0
    data = json.loads(out)
    design = bs.Design(["A", "B"], bs.Recurrent(0.5, 2), bs.UCB(2, radius="mixture"))
    expected = bs.simulate(design, [0, 1], runs=20).to_dict()
    assert {**data, "seconds": 0} == {**expected, "seconds": 0}
    assert (data["guarantee"], data["engine"]) == ("gaussian", "fast")


@pytest.mark.slow
def test_radius_and_stop_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    world = ["--means", "0", "3", "--runs", "5", "--json"]
    _, out, _ = run(capsys, "simulate", "--radius", "mixture", "--stop", "mixture", *world)
    assert json.loads(out)["rule"] == "UCB_2 mixture radius and stop"
    _, out, _ = run(capsys, "simulate", "--rule", "etc", "--stop", "mixture", *world)
    assert json.loads(out)["rule"] == "ETC mixture"


STATIC = "--rule static --outcome recurrent --population 1000"

BAD = [
    ("--outcome recurrent --sigma-noise 0 --means 0 1", 'radius="alternative"'),
    ("--outcome recurrent --rule tilt --means 0 1", 'radius="mixture"'),
    ("--outcome recurrent --sigma 2 --means 0 1", "--sigma belongs to --outcome gaussian"),
    ("--sigma-unit 2 --means 0 1", "--sigma-unit belongs to --outcome recurrent"),
    ("--radius looks --means 0 1", "belongs to Recurrent outcomes"),
    ("--rule etc --radius mixture --means 0 1", "--radius belongs to --rule ucb"),
    (
        "--rule tilt --stop mixture --means 0 1",
        "--stop belongs to --rule ucb or etc or static or etc-printed",
    ),
    ("--engine plain --means 0 1", "belongs to Recurrent outcomes"),
    ("--outcome recurrent --world delay --means 0 1", "delay does not go with Recurrent"),
    ("--means 0 1 --sigma 0", "sigma must be above 0"),
    ("--means 0 1 --sigma -2", "sigma must be above 0"),
    ("--means 0 1 --alpha 0.5", "alpha must be at least 1"),
    ("--means 0 1 --alpha nan", "alpha must be a number"),
    ("--means 0 1 --alpha 1", "set max_units"),
    ("--means 0 1 --error 0", "error must lie strictly between 0 and 1"),
    ("--means 0 1 --error 1", "error must lie strictly between 0 and 1"),
    ("--means 0 1 --delta 2", "delta must lie strictly between 0 and 1"),
    ("--means 0 1 --error 0.05 --delta 0.01", "--error does not go with --delta"),
    ("--means 1", "arms must be at least 2"),
    ("--means 1 1", "one best arm"),
    ("--means 0 0.0000001", "too small"),
    ("--means 0 0.001 --max-units 100", "would end nearly every run undecided"),
    ("--means 0 nan", "means must be a number"),
    ("--means 0 one", "means"),
    ("--outcome bernoulli --means 0.5 1.5", "means of 0/1 outcomes must lie between 0 and 1"),
    ("--outcome bernoulli --means 0.5 0.6 --sigma 1", "--sigma belongs to --outcome gaussian"),
    ("--outcome bernoulli --rule tilt --effect 0.1 --means 0.5 0.6", "give baseline too"),
    ("--rule thompson --means 0 1", "'ucb', 'etc', 'etc-prime', 'tilt'"),
    ("--rule etc --alpha 2 --means 0 1", "--alpha belongs to --rule ucb"),
    ("--means 0 1 --runs 0", "runs must be at least 1"),
    ("--means 0 1 --seed -1", "seed must be at least 0"),
    ("--means 0 1 --threads 0", "threads must be at least 1"),
    ("--means 0 1 --max-units 3", "--max-units must be at least 6"),
    ("--means 0 1 --design nowhere.json", "No such file"),
    ("--means 0 1 --design nowhere.json --alpha 2", "--design does not go with --alpha"),
    ("--means 0 1 --colour green", "--colour"),
    ("", "--means is missing"),
    ("--means 0 1 --runs 100000000000000", "runs must be at most"),
    ("--means 0 1 --max-units 10000000000000000000000", "--max-units must be at most"),
    ("--means 0 1 --threads 10000000", "threads must be at most"),
    ("--means 0 1 --seed 99999999999999999999999", "seed must be at most"),
    ("--means 0 1e308", "means must be finite and at most"),
    ("--means 0 1 --sigma 1e308", "sigma must lie between"),
    ("--means 0 1 --error 1e-300", "error must be at least"),
    ("--means 0 1 --tilt 2", "--tilt belongs to --rule tilt"),
    ("--rule tilt --tilt 0.5 --means 0 1", "tilt must be at least 1"),
    ("--rule tilt --delta 0.01 --means 0 1", "give error instead"),
    ("--outcome bernoulli --means 0.1 0.2 --low 0", "--low belongs to --outcome bounded"),
    ("--outcome bounded --means 0.1 2", "means must lie between 0 and 1"),
    ("--means 0 1 --world risng", "choose from steady, rising"),
    ("--means 0 1 --world nowhere.json", "cannot read the world file"),
    ('--means 0 1 --world {"batch":', "--world is not valid JSON"),
    ('--means 0 1 --world {"batch":0}', "batch must be at least 1"),
    ('--means 0 1 --world {"means":[0,1]}', "means are given twice"),
    ('--world {"means":[0]}', "arms must be at least 2"),
    ("--world rising", "--means is missing"),
    ("--means 0 1 --world null", "set max_units"),
    ("--rule static --population 100 --means 0 1", "use Recurrent"),
    ("--rule static --outcome recurrent --means 0 1", "population must be at least 2"),
    ("--population 100 --means 0 1", "--population belongs to --rule static"),
    ("--rule etc --horizon 30 --means 0 1", "--horizon belongs to --rule static"),
    (f"{STATIC} --means 0 1 --tilt 3", "--tilt belongs to --rule tilt"),
    (f"{STATIC} --means 0 1 --max-units 100", "set horizon"),
    (f"{STATIC} --means 0 1 --horizon 0", "horizon must be at least 1"),
    (f"{STATIC} --means 0 1 --stop horizon", "give the last stage"),
    (f"{STATIC} --means 0 0", "set the horizon of Static"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_a_mistake_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    code, out, err = run(capsys, "simulate", *arguments.split())
    assert code == 2
    assert out == ""
    assert err.startswith("bascule: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("form", [["--means=0", "1"], ["--means", "0,1"], ["--means=0,1"]])
def test_means_may_be_written_in_several_ways(
    capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    code, out, _ = run(capsys, "simulate", *form, "--runs", "5", "--json")
    assert code == 0
    assert len(json.loads(out)["share"]) == 2


def test_a_huge_alpha_is_as_good_as_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "simulate", "--means", "0", "1", "--alpha", "1e200", "--runs", "5")
    assert code == 0
    assert "1e+200" in out


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '{"arms": 3}', "null", '"x"'])
def test_strange_design_files_get_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "design.json"
    file.write_text(text)
    code, _, err = run(capsys, "simulate", "--design", str(file), "--means", "0", "1")
    assert code == 2
    assert err.count("\n") == 1


WORLD = {"means": [0, 1], "batch": 20}


@pytest.mark.parametrize("form", ["json", "file", "both", "name"])
def test_a_world_may_be_written_in_several_ways(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    file = tmp_path / "world.json"
    file.write_text(json.dumps(WORLD))
    given = {
        "json": ["--world", json.dumps(WORLD)],
        "file": ["--world", str(file)],
        "both": ["--world", '{"batch": 20}', "--means", "0", "1"],
        "name": ["--world", "batches", "--means", "0", "1"],
    }[form]
    code, out, _ = run(capsys, "simulate", "--rule", "tilt", *given, "--runs", "20", "--json")
    assert code == 0
    data = json.loads(out)
    assert data["world"]["means"] == [0, 1]
    assert data["world"]["batch"] == (200 if form == "name" else 20)


def test_the_table_names_the_world(capsys: pytest.CaptureFixture[str]) -> None:
    world = ["--means", "0", "1", "--world", "delay"]
    code, out, _ = run(capsys, "simulate", "--rule", "tilt", *world, "--runs", "20")
    assert code == 0
    assert "fixed delay of 200 units" in out


def test_a_narrow_terminal_gets_lines_and_no_cut_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = run(capsys, "simulate", "--means", "0", "1", "--runs", "20")
    assert code == 0
    assert "…" not in out
    assert "guarantee        false positive rate at most 5 %" in out


def test_at_a_tie_it_says_what_is_wrong_and_what_is_promised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--rule", "tilt", "--means", "0", "0", "--max-units", "5000", "--runs", "200"]
    code, out, _ = run(capsys, "simulate", *arguments)
    assert code == 0
    assert "the best arms are equal, so either of them as the winner counts as wrong" in out
    assert "false positive rate at most 5 %" in out


def work_for(pid: int, seconds: float) -> None:
    """Wait until a program has kept a core busy for so long, however busy the machine is."""
    deadline = time.monotonic() + 30 * seconds
    spent = 0.0
    while spent < seconds and time.monotonic() < deadline:
        time.sleep(0.1)
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_interruption_is_said_and_gives_no_result() -> None:
    command = Path(sys.executable).parent / "bascule"
    # Many runs, none so long that another loop would have to be compiled in the middle.
    arguments = ["simulate", "--means", "0", "0", "--max-units", "2000000", "--runs", "1000000"]
    process = subprocess.Popen(
        [command, *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # Long enough to be at work; the work itself would take hours.
        work_for(process.pid, 4.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "bascule: interrupted: there is no result"
    assert "Traceback" not in err


def test_an_interruption_in_a_callback_of_the_compiler_ends_the_command() -> None:
    """Python prints and forgets what is raised in a callback of C, such as those of LLVM."""
    program = """
import ctypes, sys
from bascule.cli.main import end_if_interrupted

def callback():
    raise KeyboardInterrupt

sys.unraisablehook = end_if_interrupted
ctypes.CFUNCTYPE(None)(callback)()
print("went on")
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (130, "")
    assert run.stderr == "bascule: interrupted: there is no result\n"


def test_an_output_that_cannot_be_written_is_one_line() -> None:
    full = Path("/dev/full")
    if not full.exists():
        return
    command = Path(sys.executable).parent / "bascule"
    with full.open("w") as nowhere:
        result = subprocess.run(
            [command, "simulate", "--means", "0", "1", "--runs", "5", "--json"],
            stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "cannot write the output" in result.stderr


def test_a_terminal_without_our_signs_gets_other_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "--means", "0", "1", "--runs", "5"])
    assert ended.value.code == 0
    terminal.seek(0)
    assert "regret" in terminal.read()


def test_duplicate_arm_names_in_a_design_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "design.json"
    file.write_text(
        json.dumps({"arms": ["a", "a"], "outcome": {"kind": "gaussian"}, "rule": {"kind": "etc"}})
    )
    code, _, err = run(capsys, "simulate", "--design", str(file), "--means", "0", "1")
    assert code == 2
    assert err == "bascule: arms must have different names ('a' occurs twice): rename one\n"


def test_an_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "simulat")
    assert code == 2
    assert err.count("\n") == 1


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[:2] == (0, f"bascule {bs.__version__}\n")


def test_means_with_a_percent_sign_are_those_of_conversions() -> None:
    from bascule.cli.support.designs import described_outcome

    assert described_outcome({"means": ["5%", "6 %"]}) == bs.Bernoulli()
    assert described_outcome({"means": ["5%", "6%"], "sigma": "2"}) == bs.Gaussian(2.0)
    assert described_outcome({"means": ["0.05", "0.06"]}) == bs.Gaussian(1.0)
