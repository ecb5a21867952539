"""How the units of a test have grown, and whether they still can. Pure functions."""

from __future__ import annotations

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.live.storage.state import ExperimentState, Mark

GROWTH, MARKED = 1.05, 1.01
"""A mark is stored each time the number of units has grown by the factor `MARKED`.

Marks from before the units last grew by the factor `GROWTH` are deleted. The oldest mark left shows
whether enrolment has nearly stopped.
"""

EXHAUSTED_UNITS, EXHAUSTED_DAYS = 100, 14.0
"""With fewer units, or fewer days with late events, a test is not taken to be exhausted."""


def with_mark(marks: tuple[Mark, ...], units: int, now: float, days: int) -> tuple[Mark, ...]:
    """Return the marks of an enrolment, with another one if the units have grown by a hundredth.

    >>> with_mark((Mark(100, 0.0), Mark(200, 9.0)), 202, 60.0, 1)
    (Mark(units=200, time=9.0, days=0), Mark(units=202, time=60.0, days=1))
    """
    if marks and units < MARKED * marks[-1].units:
        return marks
    recent = (mark for mark in marks if GROWTH * mark.units > units)
    return (*recent, Mark(units, now, days))


def is_exhausted(design: Design, state: ExperimentState, created: float) -> bool:
    """Return whether only units already enrolled still come, so that evidence cannot grow.

    All traffic gets in, the units grew by less than 1 % since the last mark, and all units up to it
    have counted. Since then, late events (after a unit's window) came on at least 14 days, as many
    days as two windows have, and as many as the test had lasted. An outage adds no such days.
    """
    marks, wait = state.enrolment.grown, design.matures(0.0)
    if not marks or wait is None or state.control.share < 1.0:
        return False
    last = marks[-1]
    is_known = max(EXHAUSTED_UNITS, state.control.first + 1) <= last.units <= state.folding.folded
    least = max(EXHAUSTED_DAYS, 2.0 * wait / DAY, (last.time - created) / DAY)
    return is_known and state.counts.days - last.days >= least


def marked_anew(state: ExperimentState, now: float) -> ExperimentState:
    """Return the state after a change of the traffic: growth is measured from now on."""
    marks = (Mark(state.units, now, state.counts.days),) if state.units else ()
    return state._replace(enrolment=state.enrolment._replace(grown=marks))
