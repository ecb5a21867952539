"""The error that serves a population best, where none was asked for."""

from __future__ import annotations

from dataclasses import replace

from bascule.core.errors import InputError
from bascule.planning.forecast import predicted, predicted_at_zero
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.candidates import candidates, is_possible
from bascule.planning.search.value import value_of

ERRORS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4)
"""Errors that are looked at."""

TILTS = (1.0, 3.0, 8.0)
"""Tilts at which they are."""


def with_chosen_error(request: PlanRequest) -> PlanRequest:
    """Return a request with the error at which its population is expected to lose the least.

    One that names its error is returned as it is.

    >>> with_chosen_error(PlanRequest(error=0.02)).error
    0.02
    """
    if not request.choose_error:
        return request
    losses = {error: _least_loss(replace(request, error=error)) for error in ERRORS}
    known = {error: loss for error, loss in losses.items() if loss is not None}
    if not known:
        raise InputError(
            "error",
            "error cannot be chosen for these outcomes and arms, which theory does not predict: "
            "give one, as in 5%",
        )
    return replace(request, error=min(known, key=lambda error: known[error]))


def _least_loss(request: PlanRequest) -> float | None:
    """The least that the population loses with some usual design that decides often enough."""
    losses = []
    for rule in candidates(request):
        if rule.knob is None or rule.knob.value not in TILTS or not is_possible(request, rule):
            continue
        expected = predicted(request, rule)
        if expected is None or expected.decided.mean < request.power:
            continue
        found = value_of(request, expected, predicted_at_zero(request, rule))
        losses += [] if found is None else [found.loss]
    return min(losses, default=None)
