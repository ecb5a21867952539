"""Define the function `plan`; it imports the rest of the package at its first call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal, Unpack

from bascule.core.presenter import presenter

if TYPE_CHECKING:
    from bascule.core.outcomes import Outcome
    from bascule.core.rules import Rule
    from bascule.planning.request.options import Lift, PlanOptions
    from bascule.planning.request.request import PlanRequest
    from bascule.planning.result import Plan
    from bascule.simulation.engines.backends.threads import Stages


def plan(
    outcome: Outcome | PlanRequest | None = None,
    baseline: float | str | None = None,
    lift: Lift | None = None,
    *,
    rules: Sequence[Rule] = (),
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | Literal[False] | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Return the design to run, how long it will take and what it will cost.

    The design is the cheapest one that decides by the deadline with probability `power` if the lift
    is as requested, and that on average takes no longer than a fixed-horizon test, at this lift and
    at no effect. If there is none, the condition on the fixed-horizon test is weakened or dropped.
    `Plan.possible` says whether the design decides by the deadline. `Plan.fastest` and
    `Plan.cheapest` are the fastest and the cheapest design without the condition on the
    fixed-horizon test.

    Parameters
    ----------
    outcome
        The outcome model; 0/1 outcomes if not given. Or a whole `PlanRequest`, of which no field
        may be given as well.
    baseline
        Mean of the first arm. If not given: that of the sample, else 5 % for 0/1 outcomes and 0 for
        models without limits (give the expected ratio of a `Ratio`). Others need it.
    lift
        Difference that the test should find: a number in outcome units, or text such as "20%" of
        the baseline. With the goal "decrease" an improvement is below 0, as "-20%". If not given,
        0/1 outcomes improve by 20 %; other outcomes need it. A list has a lift for each arm after
        the first.
    rules
        Rules to consider besides the usual ones.
    runs
        Number of simulated tests of the recommended design; if not given, as many as take a few
        seconds.
    seed
        Seed of the random numbers.
    threads
        Number of threads; all cores if not given.
    progress
        Called with the title of the step, the amount done, and the total amount. If it is not
        given, a bar is shown in a terminal and in a notebook; False shows none.
    options
        The other fields of a `PlanRequest`, whose numbers may be text such as "5%" or "5k"; and
        `cap`, in place of `outcome`, which plans for `Bounded(0, cap)`, an amount or a quantile of
        the sample such as "99%". `sample` may be a file of outcomes, from which the baseline and
        the spread are taken if they are not given.

    Examples
    --------
    >>> import bascule as bs
    >>> answer = bs.plan(bs.Gaussian(5), baseline=20, lift="10%", units_per_day=20, runs=100)
    >>> answer.possible
    True

    """
    from bascule.planning.request.read import plan_request
    from bascule.planning.search.stages import stages

    request = plan_request(outcome, baseline, lift, **options)
    _warn_of_lift(request, lift)
    shown = nullcontext(progress or None)
    if progress is None:
        shown = presenter("progress").progress_bar()
    with shown as report:
        *_, last = stages(request, runs, seed, threads, report, rules)
    return last


def _warn_of_lift(request: PlanRequest, lift: object) -> None:
    """Warn if an absolute lift exceeds the baseline: 0.2 with 5 % is often meant as 20 %."""
    from bascule.planning.request.words import question_of

    if not isinstance(lift, int | float):
        return
    if request.outcome.binary and abs(request.main_lift) > request.baseline:
        warnings.warn(
            f"lift={lift:g} means {question_of(request)}; for {100 * lift:g} % of the baseline "
            f'give lift="{100 * lift:g}%"',
            stacklevel=3,
        )
