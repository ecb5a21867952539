"""Check the options of a request, and convert them from the forms in which users give them."""

from __future__ import annotations

import math
from dataclasses import replace

from bascule.core.calendar import DAY
from bascule.core.covariates import Covariate
from bascule.core.design import MOST_UNITS
from bascule.core.design_parts import MOST_ARMS
from bascule.core.errors import InputError, invalid
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.inputs import checks
from bascule.core.inputs.checks import amount, read_amount, seconds, tidy
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import DIRECTION, Metric, check_metrics
from bascule.planning.request.fields import RequestFields
from bascule.planning.request.options import LIFT


def arm_names(
    arms: object, lift: object, first: str = "control", treatment: str = "variant"
) -> tuple[str, ...]:
    """Return the names of the arms as given, or default names if only their number is given."""
    wanted = 1 + len(lift) if isinstance(lift, list | tuple) else None
    if arms is None:
        arms = 2 if wanted is None else wanted
    if isinstance(arms, int):
        count = checks.whole("arms", arms, 2, "2 is an A/B test", MOST_ARMS)
        treatments = [treatment] if count == 2 else [f"{treatment}-{i}" for i in range(1, count)]
        arms = (first, *treatments)
    if isinstance(arms, str) or not isinstance(arms, list | tuple):
        raise invalid(f"arms must be a number or a list of names (got {arms!r})")
    if wanted is not None and len(arms) != wanted:
        raise invalid(
            f"lift must have one value for each of {len(arms) - 1} arms after the first (got "
            f"{wanted - 1})"
        )
    return tuple(arms)


def lift_of(value: object, baseline: float) -> float:
    """Return a lift in outcome units; text such as 10% is relative to the baseline.

    >>> lift_of(0.01, baseline=0.05), lift_of("10%", baseline=0.05)
    (0.01, 0.005)
    """
    remedy = "it is the smallest difference to detect; 0.01 is absolute, 10% is of the baseline"
    if not isinstance(value, str):
        return checks.finite("lift", value, remedy)
    number, is_percent = read_amount("lift", value, remedy)
    accepted = checks.finite("lift", number, remedy)
    if not is_percent:
        return accepted
    if baseline == 0:
        raise invalid(
            f"lift {value} is a part of the baseline, which is 0: give it as a plain number, "
            "in the unit of the outcome"
        )
    return tidy(abs(baseline) * accepted)


def lifts_of(request: RequestFields, arms: int) -> tuple[float, ...]:
    """Return the lift of each arm after the first, in outcome units.

    By default 0/1 outcomes improve by a fifth.
    """
    lift, for_better = request.lift, DIRECTION[request.goal]
    if lift is None:
        if not request.outcome.binary:
            raise invalid("lift is missing: give the smallest difference that the test should find")
        lift = LIFT if for_better > 0 else f"-{LIFT}"
    if isinstance(lift, list | tuple):
        return tuple(lift_of(part, request.baseline) for part in lift)
    single = lift_of(lift, request.baseline)
    # If the lift is a loss and the other arms stayed at the baseline, several arms would be best.
    rest = single if for_better * single < 0 else 0.0
    return (single, *(rest for _ in range(arms - 2)))


