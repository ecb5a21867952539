"""Static populations: all units are there from the start, split by a hash.

Importing this package registers the rule, its loop and its bounds, as a rule from outside does.
"""

from __future__ import annotations

from bascule.research.static import gaps, runs
from bascule.research.static.gaps import smallest_gap
from bascule.research.static.procedure import Look, StaticProcedure, look
from bascule.research.static.rule import Static
from bascule.simulation.engines.choose import ENGINES
from bascule.simulation.feasible import CHECKS
from bascule.theory.bounds import BOUNDS, PUBLISHED

__all__ = ["Look", "Static", "look", "smallest_gap"]

ENGINES[StaticProcedure.kind] = runs.play_static
CHECKS[StaticProcedure.kind] = runs.check_feasible
BOUNDS[StaticProcedure.kind] = gaps.bounds
PUBLISHED[StaticProcedure.kind] = gaps.published_bounds
