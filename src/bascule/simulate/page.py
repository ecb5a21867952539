"""Pages to hand around: one file each, with everything in it and nothing loaded from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

WIDE, NARROW = 720.0, 344.0
"""Widths of a chart in pixels, on a screen and on a phone."""


@lru_cache(maxsize=8)
def template(package: str, name: str) -> Template:
    """A template of a package, which may extend `base.html` and include what lies beside it.

    >>> template("bascule.plan", "plan.html").name
    'plan.html'
    """
    # Loaded at first use: most results are never made into a page.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("bascule.simulate")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
