"""Pages to hand around: one file each, with everything in it and nothing loaded from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

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
