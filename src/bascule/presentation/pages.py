"""The frame of pages and of the charts on them: templates, margins, and marks on axes.

A page is one file with everything in it, and loads nothing from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

    from bascule.presentation.report import Report

WIDTHS = {"wide": 720.0, "narrow": 344.0}
"""Widths of a chart in pixels, on a screen and on a phone."""

Margins = tuple[float, float, float, float]
"""Those on the left, on the right, at the top and at the bottom, in pixels."""


@lru_cache(maxsize=8)
def template(name: str) -> Template:
    """Return a page template; it may extend `base.html` and include its neighbours.

    >>> template("result.html").name
    'result.html'
    """
    return environment("bascule.presentation").get_template(name)


def environment(package: str) -> Environment:
    """Return what renders the templates of a package; all text in them is escaped."""
    # Loaded at first use: most results are never made into a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def report_page(report: Report, kind: str, file: str = "") -> str:
    """Return a report as a page: what it has to say, its figures, and its details.

    - `kind`: what the page is, written above the headline
    - `file`: the text of a file that the report is about

    >>> from bascule.presentation.report import Report
    >>> page = report_page(Report("Ship green", notes=("Proven.",)), "Test report")
    >>> page.startswith("<!doctype html>"), "Ship green" in page, "http" in page
    (True, True, False)
    """
    from bascule.presentation.figures import inline

    drawings = [inline(figure.plot()) for figure in report.figures]
    return template("result.html").render(report=report, kind=kind, drawings=drawings, file=file)


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a chart that can be pointed at, and what it says then."""

    x: float
    y: float
    title: str
    lines: tuple[str, ...]

    @property
    def speech(self) -> str:
        """What is read out to someone who cannot see the chart."""
        return f"{self.title}: {'; '.join(self.lines)}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A chart at one width, in pixels: its size, and the margins around what is drawn.

    >>> frame = Frame("wide", 300.0, 200.0, (40.0, 10.0, 20.0, 30.0))
    >>> frame.x(0.5), frame.y(0.5)
    (165.0, 95.0)
    """

    name: str
    width: float
    height: float
    margins: Margins

    @property
    def left(self) -> float:
        """Where the drawing begins."""
        return self.margins[0]

    @property
    def right(self) -> float:
        """Where the drawing ends."""
        return self.width - self.margins[1]

    @property
    def top(self) -> float:
        """The upper end of the drawing."""
        return self.margins[2]

    @property
    def bottom(self) -> float:
        """The lower end of the drawing."""
        return self.height - self.margins[3]

    def x(self, part: float) -> float:
        """Return the place of a part of the way from the left to the right."""
        return round(self.left + part * (self.right - self.left), 1)

    def y(self, part: float) -> float:
        """Return the place of a part of the way from the bottom to the top."""
        return round(self.bottom - part * (self.bottom - self.top), 1)


def frames(heights: tuple[float, float], margins: Margins) -> list[Frame]:
    """Return the frames of a chart for a screen and for a phone."""
    sizes = zip(WIDTHS.items(), heights, strict=True)
    return [Frame(name, width, height, margins) for (name, width), height in sizes]


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return a line through points, as SVG writes it.

    >>> path([(0.0, 1.0), (2.5, 3.0)])
    'M0 1 L2.5 3'
    """
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in points)


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
