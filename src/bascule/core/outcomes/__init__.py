"""Outcome models, one file each. A new one derives from `Outcome` and is registered here."""

from __future__ import annotations

from bascule.core.outcomes.base import OUTCOMES, Outcome
from bascule.core.outcomes.bernoulli import Bernoulli
from bascule.core.outcomes.bounded import Bounded
from bascule.core.outcomes.gaussian import Gaussian
from bascule.core.outcomes.noise import Beta, Coin, Discrete, Noise, Normal, StudentT
from bascule.core.outcomes.numeric import Numeric
from bascule.core.outcomes.ratio import Pair, Ratio, Value
from bascule.core.outcomes.recurrent import Recurrent

for _model in (Gaussian, Bernoulli, Bounded, Numeric, Ratio, Recurrent):
    OUTCOMES.register(_model)

__all__ = [
    "OUTCOMES",
    "Bernoulli",
    "Beta",
    "Bounded",
    "Coin",
    "Discrete",
    "Gaussian",
    "Noise",
    "Normal",
    "Numeric",
    "Outcome",
    "Pair",
    "Ratio",
    "Recurrent",
    "StudentT",
    "Value",
]
