"""What the plain install and the service can do without the packages of other extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys
for module in ("duckdb", "ibis", "matplotlib", "mcp", "narwhals", "pandas", "pyarrow"):
    sys.modules[module] = None
import bascule as bs
"""

PLAIN = """
plan = bs.plan(bs.Bernoulli(), .05, "20%", units_per_day=5000)
assert "days" in str(plan)
assert "a figure needs matplotlib" in plan.html()
assert bs.simulate(plan.design, [.05, .06], runs=20).runs == 20
with bs.open(":memory:") as store:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(2), reports="always")
    test = store.create("button", design)
    for unit in range(40):
        test.assign(unit)
        test.record(unit, unit % 2)
    assert test.status().units == 40
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + script], capture_output=True, text=True, check=False
    )


def test_the_plain_install_plans_simulates_and_runs_tests() -> None:
    done = run(PLAIN)
    assert done.returncode == 0, done.stderr


MAIN = "from bascule.cli.main import main; main"
SIMULATED = "bs.simulate(bs.Design(['a', 'b'], bs.Gaussian(1), bs.Tilt(2)), [0, 1], runs=9)"


@pytest.mark.parametrize(
    ("call", "needs", "extra"),
    [
        ("bs.analyze('log.csv')", "reading logs needs ibis, duckdb, pyarrow, pandas", "analyze"),
        (f"{SIMULATED}.plot()", "a figure needs matplotlib", "figures"),
        (f"{MAIN}(['plan', '--figure', 'plan.svg'])", "a figure needs matplotlib", "figures"),
        (f"{MAIN}(['paper', '--out', 'paper'])", "--out needs matplotlib", "figures"),
        (f"{MAIN}(['mcp'])", "this command needs mcp", "mcp"),
    ],
)
def test_what_needs_an_extra_says_which(call: str, needs: str, extra: str) -> None:
    assert f"{needs}: pip install 'bascule[{extra}]'" in run(call).stderr