def check_means(request: RequestFields) -> None:
    """Raise an error if a mean is impossible, or if there is no single best arm."""
    low, high, baseline = request.outcome.low, request.outcome.high, request.baseline
    if not low <= baseline <= high:
        remedy = "widen the limits"
        if (low, high) == (0.0, 1.0):
            remedy = (
                "5 % is 0.05 or 5%; for other outcomes give the largest value (high) or the "
                "standard deviation (sigma), in Python Bounded or Numeric, or earlier outcomes "
                "(sample)"
            )
        raise invalid(
            f"baseline must lie between {low:g} and {high:g}, as the outcomes do "
            f"(got {baseline:g}): {remedy}",
            others=("high", "sigma", "sample"),
        )
    for lift, mean in zip(request.lifts, request.means[1:], strict=True):
        if not low <= mean <= high:
            limit, side = (low, "below") if mean < low else (high, "above")
            part = f" ({100 * lift / abs(baseline):+.6g} %)" if baseline else ""
            raise invalid(
                f"lift {lift:g}{part} takes an arm from {baseline:g} to {mean:g}, {side} the "
                f"{limit:g} that outcomes can have: give a difference of at most "
                f"{abs(limit - baseline):.6g}, or a percentage, as 10%",
                others=("baseline",),
            )
    if request.gap == 0:
        raise invalid(
            "lift must leave one arm better than all others (got means "
            f"{', '.join(f'{mean:g}' for mean in request.means)}): give the difference worth "
            "finding, as in 0.01 or 10%"
        )


def checked_rate(request: RequestFields) -> float | None:
    """Return the number of outcomes per unit and day if outcomes recur, else None."""
    rate, recurs = request.outcomes_per_day, request.outcome.supports("several outcomes")
    if rate is not None and not recurs:
        raise _of_others(request, "outcomes_per_day", "recurrent outcomes")
    return 1.0 if recurs and rate is None else rate


def _of_others(request: RequestFields, name: str, outcomes: str) -> InputError:
    """Return an error which says that the option `name` is only for some other outcomes."""
    words = request.outcome.words
    return invalid(f"{name} is for {outcomes}, not for {words}: leave it out")


def check_supported(request: RequestFields) -> None:
    """Raise an error for options that tests of these outcomes do not support."""
    for name in request.outcome.lacks:
        if getattr(request, name, None):
            raise invalid(f"{name} does not go with {request.outcome.words}: leave it out")


def check_calendar(request: RequestFields) -> None:
    """Raise an error if the calendar contradicts the deadline."""
    min_days, deadline_days = request.min_days, request.deadline_days
    if min_days is not None and min_days > deadline_days:
        raise invalid(
            f"min_days ({min_days:g}) must be at most deadline_days ({deadline_days:g})",
            others=("deadline_days",),
        )
    if request.whole_weeks and deadline_days % 7.0:
        raise invalid(
            f"deadline_days must be whole weeks with whole_weeks (got {deadline_days:g}): give 28, "
            "for example",
            others=("whole_weeks",),
        )


def checked_window(request: RequestFields) -> float | None:
    """Return a conversion window in seconds; None if there is none."""
    if request.window is None:
        return None
    length = Measure(request.window).window
    assert length is not None
    return float(length)


def checked_metrics(request: RequestFields) -> tuple[Metric, ...]:
    """Return the checked metrics of a plan, which may have windows only if the plan has one."""
    listed = request.metrics if isinstance(request.metrics, list | tuple) else ()
    measured = [
        metric for metric in listed if isinstance(metric, Metric) and metric.measure is not None
    ]
    if measured and request.window is None:
        raise InputError(
            "window",
            f"metric {measured[0].name} has a window and the primary metric has none: give window, "
            "as 7d, for the primary metric too",
        )
    if not measured:
        return check_metrics(request.metrics, None)
    check_metrics([replace(metric, measure=None) for metric in listed], None)
    return tuple(listed)


MOST_PERIODS = 24 * 366
"""Maximum number of periods of a steered test until the deadline; each of them is simulated."""


def checked_every(request: RequestFields) -> float | None:
    """Return the period of a steered test, in seconds; None if it is not steered."""
    if request.every is None:
        return None
    if not request.outcome.binary:
        raise _of_others(request, "every", "0/1 outcomes")
    if request.metrics:
        raise invalid(
            "every does not go with metrics, since a plan has no figures for such steered tests: "
            "leave every out; the test can still be steered"
        )
    length = seconds("every", request.every)
    least = request.deadline_days * DAY / MOST_PERIODS
    if not least <= length <= request.deadline_days * DAY:
        raise invalid(
            f"every must lie between {least:.0f} seconds and the {request.deadline_days:g} days "
            f"until the deadline (got {request.every}): it is how often the test runs, as 1d"
        )
    return length


