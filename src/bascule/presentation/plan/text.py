"""A plan in words: the question, the design, what to expect of it, and what is guaranteed."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING

from bascule.core.design import Design
from bascule.core.outcomes import Bernoulli, Bounded, Recurrent
from bascule.core.rules import ETC, Tilt
from bascule.planning.candidates import is_even
from bascule.planning.choose import best_tilt
from bascule.planning.forecast import Outlook
from bascule.planning.request import Wishes
from bascule.presentation.plan.text_plot import text_plot
from bascule.simulation import Estimate

if TYPE_CHECKING:
    from bascule.planning.result import Plan, WhatIf

Cells = tuple[str, ...]

COLUMNS = 80
"""Longer lines of text are broken."""

CASE_NAMES = {"half": "half as large", "double": "twice as large", "zero": "zero: no arm is worse"}


def question(wishes: Wishes) -> str:
    """Both means, and the lift in outcome units and as a part of the baseline.

    >>> question(Wishes())
    '5 % against 6 %: a lift of 1 point, +20 % of the baseline'
    """
    return wishes.words


def conditions(wishes: Wishes) -> str:
    """What the test has to keep to.

    >>> conditions(Wishes())
    '0/1 outcomes; 5,000 units a day for 28 days; error at most 5 %'
    """
    parts = [
        outcome_words(wishes),
        f"{wishes.units_per_day:,.6g} units a day for {wishes.deadline_days:g} days",
        f"error at most {percent(wishes.error)}",
    ]
    if wishes.waiting_cost is not None:
        parts.append(f"a day of waiting is worth {wishes.waiting_cost:g} {wishes.cost_unit}")
    return "; ".join(parts)


def outcome_words(wishes: Wishes) -> str:
    """The outcome model, with what was assumed of it or taken from a sample."""
    outcome = wishes.outcome
    if isinstance(outcome, Bernoulli):
        words = "0/1 outcomes"
    elif isinstance(outcome, Bounded):
        limits = f"between {outcome.low:g} and {outcome.high:g}"
        words = f"outcomes {limits} with a spread of {wishes.spread:.4g}"
    elif isinstance(outcome, Recurrent):
        words = (
            f"{wishes.outcomes_per_day:g} outcomes a day of each unit; units differ by "
            f"{outcome.sigma_unit:.4g}, outcomes of one unit by {outcome.sigma_noise:.4g}"
        )
    else:
        words = f"outcomes with a spread (sigma) of {outcome.sigma:.4g}"
    if wishes.sample is not None:
        seen = wishes.sample
        words += f", from a sample of {seen.outcomes:,}"
        if seen.recurring:
            words += f" of {seen.units:,} units"
    return words


def recommendation(plan: Plan) -> str:
    """What to run, in a line."""
    rule = plan.rule
    if not plan.possible:
        return (
            f"No design decides this by day {plan.wishes.deadline_days:g} with probability 0.9. "
            f"{rule.label} comes nearest:"
        )
    if isinstance(rule, Tilt):
        name = "an even split in blocks" if rule.tilt == 1 else f"tilted blocks, tilt {rule.tilt:g}"
        return f"Run {name} ({rule.label}):"
    name = "an even split" if is_even(rule) else "UCB"
    return f"Run {name} ({rule.label}):"


def headline(plan: Plan) -> str:
    """The recommendation as a heading."""
    return recommendation(plan).removesuffix(":")


def comparison(plan: Plan) -> list[Cells]:
    """The recommended design beside an even split and a fixed-horizon test, with headings."""
    wishes = plan.wishes
    fixed = plan.fixed_horizon
    rows = [
        ("", "days", "50 %, 90 %", "cost", f"decided by day {wishes.deadline_days:g}"),
        ("this design", *outlook_cells(plan.chosen.outlook)),
    ]
    if plan.chosen.outlook is not plan.even_split:
        rows.append(("even split", *outlook_cells(plan.even_split)))
    late = fixed.days > wishes.deadline_days
    rows.append(
        (
            "fixed horizon",
            amount_words(fixed.days),
            "",
            amount_words(fixed.cost),
            "too long" if late else f"power {percent(fixed.power)}",
        )
    )
    return rows


def outlook_cells(outlook: Outlook) -> Cells:
    """Days, their percentiles, cost, and the probability of a decision in time."""
    return (
        estimate_words(outlook.days),
        f"{day(outlook.p50_days)}, {day(outlook.p90_days)}",
        estimate_words(outlook.cost),
        decided_words(outlook),
    )


def within(estimate: Estimate) -> str:
    """The standard error of an estimate, to be put behind other words."""
    return f", ± {estimate.se:.2g}" if 0 < estimate.se < math.inf else ""


def decided_range(outlook: Outlook) -> str:
    """Where the probability of a decision in time lies."""
    if not outlook.simulated:
        return "predicted"
    low, high = outlook.decided_interval
    return f"between {_bare(low)} and {_bare(high)} % with 95 % confidence"


def short_cost(plan: Plan) -> str:
    """The expected cost in few digits."""
    cost = plan.expected_cost.mean
    return "-" if math.isnan(cost) else amount_words(cost)


def decided_words(outlook: Outlook) -> str:
    """The probability of a decision in time, with its interval of 95 %."""
    if not outlook.simulated:
        return percent(outlook.decided.mean)
    low, high = outlook.decided_interval
    return f"{percent(outlook.decided.mean)} ({_bare(low)}-{_bare(high)})"


def frontier(plan: Plan) -> list[Cells]:
    """Every design that was looked at, with headings."""
    rows = [("design", "days", "50 %, 90 %", "cost", "decided in time", "runs")]
    return rows + [
        (
            point.rule.label,
            *outlook_cells(point.outlook),
            f"{point.outlook.runs:,}" if point.outlook.simulated else "predicted",
        )
        for point in plan.points
    ]


def what_if(plan: Plan) -> list[Cells]:
    """The same design at other lifts, with headings."""
    rows = [("if the true lift is", "days", "cost", "decided", "wrong")]
    return rows + [(case_words(case, plan.wishes), *_case_cells(case)) for case in plan.what_if]


def case_words(case: WhatIf, wishes: Wishes) -> str:
    """The other lift in words."""
    name = CASE_NAMES[case.name]
    return name if case.lift == 0 else f"{name} ({wishes.lift_words(case.lift)})"


def _case_cells(case: WhatIf) -> Cells:
    outlook = case.outlook
    if outlook is None:
        return ("-", "-", "-", "-")
    return (
        estimate_words(outlook.days),
        estimate_words(outlook.cost),
        decided_words(outlook),
        percent(outlook.wrong.mean) if outlook.simulated and case.lift != 0 else "-",
    )


def savings(plan: Plan) -> str:
    """What the recommended design costs against the two others."""
    if not plan.possible:
        return ""
    cost = plan.expected_cost.mean
    against = [("a fixed-horizon test", plan.fixed_horizon.cost)]
    if plan.chosen.outlook is not plan.even_split:
        against.append(("an even split", plan.even_split.cost.mean))
    parts = [f"{_less(cost, other)} than {name}" for name, other in against if other > 0]
    if math.isnan(cost) or not parts:
        return ""
    return f"It costs {amount_words(cost)} {plan.wishes.cost_unit}: {' and '.join(parts)}."


def limits(plan: Plan) -> list[str]:
    """How far the wishes could be stretched, or what would make them possible."""
    wishes, reach = plan.wishes, plan.reach
    lift = None if reach.lift is None else wishes.lift_words(reach.lift)
    if plan.possible:
        lines = []
        if lift is not None:
            lines.append(f"The smallest lift that the deadline can decide is about {lift}.")
        if reach.error is not None:
            least = "1e-12 or less" if reach.error <= 1.001e-12 else f"about {reach.error:.1g}"
            lines.append(f"At this lift an error of {least} could be afforded.")
        return lines
    wanted = []
    if reach.deadline_days is not None:
        wanted.append(f"a deadline of {amount_words(reach.deadline_days)} days")
    if lift is not None:
        wanted.append(f"a lift of {lift}")
    if reach.error is not None and reach.error > wishes.error:
        wanted.append(f"an error of {percent(reach.error)}")
    if reach.units_per_day is not None:
        wanted.append(f"{amount_words(reach.units_per_day)} units a day")
    if not wanted:
        return []
    return [f"Nearest that would do, one change at a time, about: {', or '.join(wanted)}."]


def design_in_words(design: Design, units_per_day: float) -> str:
    """What the design does with the next unit, and when it ends."""
    rule = design.rule
    others = "the other arm" if len(design.arms) == 2 else "each other arm still in"
    if isinstance(rule, Tilt):
        if rule.tilt == 1:
            left = "" if len(design.arms) == 2 else " still in"
            who = f"Units come in blocks with one unit of every arm{left}, in random order"
        else:
            who = (
                "Units come in blocks, in random order: as the evidence grows, the arm that is "
                f"ahead gets up to {rule.tilt:g} units for each one of {others}"
            )
        ends = "an arm is dropped when the evidence that another one is better is strong enough"
        if rule.effect is not None:
            ends += f", weighed for differences around {rule.effect:g}"
    elif isinstance(rule, ETC):
        who = "The arms get units in turn"
        ends = "an arm is dropped when the evidence that another one is better is strong enough"
    else:
        who = (
            "Each unit goes to the arm whose average, with an allowance for how little is known "
            "of it, is highest"
        )
        ends = "the test ends when the evidence for one arm over all others is strong enough"
    assert design.max_units is not None
    days = design.max_units / units_per_day
    return (
        f"{who}. {ends[0].upper()}{ends[1:]}. After {design.max_units:,} units, which is "
        f"{days:.4g} days at {units_per_day:,.6g} a day, it ends undecided."
    )


def guarantee(design: Design) -> str:
    """What is proven, in one sentence that says no more."""
    promise = design.calibration
    outcome = design.outcome
    if isinstance(outcome, Bernoulli):
        where = "for 0/1 outcomes of units that do not influence each other"
    elif isinstance(outcome, Bounded):
        where = f"for any outcomes between {outcome.low:g} and {outcome.high:g}"
    elif isinstance(outcome, Recurrent):
        where = (
            f"exact if units and their outcomes are normal and differ by {outcome.sigma_unit:.4g} "
            f"and {outcome.sigma_noise:.4g}"
        )
    else:
        where = f"for outcomes that are sub-Gaussian with sigma {outcome.sigma:.4g} or less"
    return (
        f"Whatever the true means, and however often you look, the winner is not the best arm with "
        f"probability at most {percent(promise.error)} ({promise.guarantee}, {where}); when it "
        "decides and what it costs are forecasts for the lift that was asked about."
    )


def notes(plan: Plan) -> list[str]:
    """How the figures came about and what is guaranteed."""
    lines = [line for line in (savings(plan), *limits(plan)) if line]
    balanced = best_tilt(plan.wishes)
    if balanced is not None:
        lines.append(f"A fixed tilt would balance cost and waiting at {balanced:.2g}.")
    lines.append(origin(plan))
    if not plan.complete:
        lines.append("This plan is not complete: figures without ± are predictions.")
    lines.append(guarantee(plan.design))
    return lines


def origin(plan: Plan) -> str:
    """Where the figures come from, and how good predictions were."""
    seen = plan.chosen.outlook
    if not seen.simulated:
        return "Figures are predictions, good to about 10 %; nothing was simulated."
    told = f"{seen.runs:,} simulated tests, seed {plan.seed}; ± is one standard error"
    missed = plan.prediction_error()
    if missed is None:
        return f"{told}, brackets have a confidence of 95 %."
    days, cost = (percent(value) for value in missed)
    return (
        f"{told}, brackets have a confidence of 95 %. Predictions, which led the search, were off "
        f"by at most {days} in days and {cost} in cost."
    )


def answer(plan: Plan) -> list[str]:
    """The whole answer as lines of text."""
    lines = [question(plan.wishes), *_wrapped(conditions(plan.wishes)), ""]
    lines += [*_wrapped(recommendation(plan)), ""]
    lines += _table(comparison(plan))
    lines += ["", *_table(what_if(plan)), ""]
    lines += [*text_plot(plan), ""]
    for note in notes(plan):
        lines += _wrapped(note)
    return lines


def _wrapped(text: str) -> list[str]:
    """Text in lines that keep a number and its percent sign together."""
    kept = text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")
    return [line.replace("\u00a0", " ") for line in wrap(kept, COLUMNS)]


def _table(rows: list[Cells]) -> list[str]:
    """Rows as lines, the first column to the left and the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            f"{cell:<{width}}" if place == 0 else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def estimate_words(estimate: Estimate) -> str:
    """A mean, in four digits, with its standard error in the last ones; a prediction in three.

    >>> estimate_words(Estimate(56.314, 1.02)), estimate_words(Estimate(56.314, math.nan))
    ('56.3 ± 1.0', '56.3')
    """
    if math.isnan(estimate.mean):
        return "-"
    if not 0 < estimate.se < math.inf:
        return amount_words(estimate.mean)
    digits = 3 - math.floor(math.log10(max(abs(estimate.mean), estimate.se)))
    places = max(0, min(1 - math.floor(math.log10(estimate.se)), digits))
    return f"{estimate.mean:,.{places}f} ± {estimate.se:,.{places}f}"


def amount_words(value: float) -> str:
    """A number in three digits, or more when it has more before the point.

    >>> amount_words(3.5592), amount_words(12345.6)
    ('3.56', '12,346')
    """
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float) -> str:
    """A probability in percent, with a digit after the point where it says something.

    >>> percent(0.05), percent(0.9985), percent(1.0), percent(0.00012)
    ('5 %', '99.9 %', '100 %', '0.012 %')
    """
    return f"{_bare(share)} %"


def _bare(share: float) -> str:
    if math.isnan(share):
        return "-"
    part = 100 * share
    if part in (0.0, 100.0):
        return f"{part:.0f}"
    return f"{part:.2g}" if part < 1 else f"{min(part, 99.9):.1f}".removesuffix(".0")


def day(days: float) -> str:
    """A day in the test, to a tenth.

    >>> day(6.587), day(math.inf)
    ('6.6', 'later')
    """
    if math.isinf(days):
        return "later"
    return f"{days:.1f}" if days >= 1 else f"{days:.2g}"


def _less(cost: float, other: float) -> str:
    part = 100 * (1 - cost / other)
    return f"{part:.0f} % less" if part >= 0 else f"{-part:.0f} % more"
