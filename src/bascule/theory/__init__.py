"""Proven bounds, predictions, and constants of the paper with its errors corrected.

- `bounds`: upper bounds on decision time and regret by our own proof, which hold with probability
  1 - error
- `published_bounds`: the same by the paper's exact theorems, corrected and solved numerically
- `predict`: the expected decision time and regret of a design in blocks
- `mean_path`: decision time and regret without noise, for rules that compare intervals
- `oracle_information`, `least_regret`: lower bounds for any rule
- `c_alpha`, `sharper_c_alpha`: the constant of the regret bound, the paper's and ours
- `delta_tilde`, `corollary_delta`, `peel`, `level_for`: the error that is proven for a nominal
  delta or level, and the delta or level for which an error is proven

The slips of the paper, with the reading taken here, are listed in docs/research/slips.md.
"""

from __future__ import annotations

from bascule.core.evidence.calibration import level_for, peel
from bascule.theory.bounds import (
    Bounds,
    bounds,
    c_alpha,
    corollary,
    corollary_delta,
    delta_tilde,
    published_bounds,
    sharper_c_alpha,
)
from bascule.theory.limit import least_regret, oracle_information
from bascule.theory.prediction.predict import mean_path, predict
from bascule.theory.prediction.prediction import Prediction

__all__ = [
    "Bounds",
    "Prediction",
    "bounds",
    "c_alpha",
    "corollary",
    "corollary_delta",
    "delta_tilde",
    "least_regret",
    "level_for",
    "mean_path",
    "oracle_information",
    "peel",
    "predict",
    "published_bounds",
    "sharper_c_alpha",
]
