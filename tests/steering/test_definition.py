"""The file of a test: what is refused, and where secrets come from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.steering.team import DESIGN, Team

import bascule as bs
from bascule.core.errors import InputError
from bascule.steering.definition import SteeredTest, checked
from bascule.steering.targets import Unleash

MEASURE = DESIGN.measure
ARMS, BINARY = DESIGN.arms, DESIGN.outcome
SPEED = bs.Metric("speed", bs.Gaussian(30), margin=5, measure=bs.Measure("1h", "mean"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": {}}, "targets is not a field of a test"),
        ({"metrics": {"speed": {"source": "x"}}}, r"of the design: none \(got speed\)"),
        ({"exposures": {"query": "x"}}, "source is missing from the test's exposures"),
        ({"outcomes": "log.csv"}, "outcomes must be an object"),
        ({"target": "flagd"}, "target must be an object"),
        ({"target": 5}, "target must be an object"),
        ({"metrics": ["speed"]}, "metrics must be an object"),
        ({"outcomes": {"source": "x.csv", "arm": "a"}}, "arm is not a field of a test's outcomes"),
        (
            {"target": {"kind": "statsig"}},
            "must be one of 'flagd', 'unleash', 'command' .got 'statsig'",
        ),
        ({"target": {"kind": "flagd", "file": "x"}}, "flag is missing from the test's target"),
        (
            {"target": {"kind": "flagd", "file": "x", "flag": "y", "z": 1}},
            "z is not a field of a test's target",
        ),
        ({"target": {"kind": "command", "command": "run me"}}, "command must be a list"),
        ({"target": {"kind": "command", "command": []}}, "command must be a list of words"),
        ({"target": {"command": ["./set"]}}, "kind is missing from the test's target"),
        ({"settle": [1]}, "settle must be a text"),
        ({"name": 5}, "name must be a text"),
        ({"settle": "soon"}, "settle must be a duration"),
        ({"target": {"kind": "unleash", "token": "${NO_SUCH_TOKEN}"}}, "NO_SUCH_TOKEN, which is"),
        ({"target": {"kind": "flagd", "file": "flags.json", "flag": "other"}}, "one fractional"),
        ({"target": {"kind": "flagd", "file": "flags.json", "flag": "none"}}, "no such flag"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    team = Team(tmp_path)
    team.describe(**changes)
    with pytest.raises(InputError, match=message):
        team.steer()


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (bs.Design(ARMS, BINARY, bs.Tilt(3)), "plan it with a window"),
        (bs.Design(ARMS, BINARY, bs.UCB(2), measure=MEASURE), "cannot be steered"),
        (bs.Design(ARMS, BINARY, bs.Tilt(3), measure=MEASURE, metrics=[SPEED]), "one number"),
        (
            bs.Design(ARMS, bs.Gaussian(1), bs.Tilt(3), measure=bs.Measure("1d", "mean", 0)),
            "one number for each metric",
        ),
    ],
)
def test_designs_that_are_refused(design: bs.Design, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked(design)


def test_secrets_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path)
    target = {"url": "http://unleash", "flag": "b", "environment": "e", "token": "${TOKEN_HERE}"}
    team.describe(target={"kind": "unleash", **target})
    monkeypatch.setenv("TOKEN_HERE", "very-secret")
    target_read = SteeredTest.load(team.path).target
    assert isinstance(target_read, Unleash)
    assert target_read.token == "very-secret"
    assert "very-secret" not in team.path.read_text()


def test_variants_must_have_the_names_of_the_arms(tmp_path: Path) -> None:
    team = Team(tmp_path)
    data = json.loads(team.flags.read_text())
    rule = data["flags"]["button"]["targeting"]["if"][2]["fractional"]
    rule[1:] = [["off", 50], ["on", 50]]
    team.flags.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"variants of the flag \(off, on\)"):
        team.steer()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"exposures": {"source": "exposures.parquet", "arm": "varient"}},
            "did you mean 'variant'",
        ),
        ({"exposures": {"source": "exposure.parquet"}}, "exposures: there is no file"),
        ({"outcomes": {"source": "outcome.parquet"}}, "outcomes: there is no file"),
        ({"outcomes": {"source": "outcomes.parquet", "time": "when"}}, "no column 'when'"),
        ({"outcomes": {"source": "outcomes.parquet", "value": "money"}}, "no column 'money'"),
    ],
)
def test_a_mistake_in_the_tables_is_found_before_the_flag_is_changed(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    team = Team(tmp_path)
    team.describe(**changes)
    flags = team.flags.read_text()
    with pytest.raises(InputError, match=message):
        team.steer()
    assert team.flags.read_text() == flags
    assert [row["what"] for row in team.ledger] == ["start"]


def test_a_design_may_change_until_the_test_has_begun(tmp_path: Path) -> None:
    team = Team(tmp_path)
    replace(DESIGN, arms=("control", "blue")).save(tmp_path / "plan.json")
    with pytest.raises(InputError, match="give them the same names"):
        team.steer()
    DESIGN.save(tmp_path / "plan.json")
    team.steer()
    replace(DESIGN, error=0.1).save(tmp_path / "plan.json")
    with pytest.raises(InputError, match="has changed since it began"):
        team.steer()
