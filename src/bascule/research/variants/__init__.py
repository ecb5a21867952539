"""Rules that the paper prints or discusses and that exist here for simulation only.

Importing this package registers them, as a rule from outside is registered.
"""

from __future__ import annotations

from bascule.research.variants.printed import ETCPrinted
from bascule.research.variants.rules import BoundedUnits, UCBBernstein, UnitMeans, VariantProcedure
from bascule.research.variants.runs import play_variant
from bascule.simulation.engines.choose import ENGINES

__all__ = ["BoundedUnits", "ETCPrinted", "UCBBernstein", "UnitMeans"]

ENGINES[VariantProcedure.kind] = play_variant
