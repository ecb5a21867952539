"""What can go wrong between two runs: nothing is written twice, and nothing is lost."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.steering.team import DAY, DESIGN, Team

import bascule as bs
from bascule.core.errors import InputError
from bascule.steering import run as running
from bascule.steering.ledger import open_ledger, read_time
from bascule.steering.targets import WRITE_SECONDS, Flagd

pytestmark = pytest.mark.slow

EVEN = {"control": 0.1, "green": 0.1}
GREEN = {"control": 0.05, "green": 0.25}


LONG = bs.Design(
    DESIGN.arms, DESIGN.outcome, bs.Tilt(8, 0.04, power=0.9, baseline=0.1), measure=DESIGN.measure
)
"""A test that goes on for as long as these tests need it."""


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path, LONG)


def days(team: Team, number: int, chances: dict[str, float]) -> None:
    for _ in range(number):
        team.users(200, chances)
        team.steer()


def rows(team: Team, what: str) -> list[dict[str, Any]]:
    return [row for row in team.ledger if row["what"] == what]


def test_two_runs_at_once(team: Team) -> None:
    team.steer()
    lines = team.ledger
    with (
        open_ledger(team.path.with_suffix(".ledger")),
        pytest.raises(InputError, match="another run of this test is under way"),
    ):
        team.steer()
    assert team.ledger == lines
    team.steer()


class Killed(BaseException):
    """The end of a process, which nothing catches."""


def killed_at(monkeypatch: pytest.MonkeyPatch, verb: str, after: bool) -> None:
    """Kill the next run when it writes to the flag tool, before or after the write."""
    original = getattr(Flagd, verb)

    def write(self: Flagd, shares: Any) -> None:
        if after:
            original(self, shares)
        raise Killed

    monkeypatch.setattr(Flagd, verb, write)


@pytest.mark.parametrize("after", [False, True])
def test_a_run_killed_around_its_write(
    team: Team, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    team.steer()
    team.users(200, GREEN)
    with monkeypatch.context() as patched:
        killed_at(patched, "write", after)
        with pytest.raises(Killed):
            team.steer()
    (_, intent) = rows(team, "intent")
    killed = team.now
    team.day += 1
    run = team.steer()
    if after:
        # What was written is found, and not written again.
        assert "were not written again" in str(run)
        _, recovered, *_ = rows(team, "in force")
        assert recovered["shares"] == pytest.approx(intent["shares"], abs=0.001)
        assert read_time(recovered["until"]) == killed
        gap = read_time(recovered["since"]) - killed
        assert gap == timedelta(seconds=2 * WRITE_SECONDS + 60)
    else:
        assert "ended before it had written" in str(run).replace("\n", " ")
        assert len(rows(team, "void")) == 1
        assert read_time(rows(team, "in force")[1]["until"]) == team.now
    assert team.shares == pytest.approx(rows(team, "in force")[-1]["shares"])


@pytest.mark.parametrize("after", [False, True])
def test_the_first_run_killed_around_its_write(
    team: Team, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    with monkeypatch.context() as patched:
        killed_at(patched, "write", after)
        with pytest.raises(Killed):
            team.steer()
    team.steer()
    assert team.shares == {"control": 0.5, "green": 0.5}
    assert len(rows(team, "in force")) == 1
    assert len(rows(team, "intent")) == (1 if after else 2)


def test_a_line_that_was_not_completed_is_no_line(team: Team) -> None:
    team.steer()
    lines = team.ledger
    with team.path.with_suffix(".ledger").open("a") as file:
        file.write('{"what": "in force", "at"')
    team.steer(dry_run=True)
    team.steer()
    assert team.ledger[: len(lines)] == lines
    assert [row["what"] for row in team.ledger[len(lines) :]] == ["checked"]


def test_shares_changed_by_hand_stop_the_test_until_it_is_resumed(team: Team) -> None:
    team.steer()
    days(team, 2, EVEN)
    verified = team.now
    team.set_by_hand(green=0)
    team.users(200, EVEN)
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"changed by somebody else \(control 100 %, green 0 %"
        ):
            team.steer()
    assert team.shares == {"control": 1.0, "green": 0.0}
    by_hand = rows(team, "in force")[-1]
    assert by_hand["by"] == "hand"
    assert read_time(by_hand["until"]) == verified
    noted = team.now
    team.users(200, EVEN)
    run = team.steer(resume=True)
    assert run.state == "running"
    assert team.shares["green"] > 0.3
    days(team, 2, EVEN)
    # Units that came between the last sound look and the first that saw the change do not count.
    since, until = verified, noted
    for row in rows(team, "block"):
        block = read_time(row["since"]), read_time(row["until"])
        assert block[1] <= since or block[0] >= until


def test_the_flag_tool_is_down(team: Team) -> None:
    team.steer()
    team.users(200, GREEN)
    there = team.flags.read_text()
    team.flags.unlink()
    lines = team.ledger
    with pytest.raises(InputError, match="cannot be read"):
        team.steer()
    assert team.ledger == lines
    team.flags.write_text(there)
    assert team.steer().after != team.steer().before or team.shares["green"] > 0.5


def test_the_flag_tool_is_down_when_the_winner_is_to_be_written(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Flagd, shares: dict[str, float]) -> None:
        if 1.0 in shares.values():
            raise InputError("target", "flagd is down")
        write(self, shares)

    write = Flagd.write
    with monkeypatch.context() as patched:
        patched.setattr(Flagd, "write", refuse)
        with pytest.raises(InputError, match="flagd is down"):
            team.until_decided(400, {"control": 0.1, "green": 0.3})
    (decided,) = rows(team, "decided")
    assert team.shares["green"] < 1.0
    run = team.steer()
    assert (run.state, run.winner) == ("decided", "green")
    assert team.shares == {"control": 0.0, "green": 1.0}
    assert rows(team, "decided") == [decided]


def test_a_tool_that_takes_other_shares_is_found_out(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flagd, "write", lambda self, shares: None)
    with pytest.raises(InputError, match="after control 50 %, green 50 % was written"):
        team.steer()


def test_shares_are_in_force_from_when_they_were_written(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Flagd.write

    def slow(self: Flagd, shares: Any) -> None:
        time.sleep(1.5)
        original(self, shares)

    monkeypatch.setattr(Flagd, "write", slow)
    bs.steer(team.path)
    (intent,), (in_force,) = rows(team, "intent"), rows(team, "in force")
    assert in_force["until"] == intent["at"]
    settled = read_time(in_force["since"]) - read_time(intent["at"])
    assert settled >= timedelta(seconds=60 + 1.5)


def test_a_late_warehouse_counts_nothing_and_says_so(team: Team) -> None:
    team.steer()
    days(team, 2, EVEN)
    team.users(200, GREEN, load=False)
    before = rows(team, "block")
    run = team.steer()
    assert "no further window has closed in the log" in str(run).replace("\n", " ")
    assert rows(team, "block") == before
    team.load()
    run = team.steer()
    assert len(rows(team, "block")) > len(before)


def test_outcomes_that_are_late_keep_units_from_counting(team: Team) -> None:
    team.steer()
    team.users(400, EVEN)
    newest = max(at for _, at in team.outcomes if at <= team.now)
    team.users(400, EVEN, load=False)
    kept, team.outcomes = team.outcomes, [row for row in team.outcomes if row[1] <= newest]
    team.load()
    run = team.steer()
    assert run.log is not None
    assert run.log.newest == newest
    (block,) = rows(team, "block")
    assert read_time(block["until"]) == newest - timedelta(hours=12)
    team.outcomes = kept


def test_restated_rows_are_reported_and_judged_again(team: Team) -> None:
    team.steer()
    days(team, 2, EVEN)
    first = rows(team, "block")[0]
    unit, _, at = team.exposures[10]
    team.outcomes.append((unit, at + timedelta(hours=1)))
    team.load()
    run = team.steer()
    assert "the log was restated: 1 of" in str(run)
    latest = [row for row in rows(team, "block") if row["number"] == first["number"]][-1]
    totals = [sum(total for _, total in row["sums"].values()) for row in (first, latest)]
    assert totals[1] == totals[0] + 1
    assert "restated" not in str(team.steer())


def test_rows_that_are_gone_stop_the_test(team: Team) -> None:
    team.steer()
    days(team, 3, EVEN)
    shares, lines = team.shares, team.ledger
    first_day = team.now - 2 * DAY
    team.exposures = [row for row in team.exposures if row[2] >= first_day]
    team.load()
    with pytest.raises(InputError, match=r"rows are gone: the units that came from 2026-03-02"):
        team.steer()
    assert team.shares == shares
    assert [row["what"] for row in team.ledger[len(lines) :]] == ["checked"]


def test_lost_exposures_stop_the_test(team: Team) -> None:
    team.steer()
    team.users(1500, EVEN)
    lost = [row for k, row in enumerate(team.exposures) if row[1] == "control" or k % 2]
    team.exposures = lost
    team.users(1500, EVEN)
    with pytest.raises(InputError, match="sample ratio mismatch"):
        team.steer()
    assert team.shares == {"control": 0.5, "green": 0.5}


def test_the_sample_ratio_is_that_of_the_shares_in_force(team: Team) -> None:
    team.steer()
    days(team, 4, GREEN)
    split = {row["shares"]["green"] for row in rows(team, "block")}
    assert min(split) == 0.5
    assert max(split) > 0.7
    assert not rows(team, "decided")


def test_another_design_is_refused(team: Team) -> None:
    team.steer()
    bs.Design(DESIGN.arms, DESIGN.outcome, bs.Tilt(3), measure=DESIGN.measure).save(
        team.folder / "plan.json"
    )
    with pytest.raises(InputError, match="the design of the test has changed"):
        team.steer()


def test_a_dry_run_is_possible_while_a_run_is_under_way(team: Team) -> None:
    team.steer()
    with open_ledger(team.path.with_suffix(".ledger")):
        assert team.steer(dry_run=True).state == "running"


def test_words_of_a_split() -> None:
    assert running.shares_words({"a": 1 / 3, "b": 2 / 3}) == "a 33.3 %, b 66.7 %"


def test_a_command_is_a_target(tmp_path: Path) -> None:
    script, kept = tmp_path / "tool.py", tmp_path / "shares.json"
    script.write_text(
        "import pathlib, sys\n"
        "kept = pathlib.Path('shares.json')\n"
        "if sys.argv[-1] == 'write': kept.write_text(sys.stdin.read())\n"
        "elif kept.exists(): print(kept.read_text())\n"
        "else: sys.exit('no shares yet')\n"
    )
    team = Team(tmp_path, target={"kind": "command", "command": [sys.executable, "tool.py"]})
    with pytest.raises(InputError, match=r"read failed with exit code 1 \(no shares yet\)"):
        team.steer()
    kept.write_text('{"control": 1, "green": 0}')
    team.steer()
    assert json.loads(kept.read_text()) == {"control": 0.5, "green": 0.5}
