"""The frontier of rules for recurring outcomes, in Python and on the command line."""

from __future__ import annotations

import json

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.research.comparison.contenders import RuleFamily
from bascule.research.comparison.frontier import Frontier

pytestmark = pytest.mark.slow

UNITS = bs.Recurrent(1, 1)


@pytest.fixture(scope="module")
def compared() -> Frontier:
    return bs.research.frontier([0.0, 2.0], UNITS, alphas=[2.0], runs=100)


def test_every_family_for_units_takes_part(compared: Frontier) -> None:
    labels = {family: [one.label for one in compared.of(family)] for family in RuleFamily}
    assert labels == {
        RuleFamily.PUBLISHED: ["UCB_2 as published", "ETC' as published", "ETC as published"],
        RuleFamily.PEELING: [],
        RuleFamily.RADIUS: ["UCB_2 mixture radius"],
        RuleFamily.STOP: ["UCB_2 mixture radius and stop", "ETC mixture"],
        RuleFamily.LOOKS: ["UCB_2 planned looks"],
        RuleFamily.TILT: [],
        RuleFamily.EFFECT: [],
        RuleFamily.PEERS: [],
        RuleFamily.GIVEN: [],
        RuleFamily.STATED: [],
    }


def test_a_rule_for_normal_units_dominates_no_rule_that_is_proven(compared: Frontier) -> None:
    by_label = {point.label: point for point in compared.points}
    normal = by_label["UCB_2 mixture radius and stop"]
    assert normal.calibration.guarantee == "gaussian"
    # UCB-MM is as published, and its proof has a gap; ETC-MM is proven.
    assert normal.label in by_label["UCB_2 as published"].dominated_by
    assert by_label["ETC as published"].calibration.guarantee == "proven"
    assert normal.regret.mean < by_label["ETC as published"].regret.mean
    assert normal.label not in by_label["ETC as published"].dominated_by


def test_the_limit_is_that_of_units_whose_means_are_known(compared: Frontier) -> None:
    once = bs.research.frontier([0.0, 2.0], bs.Gaussian(1), alphas=[2.0], runs=5, rules=["tilt"])
    assert compared.oracle == once.oracle
    assert all(point.information.mean > 1 for point in compared.points)
    with pytest.raises(bs.InputError, match="sigma_unit must be above 0"):
        bs.research.frontier([0.0, 2.0], bs.Recurrent(0, 1), runs=5)


def test_the_command_takes_recurring_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "frontier --means 0 3 --outcome recurrent --sigma-unit 1 --sigma-noise 2 --runs 5 --json"
    )
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"]["kind"] == "recurrent"
    assert {point["family"] for point in found["points"]} == {
        "published",
        "mixture-radius",
        "mixture-stop",
        "planned-looks",
    }
