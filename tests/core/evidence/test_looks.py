"""The calendar of looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.looks import coming_look, following_look, look_part


@given(st.integers(6, 10**6), st.floats(1.0001, 10))
def test_looks_come_at_whole_stages_and_never_stand_still(stage: int, growth: float) -> None:
    following = following_look(stage, growth)
    assert isinstance(following, int)
    assert following > stage
    assert following >= growth * stage - 1e-6
    assert following < max(stage + 2, growth * stage + 1)


@given(st.integers(1, 10**5), st.integers(6, 30), st.floats(1.05, 4))
def test_the_coming_look_is_the_first_that_is_not_past(
    stage: int, first: int, growth: float
) -> None:
    number, at = coming_look(stage, first, growth)
    assert at >= stage
    assert number == 1 or coming_look(at - 1, first, growth)[1] >= stage
    assert coming_look(at, first, growth) == (number, at)
    assert coming_look(at + 1, first, growth)[0] == number + 1


def test_the_parts_of_all_looks_add_up_to_one() -> None:
    parts = [look_part(number) for number in range(1, 100_000)]
    assert sum(parts) == pytest.approx(1 - 1e-5, rel=1e-9)
