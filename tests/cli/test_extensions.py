"""Rules and outcome models of an installed package, on the command line: their own options too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = {
    "arms": ["control", "green"],
    "outcome": {"kind": "rating", "best": 7},
    "rule": {"kind": "explore", "epsilon": 0.2},
    "reports": "always",
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder as pip leaves it: a module that registers both, and another that is missing."""
    (tmp_path / "mine.py").write_text(
        "from bascule.core.outcomes import OUTCOMES\n"
        "from bascule.core.rules import RULES\n"
        "from tests.outside import Explore, Rating\n"
        "RULES.register(Explore)\n"
        "OUTCOMES.register(Rating)\n"
    )
    facts = tmp_path / "mine-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[bascule]\nmine = mine\nlost = not_there\n")
    (tmp_path / "design.json").write_text(json.dumps(DESIGN))
    return tmp_path


RUN = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from bascule.cli.main import main
answers = []
for given in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(given)
        except SystemExit as ended:
            answers.append([ended.code, out.getvalue(), err.getvalue()])
print(json.dumps(answers))
"""


def bascule(folder: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Run commands as one who has installed that package: exit codes, outputs and errors."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [(code, out, err) for code, out, err in json.loads(done.stdout)]
    said = "".join(err for _, _, err in answers)
    assert said.count("the extension lost (not_there) of bascule cannot be imported") == 1
    return answers


def test_an_installed_package_adds_its_rules_and_their_options(installed: Path) -> None:
    shown, made, turned, logged, refused = bascule(
        installed,
        ["simulate", "--help-all"],
        ["experiment", "create", "stars", "--design", "design.json"],
        ["experiment", "knob", "stars", "--epsilon", "10%"],
        ["experiment", "log", "stars", "--json"],
        ["experiment", "knob", "stars", "--epsilon", "70%"],
    )
    assert "--epsilon" in shown[1], shown[2]
    assert "For explore: part of a block that goes to the challenger." in shown[1]
    assert "For rating: the best rating." in shown[1]
    assert made[0] == turned[0] == 0, made[2] + turned[2]
    (knob,) = [one for one in json.loads(logged[1])["audit"] if one["action"] == "knob"]
    assert (knob["detail"]["before"], knob["detail"]["now"]) == (0.2, 0.1)
    assert "epsilon of Explore_0.1 must be from 0.01 to 0.5 (got 0.7)" in refused[2]
