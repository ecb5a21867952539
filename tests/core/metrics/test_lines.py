"""Metrics as people write them, in a line each."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.core.metrics.metric import metric_of


def test_a_line_has_a_name_an_outcome_and_what_is_asked_of_it() -> None:
    line = "failed; bernoulli; decrease; margin 2%; error 1%; baseline 5%; harm any"
    expected = bs.Metric(
        "failed", bs.Bernoulli(), "decrease", margin=0.02, error=0.01, baseline=0.05, harm="any"
    )
    assert metric_of(line) == expected
    assert metric_of("clicks; ratio 0.1 4").outcome == bs.Ratio(0.1, 4)
    timed = metric_of("clicks; ratio; window 3d; grace 6h").measure
    assert timed == bs.Measure("3d", grace="6h")


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("latency", "no outcome model"),
        ("latency; gaussian", "numbers are missing"),
        ("latency; gaussian wide; margin 5", "must be a number"),
        ("latency; bounded 0 100 7", "Bounded"),
        ("latency; recurrent 1 1", "recurrent 1 1"),
        ("latency; gaussian 3; margins 5", "margins 5.* take a value: harm, window, grace"),
        ("latency; gaussian 3; grace 6h", "grace without a window"),
        ("latency; gaussian 3; mean", "aggregate without a window"),
        ("latency; gaussian 3; window 1h; missing never", "missing"),
        ("latency; gaussian 3; margin 5; margin 6", "two parts"),
        ("buys; bernoulli; margin 2", "must be below 1"),
        ("a b; bernoulli", "letters, digits"),
        (";;", "unknown part ''"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line: str, match: str) -> None:
    with pytest.raises(bs.InputError, match=match) as caught:
        metric_of(line)
    assert caught.value.field == "metrics"
