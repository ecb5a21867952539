"""Where to write in a drawing so that no label covers another one, a point, or a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bascule.core.types import FloatArray

Spot = tuple[float, float]
"""A place in a drawing, in any unit that both directions share."""

DIRECTIONS, DISTANCES = 16, (7.0, 10.0, 14.0, 19.0, 25.0, 32.0, 40.0)
"""Places that are tried around a point: this many on each of these rings."""

ON_A_LINE, PER_DISTANCE, LEANING = 3.0, 0.35, 1.0
"""What a place pays for each stretch of line under it, for its distance, and for lying to the left
or below."""

STRETCH = 3.0
"""Lines are looked at in stretches of this length."""


class Box(NamedTuple):
    """A rectangle with its sides along the axes."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: Box) -> bool:
        """Whether two boxes overlap.

        >>> Box(0, 0, 2, 2).meets(Box(1, 1, 3, 3)), Box(0, 0, 1, 1).meets(Box(1, 0, 2, 1))
        (True, False)
        """
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high

    def within(self, other: Box) -> bool:
        """Whether this box lies inside another one.

        >>> Box(1, 1, 2, 2).within(Box(0, 0, 3, 3))
        True
        """
        across = other.left <= self.left and self.right <= other.right
        return across and other.low <= self.low and self.high <= other.high

    def count(self, spots: FloatArray) -> int:
        """How many places, one a row, lie inside the box.

        >>> Box(0, 0, 2, 2).count(np.array([[1.0, 1.0], [3.0, 1.0]]))
        1
        """
        x, y = spots[:, 0], spots[:, 1]
        inside = (self.left < x) & (x < self.right) & (self.low < y) & (y < self.high)
        return int(inside.sum())


def place_labels(
    points: Sequence[Spot],
    sizes: Sequence[Spot],
    marks: Sequence[Box],
    lines: Sequence[Sequence[Spot]],
    frame: Box,
) -> list[Box | None]:
    """A box for the label of each point, or None where there is no room for it.

    `sizes` are the widths and heights of the labels, `marks` what they must not cover; lines they
    avoid where they can. Earlier points choose first.

    >>> place_labels([(50, 50)], [(20, 10)], [Box(45, 45, 55, 55)], [], Box(0, 0, 100, 100))
    ... # doctest: +ELLIPSIS
    [Box(left=46.5..., low=56.0..., right=66.5..., high=66.0...)]
    """
    trodden = _trodden(lines)
    taken = list(marks)
    placed: list[Box | None] = []
    for point, size in zip(points, sizes, strict=True):
        free = [
            (cost + ON_A_LINE * box.count(trodden), box)
            for cost, box in _around(point, size)
            if box.within(frame) and not any(box.meets(other) for other in taken)
        ]
        best = min(free)[1] if free else None
        placed.append(best)
        taken += [best] if best else []
    return placed


def _around(point: Spot, size: Spot) -> list[tuple[float, Box]]:
    """The places beside a point, with what each costs on free ground."""
    places = []
    for distance in DISTANCES:
        for turn in range(DIRECTIONS):
            angle = 2 * math.pi * turn / DIRECTIONS
            # The box touches the ring: its middle is further out by half its own extent.
            x = point[0] + math.cos(angle) * (distance + size[0] / 2)
            y = point[1] + math.sin(angle) * (distance + size[1] / 2)
            box = Box(x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)
            leaning = LEANING * (2 - math.cos(angle) - math.sin(angle))
            places.append((PER_DISTANCE * distance + leaning, box))
    return places


def clearest(boxes: Sequence[Box], lines: Sequence[Sequence[Spot]]) -> Box:
    """The box that is furthest from every line; the first one on a tie.

    >>> clearest([Box(0, 0, 1, 1), Box(5, 0, 6, 1)], [[(0, 3), (3, 3)]])
    Box(left=5, low=0, right=6, high=1)
    """
    spots = _trodden(lines)

    def clearance(box: Box) -> float:
        x, y = spots[:, 0], spots[:, 1]
        across = np.maximum(0.0, np.maximum(box.left - x, x - box.right))
        up = np.maximum(0.0, np.maximum(box.low - y, y - box.high))
        # Where boxes are crossed, the fewer crossings the better.
        return float(np.hypot(across, up).min()) or -float(box.count(spots))

    return max(boxes, key=clearance)


def _trodden(lines: Sequence[Sequence[Spot]]) -> FloatArray:
    """Places along the lines, one a row."""
    spots: FloatArray = np.array([spot for line in lines for spot in _along(line)]).reshape(-1, 2)
    return spots


def _along(line: Sequence[Spot]) -> list[Spot]:
    spots = list(line[:1])
    for (x, y), (to_x, to_y) in pairwise(line):
        parts = max(1, round(math.hypot(to_x - x, to_y - y) / STRETCH))
        spots += [
            (x + (to_x - x) * i / parts, y + (to_y - y) * i / parts) for i in range(parts + 1)
        ]
    return spots
