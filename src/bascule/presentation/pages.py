"""The frame of pages and of the charts on them: templates, margins, and marks on axes.

A page is one file with everything in it, and loads nothing from elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from jinja2 import Template

WIDE, NARROW = 720.0, 344.0
"""Widths of a chart in pixels, on a screen and on a phone."""


@lru_cache(maxsize=8)
def template(name: str) -> Template:
    """Return a page template; it may extend `base.html` and include its neighbours.

    >>> template("plan.html").name
    'plan.html'
    """
    # Loaded at first use: most results are never made into a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bascule.presentation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


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


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`, evenly apart; about `most` of them.

    >>> round_steps(0.0, 96.0), round_steps(-0.013, 0.02)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [-0.01, 0.0, 0.01, 0.02])
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * i:.6g}") for i in range(first, last + 1)]
