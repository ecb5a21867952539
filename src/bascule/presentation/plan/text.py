"""A plan in words: the question, the design, what to expect of it, and what is guaranteed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.design import Design
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.words import lift_words, question_of
from bascule.planning.search.choose import AS_LONG
from bascule.presentation.guarantees import guarantee
from bascule.presentation.numbers import (
    Amounts,
    amount,
    count,
    day_count,
    duration,
    percent,
)
from bascule.presentation.plan.question import conditions
from bascule.presentation.plan.tables import (
    comparison,
    frontier,
    is_first_look,
    pace_table,
    what_if,
)
from bascule.presentation.report import Report, Table

if TYPE_CHECKING:
    from bascule.planning.result import Plan


TOO_LONG = 0.5
"""Ratio of the conversion window to a test's duration above which tilting saves little."""


def headline(plan: Plan) -> str:
    """Return the recommendation in one sentence."""
    rule = "an even split" if plan.chosen.even else plan.rule.words
    if not plan.possible:
        kind = {
            "proven": " whose error is proven",
            "gaussian": " that is exact for normal outcomes",
        }
        guarantee = kind.get(plan.design.calibration.guarantee, "")
        return (
            f"No design{guarantee} decides this by day {plan.request.deadline_days:g} with "
            f"probability {percent(plan.request.power)}; {rule} comes nearest."
        )
    if plan.guarded is not None:
        return (
            f"Run {rule}: with its guardrails it ends in {duration(plan.guarded.days.mean)} on "
            f"average, with an arm to ship in {percent(plan.guarded.decided.mean)} of tests."
        )
    return f"Run {rule}: a decision in {duration(plan.expected_days.mean)} on average."


def why(plan: Plan) -> str:
    """Say why this design was chosen, and what its disadvantages are."""
    if not plan.possible:
        return ""
    request, chosen, zero = plan.request, plan.chosen, plan.at_zero
    text = f"Cheapest design that decides in {day_count(request.deadline_days)}"
    known = {"this lift": chosen.forecast} | ({} if zero is None else {"no effect": zero})
    longest = AS_LONG * plan.fixed_horizon.days
    short = [f"at {case}" for case, forecast in known.items() if forecast.days.mean <= longest]
    if short:
        text += f" and takes no longer than a fixed-horizon test, {' and '.join(short)}"
    if zero is not None and zero.days.mean < 0.95 * request.deadline_days:
        text += f"; it ends after {duration(zero.days.mean)} on average if there is no difference"
    said = [f"{text}.", given_up(plan), even_words(plan)]
    if plan.fastest is plan.even_point and not chosen.even:
        said.append("The fastest design is the even split.")
    cheapest = plan.cheapest
    if cheapest is not chosen:
        saving, days = (
            chosen.forecast.cost.mean - cheapest.forecast.cost.mean,
            cheapest.forecast.days,
        )
        at_zero = cheapest.zero
        later = "" if at_zero is None else f", or {duration(at_zero.days.mean)} at no effect"
        said.append(
            f"The cheapest design, {cheapest.rule.label}, costs {amount(saving)} "
            f"{request.cost_unit} less and takes {duration(days.mean)}{later}."
        )
    return " ".join(filter(None, (*said, against_fixed(plan).strip())))


def given_up(plan: Plan) -> str:
    """Say in which cases the design is slower than a fixed-horizon test, and what it gains."""
    cases = {"this lift": plan.chosen.forecast, "no effect": plan.at_zero}
    late = {
        case: forecast.days.mean - plan.fixed_horizon.days
        for case, forecast in cases.items()
        if forecast is not None and forecast.days.mean > AS_LONG * plan.fixed_horizon.days
    }
    if not late or plan.fixed_is_better:
        return ""
    saving = plan.fixed_horizon.cost - plan.chosen.forecast.cost.mean
    buys = "and holds however often you look"
    if saving > 0:
        buys = f"and costs {amount(saving)} {plan.request.cost_unit} less"
    longer = " and ".join(f"{duration(days)} longer at {case}" for case, days in late.items())
    return (
        "No design in time is as quick as a fixed-horizon test, at this lift and at no effect: "
        f"this one takes {longer}, {buys}."
    )


def even_words(plan: Plan) -> str:
    """Say why the recommended design is an even split, if it is one."""
    request, days = plan.request, plan.expected_days.mean
    if not plan.chosen.even:
        return ""
    if request.window_days > TOO_LONG * days:
        return (
            "It is an even split, because no outcome is known in the first "
            f"{duration(request.window_days)} of {duration(days)}: a tilt would come too late."
        )
    if plan.cheapest is plan.chosen:
        return "It is an even split, because no tilted design in time costs less."
    return "It is an even split, because tilted designs that cost less take longer."


