from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.calibration import peel

pytestmark = pytest.mark.slow

STOPS: tuple[Any, ...] = ("horizon", "intervals", "looks", "mixture")


def design(rule: bs.research.Static, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([str(i) for i in range(arms)], bs.Recurrent(1, 3), rule, **given)


def test_a_horizon_is_looked_at_once_unless_said_otherwise() -> None:
    assert bs.research.Static(100).stop == "intervals"
    assert bs.research.Static(100, 30).stop == "horizon"
    assert bs.research.Static(100, 30, stop="mixture").stop == "mixture"


def test_labels() -> None:
    labels = [bs.research.Static(100, 30, stop=stop).label for stop in STOPS]
    assert labels == ["Static horizon", "Static", "Static looks", "Static mixture"]


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("population", [100, [60, 40]])
def test_a_design_survives_its_file(stop: Any, population: Any, tmp_path: Path) -> None:
    before = design(bs.research.Static(population, 30, stop=stop), error=0.01)
    before.save(tmp_path / "design.json")
    assert bs.Design.load(tmp_path / "design.json") == before


def test_the_population_is_a_number_or_one_an_arm() -> None:
    assert bs.research.Static(11).sizes(3) == (4, 4, 3)
    assert bs.research.Static([5, 6]).sizes(2) == (5, 6)
    counted: Any = np.bincount(bs.buckets(range(1000), "price", [1, 1]))
    assert bs.research.Static(counted).sizes(2) == tuple(counted)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("arms", [2, 5])
def test_every_rival_has_its_part_of_the_error(stop: Any, arms: int) -> None:
    promise = design(bs.research.Static(100, 30, stop=stop), arms, error=0.04).calibration
    assert promise.error == 0.04
    assert promise.guarantee == ("gaussian" if stop == "mixture" else "proven")
    part = 0.04 / (arms - 1)
    if stop == "intervals":
        assert promise.delta / 2 + peel(promise.delta / 3) == pytest.approx(part, rel=1e-6)
    else:
        assert promise.delta == pytest.approx(part)


def test_the_papers_delta_and_what_it_proves() -> None:
    assert design(bs.research.Static(100, 30), delta=0.02).calibration.error == 0.02
    assert design(bs.research.Static(100, 30), 4, delta=0.02).calibration.error == pytest.approx(
        0.06
    )
    anytime = design(bs.research.Static(100), delta=0.0257).calibration
    assert anytime.error == pytest.approx(0.05, rel=0.01)
    assert anytime.guarantee == "proven"
    nothing = design(bs.research.Static(100), delta=0.9).calibration
    assert (nothing.error, nothing.guarantee) == (1.0, "as published")


def test_what_cannot_fail_costs_nothing() -> None:
    def delta(outcome: bs.Recurrent) -> float:
        return bs.Design(
            ["a", "b"], outcome, bs.research.Static(100), error=0.05, sides=1
        ).calibration.delta

    assert delta(bs.Recurrent(1, 0)) == pytest.approx(0.1)
    assert delta(bs.Recurrent(1, 1)) < delta(bs.Recurrent(0, 1)) < 0.05


def test_a_large_error_leaves_a_delta_below_one() -> None:
    certain = bs.Design(["a", "b"], bs.Recurrent(1, 0), bs.research.Static(100), error=0.9, sides=1)
    assert 0.999 < certain.calibration.delta < 1


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (bs.research.Static, "population", "number of all units"),
        (lambda: bs.research.Static(1), "population", "at least 2"),
        (lambda: bs.research.Static("100"), "population", "whole number"),  # type: ignore[arg-type]
        (lambda: bs.research.Static([10, 0]), "population", "at least 1"),
        (lambda: bs.research.Static([10, 2.5]), "population", "whole number"),  # type: ignore[list-item]
        (lambda: bs.research.Static(100, 0), "horizon", "at least 1"),
        (lambda: bs.research.Static(100, 1.5), "horizon", "whole number"),  # type: ignore[arg-type]
        (lambda: bs.research.Static(100, stop="horizon"), "horizon", "give the last stage"),
        (lambda: bs.research.Static(100, stop="paper"), "stop", "must be"),  # type: ignore[arg-type]
        (lambda: design(bs.research.Static([1, 2, 3])), "population", "one number per arm"),
        (lambda: design(bs.research.Static(2), 3), "population", "a unit for each of 3 arms"),
        (lambda: design(bs.research.Static(100), max_units=50), "max_units", "set horizon"),
        (lambda: design(bs.research.Static(100, stop="looks"), delta=0.1), "delta", "give error"),
        (lambda: design(bs.research.Static(100, stop="mixture"), delta=0.1), "delta", "give error"),
        (
            lambda: bs.Design(["a", "b"], bs.Gaussian(1), bs.research.Static(100), sides=1),
            "outcome",
            "use Recurrent",
        ),
        (
            lambda: bs.Design(["a", "b"], bs.Bernoulli(), bs.research.Static(100), sides=1),
            "outcome",
            "use Recurrent",
        ),
    ],
)
def test_what_makes_no_sense_is_named(make: Any, field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        make()
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "field", "words"),
    [
        ({}, "population", "number of all units"),
        ({"population": "many"}, "population", "whole number"),
        ({"population": [5, "x"]}, "population", "whole number"),
        ({"population": 100, "horizon": "soon"}, "horizon", "whole number"),
        ({"population": 100, "tilt": 3}, "tilt", "not a field"),
    ],
)
def test_bad_files_name_the_field(rule: dict[str, Any], field: str, words: str) -> None:
    data = {"arms": ["a", "b"], "outcome": {"kind": "recurrent"}}
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.Design.from_dict({**data, "rule": {"kind": "static", **rule}})
    assert caught.value.field == field


def test_there_is_no_next_unit_and_no_interval_of_an_arm() -> None:
    nobody = bs.progress.CohortStatistics.empty(2)
    for ask, words in (
        (bs.progress.next_arm, "assigns no single units"),
        (bs.progress.intervals, "compares differences"),
    ):
        with pytest.raises(bs.InputError, match=words) as caught:
            ask(design(bs.research.Static(100)), nobody)
        assert caught.value.field == "rule"
