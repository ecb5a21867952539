"""The result of planning: a design, its forecast, and the alternatives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from bascule.core.design import Design
from bascule.core.errors import require
from bascule.core.inputs.serialization import finite_data
from bascule.core.presenter import COLUMNS, Reported, presenter
from bascule.core.rules import Rule
from bascule.planning.forecast import Forecast, even_rule
from bascule.planning.request.options import AcceptedGuarantee
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.words import question_of
from bascule.planning.search.alternatives import (
    Pace,
    Reach,
    SignalSaving,
    paces,
    saving_of,
    steered_of,
)
from bascule.planning.search.candidates import even_split
from bascule.planning.search.choose import (
    NEARLY,
    Candidate,
    accepted,
    best_in_time,
    cheapest_of,
    soonest_of,
)
from bascule.planning.search.fixed_horizon import FixedHorizon
from bascule.simulation import Estimate
from bascule.simulation.steered import SteeredRuns
from bascule.theory.guardrails import units_within_margin

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Forecast of the recommended design if the true lift is half, double or zero."""

    name: str
    """"half", "double" or "zero"."""
    lift: float
    """The true lift in this case."""
    means: tuple[float, ...] | None = None
    """Means of the arms; None if the limits of the outcomes exclude such a lift."""
    forecast: Forecast | None = None
    """Forecast in this case; None while it is unknown."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Reported):
    """A recommended design and what to expect of it.

    Cost is the loss until the end of the test, compared with giving every unit the best arm, in
    outcome units. A test ends at the deadline at the latest, and days and cost are counted up to
    the end of the test.
    """

    WIDTH, PAGE = COLUMNS, "Test plan"

    request: PlanRequest
    """The request that the plan answers."""
    rule: Rule
    """Rule of the recommended design."""
    points: tuple[Candidate, ...]
    """All candidates."""
    what_if: tuple[WhatIf, ...]
    """Forecasts of the recommended design at other lifts."""
    reach: Reach
    """Smallest lift, earliest deadline and least traffic that would suffice, each on its own."""
    fixed_horizon: FixedHorizon
    """The fixed-horizon test of the same request."""
    seed: int
    """Seed of the simulations."""
    complete: bool = False
    """Whether all simulations are done; until then some figures are predicted."""
    guarded: Forecast | None = None
    """Forecast with all guardrails, if no arm changes them; None if not simulated."""
    seconds: float = 0.0
    """Seconds that the plan took, without the time for compiling."""
    compile_seconds: float = 0.0
    """Seconds that compiling took."""

    @property
    def chosen(self) -> Candidate:
        """The recommended candidate."""
        return self.point_of(self.rule)

    @property
    def design(self) -> Design:
        """The recommended design; its cap on units is the number enrolled by the deadline."""
        return self.chosen.design

    @property
    def at_zero(self) -> Forecast | None:
        """Forecast of the recommended design if no arm is better: simulated, or else predicted."""
        cases = (case.forecast for case in self.what_if if case.name == "zero")
        simulated = (forecast for forecast in cases if forecast and forecast.simulated)
        return next(simulated, self.chosen.zero)

    def zero_of(self, point: Candidate) -> Forecast | None:
        """Return the forecast of a design if no arm is better; `at_zero` if it is recommended."""
        is_mine = point.rule == self.rule and point.request.share == self.request.share
        return self.at_zero if is_mine else point.zero

    @property
    def possible(self) -> bool:
        """Whether the recommended design decides by the deadline with the requested probability."""
        return self.chosen.in_time

    @property
    def _ready(self) -> list[Candidate]:
        """Accepted designs that decide by the deadline, or else the recommended one."""
        return [point for point in accepted(self.points) if point.in_time] or [self.chosen]

    @property
    def fastest(self) -> Candidate:
        """The design that takes the fewest days, averaged over the lift and no effect.

        Only designs that decide by the deadline are considered. The recommended design is returned
        if no other one is sooner by more than 2 %.
        """
        soonest = soonest_of(self._ready)
        is_sooner = (1 + NEARLY) * soonest.weighed_days < self.chosen.weighed_days
        return soonest if is_sooner else self.chosen

    @property
    def cheapest(self) -> Candidate:
        """The cheapest design that decides by the deadline; of nearly equal costs, the fastest.

        Simulated costs vary: the recommended design is returned if its forecast costs no more.
        """
        lowest = cheapest_of(self._ready)
        is_less = lowest.forecast.cost.mean < self.chosen.forecast.cost.mean
        return lowest if is_less else self.chosen

    @property
    def weaker(self) -> Candidate | None:
        """The best design with a weaker guarantee that decides by the deadline.

        It is None if there is none, or if an accepted design decides by the deadline.
        """
        if self.possible:
            return None
        known = get_args(AcceptedGuarantee)
        points = [
            point
            for point in self.points
            if not point.accepted and point.design.calibration.guarantee in known
        ]
        return best_in_time(points)

    @property
    def expected_days(self) -> Estimate:
        """Mean number of days until the test ends."""
        return self.chosen.forecast.days

    @property
    def expected_cost(self) -> Estimate:
        """Mean cost of the test."""
        return self.chosen.forecast.cost

    @property
    def shipping(self) -> Forecast:
        """Forecast until an arm can be shipped; it includes guardrails if they were simulated."""
        return self.guarded or self.chosen.forecast

    @property
    def decided_by_deadline(self) -> Estimate:
        """The probability of a decision by the deadline."""
        return self.chosen.forecast.decided

    @property
    def even_split(self) -> Forecast:
        """Forecast of an even split at the same error."""
        return self.even_point.forecast

    @property
    def even_point(self) -> Candidate:
        """The even split with the evidence of the recommended design, if it is a candidate.

        If it is not a candidate, it is the even split without a planned effect, at the same error.
        """
        alike = even_rule(self.rule)
        points = (point for point in self.points if point.rule == alike and point.even)
        return next(points, None) or self.point_of(even_split(self.request))

    @property
    def paces(self) -> tuple[Pace, ...]:
        """The fastest, the balanced and the cheapest design over tilts and shares of the traffic.

        It is empty without a window, because a smaller share then saves nothing, and if no design
        decides by the deadline.
        """
        return paces(self.request, self.chosen, (self.cheapest,))

    @property
    def early_signals(self) -> SignalSaving | None:
        """Savings by early signals in the recommended design, and their cost if they mislead.

        It is None if the request has no delay of conversions, or if signals cannot be simulated.
        """
        return saving_of(self.request, self.rule)

    @property
    def steered(self) -> tuple[SteeredRuns, SteeredRuns] | None:
        """Two simulations of the recommended design, steered: with the lift, and with equal arms.

        It is None if the request has no period of steering.
        """
        request = self.request
        if request.every is None:
            return None
        tied = (request.baseline,) * len(request.means)
        per_day, period = request.traffic.enrolled_per_day, float(request.every)
        at_lift, at_zero = (
            steered_of(self.design, means, per_day, period) for means in (request.means, tied)
        )
        return at_lift, at_zero

    @property
    def fixed_is_better(self) -> bool:
        """Whether a fixed-horizon test costs no more and takes no longer, also with equal arms."""
        fixed, forecast, zero = self.fixed_horizon, self.chosen.forecast, self.chosen.zero
        at_zero = forecast.days.mean if zero is None else zero.days.mean
        days = min(forecast.days.mean, forecast.p90_days, at_zero)
        return fixed.days <= days and fixed.cost <= forecast.cost.mean

    @property
    def guardrails(self) -> dict[str, float | None]:
        """Expected days until each guardrail finds an unchanged arm within its margin.

        A value is None if the spread is unknown, or the rule has no prediction.
        """
        units = {
            metric.name: units_within_margin(self.design, metric)
            for metric in self.design.guardrails
        }
        known_after = self.request.traffic.known_after
        return {name: None if need is None else known_after(need) for name, need in units.items()}

    def point_of(self, rule: Rule) -> Candidate:
        """Return the candidate with this rule."""
        return next(point for point in self.points if point.rule == rule)

    def with_point(self, point: Candidate) -> Plan:
        """Return a copy of the plan in which `point` replaces the candidate with the same rule."""
        points = tuple(point if old.rule == point.rule else old for old in self.points)
        return replace(self, points=points)

    def with_case(self, case: WhatIf) -> Plan:
        """Return a copy of the plan in which `case` replaces the case of the same name."""
        cases = tuple(case if old.name == case.name else old for old in self.what_if)
        return replace(self, what_if=cases)

    def prediction_error(self) -> tuple[float, float] | None:
        """Return the largest relative errors of predicted days and cost; None if unknown."""
        pairs = [
            (point.expected, point.simulated)
            for point in self.points
            if point.simulated is not None and not point.expected.simulated
        ]
        if not pairs:
            return None
        days = max(abs(theory.days.mean / played.days.mean - 1) for theory, played in pairs)
        cost = max(abs(theory.cost.mean / played.cost.mean - 1) for theory, played in pairs)
        return days, cost

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `bascule plan --json` prints it."""
        missed = self.prediction_error()
        guarded = {
            "guardrail_days": finite_data(self.guardrails),
            "with_guardrails": self.guarded and self.guarded.to_dict(),
        }
        return {
            "question": question_of(self.request),
            "possible": self.possible,
            "design": self.design.to_dict(),
            **self.chosen.forecast.to_dict(),
            "cost_unit": self.request.cost_unit,
            "fastest": self._offered(self.fastest),
            "cheapest": self._offered(self.cheapest),
            "even_split": self.even_split.to_dict(),
            "fixed_horizon": self.fixed_horizon.to_dict(),
            "frontier": [point.to_dict(point.rule == self.rule) for point in self.points],
            "paces": [pace.to_dict(self.zero_of(pace.point)) for pace in self.paces],
            "early_signals": self.early_signals and self.early_signals.to_dict(),
            "steered": self.steered
            and {
                name: asdict(getattr(self.steered[0], name))
                for name in ("expected_days", "expected_cost")
            },
            "what_if": {
                **{
                    case.name: case.forecast and {"lift": case.lift, **case.forecast.to_dict()}
                    for case in self.what_if
                },
                "smallest_lift": self.reach.lift,
            },
            **(guarded if self.design.guardrails else {}),
            "nearest": None if self.possible else asdict(self.reach),
            "why": presenter("plan.text").why(self),
            "at_zero_effect": self.at_zero and self.at_zero.to_dict(),
            "weaker": self.weaker and self.weaker.to_dict(chosen=False),
            "prediction_error": missed and {"expected_days": missed[0], "expected_cost": missed[1]},
            "guarantee": presenter("guarantees").guarantee(self.design),
            "request": self.request.to_dict(),
            "seed": self.seed,
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def _offered(self, point: Candidate) -> dict[str, Any]:
        """Return plain data of a design that the plan lists besides the recommended one."""
        return {
            "design": point.design.to_dict(),
            **point.to_dict(point.rule == self.rule),
        }

    def to_frame(self) -> Any:
        """Return the frontier as a pandas data frame, with the names of `to_dict`."""
        require("analyze", "a data frame", "pandas")
        import pandas

        return pandas.json_normalize(self.to_dict()["frontier"])

    def plot(self) -> Figure:
        """Plot the frontier: cost against days, with the recommended design."""
        figure: Figure = presenter("plan.figure").plot_plan(self)
        return figure

    def html(self) -> str:
        """Return the report as a self-contained HTML page."""
        file = json.dumps(self.design.to_dict(), indent=2)
        return str(presenter("pages").report_page(self.report(details=True), self.PAGE, file))

    def report(self, names: Mapping[str, str] | None = None, details: bool = False) -> Any:
        """Return the report: headline, tables and notes.

        `names` maps options to their names in the place where the report is shown; by default they
        are named as in Python. With `details` the report has every design and other lifts, which
        take some time to predict.
        """
        window, aggregate = presenter("plan.question").measure_example(self.request)
        python = {"measure": f'measure=Measure("{window}", "{aggregate}"), for example'}
        return (
            presenter("plan.text").report(self, details).spelled(python if names is None else names)
        )
