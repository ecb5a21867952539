"""The parts of the paper that are regenerated. A new one is one more `Section` in `SECTIONS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bascule.paper import iid, units
from bascule.paper.claims import Claim
from bascule.paper.estimator_claims import ESTIMATORS
from bascule.paper.figure1 import figure1
from bascule.paper.figure2 import figure2
from bascule.paper.figure3 import figure3
from bascule.paper.figure4 import figure4
from bascule.paper.figure_estimators import figure_estimators
from bascule.paper.iid_order_claims import ORDERINGS
from bascule.paper.iid_size_claims import SIZES
from bascule.paper.measure import Measurements, Point
from bascule.paper.sheet import Sheet
from bascule.paper.unit_claims import MEASURED
from bascule.paper.unit_radius_claims import COMPUTED


@dataclass(frozen=True, slots=True)
class Section:
    """What is simulated for a part of the paper, and the figures and claims that come of it.

    A figure is made from the measurements and the seed, a claim from the measurements alone.
    """

    points: tuple[Point, ...]
    figures: Mapping[str, Callable[[Measurements, int], Sheet]]
    claims: tuple[Callable[[Measurements], Claim], ...]


SECTIONS: tuple[Section, ...] = (
    Section(iid.points(), {"figure1": figure1, "figure2": figure2}, ORDERINGS + SIZES),
    Section(
        units.points(),
        {"figure3": figure3, "figure4": figure4, "estimators": figure_estimators},
        MEASURED + COMPUTED + ESTIMATORS,
    ),
)
"""Every section, in the order of the paper."""
