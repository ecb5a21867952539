"""Which designs the theorems of the paper cover: those with its radius, decided by intervals."""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.radius import radius
from bascule.core.procedures.intervals.procedure import Shape
from bascule.core.procedures.recurrent.estimators import equal_weight
from bascule.core.procedures.recurrent.shapes import UnitShape
from bascule.core.procedures.static.population import any_time, one_look
from bascule.core.procedures.static.procedure import StaticProcedure
from bascule.core.progress import interval_procedure, recurrent_procedure


def check_published(procedure: StaticProcedure) -> None:
    """Raise if a procedure for static populations is not one of the paper's."""
    if procedure.stage_threshold not in (one_look, any_time):
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: leave out its "
            "stop, or use theory.bounds or theory.predict",
        )


def published_shape(design: Design) -> Shape:
    """The radius and the proof of a rule as the paper has it.

    >>> import bascule as bs
    >>> published_shape(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))).count
    3.0
    """
    if design.outcome.recurring:
        raise InputError(
            "outcome",
            "the paper proves this for units that give one outcome each, not for Recurrent ones: "
            "use Gaussian(sigma)",
        )
    procedure = interval_procedure(design)
    shape = procedure.shape
    if shape.radius is not radius or procedure.pairwise:
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: "
            "leave out the mixture, or use theory.bounds or theory.predict",
        )
    return shape


def published_unit_shape(design: Design) -> UnitShape:
    """Return the radius and the proof that the paper has for units whose outcomes recur.

    >>> import bascule as bs
    >>> published_unit_shape(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2))).count
    1.0
    """
    procedure = recurrent_procedure(design)
    shape = procedure.shape
    if shape.weight is not equal_weight:
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: "
            'use radius="paper" or "alternative", or theory.bounds or theory.predict',
        )
    return shape
