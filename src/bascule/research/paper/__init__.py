"""The paper's figures and claims, regenerated."""

from __future__ import annotations

from bascule.research.paper.claims.claim import Claim
from bascule.research.paper.regenerate import Regenerated, regenerate

__all__ = ["Claim", "Regenerated", "regenerate"]
