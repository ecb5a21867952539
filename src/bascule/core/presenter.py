"""The one place where results reach the code that shows them.

Results are data and lie below `presentation`, so they must not import it. They call `presenter`
when someone asks for text, a figure or a page; the module is loaded then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def presenter(name: str, package: str = "bascule.presentation") -> Any:
    """Return the module `name` of a package that shows results, loaded when it is first needed.

    >>> presenter("pages").__name__
    'bascule.presentation.pages'
    """
    return import_module(f"{package}.{name}")