def checked_delay(request: RequestFields) -> float | None:
    """Return the mean delay of conversions, in seconds; None if not given."""
    outcome, delay = request.outcome, request.delay
    if delay is None:
        return None
    if not outcome.binary:
        raise _of_others(request, "delay", "0/1 outcomes")
    length = seconds("delay", delay)
    if not 0.0 < length < seconds("window", request.window):
        raise invalid(
            f"delay must be above 0 and shorter than the window (got {delay}): it is how long "
            "conversions take on average"
        )
    return length


def checked_covariate(request: RequestFields) -> Covariate | None:
    """Return the covariate, given as a `Covariate`, by name or as "name:low:high"."""
    covariate = request.covariate
    if isinstance(covariate, Covariate):
        return covariate
    if covariate is None and not request.correlation:
        return None
    name, *limits = (covariate or "covariate").split(":")
    if len(limits) not in (0, 2):
        raise invalid(f'covariate must be a name, or "name:low:high" (got {covariate!r:.60})')
    low, high = (amount("covariate", limit, "limits are numbers") for limit in limits or (0, 0))
    if limits:
        return Covariate(name, low, high, missing=min(max(0.0, low), high))
    if request.outcome.limited:
        raise invalid(
            f"covariate needs limits with {request.outcome.words}: write it as name:low:high"
        )
    return Covariate(name)


def check_deadline(request: RequestFields) -> None:
    """Raise an error if the deadline is too short, or more units arrive than can be simulated."""
    arms, deadline_days = len(request.names), request.deadline_days
    limit = request.outcome.most_units or MOST_UNITS
    come = request.units_per_day * deadline_days
    if come > limit:
        raise InputError(
            "units_per_day",
            f"a plan can have at most {limit:.0e} units by the deadline (got {come:.2g}): "
            "plan with a "
            "smaller units_per_day or a shorter deadline_days",
        )
    if request.window_days >= deadline_days:
        raise invalid(
            f"window ({request.window_days:g} days) must be shorter than deadline_days "
            f"({deadline_days:g}): no outcome would be known by then",
            others=("deadline_days",),
        )
    lowest = FIRST_UNITS * arms
    least_days = request.traffic.known_after(lowest)
    if request.max_units < lowest:
        raise invalid(
            f"deadline_days ({deadline_days:g}) is too short: {request.max_units} units are "
            f"enrolled by then, and the first blocks take {lowest}; give it "
            f"{math.ceil(10.0 * least_days) / 10.0:g} days or more"
        )


def checked_spread(request: RequestFields) -> float | None:
    """Return the spread of outcomes within limits; None if the outcome model implies it."""
    outcome, baseline, spread = request.outcome, request.baseline, request.spread
    if outcome.estimated:
        # Raises an error if the model has no expected spread.
        outcome.noise(request.means)
    if not (outcome.limited and outcome.variance(baseline) is None):
        if spread is not None:
            raise _of_others(request, "spread", "bounded outcomes")
        return None
    low, high = outcome.low, outcome.high
    widest = math.sqrt((baseline - low) * (high - baseline))
    if widest == 0:
        raise invalid(
            f"baseline must lie inside the limits, {low:g} and {high:g}, not on one "
            f"(got {baseline:g})"
        )
    if spread is None or spread == request.usual_spread:
        return request.usual_spread
    if outcome.integer:
        raise invalid(
            f"spread cannot be changed for {outcome.words}: leave it out, and the outcome "
            "model says how they spread"
        )
    if spread >= widest:
        raise invalid(
            f"spread must be below {widest:.4g}, the most that outcomes between {low:g} and "
            f"{high:g} with mean {baseline:g} can have (got {spread:g})"
        )
    return spread
