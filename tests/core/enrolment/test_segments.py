"""Segments: named beforehand, each with its part of the error."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs

SEGMENTS = bs.Segments("country", ["fr", "de"], other="rest")


def design(**more: Any) -> bs.Design:
    return bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), **{"segments": SEGMENTS, **more})


def test_parts_of_the_error_add_up_to_it() -> None:
    equal = design(error=0.06)
    assert [one.error for one in equal.by_segment.values()] == pytest.approx([0.02] * 3)
    shares = bs.Segments("country", ["fr", "de"], shares=[0.75, 0.25])
    parts = {name: one.error for name, one in design(segments=shares).by_segment.items()}
    assert parts == pytest.approx({"fr": 0.0375, "de": 0.0125})


def test_errors_of_metrics_and_of_removals_are_split_too() -> None:
    metric = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5, error=0.03)
    one = design(metrics=[metric], harm_error=0.09).by_segment["de"]
    assert one.metrics[0].error == pytest.approx(0.01)
    assert one.harm_error == pytest.approx(0.03)


def test_a_design_file_keeps_its_segments() -> None:
    assert bs.Design.from_dict(design().to_dict()) == design()
    assert "segments" not in design(segments=None).to_dict()


@pytest.mark.parametrize("part", ["procedure", "calibration"])
def test_what_knows_nothing_of_segments_refuses_them(part: str) -> None:
    with pytest.raises(bs.InputError, match="one test for each of them"):
        getattr(design(), part)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"names": ["fr"]}, "segments must be 2 to 100"),
        ({"names": ["fr", "fr"]}, "'fr' occurs twice"),
        ({"names": ["fr", "United States"]}, "letters, digits"),
        ({"names": "fr"}, "must be a list"),
        ({"names": ["fr", "de"], "shares": [0.5, 0.6]}, "add up to 1"),
        ({"names": ["fr", "de"], "shares": [1.0]}, "for each of fr, de"),
        ({"names": ["fr", "de"], "shares": [1.5, -0.5]}, "shares must be"),
    ],
)
def test_wrong_segments_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(bs.InputError, match=said):
        bs.Segments("country", **given)


def test_segments_go_with_an_error_and_not_with_a_delta() -> None:
    with pytest.raises(bs.InputError, match="split the error"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01, segments=SEGMENTS)


def test_the_segment_of_a_context() -> None:
    closed = bs.Segments("beta", ["true", "2"])
    assert closed.segment_of({"beta": True}) == "true"
    assert closed.segment_of({"beta": 2}) == "2"
    assert SEGMENTS.segment_of(None) == SEGMENTS.segment_of({"country": ["fr"]}) == "rest"
    for context in (None, {}, {"beta": False}, {"beta": ["true"]}):
        with pytest.raises(bs.InputError, match="segment"):
            closed.segment_of(context)
