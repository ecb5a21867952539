"""The frame of a chart on a page: its margins, and the marks on its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Frame:
    """Width and height of a chart, in pixels; what is drawn lies within the margins.

    >>> Frame(width=300.0, height=200.0).right
    300.0
    """

    MARGINS: ClassVar[tuple[float, float, float, float]] = (0.0, 0.0, 0.0, 0.0)
    """Left, right, top and bottom."""

    width: float
    height: float

    @property
    def left(self) -> float:
        """Where the drawing begins."""
        return self.MARGINS[0]

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.width - self.MARGINS[1]

    @property
    def top(self) -> float:
        """Its upper end."""
        return self.MARGINS[2]

    @property
    def bottom(self) -> float:
        """Its lower end."""
        return self.height - self.MARGINS[3]
