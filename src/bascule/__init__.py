"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision.

The public names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

import lazy_loader

__version__ = "0.1.0"

_load, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)

_RENAMED = {"Wishes": "PlanRequest"}
"""Names of the first edition, and what they are called now."""


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        from warnings import warn

        current = _RENAMED[name]
        warn(f"bascule.{name} is now bascule.{current}", DeprecationWarning, stacklevel=2)
        name = current
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
