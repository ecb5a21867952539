"""What the paper's theorems are about: its own radius, and intervals that part."""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.estimators import equal_weight
from bascule.core.rules import UCB, Shape, Static
from bascule.core.rules.radius import radius
from bascule.core.rules.units import UnitShape


def check_published(rule: Static) -> None:
    """Raise if a rule for static populations is not one of the paper's.

    >>> check_published(Static(100, horizon=30))
    """
    if rule.stop not in ("horizon", "intervals"):
        raise InputError(
            "rule",
            f"{rule.label} is not in the paper, which says nothing about it: "
            f'leave out stop="{rule.stop}", or use theory.bounds or theory.predict',
        )


def published_shape(design: Design) -> Shape:
    """The radius and the proof of a rule as the paper has it.

    >>> import bascule as bs
    >>> published_shape(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))).count
    3.0
    """
    rule = design.paper_rule
    if isinstance(design.outcome, Recurrent):
        raise InputError(
            "outcome",
            "the paper proves this for units that give one outcome each, not for Recurrent ones: "
            "use Gaussian(sigma)",
        )
    shape = rule.shape(design.outcome, len(design.arms))
    if shape.radius is not radius or (isinstance(rule, UCB) and rule.stop == "mixture"):
        raise InputError(
            "rule",
            f"{rule.label} is not in the paper, which says nothing about it: "
            "leave out the mixture, or use theory.bounds or theory.predict",
        )
    return shape


def published_unit_shape(design: Design) -> UnitShape:
    """The same for units whose outcomes keep coming: the mean of means and its radii.

    >>> import bascule as bs
    >>> published_unit_shape(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2))).count
    1.0
    """
    rule = design.paper_rule
    shape = rule.unit_shape(len(design.arms))
    if shape.weight is not equal_weight:
        raise InputError(
            "rule",
            f"{rule.label} is not in the paper, which says nothing about it: "
            'use radius="paper" or "alternative", or theory.bounds or theory.predict',
        )
    return shape