def against_fixed(plan: Plan) -> str:
    """State the disadvantages of a cheaper fixed-horizon test; empty if that test costs more."""
    fixed, request = plan.fixed_horizon, plan.request
    if plan.fixed_is_better:
        return (
            f" A fixed-horizon test is shorter and costs less, but has one look, after "
            f"{duration(fixed.days)}, and does not hold if you look before."
        )
    difference, longer = plan.expected_cost.mean - fixed.cost, fixed.days - plan.expected_days.mean
    if not (difference > 0.0 and longer > 0.0):
        return ""
    return (
        f" A fixed-horizon test costs {amount(difference)} {request.cost_unit} less, but decides "
        f"{duration(longer)} later; the better arm would gain "
        f"{amount(longer * request.unwon_per_day)} {request.cost_unit} in that time."
    )


def cap_words(plan: Plan) -> str:
    """Say what is compared if outcomes have limits, and recommend a cap if they have none."""
    model = plan.request.outcome
    if model.limited and not model.binary:
        return (
            f"Outcomes beyond {model.low:g} and {model.high:g} count as the nearest limit: mean "
            "outcomes within these limits are compared."
        )
    if model.estimated and not model.pairs:
        return (
            "For money choose a cap from earlier outcomes (`cap`): the error is then proven, and "
            "amounts up to the cap are compared."
        )
    known = model.known_spread and not model.recurring
    if known and plan.request.usual_spread > plan.request.baseline > 0.0:
        return (
            "Money with many zeros is not sub-Gaussian with its standard deviation as sigma: for "
            "such outcomes choose numeric (`outcome`), or limits (`high`)."
        )
    return ""


def measure_words(plan: Plan) -> str:
    """Say that `measure` has to be set for a live test, if the design has none."""
    if plan.request.window is None or plan.design.measure is not None:
        return ""
    lacking = [metric.name for metric in plan.design.metrics if metric.measure is None]
    if lacking:
        return (
            "A live test with a conversion window needs one for every metric: give "
            f"{', '.join(lacking)} a window too (`metrics`)."
        )
    return (
        f"What counts of a unit within {duration(plan.request.window_days)}, such as the sum of "
        "its events, is set when a live test is created (`measure`)."
    )


def guardrail_lines(plan: Plan) -> list[str]:
    """Say how long guardrails are expected to take, and what that adds to the primary metric."""
    said = []
    for name, days in plan.guardrails.items():
        metric = next(metric for metric in plan.design.metrics if metric.name == name)
        margin = Amounts.of(metric.outcome, metric.goal).size(metric.margin or 0.0)
        if days is None:
            said.append(
                f"Guardrail {name} (margin {margin}): how long it takes is not known; give the "
                "metric a baseline, or an outcome model with a spread."
            )
            continue
        extra_days = days - plan.expected_days.mean
        wait = (
            f"shipping waits about {duration(extra_days)} for it"
            if extra_days > 0
            else "it adds no waiting"
        )
        said.append(
            f"Guardrail {name} (margin {margin}): about {duration(days)} until an unchanged arm "
            f"is shown to be within its margin; {wait}."
        )
    shown = plan.guarded
    if shown is not None:
        said.append(
            "With its guardrails, if every arm is unchanged on them, the test ends after "
            f"{duration(shown.days.mean)} on average and has a winner by the deadline with "
            f"probability {percent(shown.decided.mean)} ({shown.runs:,} simulated tests). Without "
            f"guardrails these are {duration(plan.expected_days.mean)} and "
            f"{percent(plan.decided_by_deadline.mean)}."
        )
    return said


def limits(plan: Plan) -> list[str]:
    """Say what the test could still detect, or which other request would make it possible."""
    request, reach = plan.request, plan.reach
    lift = None if reach.lift is None else lift_words(request.outcome, reach.lift)
    # If both best arms have a lift, the test has to detect the lead of one over the other.
    two_best = sorted(request.means, key=request.loss_of)[:2]
    name = "lift" if request.baseline in two_best else "lead over the next best arm"
    if plan.possible:
        said = []
        if lift is not None:
            said.append(f"The smallest {name} that the deadline can decide is about {lift}.")
        return said
    said = [line for line in (weaker_words(plan), _fixed_fits(plan)) if line]
    wanted = []
    if reach.deadline_days is not None and reach.deadline_days > request.deadline_days:
        wanted.append(f"a deadline of {amount(reach.deadline_days)} days")
    if lift is not None:
        wanted.append(f"a {name} of {lift}")
    further = reach.units_per_day
    if further is not None and further > request.units_per_day:
        wanted.append(f"{amount(further)} units a day")
    if wanted:
        changes = ", or ".join(wanted)
        said.append(f"One of these changes would make it possible (approximate): {changes}.")
    return said


def weaker_words(plan: Plan) -> str:
    """Name a design with a weaker guarantee that decides in time, if no other design does."""
    point = plan.weaker
    if point is None:
        return ""
    forecast, kind = point.forecast, point.design.calibration.guarantee
    return (
        f"With a weaker guarantee (`guarantee={kind}`) {point.rule.label} decides by then with "
        f"probability {percent(forecast.decided.mean)}: {amount(forecast.days.mean)} days and "
        f"{amount(forecast.cost.mean)} {plan.request.cost_unit} on average."
    )


def _fixed_fits(plan: Plan) -> str:
    """Say that a fixed-horizon test decides in time if no design does."""
    days = plan.fixed_horizon.days
    if days > plan.request.deadline_days:
        return ""
    return (
        f"The fixed-horizon test fits, with its {amount(days)} days: it spends its whole error on "
        "one look, and may not be looked at before."
    )


