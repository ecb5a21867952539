"""Rules that `frontier` and `audit` are given by name or by file, and what goes wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.cli.support.own_rules import named_rule

EAGER = dedent(
    """
    from __future__ import annotations

    import math
    from dataclasses import dataclass, field
    from typing import Literal

    import bascule as bs
    from bascule.design import BlockAllocation, Knob


    def share(ahead: float, tilt: float) -> int:
        return SHARE


    @dataclass(frozen=True, slots=True)
    class Eager(BlockAllocation):
        tilt: float = 3.0
        kind: Literal["eager-of-a-file"] = field(default="eager-of-a-file", kw_only=True)

        @property
        def label(self) -> str:
            return f"Eager_{self.tilt:g}"

        @property
        def words(self) -> str:
            return "eager blocks"

        @property
        def knob(self) -> Knob:
            return Knob("tilt", self.tilt, 1.0, regret_grows=False)

        @property
        def like(self) -> bs.Tilt:
            return bs.Tilt(self.tilt)

        @property
        def share(self):
            return share
    """
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_rule.py"
    path.write_text(EAGER.replace("SHARE", "math.floor(tilt + 0.5) if ahead > 0.0 else 1"))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


def test_a_rule_by_its_name_or_file(file: Path) -> None:
    assert named_rule("tilt") == bs.Tilt()
    assert named_rule("ucb(4, radius='mixture')") == bs.UCB(4, radius="mixture")
    assert named_rule(f"{file}:Eager").label == "Eager_3"
    assert named_rule(f"{file}:Eager(tilt=5)").label == "Eager_5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tilted", "does not exist: choose from ucb"),
        ("nowhere.py:Eager", "a file that exists"),
        ("{file}:Lazy", "has no rule 'Lazy'; rules in it: BlockAllocation, Eager"),
        ("{file}:Eager(speed=3)", "cannot be made"),
        ("{file}:Eager(open('x'))", "arguments are plain values"),
        ("tilt(0.5)", "tilt must be at least 1"),
    ],
)
def test_what_cannot_be_a_rule_is_explained(file: Path, text: str, message: str) -> None:
    with pytest.raises(bs.InputError, match=message):
        named_rule(text.replace("{file}", str(file)))


@pytest.mark.slow
def test_frontier_and_audit_take_a_rule_of_a_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ("--rule", f"{file}:Eager(4)", "--rule", "etc-printed")
    code, out, _ = run(capsys, "frontier", "--means", "0", "1", "--runs", "20", "--json", *rules)
    assert code == 0
    labels = [point["label"] for point in json.loads(out)["points"]]
    assert labels[-2:] == ["Eager_4", "ETC as printed"]
    worlds = ("--worlds", "steady", "null", "--runs", "20")
    code, out, _ = run(capsys, "audit", f"{file}:Eager", *worlds)
    assert code == 0
    assert out.startswith("Eager_3 is wrong no more often than promised")


def test_a_rule_that_divides_by_zero_is_named_with_its_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "zero_rule.py"
    path.write_text(EAGER.replace("SHARE", "math.floor(tilt / ahead)"))
    code, _, error = run(capsys, "audit", f"{path}:Eager", "--runs", "20")
    assert code == 2
    assert "Eager_3 divides by zero in share() (zero_rule.py, line 13)" in error


INDEX = dedent(
    """
    from __future__ import annotations

    from dataclasses import dataclass, field
    from typing import Literal

    import bascule as bs
    from bascule.core.procedures.intervals.procedure import IntervalProcedure
    from bascule.core.procedures.intervals.state import Steps, intervals_within
    from bascule.core.rules import Rule
    from bascule.core.rules.base import calibrate_intervals
    from bascule.core.rules.ucb import decide


    def bonus_index(mean, radius, units, bonus):
        return mean + radius + bonus / DIVISOR


    @dataclass(frozen=True, slots=True)
    class Bonus(Rule):
        bonus: float = 1.0
        kind: Literal["bonus-of-a-file"] = field(default="bonus-of-a-file", kw_only=True)

        @property
        def label(self) -> str:
            return f"Bonus_{self.bonus:g}"

        @property
        def words(self) -> str:
            return "index with a bonus"

        def calibrate(self, outcome, arms, error, delta):
            return calibrate_intervals(bs.UCB(2).shape(arms), error, delta)

        def procedure(self, design):
            steps, shape = Steps(bonus_index, decide), bs.UCB(2).shape(len(design.arms))
            return IntervalProcedure(
                design, self.label, self.bonus, steps, intervals_within, False, False, shape
            )
    """
)


@pytest.mark.parametrize("divisor", ["units", "(1.0 if units < 40.0 else 0.0 * units)"])
def test_a_compiled_rule_that_divides_by_zero_is_named_with_its_function(
    tmp_path: Path, divisor: str
) -> None:
    path = tmp_path / "index_rule.py"
    path.write_text(INDEX.replace("DIVISOR", divisor))
    message = r"Bonus_1 divides by zero in bonus_index\(\) \(index_rule.py, line 16\)"
    with pytest.raises(bs.InputError, match=message):
        bs.research.frontier([0.0, 1.0], rules=["tilt", named_rule(f"{path}:Bonus")], runs=20)


def test_an_index_of_ones_own_is_not_predicted_as_if_it_were_that_of_ucb(tmp_path: Path) -> None:
    path = tmp_path / "index_rule.py"
    path.write_text(INDEX.replace("DIVISOR", "max(units, 1.0)"))
    rule = named_rule(f"{path}:Bonus")
    compared = bs.research.frontier([0.0, 1.0], tilts=[3], rules=["tilt", rule], runs=20)
    # UCB with an alpha of 1, which the bonus is, would take for ever and be left out.
    assert [point.label for point in compared.points] == ["Tilt_3", "Bonus_1"]


def test_the_short_help_of_paper_has_runs_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "paper", "--help")
    assert code == 0
    assert "--runs" in out
    assert "--seed" in out
    assert "--threads" not in out
