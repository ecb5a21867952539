"""The figures and claims of the paper on which bascule builds, reproduced by simulations.

The paper is Degenne, Nedelec, Calauzènes and Perchet, "Bridging the gap between regret minimization
and best arm identification, with application to A/B tests", AISTATS 2019.
"""

from __future__ import annotations

from bascule.research.paper.claims.claim import Claim
from bascule.research.paper.regenerate import Regenerated, regenerate

__all__ = ["Claim", "Regenerated", "regenerate"]