def design_in_words(design: Design, request: PlanRequest) -> str:
    """Explain how the design assigns units, and when the test ends."""
    assert design.max_units is not None
    days = request.traffic.days_until(design.max_units).item()
    end = "it ends undecided"
    if request.window is not None:
        end = f"nobody is enrolled, and {duration(request.window_days)} later {end}"
    return (
        f"{design.rule.explain(len(design.arms))} After {count(design.max_units)} units, which is "
        f"{days:.4g} days at {request.traffic.enrolled_per_day:,.6g} a day, {end}."
    )


def report(plan: Plan, with_details: bool = False) -> Report:
    """Return the plan as a report: recommendation, alternatives, reasons, and the guarantee."""
    parts = [why(plan), cap_words(plan), *guardrail_lines(plan), measure_words(plan)]
    if not plan.possible:
        parts += limits(plan)
    parts.append(guarantee(plan.design))
    parts.insert(1, signal_words(plan))
    notes = tuple(part for part in parts if part)
    return Report(
        headline(plan),
        question(plan),
        tables=(Table(tuple(comparison(plan)), strong=(0,)),),
        notes=notes,
        figures=(plan,),
        details=details(plan) if with_details else None,
    )


def waiting_words(plan: Plan) -> str:
    """Say what each day without the better arm costs, to help choose a share of the traffic."""
    request = plan.request
    return (
        "A smaller share of the traffic costs less in the test and takes longer (`share`); each "
        f"day without the better arm for everyone forgoes {amount(request.unwon_per_day)} "
        f"{request.cost_unit}."
    )


def signal_words(plan: Plan) -> str:
    """Say what early signals save, and what they cost if the better arm converts later."""
    saving = plan.early_signals
    if saving is None:
        return ""
    unit, used = plan.request.cost_unit, plan.request.early_signals is not None
    delay_best, delay_others = map(duration, saving.delays)
    off = "Early signals are off (set `early_signals` to auto)"
    first = "Early signals are used" if used else off
    lost = f"{amount(saving.alike.cost.mean)} {unit} lost in {saving.alike.days.mean:.1f} days"
    knob = saving.rule.knob
    tilt = "" if knob is None else f" and {knob.name} {knob.value:g}"
    return (
        f"{first}: with them{tilt} {lost}, without them {amount(saving.without.cost.mean)} in "
        f"{saving.without.days.mean:.1f}; {amount(saving.later.cost.mean)} if conversions of the "
        f"better arm come after {delay_best} and others after {delay_others}. "
        "The error holds in any case."
    )


def question(plan: Plan) -> str:
    """Return the question of the plan in a sentence."""
    return f"{question_of(plan.request)}; {conditions(plan.request)}."


def details(plan: Plan) -> Report:
    """Return further results of a plan: other lifts, other designs, and the origin of figures."""
    shares = (pace_table(plan),) if plan.paces else ()
    tables = (
        *shares,
        Table(tuple(what_if(plan)), "If the lift is another one"),
        Table(tuple(frontier(plan)), "All designs", (plan.points.index(plan.chosen),)),
    )
    parts = [
        waiting_words(plan) if shares else "",
        design_in_words(plan.design, plan.request),
        *(limits(plan) if plan.possible else ()),
        fixed_horizon_words(plan),
        origin(plan),
        "" if plan.complete else "This plan is not complete: figures without ± are predictions.",
    ]
    return Report("", tables=tables, notes=tuple(part for part in parts if part))


def fixed_horizon_words(plan: Plan) -> str:
    """Say which fixed-horizon test the design is compared with."""
    sides = "two" if plan.request.sides == 2 else "one"
    units = count(plan.fixed_horizon.units_per_arm)
    windows = "" if plan.request.window is None else " and the end of their windows"
    return (
        f"The fixed-horizon test has the same {sides}-sided error, "
        f"{percent(plan.request.error)}, by the normal approximation; it looks once, after {units} "
        f"units in each arm{windows}, with {percent(plan.fixed_horizon.power)} power at this lift."
    )


def origin(plan: Plan) -> str:
    """Say where the figures come from, and how good predictions were."""
    forecast = plan.chosen.forecast
    if not forecast.simulated:
        return "Figures are predictions, good to about 10 %; nothing was simulated."
    words = (
        f"{count(forecast.runs)} simulated tests, seed {plan.seed}; ± is one standard error, "
        "brackets are 95 % intervals, and figures without either are predictions."
    )
    glances = [point.forecast.runs for point in plan.points if is_first_look(point.forecast)]
    if glances:
        words += (
            f" Theory does not say how long a test of {len(plan.design.arms)} arms takes: designs "
            f"that are not recommended got a first look of {count(min(glances))} simulated tests "
            "or more, and a dash stands for what would take too long to simulate."
        )
    missed = plan.prediction_error()
    if missed is None:
        return words
    days, cost = (percent(float(f"{value:.2g}")) for value in missed)
    return (
        f"{words} Predictions, which led the search, were off by at most {days} in days and {cost} "
        "in cost."
    )
