"""The one place where results reach the code that shows them.

Results are data and lie below `presentation`, so they must not import it. They call `presenter`
when someone asks for text, a figure or a page; the module is loaded then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any

from bascule.core.inputs.files import write_whole

COLUMNS = 80
"""Where sentences are broken on a terminal."""


def presenter(name: str, package: str = "bascule.presentation") -> Any:
    """Return the module `name` of a package that shows results, loaded when it is first needed.

    >>> presenter("pages").__name__
    'bascule.presentation.pages'
    """
    return import_module(f"{package}.{name}")


class Reported(ABC):
    """The base of results that have a report: as text, in a notebook, and as a page."""

    __slots__ = ()

    WIDTH = 0
    """Where lines of text are broken; 0 leaves each sentence on one line."""
    PAGE = "Report"
    """What the page is, written above its headline."""

    @abstractmethod
    def report(self) -> Any:
        """Return what the result has to say: headline, facts, tables, notes and figures."""

    def html(self) -> str:
        """One page to hand around, which needs nothing from elsewhere."""
        return str(presenter("pages").report_page(self.report(), self.PAGE))

    def save_html(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return write_whole(Path(path), self.html().encode())

    def __str__(self) -> str:
        return "\n".join(presenter("report").lines(self.report(), self.WIDTH))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(presenter("pages").shown(self.report()))
