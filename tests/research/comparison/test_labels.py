from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bascule.research.comparison.labels import Box, Spot, place_labels

FRAME = Box(0.0, 0.0, 300.0, 200.0)
SPOTS = st.lists(st.tuples(st.floats(5.0, 295.0), st.floats(5.0, 195.0)), min_size=1, max_size=12)


def marks_of(points: list[Spot]) -> list[Box]:
    return [Box(x - 3.0, y - 3.0, x + 3.0, y + 3.0) for x, y in points]


@given(SPOTS)
def test_no_label_covers_another_or_a_mark_or_the_edge(points: list[Spot]) -> None:
    sizes = [(18.0, 9.0)] * len(points)
    placed = place_labels(points, sizes, marks_of(points), [points], FRAME)
    boxes = [box for box in placed if box is not None]
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert not any(box.meets(mark) for box in boxes for mark in marks_of(points))
    assert all(box.within(FRAME) for box in boxes)


def test_a_label_keeps_off_a_line_when_there_is_room() -> None:
    line = [(0.0, 50.0), (100.0, 150.0)]
    (box,) = place_labels([(50.0, 100.0)], [(18.0, 9.0)], [], [line], FRAME)
    assert box is not None
    assert box.count(np.array([(x, 50.0 + x) for x in range(101)])) == 0


def test_without_room_there_is_no_label() -> None:
    assert place_labels([(5.0, 5.0)], [(400.0, 9.0)], [], [], FRAME) == [None]
