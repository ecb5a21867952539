"""A steered test from its start to its decision, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.steering.team import DESIGN, OTHER, Team

import bascule as bs
from bascule.cli.main import main
from bascule.steering.evidence import fold_blocks
from bascule.steering.ledger import read_time
from bascule.steering.reading import Counts


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def test_a_test_begins_with_an_even_split_and_keeps_the_rest_of_the_flag(team: Team) -> None:
    run = team.steer()
    assert run.state == "running"
    assert team.shares == {"control": 0.5, "green": 0.5}
    data = json.loads(team.flags.read_text())["flags"]
    assert data["other"] == OTHER
    assert data["button"]["targeting"]["if"][0] == {"ends_with": [{"var": "email"}, "@example.com"]}
    assert data["button"]["targeting"]["if"][2]["fractional"][0] == {"var": "targetingKey"}
    assert [row["what"] for row in team.ledger] == ["start", "intent", "in force"]


def test_the_better_arm_gets_more_and_wins(team: Team) -> None:
    run = team.until_decided(400, {"control": 0.1, "green": 0.22})
    assert run.winner == "green"
    assert team.shares == {"control": 0.0, "green": 1.0}
    shares = [row["shares"]["green"] for row in team.ledger if row["what"] == "in force"]
    assert shares[0] == 0.5
    assert 0.5 < max(shares[1:-1]) <= 8 / 9 + 0.001
    assert run.status is not None
    assert run.status.contrasts[0].low >= 0.0
    assert "Ship green" in str(run)
    again = team.steer()
    assert (again.state, again.winner, again.after) == ("decided", "green", run.after)
    assert sum(row["what"] == "intent" for row in team.ledger) == len(shares)


def test_equal_arms_end_undecided_with_the_control(team: Team) -> None:
    run = team.until_decided(400, {"control": 0.15, "green": 0.15})
    assert (run.winner, run.everyone) == (None, "control")
    assert run.reason in ("futility", "horizon")
    assert team.shares == {"control": 1.0, "green": 0.0}
    assert "undecided" in str(team.steer())


def test_fewer_is_better_where_the_goal_says_so(tmp_path: Path) -> None:
    goal = bs.Design(
        DESIGN.arms,
        DESIGN.outcome,
        bs.Tilt(8, 0.1, power=0.9, futility=0.2),
        goal="decrease",
        measure=DESIGN.measure,
    )
    run = Team(tmp_path, goal).until_decided(400, {"control": 0.2, "green": 0.05})
    assert run.winner == "green"
    assert run.status is not None
    assert run.status.contrasts[0].difference < 0.0


def test_a_dry_run_changes_nothing(team: Team) -> None:
    team.steer()
    team.users(400, {"control": 0.05, "green": 0.3})
    team.users(400, {"control": 0.05, "green": 0.3})
    flags, lines = team.flags.read_text(), team.ledger
    run = team.steer(dry_run=True)
    assert run.after != run.before
    assert "dry run" in str(run)
    assert (team.flags.read_text(), team.ledger) == (flags, lines)


def test_a_unit_has_the_arm_of_its_first_exposure(team: Team) -> None:
    team.steer()
    team.users(300, {"control": 0.1, "green": 0.1})
    team.exposures += [(unit, "green", team.now) for unit, _, _ in team.exposures]
    team.users(300, {"control": 0.1, "green": 0.1})
    team.steer()
    (block,) = (row for row in team.ledger if row["what"] == "block")
    expected = {"control": 0, "green": 0}
    for unit in {unit for unit, _, _ in team.exposures}:
        at, arm = min((at, arm) for name, arm, at in team.exposures if name == unit)
        expected[arm] += block["since"] <= at.isoformat() < block["until"]
    assert {arm: units for arm, (units, _) in block["sums"].items()} == expected
    assert expected["control"] > 100


def test_units_whose_windows_are_open_do_not_count(team: Team) -> None:
    team.steer()
    team.users(400, {"control": 0.2, "green": 0.2})
    run = team.steer()
    assert run.status is not None
    assert run.log is not None
    assert run.log.newest is not None
    assert 0 < run.status.matured < 300
    (block,) = (row for row in team.ledger if row["what"] == "block")
    assert (run.log.newest - read_time(block["until"])).total_seconds() == 43_200


def test_a_calendar_withholds_a_decision(tmp_path: Path) -> None:
    design = bs.Design(DESIGN.arms, DESIGN.outcome, DESIGN.rule, measure=DESIGN.measure, min_days=9)
    team = Team(tmp_path, design)
    team.steer()
    states = []
    for _ in range(10):
        team.users(400, {"control": 0.1, "green": 0.3})
        run = team.steer()
        states.append((run.state, run.status is not None and run.status.withheld is not None))
    assert ("running", True) in states
    assert states[-1] == ("decided", False)
    assert team.day >= 9


@pytest.mark.parametrize(("min_days", "day", "reason"), [(None, 1, "futility"), (30, 1, None)])
def test_futility_waits_for_the_minimum_duration(
    min_days: float | None, day: int, reason: str | None
) -> None:
    rule = bs.Tilt(1, effect=0.1, power=0.8, baseline=0.3, futility=0.5)
    design = bs.Design(
        ["a", "b"], bs.Bernoulli(), rule, measure=bs.Measure("1d", "any"), min_days=min_days
    )
    alike: Counts = {arm: {(0.0,): 245, (1.0,): 105} for arm in design.arms}
    clock = 86_400.0 * (1 + day)
    found = fold_blocks(design, [alike], "test", [clock], clock)
    ending = found.state.ending
    assert (ending.verdict, ending.held, found.reason) == (None, None, reason)


def test_exit_codes_and_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def command(team: Team, *arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left:
            main(["steer", str(team.path), *arguments])
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out + shown.err

    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    code, text = command(Team(tmp_path / "new"))
    assert (code, "Keep running" in text) == (0, True)
    team, page = Team(tmp_path / "old"), tmp_path / "page.html"
    team.until_decided(400, {"control": 0.05, "green": 0.3})
    code, text = command(team, "--json", "--html", str(page))
    assert code == 3
    assert json.loads(text)["winner"] == "green"
    assert "Ship green" in page.read_text()
    team.path.with_suffix(".ledger").write_text("{}\n")
    code, text = command(team)
    assert (code, "not the ledger" in text) == (2, True)
