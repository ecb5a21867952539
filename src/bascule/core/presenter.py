"""Registry of the modules that show results, so that results need not import them.

Results are defined below the packages that show them, and must not import these packages. Such a
package registers its modules here. A result loads a module by its name when it needs text, a figure
or a page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any

COLUMNS = 80
"""Width at which sentences are wrapped on a terminal."""


_PACKAGES: dict[str, str] = {}
"""Package of each module that shows results, by the name of the module."""


def register_presenters(package: str, *modules: str) -> None:
    """Register modules that show results; each is imported when it is first needed."""
    _PACKAGES.update(dict.fromkeys(modules, package))


def presenter(name: str) -> Any:
    """Import and return the registered module of this name.

    >>> presenter("pages").__name__
    'bascule.presentation.pages'
    """
    return import_module(f"{_PACKAGES[name]}.{name}")


class Reported(ABC):
    """Base class of results that have a report: as text, in a notebook, and as an HTML page."""

    __slots__ = ()

    WIDTH = 0
    """Width at which lines of text are wrapped; 0 leaves each sentence on one line."""
    PAGE = "Report"
    """Kind of page, shown above its headline."""

    @abstractmethod
    def report(self) -> Any:
        """Return the report of the result: headline, facts, tables, notes and figures."""

    def html(self) -> str:
        """Return the report as a self-contained HTML page."""
        return str(presenter("pages").report_page(self.report(), self.PAGE))

    def save_html(self, path: str | Path) -> Path:
        """Write the HTML page to a file."""
        # Imported here, to keep the import of the package fast.
        from bascule.core.inputs.files import prepare_file, write_whole

        prepare_file("path", Path(path))
        return write_whole(Path(path), self.html().encode())

    def __str__(self) -> str:
        return "\n".join(presenter("report").lines(self.report(), self.WIDTH))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(presenter("pages").shown(self.report()))
