"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision.

`dir(bascule)` lists the names that a test needs from plan to decision. Further names are in these
modules:

- `analysis`, `live`, `planning`, `simulation`: further functions, and the classes of results
- `design`: base classes for rules and outcome models of your own
- `progress`: pure functions from statistics to the next arm, intervals and the decision
- `research`: comparisons and audits of rules, and rules that are for research only
- `theory`: bounds and predictions
- `worlds`: conditions of simulated tests

The names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

import lazy_loader

# This registers the presenters of results; each is loaded when a result is first shown.
import bascule.presentation  # noqa: F401

__version__ = "1.0.0"

_loaded, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__ or name.startswith("_"):
        return _loaded(name)
    from bascule.core.errors import meant

    raise AttributeError(f"bascule has no {name!r}{meant(name, __all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
