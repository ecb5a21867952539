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


def bascule(folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """Run a command as one who has installed that package."""
    return subprocess.run(
        [sys.executable, "-c", "from bascule.cli.main import main; main()", *given],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_package_adds_its_rules_and_their_options(installed: Path) -> None:
    shown = bascule(installed, "simulate", "--help-all")
    assert "--epsilon" in shown.stdout, shown.stderr
    assert "For explore: part of a block that goes to the challenger." in shown.stdout
    assert "For rating: the best rating." in shown.stdout
    assert "the extension lost (not_there) of bascule cannot be imported" in shown.stderr

    made = bascule(installed, "experiment", "create", "stars", "--design", "design.json")
    assert made.returncode == 0, made.stderr
    turned = bascule(installed, "experiment", "knob", "stars", "--epsilon", "10%")
    assert turned.returncode == 0, turned.stderr
    status = bascule(installed, "experiment", "log", "stars", "--json")
    (knob,) = [one for one in json.loads(status.stdout)["audit"] if one["action"] == "knob"]
    assert (knob["detail"]["before"], knob["detail"]["now"]) == (0.2, 0.1)
    refused = bascule(installed, "experiment", "knob", "stars", "--epsilon", "70%")
    assert "epsilon of Explore_0.1 must be from 0.01 to 0.5 (got 0.7)" in refused.stderr
