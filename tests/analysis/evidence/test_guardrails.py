"""Guardrails in a log: they keep a winner from being shipped, and say what they found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import bascule as bs

LATENCY = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=10, error=0.05)


def log(slower: float, units: int = 4000) -> dict[str, Any]:
    """A log in which green sells more, and is slower by so much."""
    rng = np.random.default_rng(3)
    green = rng.random(units) < 0.5
    return {
        "unit": np.arange(units),
        "arm": np.where(green, "green", "control"),
        "bought": (rng.random(units) < np.where(green, 0.2, 0.1)).astype(int),
        "latency": rng.normal(120 + slower * green, 30),
    }


@pytest.mark.parametrize(
    ("slower", "standing", "words"),
    [
        (0.0, "within margin", "green is within its margin"),
        (10.0, "open", "not shown yet to stay within the margin of latency"),
        (25.0, "harmed", "do not ship it, it is harmful on latency"),
    ],
)
@pytest.mark.parametrize("looks", [None, 1])
def test_a_guardrail_judges_the_winner(
    slower: float, standing: str, words: str, looks: Literal[1] | None
) -> None:
    found = bs.analyze(log(slower), "bought", metrics=[LATENCY], looks=looks)
    assert found.decision is not None
    assert found.decision.name == "green"
    (latency,) = found.metrics
    assert latency.standings == {"green": standing}
    assert found.held_by == ({} if standing == "within margin" else {"latency": standing})
    assert words in str(found)
    assert found.to_dict()["metrics"][0]["standings"] == {"green": standing}
    assert "margin 10" in found.html()


@pytest.mark.parametrize("looks", [None, 1])
def test_a_winner_beyond_a_margin_that_is_no_harm_is_not_shipped(looks: Literal[1] | None) -> None:
    """Live tests have the same standing: the interval lies wholly beyond the margin."""
    latency = replace(LATENCY, harm="never")
    found = bs.analyze(log(25.0), "bought", metrics=[latency], looks=looks)
    assert found.held_by == {"latency": "beyond margin"}
    assert "do not ship it, it is worse than the margin allows on latency" in str(found)


def test_rows_have_every_metric_and_treatment_minus_control() -> None:
    found = bs.analyze(log(25.0), "bought", metrics=[LATENCY])
    assert found.reading.other_values == found.metrics[0].reading.other_values == ()
    rows = {row["metric"]: row for row in found.day_rows()}
    assert rows["latency"]["contrast"] == "green - control"
    assert rows["latency"]["effect_low"] > 10.0
    assert rows["bought"]["effect"] > 0.0
    assert rows["bought"]["effect_low"] <= rows["bought"]["effect"] <= rows["bought"]["effect_high"]


def test_what_cannot_be_judged_is_refused() -> None:
    ratio = bs.Metric("clicks", bs.Ratio(0.1, 4), margin=0.01)
    with pytest.raises(bs.InputError, match="there is no column 'clicks'"):
        bs.analyze(log(0.0), "bought", metrics=[ratio])
    with pytest.raises(bs.InputError, match="leave one of them out"):
        bs.analyze(log(0.0), "bought", metrics=[LATENCY], segment="arm")


def test_the_metric_that_is_compared_for_a_winner_has_no_margin() -> None:
    rows = {"user": [*"abcd"], "arm": ["x", "y", "x", "y"], "good": [1, 0, 1, 1]}
    with pytest.raises(bs.InputError, match="the first metric cannot have a margin"):
        bs.analyze(rows, bs.LogMetric("good", margin=0.02))
