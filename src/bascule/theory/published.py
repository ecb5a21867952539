"""What the paper's theorems are about: its own radius, and intervals that part."""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.radius import radius
from bascule.core.rules import UCB, Shape


def published_shape(design: Design) -> Shape:
    """The radius and the proof of a rule as the paper has it.

    >>> import bascule as bs
    >>> published_shape(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))).count
    3.0
    """
    rule = design.paper_rule
    shape = rule.shape(design.outcome, len(design.arms))
    if shape.radius is not radius or (isinstance(rule, UCB) and rule.stop == "mixture"):
        raise InputError(
            "rule",
            f"{rule.label} is not in the paper, which says nothing about it: "
            "leave out the mixture, or use theory.bounds or theory.predict",
        )
    return shape
