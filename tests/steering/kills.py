"""Kill runs of a steered test with SIGKILL at every so many lines, and run them again.

`python -m tests.steering.kills FOLDER STEP OFFSET` prints how many runs were killed. Only children
read the log: DuckDB has threads, which do not survive a fork.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from tests.steering.team import Team

import bascule as bs
from bascule.core.inputs import files
from bascule.steering import evidence, ledger, result, run, targets  # noqa: F401 - before the fork

KILLED = {run.__file__, ledger.__file__, targets.__file__, files.__file__}
"""The files that write, in whose lines runs are killed."""

BEGINS = {"_begin", "_decide", "_write"}
"""Functions of a run that write; before them it only reads."""

BETTER = {"control": 0.1, "green": 0.3}


def child(work: Callable[[], None]) -> int:
    """Do some work in a child process; return how it ended."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def killed_after(lines: int) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that kills its process before a line of the files that write.

    Lines count from the first function on that writes.
    """
    left, has_begun = lines, False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, has_begun
        if frame.f_code.co_filename not in KILLED:
            return None
        has_begun = has_begun or frame.f_code.co_name in BEGINS
        if event == "line":
            left -= has_begun
            if has_begun and left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def team_after(folder: Path, days: int) -> Team:
    """Return a team whose test is to be run after some days."""
    team = Team(folder)
    for _ in range(days):
        assert child(lambda: print(team.steer(), file=sys.stderr)) == 0
        team.users(250, BETTER)
    return team


def check(team: Team, before: Path, killed: Path, again: Path) -> None:
    """Compare the folder before a killed run, after it, and after the next run."""
    old, new, last = (path / "test.ledger" for path in (before, killed, again))
    rows = {path: path.read_bytes() if path.exists() else b"" for path in (old, new, last)}
    assert rows[new].startswith(rows[old]), "a killed run has lost lines"
    complete = rows[new][: rows[new].rfind(b"\n") + 1]
    assert rows[last].startswith(complete), "the next run has lost lines"
    flags = [(path / "flags.json").read_bytes() for path in (before, killed, again)]
    kinds = [row["what"] for row in team.ledger]
    already = len(team_rows(old, "in force"))
    # The shares of the run: in force once, in the flag, and written by one of the two runs alone.
    assert kinds.count("in force") == already + 1
    assert kinds.count("decided") <= 1
    assert flags[2] != flags[0]
    written = flags[1] != flags[0]
    intents = len(team_rows(last, "intent")) - len(team_rows(new, "intent"))
    assert intents == (0 if written else 1), "shares were written twice, or not at all"
    assert not written or flags[1] == flags[2]
    in_force = team_rows(last, "in force")[-1]["shares"]
    assert all(abs(team.shares[arm] - share) < 1e-9 for arm, share in in_force.items())
    blocks = team_rows(last, "block")
    assert [row["number"] for row in blocks] == list(range(len(blocks))), "a block counted twice"


def team_rows(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the complete lines of a kind in a ledger."""
    if not path.exists():
        return []
    lines = path.read_bytes().rpartition(b"\n")[0].splitlines()
    return [row for row in map(json.loads, lines) if row["what"] == kind]


def run_again(team: Team) -> None:
    """Run a test ten minutes after a run that was killed."""
    print(bs.steer(team.path, now=team.now + timedelta(minutes=10)), file=sys.stderr)


def interrupted(team: Team, lines: int) -> None:
    """Run a test, and kill the run before a line; never, if the number is 0."""
    sys.settrace(killed_after(lines))
    team.steer()


def outcome(team: Team) -> tuple[dict[str, float], int]:
    """Return the shares of a test's flag, and how many decisions its ledger has."""
    return team.shares, len(team_rows(team.path.with_suffix(".ledger"), "decided"))


def main(folder: Path, step: int, offset: int) -> None:
    """Kill the first run, one that moves the shares, and one that decides."""
    for days in (0, 1, 2):
        home, before, killed = (folder / f"{name}-{days}" for name in ("home", "before", "killed"))
        home.mkdir(parents=True)
        team = team_after(home, days)
        shutil.copytree(home, before)
        assert child(partial(interrupted, team, 0)) == 0
        kills, expected = 0, outcome(team)
        for line in range(1 + offset, 10_000, step):
            shutil.rmtree(home)
            shutil.copytree(before, home)
            end = child(partial(interrupted, team, line))
            if end == 0:
                break
            assert end == -signal.SIGKILL, end
            shutil.rmtree(killed, ignore_errors=True)
            shutil.copytree(home, killed)
            assert child(partial(run_again, team)) == 0
            check(team, before, killed, home)
            assert outcome(team) == expected
            kills += 1
        print(kills, expected, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
