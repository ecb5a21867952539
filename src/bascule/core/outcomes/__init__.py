"""Outcome models, one file each. A new one is registered by adding it to `Outcome`."""

from __future__ import annotations

from bascule.core.outcomes.bernoulli import Bernoulli
from bascule.core.outcomes.bounded import Bounded
from bascule.core.outcomes.gaussian import Gaussian
from bascule.core.outcomes.recurrent import Recurrent

Outcome = Gaussian | Bernoulli | Bounded | Recurrent
"""Every outcome model a design can hold."""

__all__ = ["Bernoulli", "Bounded", "Gaussian", "Outcome", "Recurrent"]
