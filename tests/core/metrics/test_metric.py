"""Metrics as values: what is accepted, and what is refused with one helpful line."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs

GOOD: dict[str, Any] = {"name": "latency", "outcome": bs.Gaussian(30), "margin": 5.0}


def metric(**changes: Any) -> bs.Metric:
    return bs.Metric(**{**GOOD, **changes})


def design(**changes: Any) -> bs.Design:
    return bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3, batch=2), **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "primary"}, 'and not "primary"'),
        ({"name": "a b"}, "letters, digits"),
        ({"margin": None}, "margin of guardrail latency is missing"),
        ({"margin": -1.0}, "margin must be above 0"),
        ({"outcome": bs.Bernoulli(), "margin": 2.0}, "must be below 1, the largest difference"),
        ({"role": "secondary"}, "margin belongs to guardrails"),
        ({"outcome": bs.Recurrent(1, 1)}, "outcome of metric latency must be one of"),
        ({"error": 2.0}, "error must"),
        ({"harm": "maybe"}, '"margin" or "any" or "never"'),
        ({"outcome": bs.Bernoulli(), "margin": 0.1, "baseline": 3.0}, "probabilities"),
    ],
    ids=str,
)
def test_a_metric_that_makes_no_sense_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        metric(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metrics": metric()}, "metrics must be a list"),
        ({"metrics": ["latency"]}, "Metric"),
        ({"metrics": [metric(), metric()]}, "latency occurs twice"),
        ({"metrics": [metric(measure=bs.Measure("7d", "mean"))]}, "metric latency has a measure"),
        ({"metrics": [metric()], "measure": bs.Measure("7d", "any")}, "the design has a measure"),
        ({"metrics": [metric()], "harm_error": 0.0}, "harm_error must"),
    ],
    ids=str,
)
def test_metrics_that_do_not_fit_a_design_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        design(**changes)


def test_more_metrics_than_anyone_reads_are_refused() -> None:
    with pytest.raises(bs.InputError, match=r"metrics must be 100 at most \(got 10,000\)"):
        design(metrics=[metric(name=f"m{i}") for i in range(10_000)])


def test_a_design_with_metrics_survives_plain_data() -> None:
    week = bs.Measure("7d", "mean")
    made = design(
        measure=bs.Measure("7d", "any"),
        metrics=[
            metric(measure=week),
            bs.Metric("spend", bs.Bounded(0, 9), role="secondary", measure=bs.Measure("14d")),
        ],
        harm_error=0.01,
    )
    assert bs.Design.from_dict(made.to_dict()) == made
    assert "metrics" not in design().to_dict()
    # A unit has all its outcomes when the longest window is over.
    assert made.matures(0.0) == 14 * 86400.0


def test_other_metrics_have_the_rule_without_what_belongs_to_the_primary_one() -> None:
    primary = bs.Design(
        ["a", "b"], bs.Gaussian(1), bs.Tilt(3, effect=0.5), metrics=[metric()], sides=1
    )
    assert primary.metric_designs[0].rule == bs.Tilt(3)
    two = bs.Design(
        ["a", "b", "c"],
        bs.Gaussian(1),
        bs.Tilt(3),
        metrics=[metric(), metric(name="crashes"), metric(name="off", harm="never")],
        harm_error=0.04,
        sides=1,
    )
    shares = [None if one is None else one.error for one in two.harm_designs]
    assert shares == [0.02, 0.02, None]
    with pytest.raises(bs.InputError, match="'speed' is not in the design"):
        two.metric_design("speed")
