"""What a unit's outcome is, and what designs it goes with."""

from __future__ import annotations

import pytest

import bascule as bs


@pytest.mark.parametrize(
    ("given", "length"), [("90s", 90), ("1.5m", 90), ("12h", 43200), ("7d", 604800), (60, 60)]
)
def test_durations_are_seconds_or_text(given: str | float, length: float) -> None:
    assert bs.Measure(given).window == length


@pytest.mark.parametrize("given", ["7", "7 mon", "-1d", -1, 0, float("nan"), "1000000w", None])
def test_other_durations_are_refused(given: object) -> None:
    with pytest.raises(bs.InputError) as refused:
        bs.Measure(given)  # type: ignore[arg-type]
    assert refused.value.field == "window"
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("aggregate", "outcome"), [("sum", 5.0), ("mean", 2.5), ("last", 0.0), ("any", 1.0)]
)
def test_events_add_up(aggregate: str, outcome: float) -> None:
    measure = bs.Measure("1d", aggregate, missing=-1)  # type: ignore[arg-type]
    assert measure.outcome_of([5.0, 0.0]) == outcome
    assert measure.outcome_of([]) == -1


def test_zeros_are_not_any() -> None:
    assert bs.Measure("1d", "any").outcome_of([0.0, 0.0]) == 0.0


def test_a_unit_matures_when_window_and_grace_are_over() -> None:
    measure = bs.Measure("1h", grace="10m")
    assert (measure.closes(100.0), measure.matures(100.0)) == (3700.0, 4300.0)
    with pytest.raises(bs.InputError, match="period is given"):
        bs.Measure(period="1d").closes(0.0)


def test_a_design_keeps_it() -> None:
    measure = bs.Measure("7d", "any", grace="1h")
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=measure, sides=1)
    assert bs.Design.from_dict(design.to_dict()) == design
    written = {**design.to_dict(), "measure": {"window": "7d", "aggregate": "any", "grace": "1h"}}
    assert bs.Design.from_dict(written) == design


def test_what_cannot_be_an_outcome_of_the_design_is_refused() -> None:
    for field, measure in (("aggregate", bs.Measure(60)), ("missing", bs.Measure(60, "any", 0.5))):
        with pytest.raises(bs.InputError) as refused:
            bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=measure)
        assert refused.value.field == field


def test_a_unit_without_events_counts_as_what_outcomes_can_be() -> None:
    ratings = bs.Bounded(1, 5)
    for missing in (None, "zero", 0.5):
        with pytest.raises(bs.InputError, match="it is the outcome of a unit without events"):
            bs.Metric("rating", ratings, measure=bs.Measure("7d", "mean", missing), margin=0.1)
    for missing in (1, "exclude"):
        bs.Metric("rating", ratings, measure=bs.Measure("7d", "mean", missing), margin=0.1)  # type: ignore[arg-type]
