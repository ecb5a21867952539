"""The paper's figures and claims, regenerated."""

from __future__ import annotations

from bascule.paper.claims.claim import Claim
from bascule.paper.regenerate import Regenerated, regenerate

__all__ = ["Claim", "Regenerated", "regenerate"]
