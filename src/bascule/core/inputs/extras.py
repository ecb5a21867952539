"""Optional dependencies, and errors that name the extra that installs them."""

from __future__ import annotations

from importlib.util import find_spec

from bascule.core.errors import InputError


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise an error with the command that installs an extra if one of its modules is missing.

    >>> require("figures", "a figure", "json")
    >>> require("figures", "a figure", "json", "no_such_module")
    Traceback (most recent call last):
    ...
    bascule.core.errors.InputError: a figure needs no_such_module: pip install 'bascule[figures]'
    """
    message = missing(extra, purpose, *modules)
    if message:
        raise InputError(extra, message)


def missing(extra: str, purpose: str, *modules: str) -> str:
    """Return what to install for a purpose, or an empty text if all modules are installed."""
    names = ", ".join(module for module in modules if find_spec(module) is None)
    return f"{purpose} needs {names}: pip install 'bascule[{extra}]'" if names else ""
